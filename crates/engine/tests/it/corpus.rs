//! Every file of the corpus opens, and every branch with a form is readable, unless its data name a class that the file
//! does not describe.

use crate::inputs::{column, corpus, open, readable, trees};
use sapwood::ErrorKind;

/// Its writer never closed it: it has no list of keys.
const NEVER_CLOSED: &str = "coffea__bad_delphes.root";

#[test]
fn every_readable_branch_of_the_corpus_is_read() {
    let (mut read, mut failed) = (0, Vec::new());
    for (name, content) in corpus(1_200_000) {
        let file = match open(&content) {
            Ok(file) => file,
            Err(error) => {
                assert_eq!(name, NEVER_CLOSED, "{error:?}");
                continue;
            }
        };
        for tree in trees(&file) {
            for branch in readable(&tree) {
                match column(&tree, branch, 0..tree.entries()) {
                    Ok(_) => read += 1,
                    Err(error) if error.kind() == ErrorKind::Unsupported => {}
                    Err(error) => failed.push(format!("{name}: {error:?}")),
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} read, these not: {failed:#?}", read);
}
