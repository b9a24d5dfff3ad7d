//! Data with wrong counts, positions and depths.

use crate::describe::{CompiledClass, Member, framed, infos, object_base, slot, text, word};
use crate::meter::{Taken, measure};
use sapwood_core::{Column, ErrorKind, Result};
use sapwood_streamer::{ColumnPart, Compiler, StreamInput};
use std::time::Duration;

/// Reads objects of a class, or of them what is wanted, one after the other; states what that may cost.
fn read_all(classes: &[CompiledClass], class: &str, paths: &[&str], objects: &[Vec<u8>]) -> Result<Column> {
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    let program = Compiler::new(infos(classes).unwrap()).object(class, &paths).unwrap();
    let bytes: usize = objects.iter().map(Vec::len).sum();
    let objects = objects.to_vec();
    let Taken { memory, time, answer } = measure(move || {
        let mut run = program.run();
        for object in &objects {
            run.entry(StreamInput::new(object, 0..object.len(), 0)?)?;
        }
        ColumnPart::join(vec![run.finish()])
    });
    assert!(memory <= (32 << 20) + 1024 * bytes, "{memory} bytes for {bytes}: {answer:?}");
    assert!(time < Duration::from_secs(10), "{time:?} for {bytes} bytes");
    answer
}

fn read(classes: &[CompiledClass], class: &str, object: &[u8]) -> Result<Column> {
    read_all(classes, class, &[], &[object.to_vec()])
}

fn fails(classes: &[CompiledClass], class: &str, object: &[u8]) -> ErrorKind {
    read(classes, class, object).map(|column| column.byte_count()).unwrap_err().kind()
}

fn number() -> Member {
    Member::number("x", 3)
}

/// A collection as a member, member by member: the version of its items, their number, what follows.
fn member_wise(version: i16, count: usize, columns: &[u8]) -> Vec<u8> {
    framed(0x4009, &[&version.to_be_bytes()[..], &word(count), columns].concat())
}

/// A `TClonesArray`, member by member or not.
fn clones(class: &str, is_transposed: bool, count: usize, items: &[u8]) -> Vec<u8> {
    let mut base = object_base();
    base[8] = if is_transposed { 0x10 } else { 0 };
    framed(4, &[&base[..], &[0], &text(class), &word(count), &[0; 4], items].concat())
}

#[test]
fn counts_of_items_without_bytes_are_not_believed() {
    let classes = [
        CompiledClass::new("E", Vec::new()),
        CompiledClass::new("V", vec![Member::collection("v", "vector<E>")]),
        CompiledClass::new("W", vec![Member::collection("v", "vector<vector<E> >")]),
        CompiledClass::new("Fixed", vec![Member::object("e", "E").array(&[i32::MAX])]),
        CompiledClass::new("Twice", vec![Member::object("f", "Fixed").array(&[i32::MAX])]),
        CompiledClass::new("Nothing", vec![Member::object("n", "TQObject").array(&[i32::MAX])]),
        CompiledClass::new("Clones", vec![Member::object("c", "TClonesArray")]),
    ];
    let most = u32::MAX as usize;
    for (class, content) in [
        ("V", member_wise(1, most, &[])),
        ("V", framed(9, &word(most))),
        ("W", framed(9, &[word(1), word(most)].concat())),
        ("Fixed", Vec::new()),
        ("Twice", framed(1, &[])),
        ("Nothing", Vec::new()),
        ("Clones", clones("E;1", true, most, &[])),
        ("Clones", clones("E;1", false, most, &[])),
    ] {
        let kind = fails(&classes, class, &framed(1, &content));
        assert!(matches!(kind, ErrorKind::Limit | ErrorKind::Corrupt), "{class}: {kind:?}");
    }
    read(&classes, "V", &framed(1, &member_wise(1, 1000, &[]))).unwrap();
    read(&classes, "Clones", &framed(1, &clones("E;1", true, 1000, &[]))).unwrap();
}

#[test]
fn counts_are_not_believed_where_nothing_is_wanted() {
    let older =
        |name: &str| CompiledClass { version: 1, checksum: 2, ..CompiledClass::new(name, Vec::new()) };
    let counted = || Member::counted("TStreamerBasicPointer", "a", 43, "int*", ("n", "A"));
    let newer = |name: &str| CompiledClass {
        version: 2,
        ..CompiledClass::new(
            name,
            vec![Member::number("n", 6), counted(), Member::object("e", "E").array(&[1000])],
        )
    };
    let classes = [
        CompiledClass::new("E", Vec::new()),
        newer("A"),
        older("A"),
        CompiledClass::new("X", vec![Member::number("wanted", 3)]),
        CompiledClass::new(
            "P",
            vec![
                Member::pointer("p", "X"),
                Member::object("c", "TClonesArray"),
                Member::collection("v", "vector<A>"),
                number(),
            ],
        ),
    ];
    let most = 0xffff_fff0;
    for paths in [&[][..], &["p.wanted"], &["x"], &["v"], &["c"], &["v.e"]] {
        for version in [1, 2] {
            let array = clones(&format!("A;{version}"), true, most, &[]);
            let object =
                framed(1, &[word(0), array.clone(), member_wise(version, most, &[]), word(7)].concat());
            let _ = read_all(&classes, "P", paths, &[object]);
            let object = framed(
                1,
                &[
                    slot("TClonesArray", &array),
                    clones("A;1", true, 0, &[]),
                    member_wise(version, most, &[]),
                    word(7),
                ]
                .concat(),
            );
            let _ = read_all(&classes, "P", paths, &[object]);
        }
    }
}

#[test]
fn members_of_newer_versions_are_not_made_up_without_end() {
    let newer =
        CompiledClass { version: 2, ..CompiledClass::new("A", vec![Member::number("x", 8).array(&[8000])]) };
    let classes = [newer, CompiledClass::new("A", Vec::new())];
    read_all(&classes, "A", &[], &vec![framed(1, &[]); 10]).unwrap();
    let error = read_all(&classes, "A", &[], &vec![framed(1, &[]); 100_000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn byte_counts_in_byte_counts_are_not_followed_down() {
    let classes = [CompiledClass::new("A", vec![Member::base("TObject"), number()])];
    let depth = 1 << 20;
    let nested: Vec<u8> =
        (0..depth).flat_map(|level| word(0x4000_0000 | (4 * (depth - level - 1)))).collect();
    fails(&classes, "A", &framed(1, &nested));
    fails(&classes, "A", &nested);
    let list = CompiledClass::new("L", vec![Member::object("l", "TList")]);
    fails(&[list], "L", &framed(1, &framed(5, &nested)));
}

#[test]
fn objects_deep_in_each_other_fit_the_stack_or_are_refused() {
    let nested = |depth: usize, wrap: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        (0..depth).fold(wrap(Vec::new()), |inner, _| wrap(inner))
    };
    let or = |inner: Vec<u8>, other: Vec<u8>| if inner.is_empty() { other } else { inner };
    let classes = [
        CompiledClass::new("P", vec![Member::pointer("p", "P")]),
        CompiledClass::new("V", vec![Member::collection("v", "vector<V>")]),
        CompiledClass::new("M", vec![Member::collection("m", "map<int,vector<M> >")]),
        CompiledClass::new("L", vec![Member::object("l", "TList")]),
        CompiledClass::new("C", vec![Member::object("c", "TClonesArray")]),
    ];
    for depth in [10, 150, 390, 5000] {
        let objects = [
            (
                "P",
                nested(depth, &|inner| {
                    framed(1, &or(if inner.is_empty() { inner } else { slot("P", &inner) }, word(0)))
                }),
            ),
            (
                "V",
                nested(depth, &|inner| {
                    framed(1, &framed(9, &[word(usize::from(!inner.is_empty())), inner].concat()))
                }),
            ),
            (
                "M",
                nested(depth, &|inner| {
                    framed(
                        1,
                        &framed(
                            9,
                            &if inner.is_empty() {
                                word(0)
                            } else {
                                [word(1), word(5), word(1), inner].concat()
                            },
                        ),
                    )
                }),
            ),
            (
                "L",
                nested(depth, &|inner| {
                    framed(
                        1,
                        &framed(
                            5,
                            &[
                                object_base(),
                                vec![0],
                                if inner.is_empty() {
                                    word(0)
                                } else {
                                    [word(1), slot("L", &inner), vec![0]].concat()
                                },
                            ]
                            .concat(),
                        ),
                    )
                }),
            ),
            (
                "C",
                nested(depth, &|inner| {
                    framed(
                        1,
                        &clones(
                            "C;1",
                            false,
                            usize::from(!inner.is_empty()),
                            &if inner.is_empty() { inner } else { [vec![1], inner].concat() },
                        ),
                    )
                }),
            ),
        ];
        for (class, object) in objects {
            let column = read(&classes, class, &object);
            assert_eq!(
                column.is_ok(),
                depth == 10 || depth == 150 && column.is_ok(),
                "{class} {depth}: {:?}",
                column.map(|c| c.length)
            );
        }
    }
}

#[test]
fn large_classes_behind_each_other_fit_the_stack_and_the_memory() {
    let height = 40;
    let mut classes: Vec<CompiledClass> = (0..height)
        .map(|level| {
            CompiledClass::new(&format!("C{level}"), vec![Member::object("c", &format!("C{}", level + 1))])
        })
        .collect();
    classes.push(CompiledClass::new(&format!("C{height}"), vec![Member::pointer("first", "C0")]));
    let once = |inner: Vec<u8>| (0..=height).fold(inner, |inner, _| framed(1, &inner));
    let object = (0..500).fold(once(word(0)), |inner, _| once(slot("C0", &inner)));
    fails(&classes, "C0", &object);

    let wide = (0..250).map(|at| Member::collection(&format!("v{at}"), "vector<int>")).collect();
    let classes = [
        CompiledClass::new("Wide", wide),
        CompiledClass::new("Wider", (0..100).map(|at| Member::object(&format!("w{at}"), "Wide")).collect()),
        CompiledClass::new("N", vec![Member::pointer("n", "N"), Member::object("w", "Wider")]),
    ];
    let object = (0..150).fold(word(0), |inner, _| slot("N", &framed(1, &inner)));
    fails(&classes, "N", &framed(1, &object));
}

#[test]
fn references_to_one_large_object_are_limited() {
    let classes = [
        CompiledClass::new("Text", vec![Member::new("TStreamerString", "t", 65, "TString")]),
        CompiledClass::new("A", vec![Member::collection("p", "vector<Text*>")]),
    ];
    let large = slot("Text", &framed(1, &text(&"x".repeat(1 << 16))));
    let place = 6 + 6 + 4 + 2;
    let object = |references: usize| {
        let items = [word(references + 1), large.clone(), word(place).repeat(references)].concat();
        framed(1, &framed(9, &items))
    };
    assert_eq!(read(&classes, "A", &object(3)).unwrap().byte_count(), 4 * (1 << 16) + 2 * 8 + 4 * 8 + 5 * 8);
    assert_eq!(fails(&classes, "A", &object(100_000)), ErrorKind::Limit);
}

#[test]
fn references_in_circles_and_to_odd_places_end() {
    let classes = [CompiledClass::new("A", vec![Member::pointer("a", "A"), Member::pointer("b", "A")])];
    let inner = |tag: usize| framed(1, &[word(tag), word(tag)].concat());
    for tag in 0..80 {
        let object = framed(1, &[slot("A", &inner(tag)), word(tag)].concat());
        let _ = read(&classes, "A", &object);
        let named = [&word(0x4000_0000 | 18)[..], &word(0x8000_0000 | tag), &inner(tag)].concat();
        let _ = read(&classes, "A", &framed(1, &[slot("A", &inner(tag)), named].concat()));
        let _ = read_all(&classes, "A", &["b"], std::slice::from_ref(&object));
        let _ = read_all(&classes, "A", &["a.b.a"], &[object]);
    }
}

#[test]
fn many_classes_with_long_names_take_no_long_time() {
    let classes = [CompiledClass::new("A", vec![Member::collection("p", "vector<A*>")])];
    let name = |at: usize| format!("{}{at:03}", "n".repeat(16_000));
    let mut items: Vec<u8> = (0..120).flat_map(|at| slot(&name(at), &[])).collect();
    let last = 6 + 6 + 4 + 119 * (4 + 4 + 16_004) + 4 + 2;
    let again = [word(0x4000_0004), word(0x8000_0000 | last)].concat();
    items.extend(again.repeat(200_000));
    let object = framed(1, &framed(9, &[word(200_120), items].concat()));
    let _ = read(&classes, "A", &object);
    let long: Vec<u8> = (0..130).flat_map(|at| slot(&format!("K{at}"), &[])).collect();
    let object = framed(1, &framed(9, &[word(130), long].concat()));
    assert_eq!(fails(&classes, "A", &object), ErrorKind::Unsupported);
}

#[test]
fn strings_and_containers_of_four_gigabytes_are_refused() {
    let classes = [
        CompiledClass::new("S", vec![Member::new("TStreamerString", "t", 65, "TString")]),
        CompiledClass::new("B", vec![Member::new("TStreamerBasicType", "t", 7, "char*")]),
        CompiledClass::new("T", vec![Member::collection("t", "string")]),
        CompiledClass::new("O", vec![Member::object("o", "TObjArray")]),
        CompiledClass::new("R", vec![Member::object("r", "TRefArray")]),
        CompiledClass::new("D", vec![Member::object("d", "TArrayD")]),
        CompiledClass::new(
            "N",
            vec![
                Member::number("n", 6),
                Member {
                    dims: vec![1 << 30],
                    ..Member::counted("TStreamerBasicPointer", "a", 48, "double*", ("n", "N"))
                },
            ],
        ),
        CompiledClass::new(
            "L",
            vec![Member::number("n", 6), Member::counted("TStreamerLoop", "a", 501, "S*", ("n", "L"))],
        ),
    ];
    let most = vec![0xff; 4];
    let head = [object_base(), vec![0]].concat();
    for (class, content) in [
        ("S", vec![0xff; 5]),
        ("B", most.clone()),
        ("T", framed(9, &[0xff; 5])),
        ("O", framed(3, &[head.clone(), most.clone(), vec![0; 4]].concat())),
        ("R", framed(1, &[head, most.clone(), vec![0; 6]].concat())),
        ("D", most.clone()),
        ("N", [most.clone(), vec![1]].concat()),
        ("N", [word(1), vec![1]].concat()),
        ("N", [word(i32::MAX as usize), vec![1]].concat()),
        ("L", [most, framed(1, &[])].concat()),
        ("L", [word(i32::MAX as usize), framed(1, &[])].concat()),
    ] {
        assert_eq!(fails(&classes, class, &framed(1, &content)), ErrorKind::Corrupt, "{class}");
    }
}

#[test]
fn columns_of_older_versions_without_the_counter_are_limited() {
    let loops =
        (0..3000).map(|at| Member::counted("TStreamerLoop", &format!("a{at}"), 501, "S*", ("n", "A")));
    let newer = CompiledClass {
        version: 2,
        checksum: 2,
        ..CompiledClass::new("A", [Member::number("n", 6)].into_iter().chain(loops.clone()).collect())
    };
    let classes = [
        CompiledClass::new("S", vec![number()]),
        newer,
        CompiledClass::new("A", loops.collect()),
        CompiledClass::new("V", vec![Member::collection("v", "vector<A>")]),
    ];
    let columns = framed(1, &[]).repeat(3000);
    for count in [10, 3000, 17_000] {
        let _ = read(&classes, "V", &framed(1, &member_wise(1, count, &columns)));
        let _ = read_all(&classes, "V", &["v.n"], &[framed(1, &member_wise(1, count, &columns))]);
    }
}

#[test]
fn a_counter_that_was_of_another_type_does_not_disturb_the_column() {
    let older =
        vec![Member::number("n", 6), Member::counted("TStreamerBasicPointer", "a", 43, "int*", ("n", "A"))];
    let newer = vec![Member::number("n", 12), Member::number("x", 3)];
    let classes = [
        CompiledClass { version: 3, checksum: 3, ..CompiledClass::new("A", newer) },
        CompiledClass { version: 2, checksum: 2, ..CompiledClass::new("A", older) },
    ];
    let object = framed(2, &[word(1), vec![1], word(5)].concat());
    assert_eq!(fails(&classes, "A", &object), ErrorKind::Unsupported);
}

#[test]
fn bases_and_members_that_are_there_twice_do_not_disturb_the_columns() {
    let twice = [
        CompiledClass::new("B", vec![number()]),
        CompiledClass::new("A", vec![Member::base("B"), Member::base("B")]),
    ];
    let base = framed(1, &word(1));
    assert_eq!(fails(&twice, "A", &framed(1, &[base.clone(), base].concat())), ErrorKind::Unsupported);
    let versions = [
        CompiledClass { version: 2, checksum: 2, ..CompiledClass::new("A", vec![number()]) },
        CompiledClass::new("A", vec![number(), number()]),
    ];
    assert_eq!(fails(&versions, "A", &framed(1, &[word(1), word(2)].concat())), ErrorKind::Unsupported);
    let column = read(&versions[1..], "A", &framed(1, &[word(1), word(2)].concat())).unwrap();
    assert_eq!(column.buffers.len(), 2);
}
