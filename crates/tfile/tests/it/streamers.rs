//! Streamer information: every class of element, in old and new versions, and how descriptions are chosen.

use crate::Fetched;
use crate::handmade::file;
use sapwood_core::{ErrorKind, Result};
use sapwood_tfile::write::RecordBuffer;
use sapwood_tfile::{Count, ElementKind, StreamerElement, StreamerInfos, TFile, ValueRange};

fn bytes(write: impl FnOnce(&mut RecordBuffer)) -> Vec<u8> {
    let mut buffer = RecordBuffer::new(0);
    write(&mut buffer);
    buffer.finish().unwrap()
}

/// An object with a byte count.
fn framed(version: i16, content: &[&[u8]]) -> Vec<u8> {
    bytes(|buffer| buffer.object(version, |buffer| buffer.bytes(&content.concat())))
}

/// An object behind a pointer, with the name of its class.
fn slot(class_name: &str, object: &[u8]) -> Vec<u8> {
    bytes(|buffer| {
        buffer.slot(class_name, |buffer| buffer.bytes(object));
    })
}

fn words(values: &[i32]) -> Vec<u8> {
    bytes(|buffer| values.iter().for_each(|value| buffer.i32(*value)))
}

fn string(text: &str) -> Vec<u8> {
    bytes(|buffer| buffer.tstring(text))
}

fn named(bits: u32, name: &str, title: &str) -> Vec<u8> {
    bytes(|buffer| buffer.tnamed(name, title, bits))
}

/// What a member is like, as `TStreamerElement` of version 4.
struct Member<'a> {
    name: &'a str,
    title: &'a str,
    bits: u32,
    type_code: i32,
    dims: &'a [i32],
    type_name: &'a str,
}

const MEMBER: Member<'_> =
    Member { name: "m", title: "", bits: 0, type_code: 3, dims: &[], type_name: "int" };

impl Member<'_> {
    fn base(&self) -> Vec<u8> {
        let length = if self.dims.is_empty() { 0 } else { self.dims.iter().product() };
        let rank = i32::try_from(self.dims.len()).unwrap();
        let mut extents = self.dims.to_vec();
        extents.resize(5, 0);
        let numbers = words(&[self.type_code, 4, length, rank]);
        let name = named(self.bits, self.name, self.title);
        framed(4, &[&name, &numbers, &words(&extents), &string(self.type_name)])
    }

    fn element(&self, class_name: &str, version: i16, tail: &[u8]) -> Vec<u8> {
        slot(class_name, &framed(version, &[&self.base(), tail]))
    }
}

fn info(name: &str, version: i32, checksum: u32, elements: &[Vec<u8>]) -> Vec<u8> {
    let array = bytes(|array| array.tobjarray(elements.len(), |array| array.bytes(&elements.concat())));
    let head: [&[u8]; 3] = [&named(0x10000, name, ""), &checksum.to_be_bytes(), &version.to_be_bytes()];
    slot("TStreamerInfo", &framed(9, &[&head.concat(), &slot("TObjArray", &array)]))
}

/// The `TList` of the streamer information; an empty option follows each entry.
fn list(entries: &[Vec<u8>]) -> Vec<u8> {
    let content: Vec<u8> = entries.iter().flat_map(|entry| [&entry[..], &[0]].concat()).collect();
    bytes(|buffer| buffer.tlist("", entries.len(), |buffer| buffer.bytes(&content)))
}

fn parse(entries: &[Vec<u8>]) -> Result<StreamerInfos> {
    let mut fetched = Fetched::new(file(&[], Some(&list(entries))));
    let size = fetched.size();
    let file = fetched.drive(|known| TFile::open(known, size))?;
    fetched.drive(|known| file.streamers(known))
}

/// The elements of a class with these elements.
fn elements(elements: &[Vec<u8>]) -> Vec<StreamerElement> {
    parse(&[info("C", 2, 7, elements)]).unwrap().get("C", 2).unwrap().elements.clone()
}

#[test]
fn every_class_of_element() {
    let count = [&words(&[2])[..], &string("fN"), &string("C")].concat();
    let counted = Count { name: "fN".into(), class_name: "C".into(), version: 2 };
    let base = Member { name: "B", type_code: 0, type_name: "BASE", ..MEMBER };
    let stl = Member { type_code: 500, type_name: "vector<float>", ..MEMBER };
    let text =
        framed(3, &[&Member { type_code: 500, type_name: "string", ..MEMBER }.base(), &words(&[365, 365])]);
    let found = elements(&[
        base.element("TStreamerBase", 3, &words(&[5])),
        base.element("TStreamerBase", 2, &[]),
        MEMBER.element("TStreamerBasicType", 2, &[]),
        MEMBER.element("TStreamerBasicPointer", 2, &count),
        MEMBER.element("TStreamerLoop", 2, &count),
        MEMBER.element("TStreamerObject", 2, &[]),
        MEMBER.element("TStreamerObjectAny", 2, &[]),
        MEMBER.element("TStreamerObjectPointer", 2, &[]),
        MEMBER.element("TStreamerObjectAnyPointer", 1, &[]),
        MEMBER.element("TStreamerString", 2, &[]),
        stl.element("TStreamerSTL", 3, &words(&[1, 5])),
        slot("TStreamerSTLstring", &framed(2, &[&text])),
        vec![0; 4],
    ]);
    let kinds: Vec<ElementKind> = found.into_iter().map(|element| element.kind).collect();
    let expected = [
        ElementKind::Base { version: 5, checksum: 0 },
        ElementKind::Base { version: -1, checksum: 0 },
        ElementKind::BasicType,
        ElementKind::BasicPointer(counted.clone()),
        ElementKind::Loop(counted),
        ElementKind::Object,
        ElementKind::ObjectAny,
        ElementKind::ObjectPointer,
        ElementKind::ObjectAnyPointer,
        ElementKind::String,
        ElementKind::Stl { stl_type: 1, content_type: 5 },
        ElementKind::StlString,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn descriptions_are_recalled_for_the_same_bytes_only() {
    for checksum in [7, 8, 7] {
        let found = parse(&[info("Recalled", 2, checksum, &[])]).unwrap();
        assert_eq!(found.get("Recalled", 2).unwrap().checksum, checksum);
    }
}

#[test]
fn an_unknown_class_of_element() {
    let error = parse(&[info("C", 2, 7, &[MEMBER.element("TStreamerX", 2, &[])])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("TStreamerX"), "{error}");
}

#[test]
fn arrays_and_ranges() {
    let array = Member { dims: &[2, 3], type_code: 23, ..MEMBER };
    let ranged = Member { title: "[-1,1,10] cosine", bits: 1 << 6, type_code: 9, ..MEMBER };
    let unmarked = Member { bits: 0, ..ranged };
    let members = [&array, &ranged, &unmarked].map(|member| member.element("TStreamerBasicType", 2, &[]));
    let found = elements(&members);
    assert_eq!((found[0].array_length, &found[0].array_dims[..]), (6, &[2, 3][..]));
    assert_eq!(found[1].range, Some(ValueRange { min: -1.0, max: 1.0, factor: 512.0 }));
    assert_eq!(found[2].range, None, "without the bit, the title is only a comment");
}

/// Version 1 counts its extents, and version 3 has the range beside them.
#[test]
fn old_versions_of_an_element() {
    let numbers = words(&[9, 4, 2, 1]);
    let name = named(0, "m", "");
    let one = framed(1, &[&name, &numbers, &words(&[1, 2]), &string("Double32_t")]);
    let range: Vec<u8> = [-2.0_f64, 2.0, 8.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    let three = framed(3, &[&name, &numbers, &words(&[2, 0, 0, 0, 0]), &string("Double32_t"), &range]);
    let found = elements(&[one, three].map(|base| slot("TStreamerBasicType", &framed(2, &[&base]))));
    assert_eq!((&found[0].array_dims[..], found[0].range), (&[2][..], None));
    assert_eq!(found[1].range, Some(ValueRange { min: -2.0, max: 2.0, factor: 8.0 }));
}

#[test]
fn what_the_file_says_otherwise_than_it_means() {
    let old_bool = Member { type_code: 11, type_name: "Bool_t", ..MEMBER };
    let set = Member { type_code: 500, type_name: "set<int>", dims: &[4], ..MEMBER };
    let pointer = Member { type_code: 500, type_name: "vector<int>*", ..MEMBER };
    let found = elements(&[
        old_bool.element("TStreamerBasicType", 2, &[]),
        set.element("TStreamerSTL", 3, &words(&[5, 3])),
        pointer.element("TStreamerSTL", 3, &words(&[1, 3])),
    ]);
    assert_eq!(found.iter().map(|element| element.type_code).collect::<Vec<_>>(), [18, 320, 71]);
    assert_eq!(found[1].kind, ElementKind::Stl { stl_type: 6, content_type: 3 });
}

#[test]
fn rules_and_null_pointers_are_passed_over() {
    let rules = slot("TList", &list(&[slot("TObjString", &framed(1, &[b"type=read"]))]));
    let infos = parse(&[info("A", 1, 1, &[]), vec![0; 4], rules, info("B", 1, 2, &[])]).unwrap();
    assert_eq!(infos.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn which_description_reads_an_object() {
    let infos = parse(&[
        info("Foreign", 1, 10, &[]),
        info("Foreign", 1, 11, &[]),
        info("Foreign", 1, 11, &[]),
        info("Transient", 0, 20, &[]),
        info("Grown", 2, 30, &[]),
        info("Grown", 4, 31, &[]),
    ])
    .unwrap();
    assert_eq!(infos.versions("Foreign").len(), 2, "one was there twice");
    assert!(infos.has_checksum_after_version("Foreign") && !infos.has_checksum_after_version("Transient"));
    let checksum = |info: Option<&sapwood_tfile::StreamerInfo>| info.map(|info| info.checksum);
    assert_eq!(checksum(infos.select("Foreign", 0, Some(11))), Some(11));
    assert_eq!(checksum(infos.select("Foreign", 0, Some(12))), None);
    assert_eq!(checksum(infos.select("Transient", 0, None)), Some(20));
    assert_eq!(checksum(infos.select("Grown", 2, None)), Some(30));
    assert_eq!(checksum(infos.select("Grown", 3, None)), None);
    assert_eq!(checksum(infos.newest("Grown")), Some(31));
    assert_eq!(checksum(infos.newest("Absent")), None);
}

#[test]
fn which_description_reads_a_base_class() {
    let base = |version: i32, checksum: i32| {
        let slot = Member { name: "B", type_code: 0, type_name: "BASE", dims: &[], ..MEMBER };
        let mut bytes = slot.element("TStreamerBase", 3, &words(&[version]));
        // The checksum is the second extent: four words before the name of the type and the version.
        let at = bytes.len() - 4 - 5 - 16;
        bytes[at..at + 4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    };
    let bases = [base(1, -2), base(3, 0), base(9, 0)];
    let infos = parse(&[
        info("D", 1, 1, &bases),
        info("B", 2, u32::MAX - 1, &[]),
        info("B", 3, 33, &[]),
        info(
            "E",
            1,
            2,
            &[Member { name: "D", type_name: "BASE", ..MEMBER }.element("TStreamerBase", 3, &words(&[1]))],
        ),
    ])
    .unwrap();
    let chosen: Vec<_> =
        infos.get("D", 1).unwrap().elements.iter().map(|e| infos.base_of(e).unwrap().version).collect();
    assert_eq!(chosen, [2, 3, 3], "by checksum, by version, the newest");
    assert!(infos.derives_from("E", "B") && infos.derives_from("E", "E") && !infos.derives_from("B", "E"));
}

#[test]
fn a_class_that_is_its_own_base() {
    let base = Member { name: "Loop", type_name: "BASE", ..MEMBER }.element("TStreamerBase", 3, &words(&[1]));
    let infos = parse(&[info("Loop", 1, 1, &[base])]).unwrap();
    assert!(!infos.derives_from("Loop", "TObject"));
}
