//! Every source and decorator keeps the contract, the HTTP source with every server behavior.

use super::Zoo;
use sapwood_core::{ByteRange, Counters};
use sapwood_source::{
    CountingSource, DelayedSource, FaultySource, HEAD, LocalSource, MemorySource, Source, TAIL, TracedSource,
    head_with,
};
use sapwood_testkit::{Behaviour, Multipart, RangeBehaviour, Refusal, conformance, sample};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn memory_and_decorators() {
    for size in [0, 1, 2, 100_003] {
        let content = sample(size);
        let memory = || MemorySource::new(content.clone());
        let sources: [Arc<dyn Source>; 5] = [
            Arc::new(memory()),
            Arc::new(CountingSource::new(memory(), Arc::new(Counters::default()))),
            Arc::new(TracedSource::new(memory())),
            Arc::new(DelayedSource::new(memory(), Duration::from_millis(1), Some(1 << 30))),
            Arc::new(FaultySource::new(memory(), [])),
        ];
        for source in sources {
            conformance(source, &content).await;
        }
    }
}

#[tokio::test]
async fn local_files() {
    let directory = super::local::Directory::new("conformance");
    for size in [0, 1, 100_003] {
        let content = sample(size);
        let path = directory.file("f.root", &content);
        conformance(Arc::new(LocalSource::open(path).unwrap()), &content).await;
    }
}

#[tokio::test]
async fn http_by_names() {
    for name in Behaviour::NAMES {
        http(Behaviour::named(name).unwrap()).await;
    }
}

#[tokio::test]
async fn http_multipart_styles() {
    let styles = [
        Multipart { quoted: true, ..Multipart::default() },
        Multipart { no_final_line_end: true, ..Multipart::default() },
        Multipart { reversed: true, ..Multipart::default() },
        Multipart { merged_gap: Some(80), ..Multipart::default() },
    ];
    for multipart in styles {
        http(Behaviour { multipart, ..Behaviour::default() }).await;
    }
}

#[tokio::test]
async fn http_limits() {
    let refusals = [
        Refusal::Status(400),
        Refusal::Status(416),
        Refusal::Status(500),
        Refusal::Close,
        Refusal::Whole,
        Refusal::First,
    ];
    for too_many in refusals {
        for max_ranges in [1, 2, 50] {
            http(Behaviour { max_ranges, too_many, ..Behaviour::default() }).await;
        }
        let ranges = RangeBehaviour::OneElseRefuse(too_many);
        http(Behaviour { ranges, ..Behaviour::default() }).await;
    }
    for header_too_long in [Refusal::Status(431), Refusal::Status(413), Refusal::Status(400), Refusal::Close]
    {
        http(Behaviour { max_header_bytes: 500, header_too_long, ..Behaviour::default() }).await;
    }
}

#[tokio::test]
async fn http_oddities() {
    http(Behaviour { suffix: false, ..Behaviour::default() }).await;
    http(Behaviour { suffix: false, ranges: RangeBehaviour::OneElseWhole, ..Behaviour::default() }).await;
    http(Behaviour { chunked: true, ..Behaviour::default() }).await;
    http(Behaviour { close: true, ..Behaviour::default() }).await;
    http(Behaviour { etag: None, ..Behaviour::default() }).await;
    http(Behaviour { etag: Some("W/\"1\"".to_owned()), ..Behaviour::default() }).await;
    let modified = Some("Sat, 21 Nov 2026 10:00:00 GMT".to_owned());
    http(Behaviour { etag: None, last_modified: modified, ..Behaviour::default() }).await;
    http(Behaviour { chunked: true, ..Behaviour::named("ignore").unwrap() }).await;
}

#[tokio::test]
async fn http_sizes() {
    let tail = 10_000;
    for name in Behaviour::NAMES {
        for size in [0, 1, 2, 4095, 4096, 4097, tail - 1, tail, tail + 1, tail + 4095, tail + 4097, 100_000] {
            let zoo = Zoo::sized(Behaviour::named(name).unwrap(), size).await;
            check(&zoo).await;
        }
    }
}

#[tokio::test]
async fn http_sizes_with_the_default_tail() {
    let both = (HEAD + TAIL) as usize;
    for name in Behaviour::NAMES {
        for size in [4097, HEAD as usize, HEAD as usize + 1, both - 1, both, both + 1] {
            let mut zoo = Zoo::sized(Behaviour::named(name).unwrap(), size).await;
            zoo.options.tail_size = TAIL;
            check(&zoo).await;
        }
    }
}

async fn http(behaviour: Behaviour) {
    let zoo = Zoo::new(behaviour).await;
    check(&zoo).await;
    // Once more, now that the server is known.
    check(&zoo).await;
}

async fn check(zoo: &Zoo) {
    let opened = zoo.open().await.unwrap();
    let size = zoo.content.len() as u64;
    let (head, tail) = (head_with(zoo.options.tail_size).min(size), zoo.options.tail_size.min(size));
    let mut known = vec![ByteRange { start: 0, len: head }, ByteRange { start: size - tail, len: tail }];
    if head + tail >= size {
        known.push(ByteRange { start: 0, len: size });
    }
    for range in known.into_iter().filter(|range| range.len > 0) {
        let bytes = opened.known.get(range).unwrap();
        assert_eq!(bytes, zoo.content[range.start as usize..range.end() as usize]);
    }
    conformance(opened.source, &zoo.content).await;
}
