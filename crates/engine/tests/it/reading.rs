//! Values, usage errors, counters, cancellation.

use crate::inputs::{MIXED, column, open, open_distant, readable};
use sapwood::{Deadline, ErrorKind, ReadOptions, Tree};
use std::time::Duration;

fn mixed() -> Tree {
    open(MIXED).unwrap().tree("tree", None, call!()).unwrap()
}

fn index(tree: &Tree, name: &str) -> usize {
    tree.find_branch(name).unwrap()
}

#[test]
fn numbers_have_the_values_that_were_written() {
    let tree = mixed();
    let numbers = column(&tree, index(&tree, "number"), 0..500).unwrap();
    let expected: Vec<i32> = (0..500).map(|entry| entry * 3 - 100).collect();
    assert_eq!(numbers.buffers[0].view::<i32>(), expected);
    let flags = column(&tree, index(&tree, "flag"), 3..8).unwrap();
    assert_eq!(flags.buffers[0].as_bytes(), [1, 0, 0, 1, 0]);
    let fixed = column(&tree, index(&tree, "fixed"), 499..500).unwrap();
    assert_eq!(fixed.buffers[0].view::<f64>(), [499.0, 499.125, 499.25, 499.375, 499.5, 499.625]);
}

#[test]
fn lists_have_the_lengths_and_values_that_were_written() {
    let tree = mixed();
    let jagged = column(&tree, index(&tree, "jagged"), 0..500).unwrap();
    let lengths: Vec<i64> =
        jagged.buffers[0].view::<i64>().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(lengths, (0..500).map(|entry| entry % 7).collect::<Vec<i64>>());
    let values = jagged.buffers[1].view::<f32>();
    let mut position = 0;
    for entry in 0..500u16 {
        for item in 0..entry % 7 {
            assert_eq!(values[position], f32::from(entry) - f32::from(item) / 4.0);
            position += 1;
        }
    }
    let vector = column(&tree, index(&tree, "vector"), 7..8).unwrap();
    assert_eq!(vector.buffers[1].view::<f32>(), [3.5, 4.5, 5.5]);
}

#[test]
fn strings_and_nested_lists_have_the_values_that_were_written() {
    let tree = mixed();
    let text = column(&tree, index(&tree, "text"), 5..8).unwrap();
    assert_eq!(text.buffers[0].view::<i64>(), [0, 0, 7, 21]);
    assert_eq!(text.buffers[1].as_bytes(), b"entry 6entry 7entry 7");
    let strings = column(&tree, index(&tree, "strings"), 2..4).unwrap();
    assert_eq!(strings.buffers[0].view::<i64>(), [0, 2, 5]);
    assert_eq!(strings.buffers[2].as_bytes(), b"2s23s3ss3");
    let nested = column(&tree, index(&tree, "nested"), 3..4).unwrap();
    assert_eq!(nested.buffers[1].view::<i64>(), [0, 0, 1, 3]);
    assert_eq!(nested.buffers[2].view::<i16>(), [3, 3, 2]);
}

#[test]
fn columns_that_one_branch_counts_share_their_offsets() {
    let tree = mixed();
    let branches = [index(&tree, "jagged"), index(&tree, "number"), index(&tree, "pairs")];
    for tree in [tree, open_distant(MIXED).unwrap().tree("tree", None, call!()).unwrap()] {
        let columns = tree.read(&branches, 0..500, &ReadOptions::default(), call!()).unwrap();
        assert!(std::sync::Arc::ptr_eq(&columns[0].buffers[0], &columns[2].buffers[0]));
        assert_eq!(columns[1].buffers[0].view::<i32>()[0], -100);
        assert_eq!(columns[2].buffers[1].len(), 2 * columns[0].buffers[1].len());
    }
}

#[test]
fn what_makes_no_sense_is_an_error_of_usage() {
    let tree = mixed();
    let usage =
        |result: sapwood::Result<sapwood::Column>| assert_eq!(result.unwrap_err().kind(), ErrorKind::Usage);
    usage(column(&tree, 0, 0..501));
    usage(column(&tree, 0, std::ops::Range { start: 2, end: 1 }));
    usage(column(&tree, 99, 0..1));
    let file = open(MIXED).unwrap();
    let missing = file.tree("trees", None, call!()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Missing);
}

#[test]
fn an_interruption_cancels_the_read() {
    let file = open_distant(MIXED).unwrap();
    let tree = file.tree("tree", None, call!()).unwrap();
    let result = tree.read(
        &readable(&tree),
        0..500,
        &ReadOptions::default(),
        &mut sapwood::Call::new(Deadline::default(), &mut || true),
    );
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_deadline_that_has_passed_is_an_error_that_names_the_file() {
    let file = open_distant(MIXED).unwrap();
    let tree = file.tree("tree", None, call!()).unwrap();
    let mut never = || false;
    let mut late = sapwood::Call::new(Deadline::after(Duration::ZERO), &mut never);
    match tree.read(&readable(&tree), 0..500, &ReadOptions::default(), &mut late) {
        // Bytes in the tail fetched while opening need no request.
        Ok(columns) => assert_eq!(columns[0].length, 500),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Timeout);
            assert_eq!(error.url_str(), Some("distant.root"));
        }
    }
}

#[test]
fn the_counters_say_what_was_read_and_nothing_was_unplanned() {
    let file = open(MIXED).unwrap();
    let tree = file.tree("tree", None, call!()).unwrap();
    let columns = tree.read(&readable(&tree), 0..500, &ReadOptions::default(), call!()).unwrap();
    let counters = file.counters().snapshot();
    let baskets: usize =
        readable(&tree).iter().map(|index| tree.ttree().unwrap().branches()[*index].baskets.len()).sum();
    assert_eq!(counters.baskets, baskets as u64);
    assert_eq!(counters.unplanned_reads, 0);
    assert!(counters.requests > 0 && counters.fetched_bytes >= counters.requests);
    assert_eq!(columns.len(), 10);
}
