//! From ranges to requests and back: packs, requests, learns, retries.

use super::answer::{Failure, HttpAnswer, Status, Validators};
use super::header::{range_value, requests, spans};
use super::limits::LARGEST_REQUEST;
use super::remote::{Ask, Remote};
use super::server::Server;
use crate::retry::Retries;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use sapwood_core::{ByteRange, Error, ErrorKind, Result, Segments};
use std::time::Duration;

/// The bytes of all ranges.
pub(super) async fn read(
    remote: &Remote,
    ranges: &[ByteRange],
    version: Version<'_>,
    retries: Retries,
) -> Result<Vec<Bytes>> {
    let known = fetch(remote, &spans(ranges), version, retries).await?;
    let answer = |range: &ByteRange| match range.len {
        0 => Ok(Bytes::new()),
        _ => known.get(*range).ok_or_else(|| other_bytes(*range)),
    };
    ranges.iter().map(answer).collect()
}

/// The version of an object that was opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version<'a> {
    pub(super) validators: &'a Validators,
    pub(super) size: u64,
}

/// Why one answer was not enough.
enum Setback {
    /// The server cannot answer this form of request; that is now remembered, so another form is next.
    Learned,
    /// A failure that may pass.
    Transient(Error, Option<Duration>),
}

/// The bytes of all spans (sorted, apart from each other). Only missing bytes are requested again.
pub(super) async fn fetch(
    remote: &Remote,
    spans: &[ByteRange],
    version: Version<'_>,
    mut retries: Retries,
) -> Result<Segments> {
    let mut known = Segments::default();
    let mut missing = spans.to_vec();
    while !missing.is_empty() {
        let (limits, doubted) = (remote.limits(), remote.server().is_doubted());
        let packed = requests(&missing, limits, LARGEST_REQUEST);
        let mut answers: FuturesUnordered<_> = packed
            .iter()
            .map(|ranges| async move {
                let ask = Ask { ranges, suffix: None, version: Some(version.validators) };
                (ranges, remote.ask(ask).await)
            })
            .collect();
        let mut setback = None;
        while let Some((ranges, answer)) = answers.next().await {
            let shortfall = match answer {
                Ok(answer) => accept(remote, ranges, answer, version, &mut known)?,
                Err(failure) => Some(refusal(remote, ranges, failure, doubted)?),
            };
            setback = shortfall.or(setback);
        }
        drop(answers);
        missing.retain(|span| known.get(*span).is_none());
        match setback {
            Some(Setback::Transient(error, pause)) => retries.pause(error, pause).await?,
            // Each lesson shrinks the limits, so this ends.
            Some(Setback::Learned) if remote.limits() != limits => {}
            _ => match missing.first() {
                Some(&span) => retries.pause(other_bytes(span), None).await?,
                None => break,
            },
        }
    }
    Ok(known)
}

/// Keeps the bytes of an answer. `None` if it was complete.
fn accept(
    remote: &Remote,
    ranges: &[ByteRange],
    answer: HttpAnswer,
    version: Version<'_>,
    known: &mut Segments,
) -> Result<Option<Setback>> {
    let (validators, size) = match &answer {
        HttpAnswer::Parts(parts) => (&parts.validators, parts.parts.iter().find_map(|part| part.total)),
        HttpAnswer::Whole(whole) => (&whole.validators, whole.size),
    };
    if version.validators.differ(validators) || size.is_some_and(|size| size != version.size) {
        return Err(Error::new(ErrorKind::Changed, "the file on the server changed").hint("open it again"));
    }
    let HttpAnswer::Parts(parts) = answer else {
        if ranges.len() > 1 {
            remote.learn(|server| server.learn_not_several(ranges.len()));
            return Ok(Some(Setback::Learned));
        }
        return Err(Error::new(ErrorKind::Server, "the server no longer sends parts of the file"));
    };
    if parts.parts.len() > 1 {
        remote.learn(|server| server.learn_several());
    }
    for part in parts.parts {
        known.insert(part.start, part.bytes);
    }
    let unanswered = ranges.iter().find(|range| known.get(**range).is_none());
    Ok(match (parts.broken, unanswered) {
        (_, None) => None,
        (Some(error), Some(_)) => Some(Setback::Transient(error, None)),
        (None, Some(_)) if ranges.len() > 1 => {
            let answered = ranges.iter().filter(|range| known.get(**range).is_some()).count();
            remote.learn(|server| server.learn_most(answered));
            Some(Setback::Learned)
        }
        (None, Some(range)) => Some(Setback::Transient(other_bytes(*range), None)),
    })
}

/// What to do about a request that failed.
///
/// `again`: an earlier request failed the same way. A server that closes the connection or answers 500 because there
/// are too many ranges does so again; one with a passing problem does not.
fn refusal(remote: &Remote, ranges: &[ByteRange], failure: Failure, again: bool) -> Result<Setback> {
    let several = ranges.len() > 1;
    match &failure {
        Failure::Status(Status { code: 413 | 414 | 431, .. }) if several => {
            let header_bytes = range_value(ranges, None).len();
            remote.learn(|server| server.learn_too_long(header_bytes));
            Ok(Setback::Learned)
        }
        Failure::Status(Status { code: 416, .. }) if several => {
            remote.learn(|server| server.learn_not_several(ranges.len()));
            Ok(Setback::Learned)
        }
        refused if several && (refused.refuses_form() || (again && refused.may_refuse_form())) => {
            remote.learn(|server| server.learn_too_many(ranges.len()));
            Ok(Setback::Learned)
        }
        Failure::Status(Status { code: 416, .. }) => {
            Err(Error::new(ErrorKind::Changed, "the file on the server became shorter").hint("open it again"))
        }
        _ => {
            if several && failure.may_refuse_form() {
                remote.learn(Server::doubt);
            }
            failure.transient().map(|(error, pause)| Setback::Transient(error, pause))
        }
    }
    .map_err(|error| match ranges {
        [range] => error.at(range.start),
        _ => error,
    })
}

fn other_bytes(range: ByteRange) -> Error {
    let message = format!("the server did not send the {} requested bytes", range.len);
    Error::new(ErrorKind::Server, message).at(range.start)
}
