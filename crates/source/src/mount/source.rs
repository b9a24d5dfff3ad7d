//! Reads a file of a network mount in threads that can be left.

use super::Mount;
use crate::accounting::RequestAccounting;
use crate::ends::{tail_at, with_ends};
use crate::{CostModel, Identity, LocalSource, OpenedSource, Source, SourceOptions};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What reads cost before the link is measured. The ranges of a request are announced to the kernel together, and then
/// copied one after the other; several requests are in flight because not every file system reads ahead.
const COST: CostModel = CostModel {
    gap: 64 << 10,
    largest_request: 4 << 20,
    ranges_per_request: 8,
    concurrency: 16,
    immediate: false,
    tied: false,
    deals_out: false,
};

/// How long before the deadline a read ends, so that it can report why.
const MARGIN: Duration = Duration::from_millis(200);

/// Opens a file on a network mount.
///
/// # Errors
/// `NotFound`, `Permission`, `Usage` if it is a directory, `Timeout`, otherwise `Io`.
pub(crate) async fn open(path: PathBuf, mount: Mount, options: &SourceOptions) -> Result<OpenedSource> {
    let place = Place { url: path.display().to_string(), mount };
    let begin = Instant::now();
    let page_cache = options.page_cache;
    let open = move || Ok(LocalSource::open(path)?.with_page_cache(page_cache));
    let file = place.in_thread(options.deadline, open).await?;
    let round_trip = begin.elapsed();
    let accounting = RequestAccounting::new(Arc::clone(&options.counters), Some(place.server()));
    let source = MountedSource { file: Arc::new(file), place, round_trip, accounting };
    with_ends(source, tail_at(round_trip, options.tail_size), options.deadline).await
}

/// Where a file is, for errors and reports.
#[derive(Debug, Clone)]
struct Place {
    url: String,
    mount: Mount,
}

impl Place {
    /// The type of the file system and where it is mounted: reads there are measured together.
    fn server(&self) -> String {
        let Mount { kind, place } = &self.mount;
        format!("{kind}:{}", place.display())
    }

    /// Runs what may hang in another thread, and leaves it there when the deadline passes.
    async fn in_thread<T: Send + 'static>(
        &self,
        deadline: Deadline,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let thread = tokio::task::spawn_blocking(work);
        let now = Instant::now();
        let left = deadline.instant().saturating_duration_since(now);
        let end = now + left.saturating_sub(MARGIN.min(left / 10));
        match tokio::time::timeout_at(end.into(), thread).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::new(ErrorKind::Io, "the thread that reads the file failed")
                .caused_by(error)
                .url(&self.url)),
            Err(_) => {
                let Mount { kind, place } = &self.mount;
                let message = format!(
                    "the deadline passed before the file system at '{}' ({kind}) answered",
                    place.display()
                );
                Err(Error::new(ErrorKind::Timeout, message)
                    .url(&self.url)
                    .hint("check whether 'ls' works there, or read the file by its URL instead"))
            }
        }
    }
}

/// A file on a network mount.
#[derive(Debug)]
struct MountedSource {
    file: Arc<LocalSource>,
    place: Place,
    round_trip: Duration,
    accounting: RequestAccounting,
}

impl Source for MountedSource {
    fn identity(&self) -> &Identity {
        self.file.identity()
    }

    fn cost_model(&self) -> CostModel {
        COST
    }

    fn server(&self) -> Option<String> {
        Some(self.place.server())
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.round_trip)
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let (file, ranges) = (Arc::clone(&self.file), ranges.to_vec());
            let wait = self.accounting.request(ranges.len());
            let answers = self.place.in_thread(deadline, move || {
                file.will_need(&ranges);
                file.read(&ranges, deadline)
            });
            let answers = answers.await;
            self.accounting.answered(wait);
            let answers = answers?;
            self.accounting.received(answers.iter().map(Bytes::len).sum());
            Ok(answers)
        })
    }
}
