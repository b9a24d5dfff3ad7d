//! Structures of leaves, some of which count others (root-io-spec TLeaf §5.1).

use crate::describe::*;
use sapwood_core::{Form, Primitive};
use sapwood_streamer::{ColumnPart, Node, Program, StoredNumber, StreamInput, StructureMember};

fn member(name: &str, primitive: Primitive, count: Option<usize>) -> StructureMember {
    StructureMember { name: name.into(), node: Node::Number(StoredNumber::Plain(primitive)), count }
}

#[test]
fn a_leaf_counts_the_items_of_others_behind_it() {
    let members = vec![
        member("n", Primitive::I16, None),
        member("x", Primitive::I32, Some(0)),
        member("flag", Primitive::U8, None),
        member("y", Primitive::I32, Some(0)),
    ];
    let program = Program::new(Node::structure(members).unwrap(), "struct");
    let mut run = program.run();
    let entries = [bytes(&[&[0, 2], &ints(&[1, 2]), &[7], &ints(&[3, 4])]), vec![0, 0, 8]];
    for entry in &entries {
        run.entry(StreamInput::new(entry, 0..entry.len(), 0).unwrap()).unwrap();
    }
    let column = ColumnPart::join(vec![run.finish()]).unwrap();
    assert_eq!(names(&column.form), ["n", "x", "flag", "y"]);
    assert!(matches!(&column.form, Form::Record { fields, .. } if fields[3].form == Form::list(I32)));
    assert_eq!(column.buffers[0].view::<i16>(), [2, 0]);
    assert_eq!(column.buffers[1].view::<i64>(), [0, 2, 2]);
    assert_eq!(column.buffers[2].view::<i32>(), [1, 2]);
    assert_eq!(column.buffers[3].as_bytes(), [7, 8]);
    assert_eq!(column.buffers[5].view::<i32>(), [3, 4]);
}

#[test]
fn a_count_must_be_an_integer_and_stand_in_front() {
    assert!(
        Node::structure(vec![member("x", Primitive::I32, Some(1)), member("n", Primitive::I32, None)])
            .is_none()
    );
    assert!(
        Node::structure(vec![member("n", Primitive::F32, None), member("x", Primitive::I32, Some(0))])
            .is_none()
    );
    let members = vec![member("n", Primitive::I32, None), member("x", Primitive::I32, Some(0))];
    let program = Program::new(Node::structure(members).unwrap(), "struct");
    for count in [-1, 3, i32::MAX] {
        let entry = ints(&[count, 5, 6]);
        assert!(
            program.run().entry(StreamInput::new(&entry, 0..entry.len(), 0).unwrap()).is_err(),
            "{count}"
        );
    }
}
