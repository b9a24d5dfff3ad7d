//! Outlines of trees' records: written again without a change, every byte is the same.

use crate::corpus::{self, File};
use sapwood_ttree::{Tree, TreeOutline};

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
