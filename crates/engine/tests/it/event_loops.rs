//! Loops over the events of many files.

use crate::inputs::{MIXED, column, open, trees};
use sapwood::{Column, ErrorKind, EventLoop, EventLoopOptions, OpenOptions};
use sapwood_testkit::TestDirectory;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The entries of mixed.root.
const ENTRIES: u64 = 500;

/// Copies of mixed.root, and their paths.
fn copies(count: usize) -> (TestDirectory, Vec<String>) {
    let directory = TestDirectory::new();
    let paths = (0..count).map(|number| directory.file(&format!("{number}.root"), MIXED)).collect();
    (directory, paths)
}

fn looping(paths: &[String], columns: &[&str], files_ahead: usize) -> EventLoop {
    let options = EventLoopOptions { files_ahead, ..EventLoopOptions::default() };
    EventLoop::new(paths, "tree", columns.iter().copied(), options)
}

/// A column of the one file, read at once.
fn whole(name: &str) -> Column {
    let tree = trees(&open(MIXED).unwrap()).remove(0);
    column(&tree, tree.find_branch(name).unwrap(), 0..tree.entries()).unwrap()
}

#[test]
fn a_loop_gives_every_event_of_every_file_once_and_in_order() {
    let (_directory, paths) = copies(5);
    let (numbers, jagged) = (whole("number"), whole("jagged"));
    let offsets: Vec<usize> = jagged.buffers[0].view::<i64>().iter().map(|edge| *edge as usize).collect();
    for files_ahead in [0, 1, 9] {
        let mut events = looping(&paths, &["number", "jagged"], files_ahead);
        let mut seen = Vec::new();
        while let Some(chunk) = events.next(call!()).unwrap() {
            let (number, lists) =
                (chunk.numbers::<i32>("number").unwrap(), chunk.lists::<f32>("jagged").unwrap());
            assert_eq!(lists.iter().count(), chunk.len());
            for event in 0..chunk.len() {
                let entry = chunk.entries().start as usize + event;
                assert_eq!(number[event], numbers.buffers[0].view::<i32>()[entry]);
                assert_eq!(lists[event], jagged.buffers[1].view::<f32>()[offsets[entry]..offsets[entry + 1]]);
                seen.push((chunk.tree().file().url().to_owned(), entry as u64));
            }
        }
        assert!(events.next(call!()).unwrap().is_none());
        let all = paths.iter().flat_map(|path| (0..ENTRIES).map(move |entry| (path.clone(), entry)));
        assert!(seen.into_iter().eq(all), "{files_ahead} files ahead");
    }
}

#[test]
fn arrays_booleans_and_text_are_lists_and_numbers() {
    let (_directory, paths) = copies(1);
    let names = ["fixed", "pairs", "flag", "text", "count"];
    let mut events = looping(&paths, &names, 1);
    let mut entry = 0;
    while let Some(chunk) = events.next(call!()).unwrap() {
        let (fixed, pairs) = (chunk.lists::<f64>("fixed").unwrap(), chunk.lists::<f32>("pairs").unwrap());
        let (flag, text) = (chunk.numbers::<u8>("flag").unwrap(), chunk.lists::<u8>("text").unwrap());
        let count = chunk.numbers::<i32>("count").unwrap();
        assert_eq!(fixed.values().len(), 6 * fixed.len());
        for event in 0..chunk.len() {
            assert_eq!((fixed[event].len(), fixed[event][5]), (6, entry as f64 + 5.0 / 8.0));
            assert_eq!(pairs[event].len(), 2 * count[event] as usize);
            assert_eq!(flag[event], u8::from(entry % 3 == 0));
            assert_eq!(text[event], *format!("entry {entry}").repeat(entry % 5).as_bytes());
            entry += 1;
        }
        assert!(fixed.get(chunk.len()).is_none() && pairs.get(chunk.len()).is_none());
    }
    assert_eq!(entry as u64, ENTRIES);
}

#[test]
#[should_panic(expected = "there is no list 500 among 500")]
fn there_is_no_list_beyond_the_events_of_a_chunk() {
    let (_directory, paths) = copies(1);
    let chunk = looping(&paths, &["fixed"], 0).next(call!()).unwrap().unwrap();
    // There are more values than events.
    let lists = chunk.lists::<f64>("fixed").unwrap();
    assert!(lists.values().len() > chunk.len());
    let _ = &lists[chunk.len()];
}

#[test]
fn a_column_of_another_type_is_named_with_its_type() {
    let (_directory, paths) = copies(1);
    let chunk = looping(&paths, &["number", "nested"], 0).next(call!()).unwrap().unwrap();
    for (error, said) in [
        (chunk.numbers::<f32>("number").unwrap_err(), "'number' does not hold numbers of f32: it is int"),
        (chunk.lists::<i32>("number").unwrap_err(), "'number' does not hold lists of i32"),
        (chunk.lists::<i16>("nested").unwrap_err(), "'nested' does not hold lists of i16"),
        (chunk.numbers::<i32>("count").unwrap_err(), "'count' is not a column of this loop"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains(said), "{error}");
    }
    let error = looping(&paths, &["number", "gone"], 0).next(call!()).unwrap_err();
    assert_eq!((error.kind(), error.branch_name()), (ErrorKind::Missing, Some("gone")));
    assert_eq!(error.url_str(), Some(paths[0].as_str()));
}

#[test]
fn an_error_ends_its_file_and_the_loop_can_go_on() {
    let (directory, mut paths) = copies(3);
    paths[1] = directory.file("not.root", "not a file of ROOT");
    let mut events = looping(&paths, &["number"], 3);
    let (mut entries, mut failed) = (0, Vec::new());
    loop {
        match events.next(call!()) {
            Ok(Some(chunk)) => entries += chunk.len() as u64,
            Ok(None) => break,
            Err(error) => failed.push((error.kind(), error.url_str().map(str::to_owned))),
        }
    }
    assert_eq!(failed, [(ErrorKind::NotRoot, Some(paths[1].clone()))]);
    assert_eq!(entries, 2 * ENTRIES);
}

#[test]
fn files_ahead_are_read_while_the_caller_works() {
    let (_directory, paths) = copies(3);
    for (files_ahead, expected) in [(0, 1), (1, 2), (2, 3)] {
        let open = OpenOptions::default();
        let counters = Arc::clone(&open.source.counters);
        let options = EventLoopOptions { open, files_ahead, ..EventLoopOptions::default() };
        let mut events = EventLoop::new(&paths, "tree", ["number"], options);
        let chunk = events.next(call!()).unwrap().unwrap();
        // The file is so small that it is one chunk.
        assert_eq!(chunk.entries(), 0..ENTRIES);
        let each = whole("number").byte_count() as u64;
        let until = Instant::now() + Duration::from_secs(60);
        while counters.decompressed_bytes.get() < expected * each && Instant::now() < until {
            sleep(Duration::from_millis(2));
        }
        sleep(Duration::from_millis(100));
        let read = counters.decompressed_bytes.get();
        assert!(read >= expected * each && read < (expected + 1) * each, "{files_ahead}: {read} of {each}");
    }
}
