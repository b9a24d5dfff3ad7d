//! Members of every kind, one after the other.

use crate::describe::*;
use sapwood_core::ErrorKind;
use sapwood_tfile::{Count, ElementKind};

const TOBJECT: [u8; 10] = [0, 1, 0, 0, 0, 9, 3, 0, 0, 0];

#[test]
fn members_of_bases_become_members_of_the_record() {
    let classes = vec![
        class("Base", 2, vec![base("TObject", 1), int("b")]),
        class("A", 5, vec![base("Base", 2), int("a"), text("s")]),
    ];
    let inner = framed(2, &bytes(&[&TOBJECT, &ints(&[7])]));
    let column = read(classes, "A", &framed(5, &bytes(&[&inner, &ints(&[8]), &[2, b'h', b'i']]))).unwrap();
    assert_eq!(names(&column.form), ["b", "a", "s"]);
    assert_eq!(column.buffers[0].view::<i32>(), [7]);
    assert_eq!(column.buffers[1].view::<i32>(), [8]);
    assert_eq!(column.buffers[3].as_bytes(), b"hi");
}

#[test]
fn a_referenced_object_has_two_bytes_more() {
    let classes = vec![class("A", 1, vec![base("TObject", 1), int("a")])];
    let referenced = [0, 1, 0, 0, 0, 9, 3, 0, 0, 0x10, 0, 0];
    let column = read(classes, "A", &framed(1, &bytes(&[&referenced, &ints(&[5])]))).unwrap();
    assert_eq!(column.buffers[0].view::<i32>(), [5]);
}

#[test]
fn a_counter_may_stand_in_a_base() {
    let classes = vec![
        class("Base", 1, vec![int("n")]),
        class("A", 1, vec![base("Base", 1), floats("x", "n", "Base"), int("last")]),
    ];
    let payload = framed(
        1,
        &bytes(&[&framed(1, &ints(&[2])), &[1], &1f32.to_be_bytes(), &2f32.to_be_bytes(), &ints(&[3])]),
    );
    let column = read(classes, "A", &payload).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 2]);
    assert_eq!(column.buffers[2].view::<f32>(), [1.0, 2.0]);
    assert_eq!(column.buffers[3].view::<i32>(), [3]);
}

#[test]
fn a_counted_pointer_without_a_flag_has_no_items() {
    let classes = vec![class("A", 1, vec![int("n"), floats("x", "n", "A")])];
    let column = read(classes, "A", &framed(1, &bytes(&[&ints(&[2]), &[0]]))).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 0]);
}

#[test]
fn loops_hold_as_many_objects_as_their_counter_says() {
    let count = Count { name: "n".into(), class_name: "A".into(), version: 1 };
    let classes = vec![
        class("P", 3, vec![int("p")]),
        class("A", 1, vec![int("n"), element("many", ElementKind::Loop(count), 501, "P*")]),
    ];
    let many = framed(9, &bytes(&[&framed(3, &ints(&[4])), &framed(3, &ints(&[5]))]));
    let column = read(classes, "A", &framed(1, &bytes(&[&ints(&[2]), &many]))).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 2]);
    assert_eq!(column.buffers[2].view::<i32>(), [4, 5]);
}

#[test]
fn a_suppressed_base_and_a_base_that_writes_nothing_take_no_bytes() {
    let mut suppressed = base("TObject", 1);
    suppressed.type_code = -1;
    let classes = vec![class("A", 1, vec![suppressed, base("TQObject", 1), int("a")])];
    let column = read(classes, "A", &framed(1, &ints(&[6]))).unwrap();
    assert_eq!(column.buffers[0].view::<i32>(), [6]);
}

#[test]
fn arrays_of_root_stand_bare_whatever_their_description_says() {
    let classes = vec![class("H", 1, vec![base("TArrayF", 1), object("sumw2", "TArrayD")])];
    let payload = framed(1, &bytes(&[&ints(&[1]), &2.5f32.to_be_bytes(), &ints(&[0])]));
    let column = read(classes, "H", &payload).unwrap();
    assert_eq!(names(&column.form), ["fArray", "sumw2"]);
    assert_eq!(column.buffers[1].view::<f32>(), [2.5]);
}

#[test]
fn what_is_not_described_is_passed_over_and_reported() {
    let classes = vec![class("A", 1, vec![int("a"), object("odd", "Unknown"), int("b")])];
    let program = compiler(classes).object("A", &[]).unwrap();
    assert_eq!(program.skipped[0].0, "odd");
    let payload = framed(1, &bytes(&[&ints(&[1]), &framed(1, &[1, 2, 3]), &ints(&[2])]));
    let (column, _) = program.read_object(&payload, 0).unwrap();
    assert_eq!(names(&column.form), ["a", "b"]);
    assert_eq!(column.buffers[1].view::<i32>(), [2]);
}

#[test]
fn bytes_beyond_the_description_are_not_taken_for_granted() {
    let classes = vec![class("A", 1, vec![int("a")])];
    let error = read(classes, "A", &framed(1, &ints(&[1, 2]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn an_object_without_byte_count_begins_with_its_version_or_with_its_base() {
    let classes = || vec![class("A", 1, vec![base("TObject", 1), int("a")])];
    let members = bytes(&[&TOBJECT, &ints(&[5])]);
    let with_version = bytes(&[&[0, 1], &members]);
    for payload in [members, with_version] {
        let column = read(classes(), "A", &payload).unwrap();
        assert_eq!(column.buffers[0].view::<i32>(), [5]);
    }
}
