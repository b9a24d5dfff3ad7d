//! Every way of reading a tree gives the same values.

use crate::inputs::{MIXED, column, corpus, open, open_distant, readable, trees};
use sapwood::{Column, File, ReadOptions, Tree};
use std::ops::Range;

/// Large enough for every kind of branch, small enough to be fast.
const SMALL: u64 = 150_000;

fn files() -> impl Iterator<Item = (String, Vec<u8>)> {
    corpus(SMALL).into_iter().chain([("mixed.root".to_owned(), MIXED.to_vec())])
}

/// Ranges that split baskets anywhere, some more than once.
fn cuts(entries: u64) -> Vec<Range<u64>> {
    let (tenth, third, rest) = (entries / 10, entries / 3, entries - entries / 3);
    vec![0..tenth, tenth..third, third..third, third..rest.max(third), rest.max(third)..entries]
}

fn joined(parts: &[Column]) -> Column {
    Column::concat(parts.to_vec()).unwrap()
}

fn for_each_column(work: impl Fn(&File, &Tree, usize, &Column)) {
    for (_, content) in files() {
        let Ok(file) = open(&content) else { continue };
        for tree in trees(&file) {
            for branch in readable(&tree) {
                // Branches that only their data show to be unreadable are checked by the test of the corpus.
                let Ok(whole) = column(&tree, branch, 0..tree.entries()) else { continue };
                work(&file, &tree, branch, &whole);
            }
        }
    }
}

#[test]
fn reading_in_parts_gives_what_reading_at_once_gives() {
    for_each_column(|_, tree, branch, whole| {
        let parts = cuts(tree.entries()).into_iter().map(|range| column(tree, branch, range).unwrap());
        assert_eq!(
            &joined(&parts.collect::<Vec<_>>()),
            whole,
            "{}",
            tree.ttree().unwrap().branches()[branch].path
        );
    });
}

#[test]
fn a_distant_file_and_scans_give_the_same() {
    for (name, content) in files() {
        let (Ok(near), Ok(far)) = (open(&content), open_distant(&content)) else { continue };
        for (near, far) in trees(&near).into_iter().zip(trees(&far)) {
            let mut branches = readable(&near);
            branches.retain(|branch| column(&near, *branch, 0..near.entries()).is_ok());
            let options = ReadOptions { threads: Some(2) };
            let expected = near.read(&branches, 0..near.entries(), &options, call!()).unwrap();
            let read = far.read(&branches, 0..far.entries(), &options, call!()).unwrap();
            assert_eq!(read, expected, "{name}");
            for tree in [&near, &far] {
                let ranges = cuts(tree.entries());
                let mut scan = tree.scan(&branches, ranges, &options, call!()).unwrap();
                let mut parts = vec![Vec::new(); branches.len()];
                while let Some(columns) = scan.next(call!()) {
                    for (part, column) in parts.iter_mut().zip(columns.unwrap()) {
                        part.push(column);
                    }
                }
                for (part, expected) in parts.iter().zip(&expected) {
                    assert_eq!(&joined(part), expected, "{name}");
                }
            }
        }
    }
}
