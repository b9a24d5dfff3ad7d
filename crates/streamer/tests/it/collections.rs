//! STL collections and `TClonesArray` (root-io-spec Collections).

use crate::describe::*;
use sapwood_core::{ErrorKind, Form, Primitive};
use sapwood_streamer::{ColumnPart, StreamInput};
use sapwood_tfile::{Count, ElementKind};

fn hit() -> Vec<sapwood_tfile::StreamerInfo> {
    vec![class("Hit", 2, vec![int("x"), float("y")]), class("A", 1, vec![stl("hits", "vector<Hit>")])]
}

/// The items of `A::hits`: offsets, x, y.
fn hits(payload: &[u8]) -> (Vec<i64>, Vec<i32>, Vec<f32>) {
    let column = read(hit(), "A", &framed(1, payload)).unwrap();
    let [offsets, x, y] = column.buffers.as_slice() else { panic!("three buffers") };
    (offsets.view().to_vec(), x.view().to_vec(), y.view().to_vec())
}

#[test]
fn objects_of_a_vector_stand_one_by_one_or_in_columns() {
    let (one, two) = (1.5f32.to_be_bytes(), 2.5f32.to_be_bytes());
    let items =
        bytes(&[&framed(2, &bytes(&[&ints(&[10]), &one])), &framed(2, &bytes(&[&ints(&[20]), &two]))]);
    let object_wise = framed(10, &bytes(&[&ints(&[2]), &items]));
    let member_wise = framed(0x400a, &bytes(&[&[0, 2], &ints(&[2, 10, 20]), &one, &two]));
    for payload in [object_wise, member_wise] {
        assert_eq!(hits(&payload), (vec![0, 2], vec![10, 20], vec![1.5, 2.5]));
    }
}

#[test]
fn an_empty_member_wise_collection_has_no_columns() {
    assert_eq!(hits(&framed(0x400a, &[0, 2, 0, 0, 0, 0])), (vec![0, 0], vec![], vec![]));
}

#[test]
fn old_member_wise_collections_do_not_tell_the_version_of_their_items() {
    let payload = framed(0x4005, &bytes(&[&ints(&[1, 10]), &1.5f32.to_be_bytes()]));
    assert_eq!(hits(&payload), (vec![0, 1], vec![10], vec![1.5]));
}

#[test]
fn a_checksum_stands_behind_a_version_of_zero() {
    let infos = hit();
    let checksum = infos[0].checksum.to_be_bytes();
    let payload = framed(0x400a, &bytes(&[&[0, 0], &checksum, &ints(&[1, 10]), &1.5f32.to_be_bytes()]));
    assert_eq!(hits(&payload), (vec![0, 1], vec![10], vec![1.5]));
}

#[test]
fn a_base_has_no_header_in_columns_and_counts_hold_object_by_object() {
    let classes = vec![
        class("Base", 1, vec![int("n"), int("m")]),
        class("Hit", 1, vec![base("Base", 1), floats("x", "n", "Base")]),
        class("A", 1, vec![stl("hits", "vector<Hit>")]),
    ];
    let x = |value: f32| value.to_be_bytes();
    let columns = bytes(&[&ints(&[1, 0, 2]), &ints(&[7, 8, 9]), &[1], &x(1.0), &[0], &[1], &x(2.0), &x(3.0)]);
    let payload = framed(1, &framed(0x400a, &bytes(&[&[0, 1], &ints(&[3]), &columns])));
    let column = read(classes, "A", &payload).unwrap();
    assert_eq!(column.buffers[2].view::<i32>(), [7, 8, 9]);
    assert_eq!(column.buffers[3].view::<i64>(), [0, 1, 1, 3]);
    assert_eq!(column.buffers[4].view::<f32>(), [1.0, 2.0, 3.0]);
}

#[test]
fn a_collection_in_columns_has_one_frame_for_all() {
    let classes = vec![
        class("Hit", 1, vec![stl("v", "vector<int>"), stl("s", "string")]),
        class("A", 1, vec![stl("hits", "vector<Hit>")]),
    ];
    let v = framed(10, &ints(&[1, 5, 0]));
    let s = framed(10, &[1, b'a', 0]);
    let payload = framed(1, &framed(0x400a, &bytes(&[&[0, 1], &ints(&[2]), &v, &s])));
    let column = read(classes, "A", &payload).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 1, 1]);
    assert_eq!(column.buffers[3].view::<i64>(), [0, 1, 1]);
}

#[test]
fn maps_are_lists_of_tuples_in_both_layouts() {
    let classes = || vec![class("A", 1, vec![stl("m", "map<int,string>")])];
    let object_wise = framed(10, &bytes(&[&ints(&[2, 1]), &[1, b'a'], &ints(&[2]), &[1, b'b']]));
    let values = framed(10, &[1, b'a', 1, b'b']);
    let member_wise = framed(0x400a, &bytes(&[&[0, 0, 1, 2, 3, 4], &ints(&[2, 1, 2]), &values]));
    for payload in [object_wise, member_wise] {
        let column = read(classes(), "A", &framed(1, &payload)).unwrap();
        let Form::Record { fields, .. } = &column.form else { panic!("a record") };
        assert_eq!(fields[0].form, Form::list(Form::Tuple(vec![I32, Form::String])));
        assert_eq!(column.buffers[1].view::<i32>(), [1, 2]);
        assert_eq!(column.buffers[3].as_bytes(), b"ab");
    }
}

#[test]
fn collections_in_collections_have_no_frames() {
    let classes = vec![class("A", 1, vec![stl("v", "vector<vector<short> >")])];
    let payload = framed(1, &framed(10, &bytes(&[&ints(&[2, 1]), &[0, 7], &ints(&[0])])));
    let column = read(classes, "A", &payload).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 1, 1]);
    assert_eq!(column.buffers[2].view::<i16>(), [7]);
}

#[test]
fn an_array_of_collections_shares_one_frame_and_one_version() {
    let mut array = stl("hits", "vector<Hit>");
    (array.array_length, array.array_dims, array.type_code) = (2, vec![2], 320);
    let classes = vec![class("Hit", 1, vec![int("x")]), class("A", 1, vec![array])];
    let payload = framed(1, &framed(0x400a, &bytes(&[&[0, 1], &ints(&[1, 30, 0])])));
    let column = read(classes, "A", &payload).unwrap();
    assert_eq!(column.buffers[0].view::<i64>(), [0, 1, 1]);
    assert_eq!(column.buffers[1].view::<i32>(), [30]);
}

#[test]
fn items_of_an_enum_are_as_wide_as_their_description_says() {
    let mut values = stl("v", "vector<EStatus>");
    values.kind = ElementKind::Stl { stl_type: 1, content_type: 12 };
    let column = read(vec![class("A", 1, vec![values])], "A", &framed(1, &framed(10, &[0, 0, 0, 1, 0, 9])));
    assert_eq!(column.unwrap().buffers[1].view::<u16>(), [9]);
}

#[test]
fn items_that_nothing_describes_do_no_harm_while_there_are_none() {
    let program = compiler(Vec::new()).whole("vector<vector<Unknown> >", None, &[]).unwrap();
    let (column, _) = program.read_object(&framed(10, &ints(&[1, 0])), 0).unwrap();
    assert_eq!(column.form, Form::list(Form::list(Form::Empty)));
    let error = program.read_object(&framed(10, &ints(&[1, 1, 0])), 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_base_in_a_split_collection_is_columns_without_a_header() {
    let base_class = class("Base", 1, vec![int("a"), int("b")]);
    let derived = class("A", 1, vec![base("Base", 1), floats("x", "n", "A")]);
    let compiler = compiler(vec![base_class, derived.clone()]);
    let program = compiler.column(&derived, 0, &[]).unwrap();
    let (column, _) = program.read_object(&ints(&[1, 2, 3, 10, 20, 30]), 0).unwrap();
    assert_eq!(column.buffers[0].view::<i64>(), [0, 3]);
    assert_eq!(column.buffers[2].view::<i32>(), [10, 20, 30]);
    assert_eq!(program.read_object(&[0; 9], 0).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn each_object_of_a_column_may_count_for_itself() {
    let item = class("Item", 1, vec![int("v")]);
    let count = Count { name: "n".into(), class_name: "A".into(), version: 1 };
    let items = element("items", ElementKind::Loop(count), 501, "Item*");
    let holder = class("A", 1, vec![int("n"), floats("x", "n", "A"), items]);
    let compiler = compiler(vec![item, holder.clone()]);
    let run = |member: usize, counts: &[i64], entry: &[u8]| {
        let program = compiler.column(&holder, member, &[])?;
        assert_eq!(program.counter.as_deref(), Some("n"));
        let mut run = program.run();
        run.entry_counted(StreamInput::new(entry, 0..entry.len(), 0)?, counts)?;
        ColumnPart::join(vec![run.finish()])
    };
    let entry =
        bytes(&[&[1], &1.5f32.to_be_bytes(), &2.5f32.to_be_bytes(), &[0], &[1], &3.5f32.to_be_bytes()]);
    let column = run(1, &[2, 0, 1], &entry).unwrap();
    assert_eq!(column.form, Form::list(Form::list(Form::Primitive(Primitive::F32))));
    assert_eq!(column.buffers[0].view::<i64>(), [0, 3]);
    assert_eq!(column.buffers[1].view::<i64>(), [0, 2, 2, 3]);
    assert_eq!(column.buffers[2].view::<f32>(), [1.5, 2.5, 3.5]);
    for counts in [&[2, 0, 2][..], &[2, 0, -1], &[i64::MAX; 3], &[2, 0, 1, 0]] {
        assert_eq!(run(1, counts, &entry).unwrap_err().kind(), ErrorKind::Corrupt, "{counts:?}");
    }
    assert_eq!(run(1, &[2, 0], &entry).unwrap_err().kind(), ErrorKind::Unsupported);
    // Loops have one frame for all objects, and old writers none where there is no object.
    let object = |value: i32| framed(1, &ints(&[value]));
    let entry = framed(10, &bytes(&[&object(7), &object(8), &object(9)]));
    let column = run(2, &[1, 0, 2], &entry).unwrap();
    assert_eq!(column.buffers[1].view::<i64>(), [0, 1, 1, 3]);
    assert_eq!(column.buffers[2].view::<i32>(), [7, 8, 9]);
    for entry in [framed(10, &[]), Vec::new()] {
        assert_eq!(run(2, &[], &entry).unwrap().buffers[0].view::<i64>(), [0, 0]);
    }
}

#[test]
fn clones_stand_in_columns_or_slot_by_slot() {
    let classes = || vec![class("Pt", 2, vec![int("x"), int("y")])];
    let clones = |bits: u8, body: &[u8]| {
        let head = bytes(&[&[0, 1, 0, 0, 0, 0, 3, 0, bits, 0], &[0], &[4], b"Pt;2", &ints(&[2, 0])]);
        framed(4, &bytes(&[&head, body]))
    };
    let column = read(classes(), "TClonesArray", &clones(0x10, &ints(&[1, 2, 3, 4]))).unwrap();
    assert_eq!(names(&column.form), ["x", "y"]);
    assert_eq!(column.buffers[2].view::<i32>(), [3, 4]);
    let slots = bytes(&[&[0, 1], &framed(2, &ints(&[1, 2]))]);
    let column = read(classes(), "TClonesArray", &clones(0, &slots)).unwrap();
    assert!(matches!(&column.form, Form::List(content) if matches!(**content, Form::Option(_))));
    assert_eq!(column.buffers[1].view::<i64>(), [-1, 0]);
    assert_eq!(column.buffers[2].view::<i32>(), [1]);
}

#[test]
fn pointers_to_strings_are_stored_as_the_strings() {
    let items = |parts: &[&[u8]]| framed(10, &bytes(&[&ints(&[2]), &parts.concat()]));
    let compiler = compiler(Vec::new());
    let texts = |name: &str, payload: &[u8]| {
        let (column, _) = compiler.whole(name, None, &[]).unwrap().read_object(payload, 0).unwrap();
        column.buffers.last().unwrap().as_bytes().to_vec()
    };
    assert_eq!(texts("vector<string*>", &items(&[b"\x01a", b"\x02bc"])), b"abc");
    assert_eq!(texts("list<std::string *>", &items(&[b"\x01a", b"\x02bc"])), b"abc");
    assert_eq!(texts("map<int,string*>", &items(&[&ints(&[1]), b"\x01a", &ints(&[2]), b"\x02bc"])), b"abc");
    // Member by member, as a map without a description of its pairs.
    let columns = framed(0x400a, &bytes(&[&[0, 1], &ints(&[2, 1, 2]), &framed(2, b"\x01a\x02bc")]));
    assert_eq!(texts("map<int,string*>", &columns), b"abc");
}

#[test]
fn pointers_to_strings_of_root_are_pointers_since_root_4() {
    let mut old = class("A", 1, vec![stl("v", "vector<TString*>")]);
    let slot = bytes(&[&[0x40, 0, 0, 14], &[0xff; 4], b"TString\0", b"\x01a"]);
    let new = read(vec![old.clone()], "A", &framed(1, &framed(10, &bytes(&[&ints(&[2]), &slot, &[0; 4]]))));
    assert_eq!(new.unwrap().buffers[1].view::<i64>(), [0, -1]);
    old.format = 3;
    let column = read(vec![old], "A", &framed(1, &framed(3, &bytes(&[&ints(&[2]), b"\x01a\x01b"])))).unwrap();
    assert_eq!(column.buffers[2].as_bytes(), b"ab");
}

#[test]
fn an_enum_in_a_map_is_the_integer_that_its_name_is_elsewhere() {
    let pair = class(
        "pair<int,Color>",
        1,
        vec![int("first"), element("second", ElementKind::BasicType, 3, "Color")],
    );
    let payload = framed(10, &ints(&[2, 7, -3, 8, 5]));
    let compiler = compiler(vec![pair]);
    for name in ["map<int,Color>", "map<Color,int>", "vector<vector<Color> >"] {
        let program = compiler.whole(name, None, &[]).unwrap();
        let payload =
            if name.contains("vector") { framed(10, &ints(&[1, 2, -3, 5])) } else { payload.clone() };
        let (column, _) = program.read_object(&payload, 0).unwrap();
        assert!(column.buffers.last().unwrap().view::<i32>().contains(&5), "{name}");
    }
    // What two classes call by one name may be of two types.
    let other = class("B", 1, vec![element("x", ElementKind::BasicType, 8, "Color")]);
    let pair = class(
        "pair<int,Color>",
        1,
        vec![int("first"), element("second", ElementKind::BasicType, 3, "Color")],
    );
    let program = crate::describe::compiler(vec![pair, other]).whole("map<int,Color>", None, &[]).unwrap();
    assert_eq!(program.read_object(&payload, 0).unwrap_err().kind(), ErrorKind::Unsupported);
}
