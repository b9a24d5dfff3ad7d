//! A thousand random sequences of faults: always the right data, or a typed error by the deadline.

use super::model::{Manner, SIZE, Server, content, open, within};
use sapwood_core::{ByteRange, ErrorKind};
use sapwood_fetch::replicas::ReplicaReadOptions;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A small generator of random numbers, always the same ones.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn manner(&mut self) -> Manner {
        match self.below(9) {
            0 => Manner::Fails(ErrorKind::Network),
            1 => Manner::Fails(ErrorKind::Server),
            2 => Manner::Fails(ErrorKind::Timeout),
            3 => Manner::Hangs,
            4 => Manner::Slow(0.001),
            5 => Manner::Short,
            6 => Manner::Few,
            _ => Manner::Well,
        }
    }
}

async fn one(seed: u64) {
    let mut random = Random(seed);
    let servers: Vec<_> = (0..4)
        .map(|i| {
            let (latency, bandwidth) = (1 + random.below(200), 1.0 + random.below(50) as f64);
            let other = i > 0 && random.below(8) == 0;
            Server::with("s", latency, bandwidth, if other { different() } else { content(0) })
        })
        .collect();
    let right: Vec<_> = servers.iter().filter(|server| server.is_right()).cloned().collect();
    let Ok((source, counters)) = open(&servers, ReplicaReadOptions::default(), within(60)).await else {
        return;
    };
    let seconds = 30 + random.below(100);
    let faults = tokio::spawn(misbehave(servers.clone(), Random(seed ^ 0xabcd), seconds));
    for _ in 0..3 {
        let ranges: Vec<_> = (0..1 + random.below(5))
            .map(|_| {
                let start = random.below(SIZE - (3 << 20));
                ByteRange { start, len: random.below(3 << 20) }
            })
            .collect();
        let begin = Instant::now();
        let answers = source.read_ranges(&ranges, within(seconds)).await;
        let took = begin.elapsed();
        assert!(took <= Duration::from_secs(seconds), "{seed}: {took:?} of {seconds} s");
        let log = || counters.events.entries();
        match answers {
            Ok(answers) => {
                let expected = ranges.iter().map(|r| content(0).slice(r.start as usize..r.end() as usize));
                assert!(answers.into_iter().eq(expected), "{seed}: wrong data");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Timeout, "{seed}: {error}, {:?}", log());
            }
        }
    }
    faults.abort();
    // One that answers is found, whatever was before.
    right.iter().skip(1).for_each(|server| server.behave(Manner::Hangs));
    right[0].behave(Manner::Well);
    let range = [ByteRange { start: 1000, len: 100_000 }];
    let answers = source.read_ranges(&range, within(1000)).await;
    let expected = content(0).slice(1000..101_000);
    let log = counters.events.entries();
    assert_eq!(answers.map_err(|error| format!("{seed}: {error}, {log:?}")), Ok(vec![expected]));
}

/// Changes the manners of the servers at random moments.
async fn misbehave(servers: Vec<Arc<Server>>, mut random: Random, seconds: u64) {
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(random.below(seconds * 100))).await;
        let which = random.below(servers.len() as u64) as usize;
        let manner = random.manner();
        servers[which].behave(manner);
    }
}

fn different() -> bytes::Bytes {
    static DIFFERENT: std::sync::OnceLock<bytes::Bytes> = std::sync::OnceLock::new();
    DIFFERENT.get_or_init(|| content(1)).clone()
}

#[tokio::test(start_paused = true)]
async fn random_faults_end_with_the_right_data_or_a_typed_error_by_the_deadline() {
    for seed in 0..1000 {
        one(seed).await;
    }
}
