//! Malicious descriptions and data.

use crate::describe::*;
use sapwood_core::ErrorKind;

#[test]
fn a_class_that_is_a_part_of_itself_is_refused() {
    let classes = vec![class("A", 1, vec![object("b", "B")]), class("B", 1, vec![base("A", 1)])];
    assert_eq!(compiler(classes).object("A", &[]).unwrap_err().kind(), ErrorKind::Corrupt);
    let deep =
        (0..1000).map(|index| class(&format!("C{index}"), 1, vec![object("c", &format!("C{}", index + 1))]));
    assert_eq!(compiler(deep.collect()).object("C0", &[]).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn descriptions_that_multiply_each_other_are_refused() {
    let doubled = |index: usize| {
        let inner = format!("C{}", index + 1);
        class(&format!("C{index}"), 1, vec![object("one", &inner), object("two", &inner)])
    };
    let mut classes: Vec<_> = (0..60).map(doubled).collect();
    classes.push(class("C60", 1, vec![int("x")]));
    assert_eq!(compiler(classes).object("C0", &[]).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_collection_of_its_own_class_goes_as_deep_as_the_data() {
    let classes = || vec![class("A", 1, vec![int("x"), stl("inner", "vector<A>")])];
    let leaf = framed(1, &bytes(&[&ints(&[2]), &framed(10, &ints(&[0]))]));
    let payload = framed(1, &bytes(&[&ints(&[1]), &framed(10, &bytes(&[&ints(&[1]), &leaf]))]));
    let column = read(classes(), "A", &payload).unwrap();
    assert_eq!(column.buffers[0].view::<i32>(), [1]);
    assert_eq!(column.buffers[2].view::<i32>(), [2]);
    let mut deep = framed(1, &bytes(&[&ints(&[0]), &framed(10, &ints(&[0]))]));
    for _ in 0..5000 {
        deep = framed(1, &bytes(&[&ints(&[0]), &framed(10, &bytes(&[&ints(&[1]), &deep]))]));
    }
    assert_eq!(read(classes(), "A", &deep).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn counts_are_held_against_the_bytes_that_are_there() {
    let classes = || {
        vec![
            class("E", 1, vec![]),
            class("Hit", 1, vec![int("x")]),
            class("A", 1, vec![stl("v", "vector<Hit>")]),
            class("B", 1, vec![stl("v", "vector<vector<E> >")]),
            class("C", 1, vec![int("n"), floats("x", "n", "C")]),
        ]
    };
    let lie = 0x7fff_ffff;
    for (class, content) in [
        ("A", framed(10, &ints(&[lie]))),
        ("A", framed(0x400a, &bytes(&[&[0, 1], &ints(&[lie, 0, 0])]))),
        ("B", framed(10, &ints(&[lie, 0]))),
        ("C", bytes(&[&ints(&[lie]), &[1]])),
        ("C", bytes(&[&ints(&[-1]), &[1]])),
    ] {
        let error = read(classes(), class, &framed(1, &content)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{class}: {error}");
    }
}

#[test]
fn a_byte_count_beyond_its_surroundings_is_refused() {
    let classes = vec![class("B", 1, vec![int("b")]), class("A", 1, vec![object("b", "B"), int("a")])];
    let inner = [0x40, 0, 0, 60, 0, 1, 0, 0, 0, 1];
    let error = read(classes, "A", &framed(1, &bytes(&[&inner, &ints(&[1])]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn references_that_multiply_each_other_are_refused() {
    // Each object refers twice to the one before: read again at each place, they would be 2^n.
    let classes = vec![
        class("D", 1, vec![pointer("one", "D"), pointer("two", "D")]),
        class("A", 1, vec![stl("all", "vector<D*>")]),
    ];
    let mut items = ints(&[40]);
    let mut previous = 0;
    for index in 0..40 {
        let place = 6 + 6 + items.len() as i32 + 2;
        let object = framed(1, &ints(&[previous, previous]));
        let tag: Vec<u8> = if index == 0 {
            bytes(&[&[0xff; 4], b"D\0"])
        } else {
            (0x8000_0000u32 | (6 + 6 + 4 + 4 + 2)).to_be_bytes().to_vec()
        };
        let content = bytes(&[&tag, &object]);
        items.extend(bytes(&[&(0x4000_0000 | content.len() as u32).to_be_bytes(), &content]));
        previous = place;
    }
    let error = read(classes, "A", &framed(1, &framed(10, &items))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn no_prefix_and_no_changed_byte_makes_it_panic() {
    let classes = || {
        vec![
            class("P", 2, vec![base("TObject", 1), int("p")]),
            class("P", 1, vec![int("old")]),
            class("Hit", 1, vec![int("n"), floats("w", "n", "Hit"), stl("s", "string"), pointer("p", "P")]),
            class(
                "A",
                1,
                vec![stl("hits", "vector<Hit>"), stl("m", "map<int,vector<P> >"), pointer("p", "P")],
            ),
        ]
    };
    let columns = bytes(&[&ints(&[1]), &[1], &1f32.to_be_bytes(), &framed(10, &[1, b'a']), &[0; 4]]);
    let hits = framed(0x400a, &bytes(&[&[0, 1], &ints(&[1]), &columns]));
    let map = framed(10, &bytes(&[&ints(&[1, 3, 1]), &framed(1, &ints(&[1]))]));
    let pointer = bytes(&[&[0x40, 0, 0, 16, 0xff, 0xff, 0xff, 0xff], b"P\0", &framed(1, &ints(&[7]))]);
    let payload = framed(1, &bytes(&[&hits, &map, &pointer]));
    let program = compiler(classes()).object("A", &[]).unwrap();
    program.read_object(&payload, 0).unwrap();
    for end in 0..payload.len() {
        assert!(program.read_object(&payload[..end], 0).is_err());
    }
    for place in 0..payload.len() {
        for change in [1, 0x40, 0x80, 0xff] {
            let mut damaged = payload.clone();
            damaged[place] ^= change;
            let _ = program.read_object(&damaged, 0);
        }
    }
}
