//! Descriptions that multiply, recurse, or never end.

use crate::describe::{CompiledClass, Member, infos};
use crate::meter::{Taken, measure};
use sapwood_core::{ErrorKind, Result};
use sapwood_streamer::{Compiler, Program};
use std::time::Duration;

/// Compiles a class, or of it what is wanted, and states what that may cost.
fn compile(classes: &[CompiledClass], class: &str, paths: &[&str]) -> Result<Program> {
    let infos = infos(classes).unwrap();
    let elements: usize = classes.iter().map(|class| class.members.len() + 1).sum();
    let compiler = Compiler::new(infos);
    let class = class.to_owned();
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    let Taken { memory, time, answer } = measure(move || compiler.object(&class, &paths));
    assert!(memory <= (64 << 20) + 4096 * elements, "{memory} bytes for {elements} elements");
    assert!(time < Duration::from_secs(10), "{time:?} for {elements} elements");
    answer
}

fn fails(classes: &[CompiledClass], class: &str) -> ErrorKind {
    compile(classes, class, &[]).map(|program| format!("{program:?}").len()).unwrap_err().kind()
}

/// Classes `C0`, `C1`, … of which each has `width` members of the next; the last one is as given.
fn tower(height: usize, width: usize, last: Vec<Member>) -> Vec<CompiledClass> {
    let of = |level: usize| {
        (0..width).map(move |at| Member::object(&format!("m{at}"), &format!("C{}", level + 1)))
    };
    let mut classes: Vec<CompiledClass> =
        (0..height).map(|level| CompiledClass::new(&format!("C{level}"), of(level).collect())).collect();
    classes.push(CompiledClass::new(&format!("C{height}"), last));
    classes
}

#[test]
fn a_class_that_is_a_part_of_itself_is_refused() {
    let value = [CompiledClass::new("A", vec![Member::object("a", "A")])];
    assert_eq!(fails(&value, "A"), ErrorKind::Corrupt);
    let base = [CompiledClass::new("A", vec![Member::base("A")])];
    assert_eq!(fails(&base, "A"), ErrorKind::Corrupt);
    let mutual = [
        CompiledClass::new("A", vec![Member::object("b", "B")]),
        CompiledClass::new("B", vec![Member::base("A")]),
    ];
    assert_eq!(fails(&mutual, "A"), ErrorKind::Corrupt);
}

#[test]
fn a_class_that_holds_itself_in_collections_or_behind_pointers_is_compiled() {
    let members = vec![
        Member::collection("list", "vector<A>"),
        Member::collection("lists", "vector<vector<A> >"),
        Member::collection("map", "map<int,A>"),
        Member::pointer("next", "A"),
    ];
    compile(&[CompiledClass::new("A", members)], "A", &[]).unwrap();
}

#[test]
fn a_collection_class_that_is_a_collection_of_itself_is_refused() {
    let this = |class: &str, items: &str| {
        CompiledClass::new(class, vec![Member::collection("This", items).titled(&format!("<{items}>"))])
    };
    assert_eq!(fails(&[this("A", "A")], "A"), ErrorKind::Corrupt);
    assert_eq!(fails(&[this("A", "vector<B>"), this("B", "A")], "A"), ErrorKind::Corrupt);
}

#[test]
fn forwarding_bases_that_forward_to_each_other_are_refused() {
    let classes = [
        CompiledClass::new("A", vec![Member::base("TPair")]),
        CompiledClass::new("TPair", vec![Member::base("TSeqCollection")]),
        CompiledClass::new("TSeqCollection", vec![Member::base("TPair"), Member::base("TPair")]),
    ];
    assert_eq!(fails(&classes, "A"), ErrorKind::Corrupt);
}

#[test]
fn classes_that_multiply_are_refused() {
    assert_eq!(fails(&tower(30, 10, vec![Member::number("x", 3)]), "C0"), ErrorKind::Limit);
    // Members that take no bytes multiply as well, and so do those that are not readable.
    assert_eq!(fails(&tower(30, 10, Vec::new()), "C0"), ErrorKind::Limit);
    compile(&tower(30, 10, vec![Member::object("x", "Unknown")]), "C0", &[]).unwrap_err();
    let lists = |level: usize| {
        (0..10).map(move |at| Member::collection(&format!("m{at}"), &format!("vector<C{}>", level + 1)))
    };
    let mut classes: Vec<CompiledClass> =
        (0..30).map(|level| CompiledClass::new(&format!("C{level}"), lists(level).collect())).collect();
    classes.push(CompiledClass::new("C30", Vec::new()));
    assert_eq!(fails(&classes, "C0"), ErrorKind::Limit);
    let bases: Vec<CompiledClass> = (0..40)
        .map(|level| {
            CompiledClass::new(
                &format!("C{level}"),
                ["b", "c"]
                    .map(|name| Member::object(name, &format!("C{}", level + 1)))
                    .into_iter()
                    .chain([Member::base(&format!("C{}", level + 1))])
                    .collect(),
            )
        })
        .collect();
    fails(&bases, "C0");
}

#[test]
fn only_what_is_wanted_is_compiled_of_classes_that_multiply() {
    let path = ["m3"; 20].join(".");
    let mut classes = tower(20, 10, vec![Member::number("x", 3)]);
    compile(&classes, "C0", &[&format!("{path}.x")]).unwrap();
    classes.truncate(20);
    compile(&classes, "C0", &[&format!("{path}.x")]).unwrap_err();
}

#[test]
fn long_comments_do_not_multiply() {
    let long = "x".repeat(1 << 20);
    let classes = tower(4, 12, vec![Member::number("x", 3).titled(&long)]);
    assert_eq!(fails(&classes, "C0"), ErrorKind::Limit);
}

#[test]
fn reports_of_what_is_not_readable_do_not_multiply() {
    let number = || Member::number("x", 3);
    let unknown = (0..1000).map(|at| Member::object(&format!("u{at}"), "Unknown")).chain([number()]);
    let program = compile(&tower(2, 100, unknown.collect()), "C0", &[]).unwrap();
    assert!(!program.skipped.is_empty() && program.skipped.len() < 10_000, "{}", program.skipped.len());
}

#[test]
fn classes_deep_in_each_other_fit_the_stack_or_are_refused() {
    for height in [20, 60, 99, 1000] {
        let number = vec![Member::number("x", 3)];
        if let Ok(program) = compile(&tower(height, 1, number.clone()), "C0", &[]) {
            measure(move || format!("{:?}", program.clone().form).len());
        }
        let nested = |level: usize| {
            let name = format!("{}C{}{}", "vector<".repeat(30), level + 1, " >".repeat(30));
            CompiledClass::new(&format!("C{level}"), vec![Member::collection("m", &name)])
        };
        let mut classes: Vec<CompiledClass> = (0..height).map(nested).collect();
        classes.push(CompiledClass::new(&format!("C{height}"), number));
        if let Ok(program) = compile(&classes, "C0", &[]) {
            measure(move || format!("{:?}", program.clone().form).len());
        }
    }
    compile(&tower(20, 1, vec![Member::number("x", 3)]), "C0", &[]).unwrap();
}

#[test]
fn names_with_thousands_of_brackets_are_no_types() {
    for (open, close) in
        [("vector<", ">"), ("map<int,", ">"), ("a::", ""), ("pair<", ",int>"), ("<", ">"), ("const ", "*")]
    {
        let name = format!("{}A{}", open.repeat(10_000), close.repeat(10_000));
        let members = vec![
            Member::collection("c", &name),
            Member::object("o", &name),
            Member::base(&name),
            Member::pointer("p", &name),
            Member::number("x", 3),
        ];
        let classes = [CompiledClass::new("A", members.clone()), CompiledClass::new(&name, members)];
        let _ = compile(&classes, "A", &[]);
        let _ = compile(&classes, &name, &[]);
        let _ = compile(&classes, &format!("vector<{name}>"), &[]);
    }
}

#[test]
fn lookups_of_many_long_names_take_no_long_time() {
    let members =
        (0..2000).map(|at| Member::object(&format!("m{at}"), &format!("{}<T{at}>", "n::".repeat(100))));
    let mut classes = vec![CompiledClass::new(&format!("{}A", "a::".repeat(1000)), members.collect())];
    classes.extend((0..2000).map(|at| CompiledClass::new(&format!("other<{at}>"), Vec::new())));
    let name = classes[0].name.clone();
    let _ = compile(&classes, &name, &[]);
}

#[test]
fn classes_of_very_many_members_are_compiled_in_time() {
    let members =
        |count: usize| (0..count).map(|at| Member::number(&format!("member{at:07}"), 3)).collect::<Vec<_>>();
    compile(&[CompiledClass::new("A", members(30_000))], "A", &[]).unwrap();
    assert_eq!(fails(&[CompiledClass::new("A", members(200_000))], "A"), ErrorKind::Limit);
}

#[test]
fn versions_of_large_classes_do_not_multiply() {
    let members: Vec<Member> = (0..5000).map(|at| Member::number(&format!("m{at}"), 3)).collect();
    let mut versions = vec![CompiledClass { version: 30_000, ..CompiledClass::new("A", members) }];
    let older = (1..5000)
        .map(|version| CompiledClass { version, ..CompiledClass::new("A", vec![Member::number("m0", 3)]) });
    versions.extend(older);
    let _ = compile(&versions, "A", &[]);
    let mut classes = tower(3, 20, vec![Member::number("x", 3)]);
    let large = (1..2000)
        .map(|version| CompiledClass { version, ..CompiledClass::new("V", vec![Member::object("m", "C0")]) });
    classes.extend(large);
    let _ = compile(&classes, "V", &[]);
}

#[test]
fn arrays_of_absurd_sizes_cost_nothing() {
    let huge = i32::MAX;
    let classes = [
        CompiledClass::new("E", Vec::new()),
        CompiledClass::new("A", vec![Member::number("x", 3).array(&[huge])]),
        CompiledClass::new(
            "B",
            vec![Member::object("a", "A").array(&[huge]), Member::object("e", "E").array(&[huge])],
        ),
        CompiledClass::new(
            "C",
            vec![Member::object("b", "B").array(&[huge]), Member::object("c", "B").array(&[huge])],
        ),
        CompiledClass {
            version: 2,
            ..CompiledClass::new(
                "D",
                vec![Member::object("c", "C").array(&[huge]), Member::object("d", "C").array(&[huge])],
            )
        },
        CompiledClass { version: 1, ..CompiledClass::new("D", Vec::new()) },
    ];
    for class in ["A", "B", "C", "D"] {
        let _ = compile(&classes, class, &[]);
    }
}
