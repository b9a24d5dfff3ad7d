//! A new object: it is sent in parts while it is written, and appears when the last of them has arrived.

use super::journal::Journal;
use super::parts::{UploadPart, UploadParts};
use super::sink::{DAMAGED, Leftover, OTHER, Sink};
use super::upload_journal::{self, UploadJournal, UploadState};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{MultipartId, PutPayload};
use sapwood_core::{Counters, Deadline, Error, ErrorKind, FilePiece, Result, redact};
use sapwood_source::cloud::{ObjectClient, ObjectLocation, open_bucket};
use sapwood_source::{LOG, Retries, RetryPolicy, SourceOptions, is_transient};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// Parts in flight together, and their bytes.
const MOST_FLYING: usize = 4;
const MOST_FLYING_BYTES: usize = 256 << 20;
/// Longest wait for the answer to a short request, without the pauses between tries.
const PATIENCE: Duration = Duration::from_secs(60);
/// A connection that carries fewer bytes per second is considered broken.
const SLOWEST: u64 = 100_000;
/// Longest wait for the end of an upload: large ones take a while.
const END: Duration = Duration::from_secs(600);
/// Longest wait for an upload to be aborted.
const ABORT: Duration = Duration::from_secs(10);

/// An object that is being written.
pub(crate) struct Upload {
    destination: Arc<Destination>,
    runtime: Handle,
    parts: UploadParts,
    flying: JoinSet<()>,
    answers: (Sender<Answer>, Receiver<Answer>),
    waiting: usize,
    done: BTreeMap<usize, PartId>,
    ended: bool,
    /// Where this machine keeps notes about the upload, and the notes.
    journal: Option<PathBuf>,
    keeping: Option<UploadJournal>,
}

type Answer = (usize, Result<PartId>);

/// The object that is written.
#[derive(Clone)]
struct Destination {
    name: String,
    advice: &'static str,
    store: Arc<dyn ObjectClient>,
    retry: RetryPolicy,
    path: Path,
    id: MultipartId,
    counters: Arc<Counters>,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("name", &self.destination.name).finish_non_exhaustive()
    }
}

impl Upload {
    /// Begins an object at a URL.
    ///
    /// # Errors
    /// `NotFound` if there is no such bucket, `Permission`, `Usage`, and the errors of the network.
    pub(crate) fn begin(url: &str, options: &SourceOptions, runtime: &Handle) -> Result<Upload> {
        let name = redact(url);
        let begun = begin(url, &name, options, runtime);
        Ok(Upload {
            destination: Arc::new(begun.map_err(|error| error.url(&name))?),
            runtime: runtime.clone(),
            parts: UploadParts::default(),
            flying: JoinSet::new(),
            answers: channel(),
            waiting: 0,
            done: BTreeMap::new(),
            ended: false,
            journal: upload_journal::place(&options.environment, &name),
            keeping: None,
        })
    }

    /// Sends a part, once fewer than the most are in flight.
    fn send(&mut self, part: UploadPart) -> Result<()> {
        let most = (MOST_FLYING_BYTES / part.bytes.len().max(1)).clamp(1, MOST_FLYING);
        while self.waiting >= most {
            self.receive()?;
        }
        let (destination, answers) = (Arc::clone(&self.destination), self.answers.0.clone());
        let number = part.number;
        let work = async move {
            // Fails only if the upload was abandoned.
            let _ = answers.send((number, destination.put(part).await));
        };
        self.flying.spawn_on(work, &self.runtime);
        self.waiting += 1;
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        // Each task that sends a part has a time limit, and always answers.
        let answer = self.answers.1.recv().map_err(|_| lost())?;
        self.received(answer)
    }

    fn received(&mut self, (number, part): Answer) -> Result<()> {
        self.waiting -= 1;
        let part = part.map_err(|error| self.failed(error))?;
        self.done.insert(number, part);
        while self.flying.try_join_next().is_some() {}
        if let Some(keeping) = &mut self.keeping {
            keeping.settle(&self.done, &self.parts);
        }
        Ok(())
    }

    /// An error of the store. An upload that the store does not know any more cannot be resumed.
    fn failed(&mut self, error: Error) -> Error {
        let error = error.url(&self.destination.name);
        match self.keeping.take_if(|_| error.kind() == ErrorKind::NotFound) {
            Some(keeping) => {
                keeping.remove();
                Error::new(ErrorKind::NotFound, "the store no longer knows the upload")
                    .url(&self.destination.name)
                    .hint("run the same command again: it starts over")
                    .caused_by(error)
            }
            None => error,
        }
    }

    /// Aborts an upload at the store.
    fn abort(&self, id: MultipartId) {
        let destination = Arc::clone(&self.destination);
        let abort = async move { destination.store.abort_multipart(&destination.path, &id).await };
        if !matches!(wait(&self.runtime, ABORT, abort), Ok(Ok(()))) {
            let name = &self.destination.name;
            log::warn!(target: LOG, "{name}: the parts that were sent could not be removed");
        }
    }

    /// Resumes the upload of an earlier run.
    fn resume(&mut self, journal: Journal, kept: UploadState) -> Vec<u8> {
        let fresh = std::mem::replace(&mut Arc::make_mut(&mut self.destination).id, kept.id.clone());
        self.abort(fresh);
        self.keeping = Some(UploadJournal::resume(journal, &kept));
        self.parts = UploadParts::resume(kept.parts(), kept.held);
        self.done = kept.done;
        kept.notes
    }
}

fn begin(url: &str, name: &str, options: &SourceOptions, runtime: &Handle) -> Result<Destination> {
    let location = ObjectLocation::parse(url)?;
    if location.key.is_empty() || location.key.ends_with('/') {
        return Err(
            Error::usage("this is not the name of an object").hint("write it as s3://bucket/path/file.root")
        );
    }
    let path = Path::parse(&location.key)
        .map_err(|_| Error::usage("the name of the object has empty parts, or illegal characters"))?;
    let bucket = open_bucket(&location, options)?;
    let (store, advice) = (bucket.client(Some(&options.retry))?, bucket.advice());
    let (retry, counters) = (options.retry, Arc::clone(&options.counters));
    let mut destination =
        Destination { name: name.to_owned(), advice, store, retry, path, id: MultipartId::new(), counters };
    let (store, path) = (Arc::clone(&destination.store), destination.path.clone());
    let begun = wait(runtime, PATIENCE, async move { store.create_multipart(&path).await });
    destination.id = begun?.map_err(|error| destination.failure(&error))?;
    Ok(destination)
}

impl Destination {
    /// Sends a part, and repeats it after failures that may pass.
    async fn put(&self, part: UploadPart) -> Result<PartId> {
        let patience = PATIENCE + Duration::from_secs(part.bytes.len() as u64 / SLOWEST);
        let mut retries = Retries::new(self.retry, &self.counters, &self.name, Deadline::after(patience * 4));
        loop {
            let payload = PutPayload::from(part.bytes.clone());
            let sent = self.store.put_part(&self.path, &self.id, part.number, payload);
            let error = match tokio::time::timeout(patience, sent).await {
                Ok(Ok(id)) => return Ok(id),
                Ok(Err(error)) => self.failure(&error),
                Err(_) => too_late(patience),
            };
            if !is_transient(error.kind()) {
                return Err(error);
            }
            retries.pause(error, None).await?;
        }
    }

    /// The error for a failure of `object_store`. Its text is not repeated, since it can hold a signed URL.
    fn failure(&self, error: &object_store::Error) -> Error {
        use object_store::Error as Failure;
        match error {
            Failure::NotFound { .. } => Error::new(
                ErrorKind::NotFound,
                "there is no such bucket, or the server has dropped the upload",
            )
            .hint("create the bucket, or correct its name"),
            Failure::PermissionDenied { .. } | Failure::Unauthenticated { .. } => {
                Error::new(ErrorKind::Permission, "the server refuses to write the object").hint(self.advice)
            }
            _ if is_of_the_network(error) => {
                Error::new(ErrorKind::Network, "the connection to the object store failed")
            }
            _ => Error::new(ErrorKind::Server, "the object store did not accept the object")
                .hint("check that the bucket accepts multipart uploads, and that the region is right"),
        }
    }
}

/// True if no answer came.
fn is_of_the_network(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<object_store::client::HttpError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn too_late(patience: Duration) -> Error {
    let message = format!("the object store did not answer within {} s", patience.as_secs());
    Error::new(ErrorKind::Timeout, message)
}

fn lost() -> Error {
    Error::new(ErrorKind::Cancelled, "the upload has ended")
}

/// Waits for work on the threads of the runtime, from any other thread.
fn wait<T: Send + 'static>(
    runtime: &Handle,
    patience: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = channel();
    let task = runtime.spawn(async move {
        // Fails only if nothing waits any more.
        let _ = sender.send(work.await);
    });
    receiver.recv_timeout(patience).map_err(|_| {
        task.abort();
        too_late(patience)
    })
}

impl Sink for Upload {
    fn url(&self) -> &str {
        &self.destination.name
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        let ready = self.parts.write(&piece).map_err(|error| error.url(&self.destination.name))?;
        ready.into_iter().try_for_each(|part| self.send(part))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let left = std::mem::take(&mut self.parts).finish();
        left.into_iter().try_for_each(|part| self.send(part))?;
        while self.waiting > 0 {
            self.receive()?;
        }
        let parts = std::mem::take(&mut self.done).into_values().collect();
        let destination = Arc::clone(&self.destination);
        let end = async move {
            destination.store.complete_multipart(&destination.path, &destination.id, parts).await
        };
        let ended = wait(&self.runtime, END, end)
            .and_then(|end| end.map_err(|error| self.destination.failure(&error)));
        ended.map_err(|error| self.failed(error))?;
        self.ended = true;
        Ok(())
    }

    fn take_up(&mut self, job: u64) -> Result<Leftover> {
        let Some(path) = self.journal.clone() else { return Ok(Leftover::Never) };
        if !upload_journal::make_directory(&path) {
            return Ok(Leftover::Never);
        }
        let mut left = Leftover::Nothing;
        match Journal::take_up(path.clone()) {
            Ok(Some((journal, noted))) => match UploadState::parse(&noted.notes) {
                Some(kept) if noted.job == job => {
                    return Ok(Leftover::Kept { bytes: noted.bytes, notes: self.resume(journal, kept) });
                }
                kept => {
                    kept.into_iter().for_each(|kept| self.abort(kept.id));
                    journal.remove();
                    left = Leftover::Useless(OTHER);
                }
            },
            Ok(None) => {
                upload_journal::forget(&path);
                left = Leftover::Useless(DAMAGED);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Ok(Leftover::Never),
        }
        self.keeping = Some(UploadJournal::new(Journal::new(path, job), &self.destination.id));
        Ok(left)
    }

    fn keep(&mut self, bytes: u64, note: &mut Vec<u8>) {
        if let Some(keeping) = &mut self.keeping {
            keeping.keep(bytes, note);
            keeping.settle(&self.done, &self.parts);
        }
    }

    fn leave(mut self: Box<Self>, bytes: u64, mut note: Vec<u8>) -> Option<String> {
        let end = Instant::now() + ABORT;
        self.keep(bytes, &mut note);
        while self.waiting > 0 {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(answer) = self.answers.1.recv_timeout(left) else { break };
            // The error of a part is known already, or the same.
            let _ = self.received(answer);
        }
        let mut keeping = self.keeping.take()?;
        keeping.wait();
        let Some(path) = keeping.path() else {
            keeping.remove();
            return None;
        };
        self.ended = true;
        Some(format!("an unfinished upload, described in {}", path.display()))
    }
}

impl Drop for Upload {
    /// Parts of an abandoned upload are of no use, but can cost money.
    fn drop(&mut self) {
        if let Some(keeping) = self.keeping.take() {
            keeping.remove();
        }
        if self.ended {
            return;
        }
        self.flying.abort_all();
        self.abort(self.destination.id.clone());
    }
}
