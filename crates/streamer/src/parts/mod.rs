//! Objects cut into the bytes of their members, and put together again, without decoding them.
//!
//! A [`Part`] says which bytes of an object go to which place: one for each branch of a split object. [`ObjectCutter`] takes
//! objects apart, a [`Joiner`] builds them; both follow what ROOT stores (root-io-spec ReadingEntries §3, Collections §4).

mod clones;
mod cut;
mod join;
mod movable;

pub use clones::class_of_clones;
pub use cut::{ObjectCutter, PartBytes};
pub use join::Joiner;
pub use movable::{MovableContent, movable_content};

use crate::node::Collection;
use crate::run::Runner;
use crate::{Compiler, MemberSelection, Node, StreamInput};
use sapwood_core::{Error, Result};
use sapwood_tfile::StreamerInfo;

/// A part of an object, in the order of its bytes.
#[derive(Debug, Clone)]
pub enum Part {
    /// A value that stays whole: the bytes of one element of a class.
    Value {
        /// Where its bytes go.
        place: usize,
        /// How it is stored.
        node: Node,
        /// Where the numbers of its items go, if another member counts them: 32 bits each.
        counter: Option<usize>,
    },
    /// The members of a base class or of an object.
    Members {
        /// The header of the class.
        header: ClassHeader,
        /// True for what has no header in columns: base classes, but not `TObject` and `TNamed`, which their streamers
        /// write one by one (Collections §4.2).
        without_header: bool,
        /// The members.
        parts: Vec<Part>,
    },
    /// The items of a collection, whose members become columns.
    Items {
        /// Where the number of items goes: four bytes.
        place: usize,
        /// The header of the items' class.
        header: ClassHeader,
        /// The members of an item.
        parts: Vec<Part>,
    },
    /// A `TClonesArray`, whose items' members become columns.
    Clones {
        /// True if the name of the class comes first.
        is_named: bool,
        /// Where the number of items goes: four bytes.
        place: usize,
        /// The header of the items' class.
        header: ClassHeader,
        /// The members of an item.
        parts: Vec<Part>,
    },
}

/// The version header of objects of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassHeader {
    name: String,
    version: i16,
    checksum: u32,
    /// A checksum follows a version of 0 or less (Buffer §4).
    has_checksum: bool,
    /// There is no byte count: `TObject` (Buffer §7).
    is_bare: bool,
}

/// Bit 14 of a collection's version: its content is written member by member (Collections §2).
const MEMBER_WISE: u16 = 0x4000;
/// The version of collections that ROOT writes: that of `TStreamerInfo`.
const COLLECTION_VERSION: u16 = 9;
/// The first version behind which the version of the items' class is written (Collections §6).
const WITH_CLASS_VERSION: u16 = 8;

impl ClassHeader {
    /// The members of an object, which is behind this header.
    fn open<'i>(&self, input: &mut StreamInput<'i>) -> Result<Option<StreamInput<'i>>> {
        if self.is_bare { Ok(None) } else { input.must_frame().map(Some) }
    }

    /// Begins an object; returns where.
    fn begin(&self, out: &mut Vec<u8>) -> usize {
        let at = out.len();
        if !self.is_bare {
            // Room for the byte count.
            out.extend([0; 4]);
        }
        self.write(out);
        at
    }

    /// Ends the object that begins at a position.
    fn end(&self, out: &mut [u8], at: usize) -> Result<()> {
        if !self.is_bare {
            return close_frame(out, at);
        }
        // The number of a referenced object has 24 bits here. Branches also have its process id in memory, which readers
        // add to these bits once more (References §2).
        if let Some([number, _, _, _, bits @ ..]) = out.get_mut(at + 2..at + 10)
            && let Some(bits) = bits.first_chunk()
            && u32::from_be_bytes(*bits) & sapwood_tfile::IS_REFERENCED != 0
        {
            *number = 0;
        }
        Ok(())
    }

    fn read(&self, input: &mut StreamInput<'_>) -> Result<()> {
        let version = input.i16()?;
        let matches = if version <= 0 && self.has_checksum {
            input.u32()? == self.checksum
        } else {
            i32::from(version) == i32::from(self.version)
        };
        if matches {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "an object of {} was written with another version of the class than {}",
            self.name, self.version
        )))
    }

    /// Writes the version. Version 1 may be that of a class without `ClassDef`, whose objects state 0 and the checksum;
    /// readers find the description by that for other classes, too.
    fn write(&self, out: &mut Vec<u8>) {
        if self.version == 1 && self.has_checksum {
            out.extend([0, 0]);
            out.extend(self.checksum.to_be_bytes());
        } else {
            out.extend(self.version.to_be_bytes());
        }
    }
}

impl Compiler {
    /// How the element of a class with this index is stored; a base class as an object.
    ///
    /// # Errors
    /// `Corrupt` if there is no such element, or the descriptions contradict themselves.
    pub fn element_node(&self, info: &StreamerInfo, index: usize) -> Result<Node> {
        let (_, node) = self.session().split_member(info, index, &MemberSelection::all())?;
        Ok(node)
    }

    /// Reads everything in the bytes of an object.
    ///
    /// # Errors
    /// As those of reading: the object is not as described. `Unsupported` if it holds references by position.
    pub fn check_object(&self, node: &Node, object: &[u8]) -> Result<()> {
        let input = StreamInput::new(object, 0..object.len(), 0)?;
        // To collect positions, nothing is skipped by its byte count.
        match Runner::new(Some(self)).position_tags(node, input)?.as_slice() {
            [] => Ok(()),
            _ => Err(Error::unsupported("it holds pointers")),
        }
    }

    /// The header of the objects that a description is of.
    pub fn class_header(&self, info: &StreamerInfo) -> ClassHeader {
        let is_of_root = matches!(info.name.as_str(), "TObject" | "TNamed");
        ClassHeader {
            name: info.name.clone(),
            version: i16::try_from(info.version).unwrap_or(i16::MAX),
            checksum: info.checksum,
            has_checksum: !is_of_root && self.streamers().has_checksum_after_version(&info.name),
            is_bare: info.name == "TObject",
        }
    }
}

/// The length of what stands once before all values of a column, after the byte count; `None` if each value is stored
/// on its own.
fn shared_head(node: &Node, framed: &[u8]) -> Option<usize> {
    match node {
        Node::Framed(_) => Some(2),
        _ => node.collection().map(|(collection, _)| head_of_collection(collection, framed)),
    }
}

/// The version of a collection and, if its members are stored in columns, that of the class of its items.
fn head_of_collection(collection: &Collection, framed: &[u8]) -> usize {
    let word = |at: usize| Some(u16::from_be_bytes(*framed.get(at..)?.first_chunk()?));
    match (word(4), &collection.class) {
        (Some(version), Some(class)) if version & MEMBER_WISE != 0 => {
            let states_class = version & !MEMBER_WISE >= WITH_CLASS_VERSION;
            let checksum = word(6).is_some_and(|version| version.cast_signed() <= 0) && class.has_checksum;
            2 + if states_class { 2 + if checksum { 4 } else { 0 } } else { 0 }
        }
        _ => 2,
    }
}

/// Writes the byte count of what was appended to `out` from `at` on, behind four bytes for it.
fn close_frame(out: &mut [u8], at: usize) -> Result<()> {
    let too_long = || Error::unsupported("an object is too long");
    let len = out.len().checked_sub(at + 4).and_then(|len| u32::try_from(len).ok()).ok_or_else(too_long)?;
    let word = out.get_mut(at..at + 4).ok_or_else(too_long)?;
    word.copy_from_slice(&(len | sapwood_tfile::BYTE_COUNT_MASK).to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_tfile::{Count, ElementKind, StreamerElement, StreamerInfo, StreamerInfos};

    fn info(name: &str, version: i32, elements: Vec<StreamerElement>) -> StreamerInfo {
        let (name, checksum, format) = (name.to_owned(), 0x1234_5678, 9);
        StreamerInfo { name, version, checksum, format, without_tobject: false, elements }
    }

    /// `struct Hit { int id; vector<float> e; Point at; };`, with `struct Point { float x; };`
    fn compiler() -> Compiler {
        let vector = ElementKind::Stl { stl_type: 1, content_type: 5 };
        let hit = vec![
            StreamerElement::new("id", ElementKind::BasicType, 3, "int"),
            StreamerElement::new("e", vector, 300, "vector<float>"),
            StreamerElement::new("at", ElementKind::ObjectAny, 62, "Point"),
        ];
        let point = vec![StreamerElement::new("x", ElementKind::BasicType, 5, "float")];
        let infos: StreamerInfos = [info("Hit", 3, hit), info("Point", 1, point)].into_iter().collect();
        Compiler::new(infos)
    }

    /// Hits in a vector, whose points are split, too.
    fn parts(compiler: &Compiler) -> Vec<Part> {
        let described = |name| compiler.streamers().newest(name).unwrap();
        let value = |name, index, place| Part::Value {
            place,
            node: compiler.element_node(described(name), index).unwrap(),
            counter: None,
        };
        let header = |name| compiler.class_header(described(name));
        let point = Part::Members {
            header: header("Point"),
            without_header: false,
            parts: vec![value("Point", 0, 3)],
        };
        let members = vec![value("Hit", 0, 1), value("Hit", 1, 2), point];
        vec![Part::Items { place: 0, header: header("Hit"), parts: members }]
    }

    fn framed(content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(content);
        close_frame(&mut bytes, 0).unwrap();
        bytes
    }

    /// A vector of hits with 0, 1, … energies, one object after the other.
    fn object_wise(count: u8) -> Vec<u8> {
        let mut content = vec![0, 9, 0, 0, 0, count];
        for hit in 0..count {
            let mut energies = vec![0, 9, 0, 0, 0, hit];
            energies.extend((0..hit).flat_map(|_| 1.5_f32.to_be_bytes()));
            let point = framed(&[&[0, 0, 0x12, 0x34, 0x56, 0x78][..], &2.5_f32.to_be_bytes()].concat());
            content.extend(framed(&[&[0, 3, 0, 0, 0, hit][..], &framed(&energies), &point].concat()));
        }
        framed(&content)
    }

    fn cut(compiler: &Compiler, parts: &[Part], object: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut cut = ObjectCutter::new(compiler, parts, 4);
        cut.add(StreamInput::new(object, 0..object.len(), 0)?)?;
        Ok(cut.finish().into_iter().map(|place| place.data).collect())
    }

    #[test]
    fn objects_are_cut_into_columns_and_joined_member_by_member() {
        let compiler = compiler();
        let parts = parts(&compiler);
        for count in 0..5 {
            let columns = cut(&compiler, &parts, &object_wise(count)).unwrap();
            assert_eq!(columns[0], [0, 0, 0, count]);
            assert_eq!(columns[1], (0..count).flat_map(|hit| [0, 0, 0, hit]).collect::<Vec<_>>());
            assert_eq!(columns[3].len(), 4 * usize::from(count));
            // One frame for all vectors of the column.
            let energies = usize::from(count * count.saturating_sub(1) / 2);
            let head = if count > 0 { 6 } else { 0 };
            assert_eq!(columns[2].len(), head + 4 * usize::from(count) + 4 * energies);
            let (mut joined, columns_again) = (Vec::new(), |joined: &[u8]| cut(&compiler, &parts, joined));
            let places: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
            Joiner::new(&compiler, &parts).join(&places, &mut joined).unwrap();
            assert_eq!(joined[4..6], [0x40, 9]);
            assert_eq!(columns_again(&joined).unwrap(), columns);
        }
    }

    #[test]
    fn damaged_objects_are_errors_or_other_objects_and_nothing_worse() {
        let compiler = compiler();
        let parts = parts(&compiler);
        let whole = object_wise(3);
        for at in 0..whole.len() {
            for flip in [1, 0x40, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                let Ok(columns) = cut(&compiler, &parts, &damaged) else { continue };
                let places: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
                let _ = Joiner::new(&compiler, &parts).join(&places, &mut Vec::new());
            }
            assert!(cut(&compiler, &parts, &whole[..at]).is_err());
        }
    }

    #[test]
    fn another_version_of_a_class_is_refused() {
        let compiler = compiler();
        let mut whole = object_wise(1);
        assert_eq!(whole[14..16], [0, 3]);
        whole[15] = 4;
        let error = cut(&compiler, &parts(&compiler), &whole).unwrap_err();
        assert!(error.to_string().contains("another version of the class than 3"), "{error}");
    }

    /// `struct Label : TNamed { int code; };` in a vector.
    fn labels() -> (Compiler, Vec<Part>) {
        let base = |name, code| {
            StreamerElement::new(name, ElementKind::Base { version: 1, checksum: 0x1234_5678 }, code, "BASE")
        };
        let number = |name, code, class| StreamerElement::new(name, ElementKind::BasicType, code, class);
        let text = |name| StreamerElement::new(name, ElementKind::String, 65, "TString");
        let tobject = vec![number("fUniqueID", 13, "unsigned int"), number("fBits", 15, "unsigned int")];
        let infos: StreamerInfos = [
            info("TObject", 1, tobject),
            info("TNamed", 1, vec![base("TObject", 66), text("fName"), text("fTitle")]),
            info("Label", 2, vec![base("TNamed", 67), number("code", 3, "int")]),
        ]
        .into_iter()
        .collect();
        let compiler = Compiler::new(infos);
        let described = |name| compiler.streamers().newest(name).unwrap();
        let value = |name, index, place| Part::Value {
            place,
            node: compiler.element_node(described(name), index).unwrap(),
            counter: None,
        };
        let members = |name, parts| Part::Members {
            header: compiler.class_header(described(name)),
            without_header: false,
            parts,
        };
        let tobject = members("TObject", vec![value("TObject", 0, 1), value("TObject", 1, 2)]);
        let named = members("TNamed", vec![tobject, value("TNamed", 1, 3), value("TNamed", 2, 3)]);
        let parts = vec![named, value("Label", 1, 0)];
        let header = compiler.class_header(described("Label"));
        let parts = vec![Part::Items { place: 0, header, parts }];
        (compiler, parts)
    }

    /// Two labels, member by member: the first is referred to by process 0.
    fn labels_of_root() -> Vec<u8> {
        let first = framed(&[&[0, 1, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0x10, 0, 0][..], b"\x01a", b"\x00"].concat());
        let second = framed(&[&[0, 1, 0, 1, 1, 0, 0, 8, 0, 0, 0, 0][..], b"\x00", b"\x02bc"].concat());
        framed(&[&[0x40, 9, 0, 2, 0, 0, 0, 2][..], &first, &second, &[0, 0, 0, 5, 0, 0, 0, 6]].concat())
    }

    #[test]
    fn bases_of_root_have_a_header_in_each_object_of_a_column() {
        let (compiler, parts) = labels();
        let whole = labels_of_root();
        let columns = cut(&compiler, &parts, &whole).unwrap();
        assert_eq!(columns[0], [0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6]);
        assert_eq!(columns[1], [0, 0, 0, 7, 1, 0, 0, 8]);
        assert_eq!(columns[2], [0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
        assert_eq!(columns[3], *b"\x01a\x00\x00\x02bc");
        let node = compiler.class_node("vector<Label>", &MemberSelection::all()).unwrap();
        compiler.check_object(&node, &whole).unwrap();
        let content = movable_content(&node).unwrap();
        assert_eq!(content, MovableContent { process_ids: true, clones: false });
        for at in 0..whole.len() {
            assert!(cut(&compiler, &parts, &whole[..at]).is_err());
        }
    }

    #[test]
    fn the_number_of_an_object_that_is_referred_to_has_24_bits() {
        let (compiler, parts) = labels();
        let [Part::Items { parts, .. }] = parts.as_slice() else { panic!() };
        for (bits, number) in [(0x10, 0), (0, 3)] {
            let bits = [&[0, 0, 0, bits][..], if bits == 0 { &[] } else { &[0, 0] }].concat();
            let places: [&[u8]; 4] = [&[0, 0, 0, 5], &[3, 0, 0, 7], &bits, b"\x00"];
            let mut joined = Vec::new();
            Joiner::new(&compiler, parts).join(&places, &mut joined).unwrap();
            assert_eq!(joined[6..12], [0, 1, number, 0, 0, 7]);
        }
    }

    /// `struct Wave { int n; short *x; //[n] };` in a vector.
    fn waves() -> (Compiler, Vec<Part>) {
        let count = Count { name: "n".to_owned(), class_name: "Wave".to_owned(), version: 1 };
        let members = vec![
            StreamerElement::new("n", ElementKind::BasicType, 6, "int"),
            StreamerElement::new("x", ElementKind::BasicPointer(count), 42, "short*"),
        ];
        let compiler = Compiler::new([info("Wave", 2, members)].into_iter().collect());
        let wave = compiler.streamers().newest("Wave").unwrap();
        let value = |index, counter| Part::Value {
            place: index + 1,
            node: compiler.element_node(wave, index).unwrap(),
            counter,
        };
        let parts = vec![value(0, None), value(1, Some(1))];
        let parts = vec![Part::Items { place: 0, header: compiler.class_header(wave), parts }];
        (compiler, parts)
    }

    #[test]
    fn arrays_have_as_many_items_as_another_place_says() {
        let (compiler, parts) = waves();
        let head = [0x40, 9, 0, 2, 0, 0, 0, 3];
        let counts = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1];
        // A flag says whether there is an array.
        let arrays = [1, 0, 7, 0, 8, 0, 1, 0, 9];
        let whole = framed(&[&head[..], &counts, &arrays].concat());
        let columns = cut(&compiler, &parts, &whole).unwrap();
        assert_eq!(columns[..3], [vec![0, 0, 0, 3], counts.to_vec(), arrays.to_vec()]);
        let places: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        let mut joined = Vec::new();
        Joiner::new(&compiler, &parts).join(&places, &mut joined).unwrap();
        assert_eq!(joined, whole);
        let object_wise = |counts: [u8; 2]| {
            let item = |count: u8, array: &[u8]| framed(&[&[0, 2, 0, 0, 0, count][..], array].concat());
            let items = [item(counts[0], &arrays[..5]), item(counts[1], &arrays[6..])].concat();
            framed(&[&[0, 9, 0, 0, 0, 2][..], &items].concat())
        };
        assert_eq!(cut(&compiler, &parts, &object_wise([2, 1])).unwrap()[2].len(), 8);
        for counts in [[1, 1], [3, 1], [2, 0], [255, 1]] {
            assert!(cut(&compiler, &parts, &object_wise(counts)).is_err());
        }
    }

    /// A `TClonesArray` of waves; `bits` say how it is stored.
    fn clones(bits: u8, count: u8, items: &[u8]) -> Vec<u8> {
        let head = [&[0, 4, 0, 1, 0, 0, 0, 0, 0, 0, bits, 0][..], b"\x05Waves", b"\x06Wave;2"].concat();
        let array = framed(&[&head[..], &[0, 0, 0, count, 0, 0, 0, 0], items].concat());
        [&b"\x0cTClonesArray\0"[..], &array].concat()
    }

    #[test]
    fn a_clones_array_is_cut_into_columns_and_joined() {
        let (compiler, parts) = waves();
        let [Part::Items { place, header, parts }] = parts.as_slice() else { panic!() };
        let parts = vec![Part::Clones {
            is_named: true,
            place: *place,
            header: header.clone(),
            parts: parts.clone(),
        }];
        let transposed = clones(0x10, 2, &[0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 7, 0]);
        assert_eq!(class_of_clones(&transposed, true).unwrap(), "Wave");
        let columns = cut(&compiler, &parts, &transposed).unwrap();
        assert_eq!(columns[..3], [vec![0, 0, 0, 2], vec![0, 0, 0, 1, 0, 0, 0, 0], vec![1, 0, 7, 0]]);
        let places: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        let mut joined = Vec::new();
        Joiner::new(&compiler, &parts).join(&places, &mut joined).unwrap();
        assert_eq!(joined, transposed);
        let item = |count, array: &[u8]| framed(&[&[0, 2, 0, 0, 0, count][..], array].concat());
        let one_by_one = [&[1][..], &item(1, &[1, 0, 7]), &[1], &item(0, &[0])].concat();
        assert_eq!(cut(&compiler, &parts, &clones(0, 2, &one_by_one)).unwrap(), columns);
        // A gap.
        assert!(cut(&compiler, &parts, &clones(0, 1, &[0])).is_err());
        for at in 0..transposed.len() {
            assert!(cut(&compiler, &parts, &transposed[..at]).is_err());
            let mut damaged = transposed.clone();
            damaged[at] ^= 0xff;
            let Ok(columns) = cut(&compiler, &parts, &damaged) else { continue };
            let places: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
            Joiner::new(&compiler, &parts).join(&places, &mut Vec::new()).unwrap();
        }
    }
}
