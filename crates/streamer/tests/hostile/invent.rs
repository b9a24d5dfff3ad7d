//! Generates descriptions, objects that mostly fit them, and selections; and reads these objects.

use crate::describe::{CompiledClass, Member, infos, object_base, text, word};
use sapwood_core::{Column, ErrorKind, Form, Result};
use sapwood_streamer::{ColumnPart, Compiler, Program, StreamInput};

/// Decisions, taken from bytes; the first choice everywhere when these are used up.
struct Chance<'a>(&'a [u8]);

impl Chance<'_> {
    fn below(&mut self, sides: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % sides.max(1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True now and then.
    fn rarely(&mut self) -> bool {
        self.below(64) == 63
    }
}

const CLASSES: [&str; 9] = ["A", "B", "C", "D", "ns::A", "TPair", "TSeqCollection", "TNamed", "pair<int,B>"];
const KNOWN: [&str; 12] = [
    "TObject",
    "TString",
    "TQObject",
    "TArrayI",
    "TArrayD",
    "TDatime",
    "TRef",
    "TRefArray",
    "TClonesArray",
    "TObjArray",
    "TList",
    "TMap",
];
const NUMBERS: [(i32, usize); 14] = [
    (3, 4),
    (8, 8),
    (5, 4),
    (1, 1),
    (2, 2),
    (4, 8),
    (9, 4),
    (11, 1),
    (12, 2),
    (13, 4),
    (14, 8),
    (16, 8),
    (18, 1),
    (19, 3),
];

fn type_name(chance: &mut Chance<'_>, depth: usize) -> String {
    let more = if depth < 4 { 7 } else { 0 };
    match chance.below(5 + more) {
        0 => chance.one(&["int", "double", "float", "bool", "Double32_t", "Float16_t", "short"]).to_owned(),
        1 => chance.one(&["string", "TString"]).to_owned(),
        2 => chance.one(&CLASSES).to_owned(),
        3 => format!("{}*", chance.one(&CLASSES)),
        4 => chance
            .one(&["Unknown", "bitset<8>", "const A", "TObject", "TClonesArray", "A<B", "::", ""])
            .to_owned(),
        5..=8 => format!("vector<{}>", type_name(chance, depth + 1)),
        9 => format!("set<{} >", type_name(chance, depth + 1)),
        10 => format!("map<{},{}>", type_name(chance, depth + 1), type_name(chance, depth + 1)),
        _ => format!("pair<{},{}>", type_name(chance, depth + 1), type_name(chance, depth + 1)),
    }
}

fn member(chance: &mut Chance<'_>, class: &str, at: usize) -> Member {
    let name = format!("m{}", if chance.rarely() { 0 } else { at });
    let of_class = chance.one(&CLASSES);
    let (code, _) = chance.one(&NUMBERS);
    let counter = (chance.one(&["m0", "m1", "m2"]), if chance.rarely() { of_class } else { class });
    let member = match chance.below(16) {
        0 | 1 => Member::number(&name, code),
        2 => Member::number(&name, 6),
        3 | 4 => Member::collection(&name, &type_name(chance, 0)),
        5 => Member::object(&name, of_class),
        6 => Member::object(&name, chance.one(&KNOWN)),
        7 | 8 => Member::pointer(&name, of_class),
        9 => Member::counted("TStreamerBasicPointer", &name, 40 + code, "int*", counter),
        10 => Member::counted(
            "TStreamerLoop",
            &name,
            501,
            &format!("{of_class}{}", chance.one(&["*", "**"])),
            counter,
        ),
        11 => Member::base(of_class),
        12 => Member::base(chance.one(&KNOWN)),
        13 => Member::new("TStreamerString", &name, 65, "TString"),
        14 => Member::new("TStreamerObjectPointer", &name, chance.one(&[63, 64]), &format!("{of_class}*")),
        _ => match chance.below(4) {
            0 => Member::collection("This", "This").titled(&format!("<{}>", type_name(chance, 0))),
            1 => Member::number(&name, chance.one(&[15, 7, -1, 0, 61, 77, 999])),
            2 => Member::new("TStreamerArtificial", &name, 62, of_class),
            _ => Member::new("TStreamerSTLstring", &name, 300, "string"),
        },
    };
    match chance.below(8) {
        7 => {
            let dims = [chance.one(&[2, 3, 1, 0, i32::MAX, -1, 1 << 16]), chance.one(&[2, 1, 1 << 16])];
            let rank = 1 + chance.below(2);
            member.array(&dims[..rank])
        }
        _ => member,
    }
}

fn classes(chance: &mut Chance<'_>) -> Vec<CompiledClass> {
    let count = 1 + chance.below(6);
    let invented = |_| {
        let name = chance.one(&CLASSES);
        let members = (0..chance.below(6)).map(|at| member(chance, name, at)).collect();
        let version = chance.one(&[1, 2, 0, 3]);
        CompiledClass { version, checksum: version.cast_unsigned(), ..CompiledClass::new(name, members) }
    };
    (0..count).map(invented).collect()
}

/// Writes objects.
struct Writer<'a, 'b> {
    classes: &'a [CompiledClass],
    chance: &'a mut Chance<'b>,
    out: Vec<u8>,
    /// Where objects and names of classes stand.
    places: Vec<usize>,
}

impl Writer<'_, '_> {
    /// Objects multiply: at some point there are enough.
    fn goes_on(&self, depth: usize) -> bool {
        depth < 12 && self.out.len() < 10_000
    }

    /// Byte count, version, what follows.
    fn framed(&mut self, version: i16, write: impl FnOnce(&mut Self)) {
        if self.chance.rarely() {
            self.out.extend(version.to_be_bytes());
            return write(self);
        }
        let begin = self.out.len();
        self.out.extend([0; 4]);
        self.out.extend(version.to_be_bytes());
        write(self);
        let lie = if self.chance.rarely() { self.chance.below(9) } else { 0 };
        let count = 0x4000_0000 | (self.out.len() - begin - 4 + lie);
        self.out[begin..begin + 4].copy_from_slice(&word(count));
    }

    fn count(&mut self) -> usize {
        let count = self.chance.below(4);
        let said = if self.chance.rarely() { self.chance.one(&[7, 0x7fff_ffff, 0xffff_ffff]) } else { count };
        self.out.extend(word(said));
        count
    }

    fn noise(&mut self, bytes: usize) {
        for _ in 0..bytes {
            let byte = u8::try_from(self.chance.below(256)).unwrap_or(0);
            self.out.push(if byte < 200 { byte % 3 } else { byte });
        }
    }

    fn object(&mut self, class: &str, depth: usize) {
        match class {
            "TObject" => self.out.extend(object_base()),
            "TQObject" => {}
            "TString" | "string" => self.out.extend(text("abc")),
            "TDatime" => self.noise(4),
            "TRef" => self.noise(12),
            "TArrayI" | "TArrayD" => {
                let count = self.count();
                self.noise(count * if class == "TArrayI" { 4 } else { 8 });
            }
            "TRefArray" => self.framed(1, |writer| {
                writer.out.extend([object_base(), vec![0]].concat());
                let count = writer.count();
                writer.noise(6 + 4 * count);
            }),
            "TObjArray" | "TList" | "TMap" => self.framed(if class == "TList" { 5 } else { 3 }, |writer| {
                writer.out.extend([object_base(), vec![0]].concat());
                let count = writer.count();
                if class == "TObjArray" {
                    writer.noise(4);
                }
                for _ in 0..count * if class == "TMap" { 2 } else { 1 } {
                    writer.pointer(depth);
                    if class == "TList" {
                        writer.out.push(0);
                    }
                }
            }),
            "TClonesArray" => self.framed(4, |writer| {
                let mut base = object_base();
                base[8] = writer.chance.one(&[0, 0x10]);
                let is_transposed = base[8] != 0;
                let class = writer.chance.one(&CLASSES);
                let version = writer.chance.below(3);
                writer.out.extend([base, vec![0], text(&format!("{class};{version}"))].concat());
                let count = writer.count();
                writer.noise(4);
                if is_transposed {
                    return writer.columns(class, count, depth);
                }
                for _ in 0..count {
                    writer.out.push(1);
                    writer.object(class, depth + 1);
                }
            }),
            _ => self.described(class, depth),
        }
    }

    fn described(&mut self, class: &str, depth: usize) {
        let versions: Vec<&CompiledClass> = self.classes.iter().filter(|one| one.name == class).collect();
        let (version, members) = match versions.get(self.chance.below(versions.len())) {
            Some(one) => (one.version, one.members.as_slice()),
            None => (1, &[][..]),
        };
        let version = if self.chance.rarely() { 9 } else { i16::try_from(version).unwrap_or(1) };
        self.framed(version, |writer| {
            if writer.goes_on(depth) {
                members.iter().for_each(|member| writer.member(member, 1, depth + 1));
            }
        });
    }

    /// The members of this many objects, each a column.
    fn columns(&mut self, class: &str, count: usize, depth: usize) {
        let members = self.classes.iter().find(|one| one.name == class).map_or(&[][..], |one| &one.members);
        if self.goes_on(depth) {
            members.iter().for_each(|member| self.member(member, count, depth + 1));
        }
    }

    fn pointer(&mut self, depth: usize) {
        match self.chance.below(6) {
            0 => self.out.extend(word(0)),
            1 | 2 if self.goes_on(depth) => {
                let class = if self.chance.rarely() { "Unknown" } else { self.chance.one(&CLASSES) };
                let class = if self.chance.below(8) == 0 { self.chance.one(&KNOWN) } else { class };
                let begin = self.out.len();
                self.places.extend([begin, begin + 4]);
                self.out.extend([[0; 4], [0xff; 4]].concat());
                self.out.extend(class.as_bytes());
                self.out.push(0);
                self.object(class, depth + 1);
                let count = 0x4000_0000 | (self.out.len() - begin - 4);
                self.out[begin..begin + 4].copy_from_slice(&word(count));
            }
            3 if !self.places.is_empty() => {
                let place = self.places[self.chance.below(self.places.len())];
                let odd = if self.chance.rarely() { self.chance.below(9) } else { 0 };
                self.out.extend(word(place + 2 + odd));
            }
            4 if !self.places.is_empty() => {
                let place = self.places[self.chance.below(self.places.len())];
                let begin = self.out.len();
                self.places.push(begin);
                self.out.extend([word(0), word(0x8000_0000 | (place + 2))].concat());
                self.described("A", depth + 1);
                let count = 0x4000_0000 | (self.out.len() - begin - 4);
                self.out[begin..begin + 4].copy_from_slice(&word(count));
            }
            _ => self.out.extend(word(self.chance.below(3))),
        }
    }

    /// Items of a collection, by the name of their type.
    fn item(&mut self, name: &str, depth: usize) {
        let name = name.trim();
        if !self.goes_on(depth) {
            return;
        }
        if name.ends_with('*') {
            return self.pointer(depth);
        }
        let arguments = |head: &str| name.strip_prefix(head)?.strip_suffix('>');
        if let Some(items) = arguments("vector<").or_else(|| arguments("set<")) {
            for _ in 0..self.count() {
                self.item(items, depth + 1);
            }
        } else if let Some((key, value)) = arguments("map<").and_then(|both| both.split_once(',')) {
            for _ in 0..self.count() {
                self.item(key, depth + 1);
                self.item(value, depth + 1);
            }
        } else {
            match name {
                "int" | "float" | "Double32_t" => self.noise(4),
                "double" => self.noise(8),
                "bool" => self.noise(1),
                "short" => self.noise(2),
                "Float16_t" => self.noise(3),
                class => self.object(class, depth + 1),
            }
        }
    }

    fn member(&mut self, member: &Member, count: usize, depth: usize) {
        let items =
            member.dims.iter().map(|dim| usize::try_from(*dim).unwrap_or(0).min(4)).product::<usize>().min(8);
        let all = items * count;
        match member.element {
            "TStreamerBasicType" if member.code == 6 => {
                (0..count).for_each(|_| self.out.extend([0, 0, 0, if member.name == "m0" { 1 } else { 2 }]));
            }
            "TStreamerBasicType" | "TStreamerBasicPointer" => {
                let size = NUMBERS
                    .iter()
                    .find(|(code, _)| (member.code - code) % 20 == 0)
                    .map_or(4, |(_, size)| *size);
                if member.element == "TStreamerBasicType" {
                    return self.noise(size * all);
                }
                for _ in 0..count {
                    let present = self.chance.one(&[1, 0]);
                    self.out.push(present);
                    self.noise(usize::from(present) * size * if member.counter.0 == "m0" { 1 } else { 2 });
                }
            }
            "TStreamerSTL" => {
                let version = if self.chance.below(4) == 3 { 0x4009 } else { 9 };
                self.framed(version, |writer| {
                    if version == 9 {
                        return (0..all).for_each(|_| writer.item(&member.type_name, depth));
                    }
                    let class = writer.chance.one(&CLASSES);
                    writer.noise(2);
                    for _ in 0..all {
                        let count = writer.count();
                        writer.columns(class, count, depth);
                    }
                });
            }
            "TStreamerString" => (0..all).for_each(|_| self.out.extend(text("xy"))),
            "TStreamerSTLstring" => {
                self.framed(9, |writer| (0..all).for_each(|_| writer.out.extend(text("z"))))
            }
            "TStreamerLoop" => self.framed(1, |writer| {
                for _ in 0..2 * all {
                    writer.object(member.type_name.trim_end_matches('*'), depth);
                }
            }),
            "TStreamerBase" => (0..count).for_each(|_| self.object(&member.name, depth)),
            "TStreamerObjectAnyPointer" => (0..all).for_each(|_| self.pointer(depth)),
            _ => (0..all).for_each(|_| self.object(member.type_name.trim_end_matches('*'), depth)),
        }
    }
}

/// Invents descriptions, objects and a query from `bytes`, and reads the objects in all ways there are. Answers the
/// bytes of the objects, and how many runs went well.
pub(crate) fn read_something(bytes: &[u8]) -> (usize, usize) {
    let mut chance = Chance(bytes);
    let classes = classes(&mut chance);
    let paths: Vec<String> = (0..chance.below(3))
        .map(|_| (0..=chance.below(3)).map(|_| format!("m{}", chance.below(4))).collect::<Vec<_>>().join("."))
        .collect();
    let (first, is_raw) = (chance.one(&CLASSES), chance.rarely());
    let name = if chance.below(4) == 0 { type_name(&mut chance, 0) } else { first.to_owned() };
    let mut writer = Writer { classes: &classes, chance: &mut chance, out: Vec::new(), places: Vec::new() };
    let mut ends = vec![0];
    for _ in 0..3 {
        writer.item(&name, 0);
        ends.push(writer.out.len());
    }
    let mut data = writer.out;
    if is_raw {
        data = bytes.to_vec();
        ends = vec![0, data.len()];
    }
    let Ok(infos) = infos(&classes) else { return (0, 0) };
    let compiler = Compiler::new(infos.clone());
    let mut programs = vec![
        compiler.object(&name, &paths),
        compiler.whole(&name, infos.newest(first), &paths),
        compiler.named_object(&name, &paths),
        Compiler::with_identities(infos.clone()).object(&name, &[]),
    ];
    for info in infos.iter() {
        for index in 0..info.elements.len() {
            programs.extend([compiler.member(info, index, &paths), compiler.column(info, index, &[])]);
        }
    }
    let mut sound = 0;
    for program in programs {
        match program.and_then(|program| run(&program, &data, &ends)) {
            Ok(columns) => {
                columns.iter().for_each(check);
                sound += columns.len();
            }
            Err(error) => assert!(is_about_the_file(error.kind()), "{error:?}"),
        }
    }
    (data.len(), sound)
}

/// Kinds of errors that hostile bytes may cause.
pub(crate) fn is_about_the_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Corrupt, Limit, Missing, Unsupported};
    matches!(kind, Corrupt | Limit | Missing | Unsupported)
}

/// Reads the first object, and the others as a part of their own.
fn run(program: &Program, data: &[u8], ends: &[usize]) -> Result<Vec<Column>> {
    let entry = |at: usize| {
        let mut run = program.run();
        let (begin, end) = (ends.get(at).copied().unwrap_or(0), ends.get(at + 1).copied().unwrap_or(0));
        run.entry(StreamInput::new(data, begin..end.max(begin), 0)?)?;
        Ok(run.finish())
    };
    let first = ColumnPart::join(vec![entry(0)?])?;
    assert_eq!(first.length, 1);
    let mut columns = vec![first];
    columns.extend(program.read_object(data, 0).ok().map(|(column, _)| column));
    let parts = (0..ends.len() - 1).filter_map(|at| entry(at).ok()).collect::<Vec<ColumnPart>>();
    columns.extend(ColumnPart::join(parts).ok());
    Ok(columns)
}

/// Checks that the buffers of a column are what its form says.
pub(crate) fn check(column: &Column) {
    let mut buffers = column.buffers.iter().map(|buffer| buffer.as_bytes());
    check_items(&column.form, column.length, &mut buffers);
    assert!(buffers.next().is_none(), "buffers are left over: {:?}", column.form);
}

fn words(bytes: &[u8]) -> Vec<i64> {
    assert_eq!(bytes.len() % 8, 0);
    bytes.chunks_exact(8).map(|word| i64::from_ne_bytes(word.try_into().unwrap())).collect()
}

fn check_items<'a>(form: &Form, length: usize, buffers: &mut impl Iterator<Item = &'a [u8]>) {
    let offsets = |buffers: &mut dyn Iterator<Item = &'a [u8]>| {
        let offsets = words(buffers.next().unwrap());
        assert_eq!(offsets.len(), length + 1);
        assert!(offsets.first() == Some(&0) && offsets.is_sorted());
        usize::try_from(*offsets.last().unwrap()).unwrap()
    };
    match form {
        Form::Primitive(primitive) => assert_eq!(buffers.next().unwrap().len(), length * primitive.size()),
        Form::Fixed { size, content } => check_items(content, length.saturating_mul(*size), buffers),
        Form::List(content) => {
            let items = offsets(buffers);
            check_items(content, items, buffers);
        }
        Form::String => {
            let bytes = offsets(buffers);
            assert_eq!(buffers.next().unwrap().len(), bytes);
        }
        Form::Record { fields, .. } => {
            fields.iter().for_each(|field| check_items(&field.form, length, buffers))
        }
        Form::Tuple(forms) => forms.iter().for_each(|form| check_items(form, length, buffers)),
        Form::Option(content) => {
            let positions = words(buffers.next().unwrap());
            assert_eq!(positions.len(), length);
            let present: Vec<i64> = positions.into_iter().filter(|position| *position != -1).collect();
            assert!(present.iter().zip(0..).all(|(position, expected)| *position == expected));
            check_items(content, present.len(), buffers);
        }
        Form::Union(forms) => {
            let tags = buffers.next().unwrap().to_vec();
            let positions = words(buffers.next().unwrap());
            assert_eq!((tags.len(), positions.len()), (length, length));
            let mut counts = vec![0; forms.len()];
            for (tag, position) in tags.iter().zip(positions) {
                let count = &mut counts[usize::from(*tag)];
                assert_eq!(position, *count);
                *count += 1;
            }
            for (form, count) in forms.iter().zip(counts) {
                check_items(form, usize::try_from(count).unwrap(), buffers);
            }
        }
        Form::Empty => {}
    }
}
