//! Objects of undescribed classes, wherever they can occur: they are refused, or `skipped` lists them, and they never become
//! records without members.

use crate::describe::*;
use sapwood_core::{Column, Error, ErrorKind, Form};
use sapwood_streamer::{ColumnPart, Compiler, Program, StreamInput};
use sapwood_tfile::{Count, ElementKind, StreamerElement, StreamerInfo};

/// The class that nothing describes.
const CLASS: &str = "Lost";

/// An object of it: eight bytes behind a byte count and a version.
fn object() -> Vec<u8> {
    framed(3, &ints(&[17, 18]))
}

/// The same behind a pointer.
fn behind_pointer() -> Vec<u8> {
    let content = bytes(&[&[0xff; 4], CLASS.as_bytes(), &[0], &object()]);
    bytes(&[&(0x4000_0000 | content.len() as u32).to_be_bytes(), &content])
}

fn items(items: &[&[u8]]) -> Vec<u8> {
    framed(10, &bytes(&[&ints(&[1]), &items.concat()]))
}

/// `TObject`, name, and how many items.
fn head(count: i32) -> Vec<u8> {
    bytes(&[&[0, 1, 0, 0, 0, 0, 3, 0, 0, 0], &[0], &ints(&[count])])
}

fn clones() -> Vec<u8> {
    let class = bytes(&[&[6], b"Lost;3"]);
    framed(4, &bytes(&[&[0, 1, 0, 0, 0, 0, 3, 0, 0, 0], &[0], &class, &ints(&[1, 0]), &[1], &object()]))
}

/// Collections and containers: their types, with one object and without any.
fn collections() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let none = framed(10, &ints(&[0]));
    let (object, slot) = (object(), behind_pointer());
    let (one, string) = (ints(&[1]), [1, b'k']);
    vec![
        ("vector<Lost>", items(&[&object]), none.clone()),
        ("list<Lost>", items(&[&object]), none.clone()),
        ("set<Lost>", items(&[&object]), none.clone()),
        ("vector<Lost*>", items(&[&slot]), none.clone()),
        ("vector<vector<Lost> >", items(&[&one, &object]), none.clone()),
        ("vector<vector<Lost*> >", items(&[&one, &slot]), none.clone()),
        ("map<int,Lost>", items(&[&one, &object]), none.clone()),
        ("map<Lost,int>", items(&[&object, &one]), none.clone()),
        ("map<string,Lost*>", items(&[&string, &slot]), none.clone()),
        ("map<int,vector<Lost> >", items(&[&one, &one, &object]), none.clone()),
        ("vector<pair<int,Lost> >", items(&[&framed(1, &bytes(&[&one, &object]))]), none),
        ("TClonesArray", clones(), framed(4, &bytes(&[&head(0)[..10], &[0, 6], b"Lost;3", &ints(&[0, 0])]))),
        (
            "TObjArray",
            framed(3, &bytes(&[&head(1), &ints(&[0]), &slot])),
            framed(3, &bytes(&[&head(0), &[0; 4]])),
        ),
        ("TList", framed(5, &bytes(&[&head(1), &slot, &[0]])), framed(5, &head(0))),
        ("TMap", framed(3, &bytes(&[&head(1), &slot, &slot])), framed(3, &head(0))),
    ]
}

fn array(mut element: StreamerElement, code: i32) -> StreamerElement {
    (element.array_length, element.array_dims, element.type_code) = (2, vec![2], code);
    element
}

fn counted(name: &str, type_name: &str) -> StreamerElement {
    let count = Count { name: "before".into(), class_name: "Holder".into(), version: 1 };
    element(name, ElementKind::Loop(count), 501, type_name)
}

/// Members of a class: their descriptions, and bytes with an object.
fn members() -> Vec<(StreamerElement, Vec<u8>)> {
    let (one, slot) = (object(), behind_pointer());
    let twice = |part: &[u8]| bytes(&[part, part]);
    let mut members = vec![
        (object_named("member"), one.clone()),
        (array(object_named("member"), 82), twice(&one)),
        (pointer("member", CLASS), slot.clone()),
        (array(pointer("member", CLASS), 89), bytes(&[&[0; 4], &slot])),
        (element("member", ElementKind::ObjectAnyPointer, 68, "Lost*"), one.clone()),
        (counted("member", "Lost*"), framed(1, &one)),
        (counted("member", "Lost**"), framed(1, &slot)),
        (base(CLASS, 3), one.clone()),
        (pair("member"), framed(1, &bytes(&[&ints(&[1]), &one]))),
    ];
    for (type_name, with_one, _) in collections() {
        let element = match type_name.starts_with('T') {
            true => element("member", ElementKind::Object, 61, type_name),
            false => stl("member", type_name),
        };
        members.push((element, with_one));
    }
    members
}

fn object_named(name: &str) -> StreamerElement {
    crate::describe::object(name, CLASS)
}

fn pair(name: &str) -> StreamerElement {
    crate::describe::object(name, "pair<int,Lost>")
}

/// A class with such a member between two numbers, the first of which is 1.
fn holder(member: &StreamerElement) -> Vec<StreamerInfo> {
    vec![class("Holder", 1, vec![int("before"), member.clone(), int("after")])]
}

fn held(member: &[u8]) -> Vec<u8> {
    bytes(&[&ints(&[1]), member, &ints(&[2])])
}

/// What a branch holds: of one entry.
fn entry(program: &Program, payload: &[u8]) -> Result<Column, Error> {
    let mut run = program.run();
    run.entry_counted(StreamInput::new(payload, 0..payload.len(), 0)?, &[1])?;
    ColumnPart::join(vec![run.finish()])
}

/// Whether a record without members is anywhere in what was read.
fn holds_nothing(form: &Form) -> bool {
    match form {
        Form::Record { fields, .. } => {
            fields.is_empty() || fields.iter().any(|field| holds_nothing(&field.form))
        }
        Form::List(content) | Form::Option(content) | Form::Fixed { content, .. } => holds_nothing(content),
        Form::Tuple(forms) | Form::Union(forms) => forms.iter().any(holds_nothing),
        _ => false,
    }
}

/// What was read of an object of the class: it must have been refused, or stand in `skipped`.
fn check(place: &str, read: Result<Column, Error>, skipped: &[(String, String)]) {
    match read {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{place}: {error}");
            assert!(error.message().contains(CLASS), "{place}: {error}");
        }
        Ok(column) => {
            assert!(
                skipped.iter().any(|(_, why)| why.contains(CLASS)),
                "{place} is silent: {:?}",
                column.form
            );
            assert!(!holds_nothing(&column.form), "{place}: {:?}", column.form);
        }
    }
}

fn check_program(place: &str, program: Result<Program, Error>, payload: &[u8]) {
    match program {
        Ok(program) => check(place, entry(&program, payload), &program.skipped),
        Err(error) => check(place, Err(error), &[]),
    }
}

#[test]
fn a_member_is_refused_or_skipped() {
    for (member, payload) in members() {
        let place = format!("{} of type {}", member.name, member.type_name);
        let payload = framed(1, &held(&payload));
        check_program(&place, compiler(holder(&member)).object("Holder", &[]), &payload);
    }
}

#[test]
fn the_members_beside_one_that_is_skipped_are_read() {
    for (member, payload) in members() {
        let compiler = compiler(holder(&member));
        let program = compiler.object("Holder", &["before".into(), "after".into()]).unwrap();
        let column = entry(&program, &framed(1, &held(&payload))).unwrap();
        let values: Vec<i32> = column.buffers.iter().map(|buffer| buffer.view::<i32>()[0]).collect();
        assert_eq!(values, [1, 2], "{}", member.type_name);
    }
}

#[test]
fn objects_in_a_list_that_hold_one_are_refused_or_skipped() {
    for (member, payload) in members() {
        let one = framed(1, &held(&payload));
        let names = [
            "vector<Holder>",
            "map<int,Holder>",
            "vector<pair<int,Holder> >",
            "vector<map<int,Holder> >",
            "map<int,vector<Holder> >",
        ];
        for name in names {
            let place = format!("{name} with a member of type {}", member.type_name);
            let item = match name {
                "vector<Holder>" => one.clone(),
                "map<int,Holder>" => bytes(&[&ints(&[4]), &one]),
                "vector<map<int,Holder> >" => bytes(&[&ints(&[1, 4]), &one]),
                "map<int,vector<Holder> >" => bytes(&[&ints(&[4, 1]), &one]),
                _ => framed(1, &bytes(&[&ints(&[4]), &one])),
            };
            check_program(&place, compiler(holder(&member)).whole(name, None, &[]), &items(&[&item]));
        }
    }
}

#[test]
fn a_branch_of_its_own_is_refused_or_skipped() {
    let compiler = compiler(Vec::new());
    for (name, with_one, _) in collections() {
        check_program(name, compiler.whole(name, None, &[]), &with_one);
        check_program(name, compiler.object(name, &[]), &with_one);
    }
    check_program(CLASS, compiler.whole(CLASS, None, &[]), &ints(&[17, 18]));
    check_program(CLASS, compiler.object(CLASS, &[]), &object());
    check_program(
        "a named object",
        compiler.named_object(CLASS, &[]),
        &bytes(&[&[4], b"Lost", &[0], &object()]),
    );
    check_program(
        "a pair",
        compiler.object("pair<int,Lost>", &[]),
        &framed(1, &bytes(&[&ints(&[1]), &object()])),
    );
}

#[test]
fn a_branch_of_a_split_object_is_refused_or_skipped() {
    for (member, payload) in members() {
        let infos = holder(&member);
        let compiler = Compiler::new(infos.clone().into_iter().collect());
        let place = format!("the branch {} of type {}", member.name, member.type_name);
        check_program(&place, compiler.member(&infos[0], 1, &[]), &payload);
        check_program(&format!("{place}, a column"), compiler.column(&infos[0], 1, &[]), &payload);
    }
}

#[test]
fn a_container_without_objects_is_empty() {
    let compiler = compiler(Vec::new());
    for (name, _, empty) in collections() {
        let column = entry(&compiler.whole(name, None, &[]).unwrap(), &empty);
        let column = column.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(column.buffers[0].view::<i64>(), [0, 0], "{name}");
    }
}

#[test]
fn what_an_object_of_a_file_holds_is_read_and_the_rest_reported() {
    for (member, payload) in members() {
        let program = compiler(holder(&member)).object("Holder", &[]).unwrap();
        match program.read_object(&framed(1, &held(&payload)), 0) {
            Err(error) => check(&member.type_name, Err(error), &[]),
            Ok((_, skipped)) => {
                assert!(skipped.iter().any(|(_, why)| why.contains(CLASS)), "{}", member.type_name);
            }
        }
    }
    let list = compiler(Vec::new()).object("TList", &[]).unwrap();
    let (column, skipped) =
        list.read_object(&framed(5, &bytes(&[&head(1), &behind_pointer(), &[0]])), 0).unwrap();
    assert_eq!(column.buffers[0].view::<i64>(), [0, 1]);
    assert_eq!(skipped, [(CLASS.to_owned(), "the file does not describe the class Lost".to_owned())]);
}

#[test]
fn an_object_behind_a_pointer_is_refused_if_it_would_lack_a_member() {
    let holder_object = framed(1, &held(&object()));
    let slot = bytes(&[&[0xff; 4], b"Holder\0", &holder_object]);
    let slot = bytes(&[&(0x4000_0000 | slot.len() as u32).to_be_bytes(), &slot]);
    let list = framed(5, &bytes(&[&head(1), &slot, &[0]]));
    let compiler = Compiler::new(holder(&object_named("member")).into_iter().collect());
    let error = entry(&compiler.object("TList", &[]).unwrap(), &list).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("member of Holder"), "{error}");
    // Its other members can be read by their paths.
    assert!(entry(&compiler.object("TList", &["after".into()]).unwrap(), &list).is_ok());
}
