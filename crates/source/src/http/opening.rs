//! The first requests: they find the size and read head and tail, in one round trip if possible.
//!
//! A server that is known to answer several ranges gets one request for the head and "the last n bytes". Any other
//! server gets two requests for a single range at the same time, which all servers understand. At first contact a
//! third request for two single bytes goes with them: its answer shows how the server handles several ranges, so that
//! later reads are planned for it. From a server that sends no parts, a small object is read once, as a whole.

use super::access::access;
use super::answer::{Failure, HttpAnswer, PartialAnswer, Status, Validators, WholeObject};
use super::limits::CONCURRENCY_OF_SINGLE_RANGES;
use super::multipart::AnswerPart;
use super::reading::{Version, fetch};
use super::remote::{Ask, Remote};
use super::source::HttpSource;
use super::{client, spare};
use crate::ends::{SHORT_HEAD, head_with, tail_at};
use crate::retry::Retries;
use crate::{Identity, MemorySource, OpenedSource, SourceOptions};
use bytes::Bytes;
use futures::future::{Either, select};
use sapwood_core::{ByteRange, Error, ErrorKind, Result, Segments, redact, server_of};
use sapwood_credentials::Access;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Largest object that is read as a whole from a server that sends no parts.
const LARGEST_WHOLE: u64 = 64 << 20;

/// Largest object that is accepted as a whole if the server sends it instead of two parts: another request would take
/// longer.
const LARGEST_GIFT: u64 = 1 << 20;

/// Two bytes too far apart for one part.
const PROBE: [ByteRange; 2] = [ByteRange { start: 0, len: 1 }, ByteRange { start: SHORT_HEAD - 1, len: 1 }];

/// How long head and tail, once they have arrived, wait for the answer to the probe.
const PATIENCE_WITH_PROBE: Duration = Duration::from_secs(1);

/// The assumed round trip to an object store before its first answer: most are distant, and all are slow to begin.
const IN_STORES: Duration = Duration::from_secs(1);

/// Most round trips until the first answer without a connection: connection, TLS, head or tail.
const FIRST_CONTACT: u32 = 3;

/// Which ranges a server answers, as far as that is known before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeSupport {
    /// Unknown: to be found out.
    Unknown,
    /// One range, or "the last n bytes": an object store.
    OneRange,
    /// One range, but not "the last n bytes".
    OneRangeNoSuffix,
}

/// Opens an object on an HTTP server. See [`crate::open`].
pub(crate) async fn open(url: &str, options: &SourceOptions) -> Result<OpenedSource> {
    let name = redact(url);
    let access = access(url, options).map_err(|error| error.url(&name))?;
    open_object(&name, access, RangeSupport::Unknown, options).await
}

/// Opens the object of `access`; `name` names it in messages.
pub(crate) async fn open_object(
    name: &str,
    access: Access,
    manner: RangeSupport,
    options: &SourceOptions,
) -> Result<OpenedSource> {
    let concurrency = match manner {
        RangeSupport::Unknown => CONCURRENCY_OF_SINGLE_RANGES,
        RangeSupport::OneRange | RangeSupport::OneRangeNoSuffix => client::most_connections(),
    };
    let remote = Remote::new(access, server_of(name), concurrency, options);
    if manner != RangeSupport::Unknown {
        remote.learn(|server| server.learn_single());
        remote.learn(|server| server.learn_round_trip(IN_STORES));
    }
    if manner == RangeSupport::OneRangeNoSuffix {
        remote.learn(|server| server.learn_no_suffix());
    }
    let opened =
        tokio::time::timeout_at(options.deadline.instant().into(), open_in_time(remote, name, options));
    let opened = opened.await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, "the deadline passed before the file was open"))
    });
    opened.map_err(|error| error.url(name))
}

async fn open_in_time(remote: Remote, name: &str, options: &SourceOptions) -> Result<OpenedSource> {
    let mut retries = remote.retries(name, options.deadline);
    loop {
        let tail = tail_at(remote.server().round_trip(), options.tail_size);
        let start = Instant::now();
        match spare::beside(remote.way(), begin(&remote, tail)).await {
            Ok(OpeningAnswer::Whole(bytes, validators)) => return Ok(whole(name, bytes, validators)),
            Ok(OpeningAnswer::Parts(parts)) => {
                let first = remote.first_answer().unwrap_or_else(|| start.elapsed());
                remote.learn(|server| server.learn_round_trip(first / FIRST_CONTACT));
                return finish(remote, name, parts, tail, retries).await;
            }
            Err(failure) => {
                let (error, pause) = failure.transient()?;
                retries.pause(error, pause).await?;
            }
        }
    }
}

/// The result of the first requests.
enum OpeningAnswer {
    Parts(PartialAnswer),
    Whole(Bytes, Validators),
}

async fn begin(remote: &Remote, tail: u64) -> Result<OpeningAnswer, Failure> {
    let server = remote.server();
    if tail == 0 {
        return begin_apart(remote, tail).await;
    }
    if !server.is_known() {
        return begin_unknown(remote, tail).await;
    }
    if server.limits().ranges < 2 || !server.has_suffix() {
        return begin_apart(remote, tail).await;
    }
    if let Some(beginning) = begin_together(remote, tail).await? {
        return Ok(beginning);
    }
    let beginning = begin_apart(remote, tail).await?;
    // Only now is it certain that the server refused the form of the request.
    remote.learn(|server| server.learn_single());
    Ok(beginning)
}

/// Requests head and tail separately, and at the same time finds out whether the server answers several ranges.
async fn begin_unknown(remote: &Remote, tail: u64) -> Result<OpeningAnswer, Failure> {
    let beginning = pin!(begin_apart(remote, tail));
    let probe = pin!(answers_several(remote));
    let (beginning, several) = match select(beginning, probe).await {
        Either::Left((Ok(OpeningAnswer::Parts(parts)), probe)) => {
            (OpeningAnswer::Parts(parts), timeout(PATIENCE_WITH_PROBE, probe).await.ok().flatten())
        }
        Either::Left((beginning, _)) => return beginning,
        Either::Right((several, beginning)) => (beginning.await?, several),
    };
    match (several, &beginning) {
        (Some(true), _) => remote.learn(|server| server.learn_several()),
        // A smaller object has no second byte to send.
        (Some(false), OpeningAnswer::Parts(parts)) if is_longer_than(parts, SHORT_HEAD) => {
            remote.learn(|server| server.learn_single());
        }
        _ => {}
    }
    Ok(beginning)
}

/// Whether the server answers several ranges in one request; `None` if the answer does not show it.
async fn answers_several(remote: &Remote) -> Option<bool> {
    match remote.ask(Ask { ranges: &PROBE, suffix: None, version: None }).await {
        Ok(HttpAnswer::Parts(parts)) if parts.parts.len() > 1 => Some(true),
        Ok(HttpAnswer::Parts(PartialAnswer { broken: Some(_), .. })) => None,
        Ok(_) => Some(false),
        Err(failure) => failure.refuses_form().then_some(false),
    }
}

/// Requests head and tail together. `None` if the server seems to refuse requests of that form.
async fn begin_together(remote: &Remote, tail: u64) -> Result<Option<OpeningAnswer>, Failure> {
    let head = [ByteRange { start: 0, len: head_with(tail) }];
    match remote.ask(Ask { ranges: &head, suffix: Some(tail), version: None }).await {
        Ok(HttpAnswer::Parts(parts)) if parts.parts.is_empty() && parts.broken.is_none() => Ok(None),
        Ok(HttpAnswer::Parts(PartialAnswer { parts, broken: Some(error), .. })) if parts.is_empty() => {
            Err(Failure::Network(error))
        }
        Ok(HttpAnswer::Parts(parts)) => {
            if !holds_head_and_tail(&parts, tail) && parts.broken.is_none() {
                remote.learn(|server| server.learn_single());
            }
            Ok(Some(OpeningAnswer::Parts(parts)))
        }
        Ok(HttpAnswer::Whole(whole))
            if whole.refuses_ranges || whole.size.is_some_and(|size| size <= LARGEST_GIFT) =>
        {
            take_whole(remote, whole).await.map(Some)
        }
        Ok(HttpAnswer::Whole(_)) => Ok(None),
        Err(failure) if is_empty_object(&failure) => {
            Ok(Some(OpeningAnswer::Whole(Bytes::new(), Validators::default())))
        }
        Err(failure) if failure.refuses_form() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Requests head and tail separately, or only the head if the size must be known before the tail can be requested.
async fn begin_apart(remote: &Remote, tail_len: u64) -> Result<OpeningAnswer, Failure> {
    let ranges = [ByteRange { start: 0, len: head_with(tail_len) }];
    let head = remote.ask(Ask { ranges: &ranges, suffix: None, version: None });
    let (head, tail) = if tail_len > 0 && remote.server().has_suffix() {
        let tail = remote.ask(Ask { ranges: &[], suffix: Some(tail_len), version: None });
        let (head, tail) = futures::join!(head, tail);
        (head, Some(tail))
    } else {
        (head.await, None)
    };
    let mut beginning = match head {
        Ok(HttpAnswer::Parts(PartialAnswer { broken: Some(error), .. })) => {
            return Err(Failure::Network(error));
        }
        Ok(HttpAnswer::Parts(parts)) => parts,
        Ok(HttpAnswer::Whole(whole)) => return take_whole(remote, whole).await,
        Err(failure) if is_empty_object(&failure) => {
            return Ok(OpeningAnswer::Whole(Bytes::new(), Validators::default()));
        }
        Err(failure) => return Err(failure),
    };
    match tail {
        Some(Ok(HttpAnswer::Parts(tail))) => {
            if beginning.validators.differ(&tail.validators) {
                return Err(Failure::Fatal(Error::new(
                    ErrorKind::Changed,
                    "the file changed while it was opened",
                )));
            }
            beginning.parts.extend(tail.parts);
        }
        // Some servers refuse a tail that is longer than the object.
        Some(refusal) if refuses_form(&refusal) && is_longer_than(&beginning, tail_len) => {
            remote.learn(|server| server.learn_no_suffix());
        }
        // `finish` requests what is missing.
        _ => {}
    }
    Ok(OpeningAnswer::Parts(beginning))
}

async fn take_whole(remote: &Remote, whole: WholeObject) -> Result<OpeningAnswer, Failure> {
    let validators = whole.validators.clone();
    let too_large = || {
        Failure::Fatal(
            Error::unsupported(format!(
                "the server sends no parts of files, and this one is larger than the {} MB that are read as a whole",
                LARGEST_WHOLE >> 20
            ))
            .hint("copy the file to a local disk, or use a server that supports byte ranges"),
        )
    };
    if whole.size.is_some_and(|size| size > LARGEST_WHOLE) {
        return Err(too_large());
    }
    let size = whole.size;
    match remote.take_whole(whole, LARGEST_WHOLE).await {
        Ok(bytes) => Ok(OpeningAnswer::Whole(bytes, validators)),
        Err(Failure::Fatal(_)) if size.is_none() => Err(too_large()),
        Err(failure) => Err(failure),
    }
}

/// True if the server refused to send a part because of the form of the request.
fn refuses_form(answer: &Result<HttpAnswer, Failure>) -> bool {
    match answer {
        Ok(HttpAnswer::Whole(_)) => true,
        Ok(HttpAnswer::Parts(_)) => false,
        Err(failure) => failure.refuses_form(),
    }
}

fn is_longer_than(parts: &PartialAnswer, len: u64) -> bool {
    total(&parts.parts).is_ok_and(|size| size > len)
}

/// An empty object has no range that could be satisfied.
fn is_empty_object(failure: &Failure) -> bool {
    matches!(failure, Failure::Status(Status { code: 416, total: Some(0), .. }))
}

fn whole(name: &str, bytes: Bytes, validators: Validators) -> OpenedSource {
    let mut known = Segments::default();
    known.insert(0, bytes.clone());
    let source = MemorySource::named(name, version_name(&validators), bytes);
    OpenedSource { source: Arc::new(source), known }
}

/// Makes the source, after reading the missing bytes of head and tail.
async fn finish(
    remote: Remote,
    name: &str,
    parts: PartialAnswer,
    tail: u64,
    retries: Retries,
) -> Result<OpenedSource> {
    let size = total(&parts.parts)?;
    let validators = parts.validators;
    let mut known = Segments::default();
    for part in parts.parts {
        known.insert(part.start, part.bytes);
    }
    let wanted = head_and_tail(size, tail);
    let missing: Vec<ByteRange> =
        wanted.into_iter().filter(|range| range.len > 0 && known.get(*range).is_none()).collect();
    let version = Version { validators: &validators, size };
    let spans = super::header::spans(&missing);
    let fetched = fetch(&remote, &spans, version, retries).await?;
    for span in spans {
        known.insert(span.start, fetched.get_from(span.start));
    }
    if let Some(all) = joined(&known, size, tail) {
        known.insert(0, all);
    }
    let identity = Identity { url: name.to_owned(), size, version: version_name(&validators) };
    Ok(OpenedSource { source: Arc::new(HttpSource { identity, validators, remote }), known })
}

/// The size of the object; all parts must agree.
fn total(parts: &[AnswerPart]) -> Result<u64> {
    let mut totals = parts.iter().filter_map(|part| part.total);
    let total = totals
        .next()
        .ok_or_else(|| Error::new(ErrorKind::Server, "the server does not state the size of the file"))?;
    if totals.any(|other| other != total) {
        return Err(Error::new(
            ErrorKind::Server,
            "the server contradicts itself about the size of the file",
        ));
    }
    Ok(total)
}

fn head_and_tail(size: u64, tail: u64) -> [ByteRange; 2] {
    let (head, tail) = (head_with(tail).min(size), tail.min(size));
    [ByteRange { start: 0, len: head }, ByteRange { start: size - tail, len: tail }]
}

fn holds_head_and_tail(parts: &PartialAnswer, tail: u64) -> bool {
    let Ok(size) = total(&parts.parts) else { return false };
    let mut known = Segments::default();
    for part in &parts.parts {
        known.insert(part.start, part.bytes.clone());
    }
    head_and_tail(size, tail).into_iter().all(|range| known.get(range).is_some())
}

/// The whole object, if head and tail overlap or touch but neither is all of it, so that a range across the seam need
/// not be requested again.
fn joined(known: &Segments, size: u64, tail: u64) -> Option<Bytes> {
    let [head, tail] = head_and_tail(size, tail);
    if head.len == size || tail.len == size || head.end() < tail.start {
        return None;
    }
    let rest = ByteRange { start: head.end(), len: tail.end() - head.end() };
    Some([known.get(head)?, known.get(rest)?].concat().into())
}

fn version_name(validators: &Validators) -> Option<String> {
    validators.etag.clone().or_else(|| validators.last_modified.clone())
}
