//! Records in the layouts of the first class versions, written by hand, because no available ROOT writes them.

use bytes::Bytes;
use sapwood_tfile::StreamerInfos;
use sapwood_tfile::write::RecordBuffer;
use sapwood_ttree::{LeafKind, TTree};

const FILE_SIZE: u64 = 1 << 20;
/// Length of the key before the record.
const KEY_LEN: u32 = 60;

fn ints(buffer: &mut RecordBuffer, values: &[i32]) {
    values.iter().for_each(|value| buffer.i32(*value));
}

fn doubles(buffer: &mut RecordBuffer, values: &[f64]) {
    values.iter().for_each(|value| buffer.f64(*value));
}

/// `TAttLine`, `TAttFill`, `TAttMarker` as bare versions and members.
fn attributes(buffer: &mut RecordBuffer) {
    buffer.bytes(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 3, 0xe9, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0]);
}

/// The arrays of sub-branches, of one leaf `i`, and of baskets.
fn lists(buffer: &mut RecordBuffer) {
    buffer.tobjarray(0, |_| {});
    buffer.tobjarray(1, |leaves| {
        leaves.slot("TLeafI", |slot| {
            slot.object(1, |leaf| {
                leaf.object(1, |base| {
                    base.tnamed("i", "i", 0);
                    ints(base, &[0, 4, 0]);
                    base.bytes(&[0, 0]);
                    base.null();
                });
                ints(leaf, &[0, 9]);
            });
        });
    });
    buffer.tobjarray(0, |_| {});
}

/// A tree of a version, parsed from what `fill` writes.
fn parse(version: i16, fill: impl FnOnce(&mut RecordBuffer)) -> TTree {
    let mut buffer = RecordBuffer::new(KEY_LEN);
    buffer.object(version, |tree| {
        tree.tnamed("t", "", 0);
        attributes(tree);
        fill(tree);
    });
    let payload = Bytes::from(buffer.finish().unwrap());
    TTree::parse("TTree", &payload, KEY_LEN, FILE_SIZE, &StreamerInfos::default()).unwrap()
}

/// Two baskets, of 8 and 4 entries.
fn check(tree: &TTree) {
    assert_eq!((tree.name.as_str(), tree.entries, tree.total_bytes, tree.zip_bytes), ("t", 12, 300, 200));
    let [branch] = &tree.branches[..] else { panic!("{} branches", tree.branches.len()) };
    assert_eq!((&branch.broken, branch.name.as_str(), branch.entries), (&None, "i", 12));
    let [leaf] = &branch.leaves[..] else { panic!("{} leaves", branch.leaves.len()) };
    assert_eq!((&leaf.kind, leaf.len, leaf.maximum), (&LeafKind::I32, 1, 9));
    let places: Vec<_> = branch.baskets.iter().map(|b| (b.first_entry, b.entries, b.offset, b.len)).collect();
    assert_eq!(places, [(0, 8, 1000, 90), (8, 4, 1090, 80)]);
}

#[test]
fn tree_4_and_branch_5() {
    check(&parse(4, |tree| {
        ints(tree, &[25, 1_000_000_000, 0]);
        doubles(tree, &[12.0, 300.0, 200.0]);
        ints(tree, &[10_000_000, 10_000]);
        tree.tobjarray(1, |branches| {
            branches.slot("TBranch", |slot| {
                slot.object(5, |branch| {
                    branch.tnamed("i", "i/I", 0);
                    ints(branch, &[1, 32000, 0, 3, 2, 12]);
                    doubles(branch, &[12.0, 300.0, 200.0]);
                    ints(branch, &[0]);
                    lists(branch);
                    ints(branch, &[3, 0, 8, 12, 3, 90, 80, 0, 3, 1000, 1090, 0]);
                    branch.u8(0);
                });
            });
        });
    }));
}

#[test]
fn trees_5_to_9_and_branches_6_to_9() {
    for (tree_version, branch_version) in [(5, 6), (6, 6), (7, 7), (8, 8), (9, 8), (10, 9), (12, 9)] {
        for weight in [tree_version > 7, tree_version > 6] {
            check(&parse(tree_version, |tree| {
                doubles(tree, &[12.0, 300.0, 200.0, 0.0]);
                doubles(tree, if weight || tree_version > 8 { &[1.0] } else { &[] });
                ints(tree, &[0; 7]);
                tree.tobjarray(1, |branches| {
                    branches.slot("TBranch", |slot| branch(slot, branch_version));
                });
                tree.tobjarray(0, |_| {});
                ints(tree, &[0; 8]);
            }));
        }
    }
}

fn branch(slot: &mut RecordBuffer, version: i16) {
    slot.object(version, |branch| {
        branch.tnamed("i", "i/I", 0);
        branch.bytes(if version > 7 { &[0, 1, 0, 0, 3, 0xe9][..] } else { &[] });
        ints(branch, &[1, 32000, 0, 2, 12, 0, 3]);
        ints(branch, if version > 6 { &[0] } else { &[] });
        doubles(branch, &[12.0, 300.0, 200.0]);
        lists(branch);
        branch.u8(1);
        ints(branch, &[90, 80, 0]);
        branch.u8(0);
        ints(branch, &[0, 8, 12]);
        branch.u8(if version == 9 { 2 } else { 1 });
        ints(branch, if version == 9 { &[0, 1000, 0, 1090, 0, 0] } else { &[1000, 1090, 0] });
        branch.u8(0);
    });
}
