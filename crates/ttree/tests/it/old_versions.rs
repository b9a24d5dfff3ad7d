//! Records in the layouts of the first class versions, written by hand, because no available ROOT writes them.

use bytes::Bytes;
use sapwood_tfile::StreamerInfos;
use sapwood_ttree::{LeafKind, TTree};

const FILE_SIZE: u64 = 1 << 20;
/// Length of the key before the record.
const KEY_LEN: u32 = 60;

/// Bytes that grow.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn put(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.extend(bytes.as_ref());
        self
    }

    fn ints(&mut self, values: &[i32]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend(value.to_be_bytes()));
        self
    }

    fn doubles(&mut self, values: &[f64]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend(value.to_be_bytes()));
        self
    }

    /// What `fill` puts, after a byte count and a version.
    fn object(&mut self, version: i16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.counted(|inner| {
            inner.put(version.to_be_bytes());
            fill(inner);
        })
    }

    /// What `fill` puts, after a byte count and a new class tag.
    fn pointer(&mut self, class: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.counted(|inner| {
            inner.put([0xff; 4]).put(class).put([0]);
            fill(inner);
        })
    }

    fn counted(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let at = self.0.len();
        self.put([0; 4]);
        fill(self);
        let count = u32::try_from(self.0.len() - at - 4).unwrap() | 0x4000_0000;
        self.0[at..at + 4].copy_from_slice(&count.to_be_bytes());
        self
    }

    fn named(&mut self, name: &str, title: &str) -> &mut Self {
        self.object(1, |inner| {
            inner.put([0, 1]).ints(&[0, 0]);
            for text in [name, title] {
                inner.put([u8::try_from(text.len()).unwrap()]).put(text);
            }
        })
    }

    fn array(&mut self, count: i32, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.object(3, |inner| {
            inner.put([0, 1]).ints(&[0, 0]).put([0]).ints(&[count, 0]);
            fill(inner);
        })
    }

    /// `TAttLine`, `TAttFill`, `TAttMarker` as bare versions and members.
    fn attributes(&mut self) -> &mut Self {
        self.put([0, 1, 0, 1, 0, 1, 0, 1]).put([0, 1, 0, 0, 3, 0xe9]).put([0, 1, 0, 1, 0, 1]).ints(&[0])
    }

    fn leaf(&mut self, name: &str) -> &mut Self {
        self.pointer("TLeafI", |slot| {
            slot.object(1, |leaf| {
                leaf.object(1, |base| {
                    base.named(name, name).ints(&[0, 4, 0]).put([0, 0]).ints(&[0]);
                });
                leaf.ints(&[0, 9]);
            });
        })
    }

    fn parse(self) -> TTree {
        TTree::parse("TTree", &Bytes::from(self.0), KEY_LEN, FILE_SIZE, &StreamerInfos::default()).unwrap()
    }
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
    let mut record = Record::default();
    record.object(4, |tree| {
        tree.named("t", "").attributes().ints(&[25, 1_000_000_000, 0]);
        tree.doubles(&[12.0, 300.0, 200.0]).ints(&[10_000_000, 10_000]);
        tree.array(1, |branches| {
            branches.pointer("TBranch", |slot| {
                slot.object(5, |branch| {
                    branch.named("i", "i/I").ints(&[1, 32000, 0, 3, 2, 12]);
                    branch.doubles(&[12.0, 300.0, 200.0]).ints(&[0]);
                    branch
                        .array(0, |_| {})
                        .array(1, |leaves| {
                            leaves.leaf("i");
                        })
                        .array(0, |_| {});
                    branch.ints(&[3, 0, 8, 12]).ints(&[3, 90, 80, 0]).ints(&[3, 1000, 1090, 0]).put([0]);
                });
            });
        });
    });
    check(&record.parse());
}

#[test]
fn trees_5_to_9_and_branches_6_to_9() {
    for (tree_version, branch_version) in [(5, 6), (6, 6), (7, 7), (8, 8), (9, 8), (10, 9), (12, 9)] {
        for weight in [tree_version > 7, tree_version > 6] {
            let mut record = Record::default();
            record.object(tree_version, |tree| {
                tree.named("t", "").attributes().doubles(&[12.0, 300.0, 200.0, 0.0]);
                tree.doubles(if weight || tree_version > 8 { &[1.0] } else { &[] }).ints(&[0; 7]);
                tree.array(1, |branches| {
                    branches.pointer("TBranch", |slot| branch(slot, branch_version));
                });
                tree.array(0, |_| {}).ints(&[0; 8]);
            });
            check(&record.parse());
        }
    }
}

fn branch(slot: &mut Record, version: i16) {
    slot.object(version, |branch| {
        branch.named("i", "i/I").put(if version > 7 { &[0, 1, 0, 0, 3, 0xe9][..] } else { &[] });
        branch.ints(&[1, 32000, 0, 2, 12, 0, 3]).ints(if version > 6 { &[0] } else { &[] });
        branch.doubles(&[12.0, 300.0, 200.0]);
        branch
            .array(0, |_| {})
            .array(1, |leaves| {
                leaves.leaf("i");
            })
            .array(0, |_| {});
        branch.put([1]).ints(&[90, 80, 0]).put([0]).ints(&[0, 8, 12]);
        if version == 9 {
            branch.put([2]).ints(&[0, 1000, 0, 1090, 0, 0]);
        } else {
            branch.put([1]).ints(&[1000, 1090, 0]);
        }
        branch.put([0]);
    });
}
