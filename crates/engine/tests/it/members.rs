//! Members of objects, and baskets in another file, in files that ROOT wrote.

use sapwood::{Column, ErrorKind, Form, OpenOptions, Primitive, Query, ReadOptions, Tree};
use std::path::Path;

fn tree(name: &str) -> Tree {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/trees");
    let path = folder.join(name).to_string_lossy().into_owned();
    let file = sapwood::open(&path, OpenOptions::default(), call!()).unwrap();
    file.tree("tree", None, call!()).unwrap()
}

fn read(tree: &Tree, requests: &[Query]) -> sapwood::Result<Vec<Column>> {
    tree.read(requests, 0..tree.entries(), &ReadOptions::default(), call!())
}

#[test]
fn a_member_alone_is_the_same_as_in_the_whole() {
    let tree = tree("split.root");
    let whole = tree.find_branch("whole.").unwrap();
    let requests = ["tracks.pt", "lead.start.x", "tracks.pt", ""].map(|path| Query::from((whole, path)));
    let together = read(&tree, &requests).unwrap();
    assert_eq!(together[0].form, Form::list(Form::Primitive(Primitive::F64)));
    assert_eq!(together[0], together[2]);
    for (request, expected) in requests.iter().zip(&together) {
        let alone = read(&tree, std::slice::from_ref(request)).unwrap();
        assert_eq!(&alone[0], expected, "{request:?}");
    }
    assert_eq!(tree.member(whole, "tracks.start").unwrap().typename, "Point[]");
}

#[test]
fn a_member_that_does_not_exist_is_missing() {
    let tree = tree("split.root");
    let whole = tree.find_branch("whole.").unwrap();
    let error = tree.member(whole, "lead.nothing").unwrap_err();
    assert_eq!((error.kind(), error.branch_name()), (ErrorKind::Missing, Some("whole.")));
    let error = read(&tree, &[Query::from((whole, "lead.nothing"))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
}

#[test]
fn baskets_in_another_file_are_found_there() {
    let tree = tree("away.root");
    let far = tree.find_branch("far").unwrap();
    assert!(!tree.ttree().unwrap().branches()[far].file_name.is_empty());
    let columns = read(&tree, &[far.into()]).unwrap();
    let expected: Vec<f64> = (0..100).map(|entry| f64::from(entry) / 2.0).collect();
    assert_eq!(columns[0].buffers[0].view::<f64>(), expected);
}
