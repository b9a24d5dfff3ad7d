//! Two versions of a class in one file (root-io-spec SchemaEvolution).

use crate::describe::*;
use sapwood_core::ErrorKind;
use sapwood_streamer::{ColumnPart, StreamInput};

#[test]
fn an_older_version_becomes_the_record_of_the_newest() {
    let classes = vec![
        class("A", 2, vec![float("x"), int("gone"), text("s")]),
        class(
            "A",
            3,
            vec![element("x", sapwood_tfile::ElementKind::BasicType, 8, "double"), text("s"), int("new")],
        ),
    ];
    let program = compiler(classes).object("A", &[]).unwrap();
    let old = framed(2, &bytes(&[&1.5f32.to_be_bytes(), &ints(&[9]), &[1, b'a']]));
    let new = framed(3, &bytes(&[&2.5f64.to_be_bytes(), &[1, b'b'], &ints(&[4])]));
    let mut run = program.run();
    for entry in [&old, &new] {
        run.entry(StreamInput::new(entry, 0..entry.len(), 0).unwrap()).unwrap();
    }
    let column = ColumnPart::join(vec![run.finish()]).unwrap();
    assert_eq!(names(&column.form), ["x", "s", "new"]);
    assert_eq!(column.buffers[0].view::<f64>(), [1.5, 2.5]);
    assert_eq!(column.buffers[2].as_bytes(), b"ab");
    assert_eq!(column.buffers[3].view::<i32>(), [0, 4]);
}

#[test]
fn a_member_that_became_something_else_is_refused_by_name() {
    let classes = vec![class("A", 1, vec![text("x")]), class("A", 2, vec![int("x")])];
    let error = read(classes, "A", &framed(1, &[1, b'a'])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains('x'), "{error}");
}

#[test]
fn a_version_that_the_file_does_not_describe_is_refused() {
    let classes = vec![class("A", 1, vec![int("x")]), class("A", 2, vec![int("y")])];
    assert_eq!(read(classes, "A", &framed(7, &ints(&[1]))).unwrap_err().kind(), ErrorKind::Unsupported);
}
