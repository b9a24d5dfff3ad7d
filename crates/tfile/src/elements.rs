//! Elements of a class description: one base class or member each, in all formats that occur in files.

use crate::Cursor;
use sapwood_core::Result;
use std::str::FromStr;

/// Added to the type code of a member that is a fixed array.
const ARRAY: i32 = 20;
/// Type code of an STL collection, and of a pointer to one.
const STL: i32 = 300;
const STL_POINTER: i32 = 71;
/// `TStreamerElement::kHasRange` in the bits of an element.
pub(crate) const HAS_RANGE: u32 = 1 << 6;
/// Before this version of ROOT, objects could be described as basic types (StreamerInfo §6.1).
const OBJECTS_AS_BASIC_TYPES: u32 = 50_000;

/// A base class or a member of a class, as the writer described it (root-io-spec StreamerInfo §7-10).
#[derive(Debug, Clone, PartialEq)]
pub struct StreamerElement {
    /// Name of the member, or of the base class.
    pub name: String,
    /// The comment after the member's declaration.
    pub title: String,
    /// The class of the element, with the fields of that class.
    pub kind: ElementKind,
    /// `fType`: the type code, after the corrections that ROOT makes when reading it: 18 for an old `Bool_t`;
    /// 300 for an STL collection and 71 for a pointer to one, plus 20 for arrays of those.
    pub type_code: i32,
    /// `fSize`: bytes in the writer's memory, which are unrelated to the file.
    pub size: i32,
    /// Items of a fixed array, over all dimensions; 0 for others.
    pub array_length: u32,
    /// Dimensions of a fixed array, the outermost first; their product is `array_length`.
    pub array_dims: Vec<u32>,
    /// The type as declared in C++; `BASE` for a base class.
    pub type_name: String,
    /// How a `Double32_t` or `Float16_t` is packed, if its declaration says so.
    pub range: Option<ValueRange>,
}

/// The class of a [`StreamerElement`], with the fields of that class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementKind {
    /// `TStreamerBase`: a base class.
    Base {
        /// Version of the base class; -1 if it has none or the element is too old to say.
        version: i32,
        /// Checksum of the base class; 0 if unknown.
        checksum: u32,
    },
    /// `TStreamerBasicType`: a number or a fixed array of numbers.
    BasicType,
    /// `TStreamerBasicPointer`: as many numbers as another member counts.
    BasicPointer(Count),
    /// `TStreamerLoop`: as many objects as another member counts.
    Loop(Count),
    /// `TStreamerObject`: an object of a class derived from `TObject`.
    Object,
    /// `TStreamerObjectAny`: an object of any other class.
    ObjectAny,
    /// `TStreamerObjectPointer`: a pointer to an object of a class derived from `TObject`.
    ObjectPointer,
    /// `TStreamerObjectAnyPointer`: a pointer to an object of any other class.
    ObjectAnyPointer,
    /// `TStreamerString`: a `TString`.
    String,
    /// `TStreamerSTL`: an STL collection.
    Stl {
        /// Which: 1 vector, 2 list, 3 deque, 4 map, 5 multimap, 6 set, 7 multiset, 8 bitset,
        /// 9 `forward_list`, 10 to 13 `unordered_` set, multiset, map, multimap, 14 `RVec`.
        stl_type: i32,
        /// Type code of the items; 61 for classes; plus 40 for pointers.
        content_type: i32,
    },
    /// `TStreamerSTLstring`: a `std::string`.
    StlString,
    /// `TStreamerArtificial`: in memory only; not in valid files.
    Artificial,
}

/// The member that counts the items of a [`StreamerElement`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Name of the member.
    pub name: String,
    /// The class that declares it.
    pub class_name: String,
    /// Version of that class.
    pub version: i32,
}

/// How a `Double32_t` or `Float16_t` is packed (root-io-spec ElementTypes §5).
///
/// ```
/// use sapwood_tfile::ValueRange;
/// let range = ValueRange::from_title("azimuth [-pi, pi, 16]").unwrap();
/// assert_eq!(range.factor, 65536.0 / (2.0 * std::f64::consts::PI));
/// assert_eq!(ValueRange::from_title("[0,0,10]").unwrap().mantissa_bits(), 10);
/// assert_eq!(ValueRange::from_title("[n] no range"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    /// The least value; if `factor` is 0, the number of mantissa bits instead (plus 0.1).
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// Steps per unit: a value is stored as `(value - min) * factor`. 0 if values are stored as a float
    /// with a short mantissa.
    pub factor: f64,
}

impl ValueRange {
    /// Reads `[min,max]` or `[min,max,bits]` in the title of a member or leaf. `None` if there is no
    /// range in it, or it asks for a plain number.
    pub fn from_title(title: &str) -> Option<ValueRange> {
        // The first bracket can be a dimension.
        let brackets = title.split('[').skip(1).take(2).filter_map(|text| text.split_once(']'));
        let (text, _) = brackets.into_iter().find(|(text, _)| text.contains(','))?;
        let mut parts = text.splitn(3, ',');
        let (min, max) = (bound(parts.next()?), bound(parts.next()?));
        let bits = parts.next().and_then(leading_number::<u32>);
        let bits = bits.filter(|bits| (2..=32).contains(bits)).unwrap_or(32);
        if min < max {
            let steps = if bits < 32 { (1_u64 << bits) as f64 } else { f64::from(u32::MAX) };
            Some(ValueRange { min, max, factor: steps / (max - min) })
        } else if bits < 15 {
            Some(ValueRange { min: f64::from(bits) + 0.1, max, factor: 0.0 })
        } else {
            // Sixteen or more bits are as many as a plain float has: ElementTypes §5.3.
            (min > 0.0).then_some(ValueRange { min, max, factor: 0.0 })
        }
    }

    /// Bits of the mantissa if values are stored as short floats; meaningless if `factor` is not 0.
    pub fn mantissa_bits(&self) -> u32 {
        // A cast from float saturates; the writer truncates in the same way.
        self.min as u32
    }
}

/// One bound of a range: a number, or one of the words for multiples of π.
fn bound(text: &str) -> f64 {
    use std::f64::consts::PI;
    let text = text.replace(' ', "").to_ascii_lowercase();
    if !text.contains("pi") {
        return leading_number(&text).unwrap_or(0.0);
    }
    let value = if text.contains("2pi") || text.contains("2*pi") || text.contains("twopi") {
        2.0 * PI
    } else if text.contains("pi/2") {
        PI / 2.0
    } else if text.contains("pi/4") {
        PI / 4.0
    } else {
        PI
    };
    if text.contains('-') { -value } else { value }
}

/// The number at the start of a text, as C's `sscanf` reads it; at most 40 characters, which bounds the time
/// for long texts.
fn leading_number<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(text.len()).min(40);
    (1..=end).rev().find_map(|end| text[..end].parse().ok())
}

impl StreamerElement {
    /// An element without title, dimensions and range.
    pub fn new(name: &str, kind: ElementKind, type_code: i32, type_name: &str) -> StreamerElement {
        StreamerElement {
            name: name.to_owned(),
            title: String::new(),
            kind,
            type_code,
            size: 0,
            array_length: 0,
            array_dims: Vec::new(),
            type_name: type_name.to_owned(),
            range: None,
        }
    }

    /// Parses an element of a class, from its version header on.
    pub(crate) fn parse(
        class_name: &str,
        body: &mut Cursor<'_>,
        file_version: u32,
    ) -> Result<StreamerElement> {
        let header = body.read_header()?;
        let mut element = if class_name == "TStreamerSTLstring" {
            // The only class with two levels: it derives from TStreamerSTL (StreamerInfo §8).
            let stl = StreamerElement::parse("TStreamerSTL", body, file_version)?;
            StreamerElement { kind: ElementKind::StlString, ..stl }
        } else {
            element_with_tail(class_name, header.version, body)?
        };
        body.finish(&header)?;
        element.correct(file_version);
        Ok(element)
    }

    /// Corrects what the file states differently from its meaning (StreamerInfo §6.1, §7.2, §10).
    fn correct(&mut self, file_version: u32) {
        if self.type_code == 11 && matches!(self.type_name.as_str(), "Bool_t" | "bool") {
            self.type_code = 18;
        }
        if self.kind == ElementKind::BasicType && file_version < OBJECTS_AS_BASIC_TYPES {
            self.kind = match self.type_code {
                61 => ElementKind::Object,
                62 => ElementKind::ObjectAny,
                63 | 64 => ElementKind::ObjectPointer,
                65 => ElementKind::String,
                _ => ElementKind::BasicType,
            };
        }
        if let ElementKind::Stl { stl_type, .. } = &mut self.kind {
            let name = self.type_name.trim_start_matches("const ").trim_start_matches("std::");
            // Some ROOT versions swapped the meanings of 5 and 6.
            match name {
                _ if !(5..=6).contains(stl_type) => {}
                _ if name.starts_with("set") => *stl_type = 6,
                _ if name.starts_with("multimap") => *stl_type = 5,
                _ => {}
            }
        }
        if matches!(self.kind, ElementKind::Stl { .. } | ElementKind::StlString) {
            let is_pointer = self.type_name.ends_with('*');
            let array = if self.array_length > 0 { ARRAY } else { 0 };
            self.type_code = if is_pointer { STL_POINTER } else { STL } + array;
        }
    }
}

/// Reads the members of `TStreamerElement`, then those of the class derived from it.
fn element_with_tail(class_name: &str, version: i16, body: &mut Cursor<'_>) -> Result<StreamerElement> {
    let (mut element, max_index) = base(body)?;
    element.kind = match class_name {
        "TStreamerBase" => ElementKind::Base {
            version: if version > 2 { body.i32()? } else { -1 },
            // The checksum is stored in the second dimension: StreamerInfo §9.
            checksum: max_index[1].cast_unsigned(),
        },
        "TStreamerBasicType" => ElementKind::BasicType,
        "TStreamerBasicPointer" => ElementKind::BasicPointer(count(body)?),
        "TStreamerLoop" => ElementKind::Loop(count(body)?),
        "TStreamerObject" => ElementKind::Object,
        "TStreamerObjectAny" => ElementKind::ObjectAny,
        "TStreamerObjectPointer" => ElementKind::ObjectPointer,
        "TStreamerObjectAnyPointer" => ElementKind::ObjectAnyPointer,
        "TStreamerString" => ElementKind::String,
        "TStreamerSTL" => ElementKind::Stl { stl_type: body.i32()?, content_type: body.i32()? },
        "TStreamerArtificial" => ElementKind::Artificial,
        other => return Err(body.corrupt(format!("a class cannot have a member described by a {other}"))),
    };
    Ok(element)
}

fn count(body: &mut Cursor<'_>) -> Result<Count> {
    let version = body.i32()?;
    Ok(Count { name: body.tstring()?, class_name: body.tstring()?, version })
}

/// Reads the members of `TStreamerElement`, and its `fMaxIndex`; the caller sets the kind.
fn base(body: &mut Cursor<'_>) -> Result<(StreamerElement, [i32; 5])> {
    let header = body.read_header()?;
    let named = body.tnamed()?;
    let type_code = body.i32()?;
    let size = body.i32()?;
    let array_length = body.i32()?;
    let rank = body.i32()?;
    let mut max_index = [0; 5];
    let stored = if header.version == 1 { body.count(4)? } else { max_index.len() };
    for i in 0..stored {
        let extent = body.i32()?;
        if let Some(slot) = max_index.get_mut(i) {
            *slot = extent;
        }
    }
    let type_name = body.tstring()?;
    let range = match header.version {
        3 => {
            let (min, max, factor) = (body.f64()?, body.f64()?, body.f64()?);
            (factor > 0.0 || min > 0.0).then_some(ValueRange { min, max, factor })
        }
        4.. if named.object.bits & HAS_RANGE != 0 => ValueRange::from_title(&named.title),
        _ => None,
    };
    let array_length = match u32::try_from(array_length) {
        Ok(length) => length,
        Err(_) => return Err(body.corrupt(format!("the array '{}' has {array_length} items", named.name))),
    };
    body.finish(&header)?;
    let element = StreamerElement {
        title: named.title,
        size,
        array_length,
        array_dims: dims(array_length, rank, max_index),
        range,
        ..StreamerElement::new(&named.name, ElementKind::BasicType, type_code, &type_name)
    };
    Ok((element, max_index))
}

/// The dimensions of a fixed array. Old files leave the rank of STL arrays at 0 (StreamerInfo §10), and a
/// base class stores its checksum among the extents, so extents whose product differs from the length are not
/// dimensions.
fn dims(length: u32, rank: i32, max_index: [i32; 5]) -> Vec<u32> {
    if length == 0 {
        return Vec::new();
    }
    let rank = usize::try_from(rank).unwrap_or(0);
    let extents = max_index.iter().map(|&extent| u32::try_from(extent).unwrap_or(0));
    let dims: Vec<u32> = if rank > 0 {
        extents.take(rank).collect()
    } else {
        extents.take_while(|&extent| extent > 0).collect()
    };
    let product = dims.iter().try_fold(1_u32, |product, &dim| product.checked_mul(dim));
    if product == Some(length) { dims } else { vec![length] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn ranges() {
        let range = |title| ValueRange::from_title(title);
        assert_eq!(range("x[3] [0, 10]"), Some(ValueRange { min: 0.0, max: 10.0, factor: 429_496_729.5 }));
        assert_eq!(
            range("[-1.5e1,30,16] mm"),
            Some(ValueRange { min: -15.0, max: 30.0, factor: 65536.0 / 45.0 })
        );
        let turn = range("[0,TwoPi,2]").unwrap();
        assert_eq!((turn.min, turn.max, turn.factor), (0.0, 2.0 * PI, 2.0 / PI));
        assert_eq!(range("[-pi/2,pi/4]").map(|r| (r.min, r.max)), Some((-PI / 2.0, PI / 4.0)));
        assert_eq!(range("[0,0,14]").map(|r| (r.mantissa_bits(), r.factor)), Some((14, 0.0)));
        assert_eq!(range("[0,0,15]"), None);
        assert_eq!(range("[0,0,1]"), None);
        assert_eq!(range("[n][m][0,1,8]"), None);
        assert_eq!(range("plain"), None);
        assert_eq!(range("[0,1"), None);
    }

    #[test]
    fn dimensions_multiply_to_the_length() {
        assert_eq!(dims(6, 2, [2, 3, 0, 0, 0]), [2, 3]);
        assert_eq!(dims(4, 0, [4, 0, 0, 0, 0]), [4]);
        assert_eq!(dims(7, 2, [2, 3, 0, 0, 0]), [7]);
        assert_eq!(dims(0, 0, [0, -5, 0, 0, 0]), Vec::<u32>::new());
    }
}
