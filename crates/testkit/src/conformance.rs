//! Tests a source against the contract of `sapwood_source::Source`.

use bytes::Bytes;
use futures::future::join_all;
use futures::poll;
use sapwood_core::{ByteRange, Deadline, ErrorKind};
use sapwood_source::Source;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `size` random bytes, the same for each size.
pub fn sample(size: usize) -> Bytes {
    let mut random = fastrand::Rng::with_seed(size as u64);
    let mut bytes = vec![0; size];
    random.fill(&mut bytes);
    bytes.into()
}

/// Checks that a source keeps its contract and returns `content`.
///
/// # Panics
/// If it does not.
pub async fn conformance(source: Arc<dyn Source>, content: &[u8]) {
    assert_eq!(source.identity().size, content.len() as u64, "the identity has the size");
    answers_in_order(&*source, content).await;
    answers_empty_ranges(&*source, content).await;
    answers_many_ranges(&*source, content).await;
    answers_random_ranges(&*source, content).await;
    answers_at_the_same_time(&*source, content).await;
    refuses_beyond_the_end(&*source, content).await;
    keeps_deadlines(&*source, content).await;
    survives_dropped_reads(&*source, content).await;
}

fn range(start: usize, len: usize) -> ByteRange {
    ByteRange { start: start as u64, len: len as u64 }
}

async fn check(source: &dyn Source, content: &[u8], ranges: &[ByteRange]) {
    let outcome = source.read_ranges(ranges, Deadline::after(Duration::from_secs(60))).await;
    assert!(outcome.is_ok(), "reading {} ranges failed: {outcome:?}", ranges.len());
    let answers = outcome.unwrap_or_default();
    assert_eq!(answers.len(), ranges.len(), "one answer for each range");
    for (range, answer) in ranges.iter().zip(&answers) {
        let wanted = &content[range.start as usize..range.end() as usize];
        assert!(answer == wanted, "{range}: {} bytes differ from those of the file", answer.len());
    }
}

async fn answers_in_order(source: &dyn Source, content: &[u8]) {
    let size = content.len();
    let third = size / 3;
    check(source, content, &[range(0, size)]).await;
    check(source, content, &[range(third, third), range(0, third)]).await;
    check(source, content, &[range(0, size), range(third, third / 2), range(0, size), range(third, third)])
        .await;
    if size > 0 {
        check(source, content, &[range(size - 1, 1), range(0, 1), range(size - 1, 1)]).await;
    }
}

async fn answers_empty_ranges(source: &dyn Source, content: &[u8]) {
    let size = content.len();
    check(source, content, &[]).await;
    check(source, content, &[range(0, 0), range(size, 0), range(size / 2, 0), range(0, size / 2)]).await;
}

async fn answers_many_ranges(source: &dyn Source, content: &[u8]) {
    let step = (content.len() / 450).max(1);
    let ranges: Vec<_> = (0..content.len() / step).map(|i| range(i * step, step.div_ceil(2))).collect();
    check(source, content, &ranges).await;
}

async fn answers_random_ranges(source: &dyn Source, content: &[u8]) {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20 {
        let count = random.usize(1..12);
        let random_range = || {
            let start = random.usize(..=content.len());
            range(start, random.usize(..=(content.len() - start).min(50_000)))
        };
        let ranges: Vec<_> = std::iter::repeat_with(random_range).take(count).collect();
        check(source, content, &ranges).await;
    }
}

async fn answers_at_the_same_time(source: &dyn Source, content: &[u8]) {
    let half = content.len() / 2;
    let ranges: Vec<_> = (0..16).map(|i| [range(half / 16 * i, half), range(0, half / 16 * i)]).collect();
    join_all(ranges.iter().map(|ranges| check(source, content, ranges))).await;
}

async fn refuses_beyond_the_end(source: &dyn Source, content: &[u8]) {
    let size = content.len() as u64;
    let url = &source.identity().url;
    let beyond = [(size, 1), (0, size + 1), (size + 1, 0), (size + 1000, 10), (u64::MAX, 2), (1, u64::MAX)];
    for (start, len) in beyond {
        let ranges = [ByteRange { start: 0, len: size.min(1) }, ByteRange { start, len }];
        let outcome = source.read_ranges(&ranges, Deadline::default()).await;
        let error = outcome.err().filter(|error| error.kind() == ErrorKind::Truncated);
        assert!(error.is_some(), "{len} bytes at {start} of {size} must be refused as truncated");
        let place = error.and_then(|error| Some((error.offset()?, error.url_str()?.to_owned())));
        assert_eq!(place, Some((start, url.clone())), "the error names the place");
    }
}

async fn keeps_deadlines(source: &dyn Source, content: &[u8]) {
    let begin = Instant::now();
    let outcome = source.read_ranges(&[range(0, content.len())], Deadline::after(Duration::ZERO)).await;
    let kind = outcome.err().map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::Timeout), "a deadline that has passed is an error");
    assert!(begin.elapsed() < Duration::from_secs(30), "it returns soon after the deadline");
}

async fn survives_dropped_reads(source: &dyn Source, content: &[u8]) {
    let ranges = [range(0, content.len()), range(0, content.len() / 2)];
    for _ in 0..4 {
        let mut read = source.read_ranges(&ranges, Deadline::default());
        let _ = poll!(&mut read);
        tokio::task::yield_now().await;
        drop(read);
    }
    check(source, content, &ranges).await;
}
