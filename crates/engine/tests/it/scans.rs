//! The background work of a scan.

use crate::inputs::{MIXED, open, readable, trees};
use sapwood::{Call, Deadline, ErrorKind, File, ReadOptions, Scan, Tree};
use sapwood_source::{DelayedSource, MemorySource};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const STEPS: u64 = 4;

fn scan(tree: &Tree, threads: usize) -> Scan {
    let ranges = (0..STEPS).map(|step| step * tree.entries() / STEPS..(step + 1) * tree.entries() / STEPS);
    let options = ReadOptions { threads: Some(threads) };
    tree.scan(&readable(tree)[..1], ranges.collect(), &options, call!()).unwrap()
}

/// Whether this many bytes are decoded within `patience`.
fn decodes(tree: &Tree, bytes: u64, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if tree.file().counters().decompressed_bytes.get() >= bytes {
            return true;
        }
        sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn the_next_range_is_decoded_before_it_is_asked_for_if_there_is_more_than_one_thread() {
    let file = open(MIXED).unwrap();
    let tree = trees(&file).remove(0);
    let (mut one, mut sums) = (scan(&tree, 1), Vec::new());
    while let Some(columns) = one.next(call!()) {
        columns.unwrap();
        sums.push(tree.file().counters().decompressed_bytes.get());
        assert!(!decodes(&tree, sums[sums.len() - 1] + 1, Duration::from_millis(100)));
    }
    assert!(sums.is_sorted_by(|a, b| a < b) && sums.len() as u64 == STEPS, "{sums:?}");
    let all = sums[sums.len() - 1];
    let mut two = scan(&tree, 2);
    assert!(!decodes(&tree, all + 1, Duration::from_millis(100)));
    for next in 1..=sums.len() {
        two.next(call!()).unwrap().unwrap();
        assert!(decodes(&tree, all + sums[next.min(sums.len() - 1)], Duration::from_secs(60)));
    }
    assert!(two.next(call!()).is_none());
    assert_eq!(tree.file().counters().decompressed_bytes.get(), 2 * all);
}

/// A file whose answers take this long.
fn slow(round_trip: Duration) -> File {
    let source = MemorySource::named("slow.root", None, MIXED.to_vec());
    let slow = DelayedSource::new(Arc::new(source), round_trip, None);
    File::from_source(Arc::new(slow), call!()).unwrap()
}

#[test]
fn who_waits_for_a_range_that_has_begun_can_be_interrupted() {
    let file = slow(Duration::from_millis(500));
    let tree = trees(&file).remove(0);
    let mut scan = scan(&tree, 2);
    scan.next(call!()).unwrap().unwrap();
    let error = scan.next(&mut Call::new(Deadline::default(), &mut || true)).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(scan.next(call!()).is_none());
}
