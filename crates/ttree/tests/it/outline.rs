//! Outlines of trees' records: written again without a change, every byte is the same.

use crate::corpus::{self, File};
use sapwood_ttree::{BranchChange, Tree, TreeChange, TreeOutline};

#[test]
fn every_record_of_the_corpus_comes_out_as_it_was() {
    let (mut trees, mut refused) = (0, Vec::new());
    for path in corpus::files() {
        let Some(file) = File::open(&path) else { continue };
        for entry in file.trees() {
            let name = format!("{} {}", path.file_name().unwrap().display(), entry.path);
            let (record, streamers, size) = file.record(&entry);
            let class = &entry.key.class_name;
            let tree = Tree::parse(class, &record.payload, record.key_len, size, streamers).unwrap();
            let outline = TreeOutline::parse(class, &record.payload, record.key_len, size, streamers);
            match outline {
                Err(error) => refused.push(format!("{name}: {error}")),
                Ok(outline) => {
                    trees += 1;
                    assert!(outline.unchanged(record.key_len).unwrap() == record.payload, "{name}");
                    let names = outline.branches.iter().map(|branch| &branch.name);
                    assert!(
                        names.take(tree.branches.len()).eq(tree.branches.iter().map(|b| &b.name)),
                        "{name}"
                    );
                    for (own, other) in outline.branches.iter().zip(&tree.branches) {
                        assert_eq!(own.baskets.len(), other.baskets.len(), "{name}: {}", own.name);
                        assert_eq!(own.parent, other.parent, "{name}: {}", own.name);
                    }
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
            let outline =
                TreeOutline::parse(&class, &record.payload, record.key_len, size, streamers).unwrap();
            (outline, streamers.clone(), class)
        };
        let (mut outline, _, class) = parse(&own);
        let (graft, streamers, _) = parse(&other);
        let first = outline.graft(&graft, &streamers).unwrap();
        let names: Vec<String> = outline.branches.iter().map(|branch| branch.name.clone()).collect();
        assert_eq!(names[first..], graft.branches.iter().map(|b| b.name.clone()).collect::<Vec<_>>());
        let kept = |place: usize| place != 1 && place != first;
        // What is in a dropped branch goes with it.
        let mut changes: Vec<Option<BranchChange>> = Vec::new();
        for (place, branch) in outline.branches.iter().enumerate() {
            let inside = branch.parent.is_some_and(|parent| changes[parent].is_none());
            changes.push((kept(place) && !inside).then(BranchChange::default));
        }
        let expected: Vec<&String> =
            names.iter().zip(&changes).filter(|(_, c)| c.is_some()).map(|(n, _)| n).collect();
        let change = TreeChange { entries: 0, branches: changes.clone(), ..TreeChange::default() };
        let record = outline.emit(77, &change).unwrap().into();
        let tree = Tree::parse(&class, &record, 77, 1 << 20, &streamers).unwrap();
        assert_eq!(tree.branches.iter().map(|branch| &branch.name).collect::<Vec<_>>(), expected);
        // Every reference leads to what it led to.
        let again = TreeOutline::parse(&class, &record, 77, 1 << 20, &streamers).unwrap();
        let needs = |outline: &TreeOutline| -> Vec<Vec<String>> {
            let name = |place: &usize| outline.branches[*place].name.clone();
            outline.branches.iter().map(|branch| branch.needs.iter().map(name).collect()).collect()
        };
        let before: Vec<_> =
            needs(&outline).into_iter().zip(&changes).filter(|(_, c)| c.is_some()).map(|(n, _)| n).collect();
        assert_eq!(needs(&again), before);
    }
}
