//! The trees of all files of the corpus: entries, branches, baskets.

use crate::corpus::{File, files, oracle};
use sapwood_ttree::{Branch, BranchKind, TTree};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_trees_of_the_corpus() {
    for path in files() {
        let expected = oracle(&path);
        let Some(file) = File::open(&path) else {
            assert!(expected.is_null(), "{} does not open", path.display());
            continue;
        };
        let mut met = 0;
        for entry in file.trees() {
            let tree = file.tree(&entry).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            check_consistency(&path, &tree);
            let expected = &expected["trees"][&entry.path];
            if expected["cycle"] == entry.key.cycle {
                met += 1;
                check_against(&path, &tree, expected);
            }
        }
        let trees = expected["trees"].as_object().into_iter().flat_map(|trees| trees.values());
        assert_eq!(met, trees.filter(|tree| tree["kind"] == "TTree").count(), "trees of {}", path.display());
    }
}

/// What the corpus says about a tree.
fn check_against(path: &Path, tree: &TTree, expected: &Value) {
    let at = format!("{} of {}", tree.name, path.display());
    assert_eq!(tree.class_name, expected["class"], "class of {at}");
    assert_count(tree.entries, &expected["entries"], &at);
    let names: BTreeSet<&str> = tree.branches.iter().map(|branch| branch.path.as_str()).collect();
    let expected_names: BTreeSet<&str> =
        expected["branches"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, expected_names, "branches of {at}");
    for branch in &tree.branches {
        let expected = &expected["branches"][&branch.path];
        let at = format!("{} of {at}", branch.path);
        assert_count(branch.entries, &expected["entries"], &at);
        let class = match &branch.kind {
            BranchKind::Plain => "TBranch",
            BranchKind::Element(_) => "TBranchElement",
            BranchKind::Object { .. } => "TBranchObject",
            BranchKind::Other(class) => class,
        };
        assert!(expected["cls"].is_null() || expected["cls"] == class, "{at}: {class}");
    }
}

/// Compares a count with what the corpus says, if it says anything: old files store counts as `double`.
fn assert_count(ours: u64, said: &Value, at: &str) {
    assert!(said.is_null() || said.as_f64() == Some(ours as f64), "{at}: {ours} is not {said}");
}

/// What must hold in any tree of a sound file.
fn check_consistency(path: &Path, tree: &TTree) {
    assert!(tree.cluster_starts.is_sorted_by(|a, b| a < b), "clusters of {}", tree.name);
    assert!(tree.cluster_starts.last().is_none_or(|last| *last == tree.entries));
    for (index, branch) in tree.branches.iter().enumerate() {
        let at = format!("{} of {} of {}", branch.path, tree.name, path.display());
        assert_eq!(branch.broken, None, "{at}");
        assert!(branch.parent.is_none_or(|parent| tree.branches[parent].children.contains(&index)), "{at}");
        assert!(branch.children.iter().all(|&child| tree.branches[child].parent == Some(index)), "{at}");
        let counts = branch.leaves.iter().filter_map(|leaf| leaf.count);
        assert!(counts.clone().all(|(branch, leaf)| leaf < tree.branches[branch].leaves.len()), "{at}");
        if let BranchKind::Element(element) = &branch.kind
            && matches!(element.element_type, 31 | 41)
        {
            assert!(element.branch_count.is_some(), "{at} has no count branch");
        }
        check_baskets(&at, branch);
    }
}

fn check_baskets(at: &str, branch: &Branch) {
    let mut next = branch.first_entry;
    for basket in branch.baskets.iter() {
        assert_eq!(basket.first_entry, next, "{at}");
        assert!(basket.entries > 0 && (basket.len > 0) == basket.embedded.is_none(), "{at}");
        next += basket.entries;
    }
    if !branch.baskets.is_empty() {
        assert_eq!(next - branch.first_entry, branch.entries, "{at}");
    }
}
