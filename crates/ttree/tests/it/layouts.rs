//! Records that ROOT wrote with `data/make_trees.py`: every class of branch, undamaged and damaged.

use bytes::Bytes;
use sapwood_core::Result;
use sapwood_tfile::StreamerInfos;
use sapwood_ttree::{Branch, BranchKind, LeafKind, TTree, TreeOutline};

const JAGGED: &[u8] = include_bytes!("../data/jagged.tree");
const EMBEDDED: &[u8] = include_bytes!("../data/embedded.tree");
const SPLIT: &[u8] = include_bytes!("../data/split.tree");
const OLD_STYLE: &[u8] = include_bytes!("../data/old_style.tree");
const NTUPLE: &[u8] = include_bytes!("../data/ntuple.tree");

/// Larger than the files that the records come from.
const FILE_SIZE: u64 = 1 << 20;

fn parse(class: &str, record: &[u8]) -> Result<TTree> {
    let (key_len, payload) = record.split_first_chunk().unwrap();
    let payload = Bytes::copy_from_slice(payload);
    TTree::parse(class, &payload, u32::from_be_bytes(*key_len), FILE_SIZE, &StreamerInfos::default())
}

fn outline(class: &str, record: &[u8]) -> Result<(TTree, TreeOutline)> {
    let (key_len, payload) = record.split_first_chunk().unwrap();
    let payload = Bytes::copy_from_slice(payload);
    TreeOutline::parse(class, &payload, u32::from_be_bytes(*key_len), FILE_SIZE, &StreamerInfos::default())
}

fn branch<'a>(tree: &'a TTree, path: &str) -> &'a Branch {
    tree.branches.iter().find(|branch| branch.path == path).unwrap_or_else(|| panic!("there is no {path}"))
}

fn paths(tree: &TTree) -> Vec<&str> {
    tree.branches.iter().map(|branch| branch.path.as_str()).collect()
}

#[test]
fn leaves_counts_clusters_aliases() {
    let tree = parse("TTree", JAGGED).unwrap();
    assert_eq!((tree.name.as_str(), tree.title.as_str(), tree.entries), ("jagged", "Jagged", 20));
    assert_eq!(paths(&tree), ["n", "x", "s", "p"]);
    assert_eq!(tree.aliases, [("twice".to_owned(), "2*n".to_owned())]);
    assert_eq!(tree.cluster_starts, [0, 4, 8, 11, 14, 19, 20]);

    let x = branch(&tree, "x");
    assert_eq!((x.title.as_str(), x.entries, x.first_entry, x.compression), ("x[n][2]/F", 20, 0, 0));
    let leaf = &x.leaves[0];
    assert_eq!((&leaf.kind, leaf.title.as_str(), leaf.len, leaf.len_type), (&LeafKind::F32, "x[n][2]", 2, 4));
    assert_eq!(leaf.count, Some((0, 0)));
    assert_eq!(branch(&tree, "n").leaves[0].maximum, 3);
    assert_eq!(branch(&tree, "s").leaves[0].kind, LeafKind::Text);
    let names: Vec<_> = branch(&tree, "p").leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    assert_eq!(names, ["px", "py", "pz"]);
}

#[test]
fn baskets_on_file() {
    let tree = parse("TTree", JAGGED).unwrap();
    let n = branch(&tree, "n");
    let places: Vec<_> = n.baskets.iter().map(|b| (b.first_entry, b.entries)).collect();
    assert_eq!(places.first(), Some(&(0, 4)));
    assert_eq!(places.iter().map(|(_, entries)| entries).sum::<u64>(), 20);
    assert_eq!(n.baskets.iter().map(|b| b.len).sum::<u64>(), n.zip_bytes);
    assert!(n.baskets.iter().all(|b| b.offset > 0 && b.embedded.is_none()));
}

#[test]
fn baskets_inside_the_record() {
    let tree = parse("TTree", EMBEDDED).unwrap();
    for branch in &tree.branches {
        let [basket] = &branch.baskets[..] else { panic!("{} baskets", branch.baskets.len()) };
        assert_eq!((basket.first_entry, basket.entries, basket.offset, basket.len), (0, 3, 0, 0));
        let stored = basket.embedded.as_deref().unwrap();
        let header = sapwood_ttree::BasketHeader::parse(stored).unwrap();
        assert_eq!(header.data_len, if branch.name == "n" { 3 * 4 } else { (1 + 2 + 3) * 4 });
    }
}

#[test]
fn an_object_split_into_its_members() {
    let tree = parse("TTree", SPLIT).unwrap();
    let parent = branch(&tree, "outer.");
    assert!(parent.baskets.is_empty());
    assert_eq!((parent.parent, parent.entries, parent.children.len()), (None, 3, 4));
    let list = branch(&tree, "outer./outer.list");
    let BranchKind::Element(master) = &list.kind else { panic!("{:?}", list.kind) };
    assert_eq!((master.element_type, master.clones_name.as_str(), master.maximum), (4, "Inner", 2));
    let member = branch(&tree, "outer./outer.list/outer.list.a");
    let BranchKind::Element(element) = &member.kind else { panic!("{:?}", member.kind) };
    assert_eq!((element.element_type, element.class_name.as_str(), element.class_version), (41, "Inner", 1));
    assert_eq!(tree.branches[element.branch_count.unwrap()].path, list.path);
    let (counter, _) = member.leaves[0].count.unwrap();
    assert_eq!(tree.branches[counter].path, list.path);
    assert!(matches!(member.leaves[0].kind, LeafKind::Element { element_type: 3, .. }));
}

#[test]
fn branches_of_the_old_style() {
    let tree = parse("TTree", OLD_STYLE).unwrap();
    assert_eq!(tree.branches.iter().find_map(|branch| branch.broken.as_ref()), None);
    let BranchKind::Object { class_name } = &tree.branches[0].kind else {
        panic!("{:?}", tree.branches[0].kind)
    };
    assert_eq!(class_name, "Hits");
    let clones =
        tree.branches.iter().position(|b| matches!(&b.kind, BranchKind::Other(c) if c == "TBranchClones"));
    let clones = &tree.branches[clones.unwrap()];
    let [counts, members @ ..] = &clones.children[..] else { panic!("no children") };
    assert_eq!(tree.branches[*counts].name, "hits_");
    assert_eq!(members.len(), 4);
    for &member in members {
        assert_eq!(tree.branches[member].leaves[0].count, Some((*counts, 0)));
    }
}

#[test]
fn classes_derived_from_tree() {
    for class in ["TNtuple", "MyOwnTree"] {
        let tree = parse(class, NTUPLE).unwrap();
        assert_eq!((tree.class_name.as_str(), tree.entries), (class, 5));
        assert_eq!(paths(&tree), ["a", "b", "c"]);
    }
    let tree = parse("MyOwnTree", JAGGED).unwrap();
    assert_eq!(tree.entries, 20, "a class that adds nothing to TTree, not even a header");
}

#[test]
fn a_record_that_is_cut_off_gives_an_error() {
    for record in [JAGGED, EMBEDDED, SPLIT, OLD_STYLE, NTUPLE] {
        for len in 4..record.len() {
            let class = if record == NTUPLE { "TNtuple" } else { "TTree" };
            assert!(parse(class, &record[..len]).is_err(), "{len} of {} bytes", record.len());
        }
    }
}

#[test]
fn damage_never_panics_and_lies_where_it_is() {
    let mut broken = 0;
    for record in [JAGGED, EMBEDDED, SPLIT, OLD_STYLE] {
        for at in 4..record.len() {
            for value in [0x41, 0xff] {
                let mut damaged = record.to_vec();
                damaged[at] = value;
                if let Ok(tree) = parse("TTree", &damaged) {
                    broken += tree.branches.iter().filter(|branch| branch.broken.is_some()).count();
                }
                if let Ok((tree, outline)) = outline("TTree", &damaged) {
                    assert_eq!(outline.branches.len(), tree.stored_branches().count());
                    assert!(parse("TTree", &damaged).is_ok(), "an outline is stricter");
                    let _ = outline.unchanged(100);
                }
            }
        }
    }
    assert!(broken > 300, "damage inside a branch should break that branch only: {broken}");
}

#[test]
fn a_basket_outside_the_file_breaks_its_branch() {
    let (key_len, payload) = JAGGED.split_first_chunk().unwrap();
    let payload = Bytes::from_static(payload);
    let key_len = u32::from_be_bytes(*key_len);
    let tree = TTree::parse("TTree", &payload, key_len, 300, &StreamerInfos::default()).unwrap();
    for branch in &tree.branches {
        assert!(branch.baskets.is_empty());
        assert!(branch.broken.as_ref().unwrap().contains("beyond the end of the file"));
        assert_eq!(branch.entries, 20);
    }
}
