//! The conformance suite of tables, on trees in files and on a dataset made of one.

use crate::datasets::tree_of_dataset;
use crate::inputs::{MIXED, column, corpus, open, readable, trees};
use sapwood::Tree;
use sapwood_testkit::table::{Subject, check, check_cached};

/// Most branches of a tree to check: those with the most baskets.
const BRANCHES: usize = 6;
/// Most entries of a tree to check.
const ENTRIES: u64 = 3000;

/// A tree, and some of its branches, read whole from memory.
fn subject(name: &str, tree: &Tree) -> Subject {
    let mut branches = readable(tree);
    branches.sort_by_key(|branch| std::cmp::Reverse(tree.ttree().unwrap().branches()[*branch].baskets.len()));
    let mut columns = Vec::new();
    for branch in branches {
        // Branches that only their data show to be unreadable are checked by the test of the corpus.
        if let Ok(whole) = column(tree, branch, 0..tree.entries()) {
            columns.push((branch, whole));
        }
        if columns.len() == BRANCHES {
            break;
        }
    }
    let name = format!("{name}: {}", tree.path());
    Subject { name, table: tree.table(), columns, checksums: false, decorate: None }
}

fn check_file(name: &str, content: &[u8]) {
    let file = open(content).unwrap();
    for tree in trees(&file).iter().filter(|tree| tree.entries() <= ENTRIES) {
        check(&subject(name, tree));
    }
}

#[test]
fn a_tree_of_many_kinds_of_branches_keeps_the_contract() {
    check_file("mixed.root", MIXED);
}

#[test]
fn objects_that_count_their_items_keep_the_contract() {
    check_file("counted.root", include_bytes!("../../../../tests/data/trees/counted.root"));
    check_file("members.root", include_bytes!("../../../../tests/data/trees/members.root"));
}

#[test]
fn trees_of_the_corpus_keep_the_contract() {
    for (name, content) in corpus(60_000).into_iter().step_by(9) {
        if open(&content).is_ok() {
            check_file(&name, &content);
        }
    }
}

#[test]
fn a_dataset_keeps_the_contract() {
    for url in ["memory:near", "memory://far"] {
        check(&subject(url, &tree_of_dataset(url)));
    }
}

#[test]
fn trees_with_a_cache_keep_the_contract() {
    for content in [MIXED, include_bytes!("../../../../tests/data/trees/members.root")] {
        let file = open(content).unwrap();
        trees(&file).iter().for_each(|tree| check_cached(subject("with a cache", tree)));
    }
}
