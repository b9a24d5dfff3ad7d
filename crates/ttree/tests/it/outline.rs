//! Outlines of tree records: writing one without changes gives the same bytes.

use crate::corpus::{self, File};
use sapwood_ttree::{Branch, BranchChange, TTree, TreeChange, TreeOutline};

#[test]
fn every_record_of_the_corpus_comes_out_as_it_was() {
    let (mut trees, mut refused) = (0, Vec::new());
    for path in corpus::files() {
        let Some(file) = File::open(&path) else { continue };
        for entry in file.trees() {
            let name = format!("{} {}", path.file_name().unwrap().display(), entry.path);
            let (record, streamers, size) = file.record(&entry);
            let class = &entry.key.class_name;
            let tree = TTree::parse(class, &record.payload, record.key_len, size, streamers).unwrap();
            let outline = TreeOutline::parse(class, &record.payload, record.key_len, size, streamers);
            match outline {
                Err(error) => refused.push(format!("{name}: {error}")),
                Ok((outlined, outline)) => {
                    trees += 1;
                    assert!(outline.unchanged(record.key_len).unwrap() == record.payload, "{name}");
                    assert_eq!(format!("{outlined:?}"), format!("{tree:?}"), "{name}");
                    assert_eq!(outline.branches.len(), tree.stored_branches().count(), "{name}");
                }
            }
        }
    }
    eprintln!("{trees} trees came out as they were");
    assert!(refused.is_empty(), "{} of {} refused: {refused:#?}", refused.len(), trees + refused.len());
}

#[test]
fn grafted_branches_stand_behind_those_of_the_tree() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let open = |name: &str| File::open(&data.join(name)).unwrap();
    for (own, other) in [("trees/main.root", "edm/edm.root"), ("edm/edm.root", "trees/split.root")] {
        let (own, other) = (open(own), open(other));
        let parse = |file: &File| {
            let entry = file.trees().into_iter().next().unwrap();
            let (record, streamers, size) = file.record(&entry);
            let class = entry.key.class_name.clone();
            let parsed =
                TreeOutline::parse(&class, &record.payload, record.key_len, size, streamers).unwrap();
            (parsed, streamers.clone(), class)
        };
        let ((own, mut outline), _, class) = parse(&own);
        let ((other, graft), streamers, _) = parse(&other);
        let first = outline.graft(&graft, &streamers).unwrap();
        assert_eq!(first, own.stored_branches().count());
        let branches: Vec<&Branch> = own.stored_branches().chain(other.stored_branches()).collect();
        assert_eq!(outline.branches.len(), branches.len());
        // What is in a dropped branch goes with it.
        let mut changes: Vec<Option<BranchChange>> = Vec::new();
        for (place, branch) in branches.iter().enumerate() {
            let start = if place < first { 0 } else { first };
            let inside = branch.parent.is_some_and(|parent| changes[start + parent].is_none());
            changes.push((place != 1 && place != first && !inside).then(BranchChange::default));
        }
        let names =
            |branches: &[&Branch]| branches.iter().map(|branch| branch.name.clone()).collect::<Vec<_>>();
        let left: Vec<&Branch> =
            branches.iter().zip(&changes).filter(|(_, c)| c.is_some()).map(|(b, _)| *b).collect();
        let change = TreeChange { entries: 0, branches: changes.clone(), ..TreeChange::default() };
        let record = outline.emit(77, &change).unwrap().into();
        let tree = TTree::parse(&class, &record, 77, 1 << 20, &streamers).unwrap();
        assert_eq!(names(&tree.branches.iter().collect::<Vec<_>>()), names(&left));
        // Every reference leads to what it led to.
        let counters = |tree: &TTree| -> Vec<Vec<String>> {
            let name = |index| tree.stored_branch(index).unwrap().name.clone();
            tree.stored_branches().map(|branch| branch.counters().map(name).collect()).collect()
        };
        let before = counters(&own).into_iter().chain(counters(&other)).zip(&changes);
        let before: Vec<_> = before.filter(|(_, c)| c.is_some()).map(|(names, _)| names).collect();
        assert_eq!(counters(&tree), before);
    }
}
