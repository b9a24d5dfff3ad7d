//! Pointers: null, objects of classes that only the data name, references (root-io-spec Buffer §6).

use crate::describe::*;
use sapwood_core::{ErrorKind, Form};
use sapwood_streamer::{ColumnPart, StreamInput};
use sapwood_tfile::{Count, ElementKind};

const NEW: [u8; 4] = [0xff; 4];

fn classes() -> Vec<sapwood_tfile::StreamerInfo> {
    vec![
        class("P", 1, vec![int("p")]),
        class("Q", 1, vec![int("q")]),
        class("Pair", 1, vec![pointer("one", "P"), pointer("two", "P")]),
        class("Node", 1, vec![int("value"), pointer("next", "Node")]),
    ]
}

/// A slot with an object of a class that is named here.
fn slot(class: &[u8], object: &[u8]) -> Vec<u8> {
    let content = bytes(&[&NEW, class, &[0], object]);
    bytes(&[&(0x4000_0000 | content.len() as u32).to_be_bytes(), &content])
}

#[test]
fn a_pointer_is_nothing_or_an_object_of_the_class_that_stands_there() {
    let payload = framed(1, &bytes(&[&slot(b"Q", &framed(1, &ints(&[4]))), &[0; 4]]));
    let column = read(classes(), "Pair", &payload).unwrap();
    let Form::Record { fields, .. } = &column.form else { panic!("a record") };
    assert_eq!(names(&fields[0].form), ["q"]);
    assert_eq!(fields[1].form, Form::Option(Box::new(Form::Empty)));
    assert_eq!(column.buffers[0].view::<i64>(), [0]);
    assert_eq!(column.buffers[2].view::<i64>(), [-1]);
}

#[test]
fn several_classes_in_one_place_make_a_union() {
    let classes = [classes(), vec![class("A", 1, vec![stl("all", "vector<P*>")])]].concat();
    let items =
        [ints(&[3]), slot(b"P", &framed(1, &ints(&[1]))), vec![0; 4], slot(b"Q", &framed(1, &ints(&[2])))];
    let column = read(classes, "A", &framed(1, &framed(10, &items.concat()))).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, -1, 1]);
    assert_eq!(column.buffers[2].as_bytes(), [0, 1]);
    assert_eq!(column.buffers[3].view::<i64>(), [0, 0]);
    assert_eq!(column.buffers[5].view::<i32>(), [2]);
}

#[test]
fn a_reference_shows_the_object_again() {
    // The slot begins at byte 6; references count from the key, which has 0 bytes here, plus 2.
    let payload = framed(1, &bytes(&[&slot(b"P", &framed(1, &ints(&[4]))), &ints(&[8])]));
    let column = read(classes(), "Pair", &payload).unwrap();
    assert_eq!(column.buffers[1].view::<i32>(), [4]);
    assert_eq!(column.buffers[3].view::<i32>(), [4]);
}

#[test]
fn a_class_that_was_named_before_is_referred_to() {
    let object = framed(1, &ints(&[5]));
    let again = bytes(&[&[0x40, 0, 0, 14, 0x80, 0, 0, 10 + 2], &object]);
    let payload = framed(1, &bytes(&[&slot(b"P", &framed(1, &ints(&[4]))), &again]));
    assert_eq!(read(classes(), "Pair", &payload).unwrap().buffers[3].view::<i32>(), [5]);
}

#[test]
fn references_to_what_is_being_read_are_nothing() {
    // Node → Node → back to the second, and to the top.
    for reference in [12, 1] {
        let inner = slot(b"Node", &framed(1, &ints(&[2, reference])));
        let payload = framed(1, &bytes(&[&ints(&[1]), &inner]));
        let column = read(classes(), "Node", &payload).unwrap();
        assert_eq!(column.buffers[1].view::<i64>(), [0]);
        assert_eq!(column.buffers[2].view::<i32>(), [2]);
        assert_eq!(column.buffers[3].view::<i64>(), [-1]);
    }
}

#[test]
fn references_forward_and_into_nothing_are_refused() {
    for reference in [2, 3, 7, 9, 40, 1000, 0x2000_0000] {
        let payload = framed(1, &bytes(&[&slot(b"P", &framed(1, &ints(&[4]))), &ints(&[reference])]));
        let error = read(classes(), "Pair", &payload).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{reference}: {error}");
    }
}

#[test]
fn lists_of_root_have_options_between_their_items() {
    let head = bytes(&[&[0, 1, 0, 0, 0, 0, 3, 0, 0, 0], &[0], &ints(&[2])]);
    let items = bytes(&[&slot(b"P", &framed(1, &ints(&[1]))), &[1, b'o'], &[0; 4], &[0]]);
    let column = read(classes(), "TList", &framed(5, &bytes(&[&head, &items]))).unwrap();
    assert_eq!(column.buffers[0].view::<i64>(), [0, 2]);
    assert_eq!(column.buffers[1].view::<i64>(), [0, -1]);
}

/// A counted array of pointers, one of objects, and both five times.
fn tables() -> Vec<sapwood_tfile::StreamerInfo> {
    let table = |name: &str, type_name: &str, dims: &[u32]| {
        let count = Count { name: "n".into(), class_name: "Tables".into(), version: 1 };
        let code = if dims.is_empty() { 501 } else { 521 };
        let mut table = element(name, ElementKind::Loop(count), code, type_name);
        table.array_dims = dims.to_vec();
        table
    };
    let members =
        vec![int("n"), table("one", "P**", &[]), table("three", "P*", &[3]), table("slots", "P**", &[3])];
    vec![class("P", 1, vec![int("p")]), class("Tables", 1, members)]
}

#[test]
fn counted_arrays_of_pointers_hold_objects_in_old_files() {
    let object = |value: i32| framed(1, &ints(&[value]));
    let objects = |values: std::ops::Range<i32>| framed(1, &values.flat_map(object).collect::<Vec<u8>>());
    let slots = framed(1, &bytes(&[&slot(b"P", &object(1)), &[0; 4]]));
    let six = objects(10..16);
    for (one, expected) in [(objects(1..3), [0i64, 1]), (slots, [0, -1])] {
        let payload = framed(1, &bytes(&[&ints(&[2]), &one, &six, &six]));
        let column = read(tables(), "Tables", &payload).unwrap();
        assert_eq!(column.buffers[1].view::<i64>(), [0, 2]);
        assert_eq!(column.buffers[2].view::<i64>(), expected);
        assert_eq!(column.buffers[5].view::<i32>(), [10, 11, 12, 13, 14, 15]);
    }
}

#[test]
fn a_fixed_array_of_counted_arrays_needs_the_count_in_a_branch_of_its_own() {
    let infos = tables();
    let objects: Vec<u8> = (10..16).flat_map(|value| framed(1, &ints(&[value]))).collect();
    for member in [2, 3] {
        let program = compiler(infos.clone()).member(&infos[1], member, &[]).unwrap();
        assert_eq!(program.counter.as_deref(), Some("n"));
        let payload = framed(1, &objects);
        let mut run = program.run();
        run.entry_counted(StreamInput::new(&payload, 0..payload.len(), 0).unwrap(), &[2]).unwrap();
        let column = ColumnPart::join(vec![run.finish()]).unwrap();
        assert_eq!(column.buffers[0].view::<i64>(), [0, 2, 4, 6]);
        assert_eq!(column.buffers.last().unwrap().view::<i32>(), [10, 11, 12, 13, 14, 15]);
    }
}

#[test]
fn an_array_of_pointers_may_be_described_as_one_of_objects() {
    let mut member = element("fp", ElementKind::ObjectAny, 82, "P*");
    member.array_dims = vec![2];
    let classes = vec![class("P", 1, vec![int("p")]), class("A", 1, vec![member])];
    let payload = framed(1, &bytes(&[&framed(1, &ints(&[1])), &framed(1, &ints(&[2]))]));
    assert_eq!(read(classes, "A", &payload).unwrap().buffers[0].view::<i32>(), [1, 2]);
}
