//! Walks over objects of any class that the file describes (root-io-spec StreamerDriven).

use super::number::skip_array;
use sapwood_core::{Error, Result};
use sapwood_streamer::{StoredNumber, array_type, basic};
use sapwood_tfile::{
    ElementKind, IS_REFERENCED, Pointer, StreamerElement, StreamerInfo, StreamerInfos, Walker,
};
use std::collections::HashMap;

/// Classes without pointers whose byte count is correct.
const WITHOUT_POINTERS: [&str; 4] = ["TTreeIndex", "TRefArray", "TExMap", "TDatime"];

/// The words in the names of collections of numbers and strings.
const WORDS_OF_PLAIN_TYPES: &str = "std vector list deque set multiset map multimap unordered_map unordered_set pair \
    string TString unsigned signed char short int long float double bool \
    Char_t UChar_t Short_t UShort_t Int_t UInt_t Long_t ULong_t Long64_t ULong64_t Float_t Double_t Bool_t";

/// Objects nested deeper than this come from a damaged file.
const MAX_DEPTH: usize = 200;

/// Walks over objects whose classes the file describes.
#[derive(Debug, Clone, Copy)]
pub(super) struct DescribedClasses<'a> {
    streamers: &'a StreamerInfos,
    depth: usize,
}

impl<'s> DescribedClasses<'s> {
    /// A walk with these descriptions.
    pub(super) fn new(streamers: &'s StreamerInfos) -> Self {
        DescribedClasses { streamers, depth: 0 }
    }

    /// Walks over a pointer and the object behind it.
    fn pointer(self, walker: &mut Walker<'_>) -> Result<Pointer> {
        walker.pointer(|walker, _, class| self.object(walker, class))
    }

    /// Walks over an object of a class, from its version header on.
    pub(super) fn object(self, walker: &mut Walker<'_>, class: &str) -> Result<()> {
        let inside = DescribedClasses { depth: self.depth + 1, ..self };
        if inside.depth > MAX_DEPTH {
            return Err(walker.cursor.corrupt("objects are nested too deep"));
        }
        walker.walk_or_pass(|walker| inside.walk(walker, class))
    }

    fn walk(self, walker: &mut Walker<'_>, class: &str) -> Result<()> {
        if self.known(walker, class)? {
            return Ok(());
        }
        let at = walker.position();
        let header = walker.open()?;
        let checksum = if header.version <= 0 && self.streamers.has_checksum_after_version(class) {
            Some(walker.cursor.u32()?)
        } else {
            None
        };
        let info = self.streamers.select(class, header.version, checksum);
        let info = info.ok_or_else(|| undescribed(class, at))?;
        if header.member_wise {
            return Err(undescribed(class, at));
        }
        self.members(walker, info, None)?;
        walker.close(&header, class)
    }

    /// Walks over the members of an object, except for the base class `but`, which is already behind.
    pub(super) fn members(
        self,
        walker: &mut Walker<'_>,
        info: &StreamerInfo,
        but: Option<&str>,
    ) -> Result<()> {
        let mut counts = HashMap::new();
        for element in
            info.elements.iter().filter(|element| !(element.is_base() && Some(element.name.as_str()) == but))
        {
            self.member(walker, element, info, &mut counts)?;
        }
        Ok(())
    }

    fn member<'e>(
        self,
        walker: &mut Walker<'_>,
        element: &'e StreamerElement,
        info: &StreamerInfo,
        counts: &mut HashMap<&'e str, usize>,
    ) -> Result<()> {
        let items = usize::try_from(element.array_length.max(1)).unwrap_or(usize::MAX);
        let code = element.type_code;
        match code {
            // Some classes do not write their base TObject.
            0 | 66 if element.name == "TObject" && info.without_tobject => Ok(()),
            0 | 66 | 67 => self.object(walker, &element.name),
            // Each of these may count a member.
            3 | 6 | 13 => {
                let value = walker.cursor.i32()?;
                counts.insert(&element.name, usize::try_from(value).unwrap_or(0));
                Ok(())
            }
            7 => {
                let len = walker.cursor.count(1)?;
                walker.cursor.skip(len)
            }
            15 => {
                if walker.cursor.u32()? & IS_REFERENCED != 0 {
                    walker.cursor.skip(2)?;
                }
                Ok(())
            }
            1..=19 => walker.cursor.skip(size(element, code)?),
            21..=39 => walker.cursor.skip(size(element, code - 20)?.saturating_mul(items)),
            41..=59 => {
                let ElementKind::BasicPointer(count) = &element.kind else {
                    return Err(undescribed(&info.name, walker.position()));
                };
                let count = counts.get(count.name.as_str()).copied().unwrap_or(0);
                let size = size(element, code - 40)?.saturating_mul(count);
                for _ in 0..items {
                    if walker.cursor.u8()? != 0 {
                        walker.cursor.skip(size)?;
                    }
                }
                Ok(())
            }
            61 | 62 | 63 | 68 | 81 | 82 | 83 | 88 => (0..items)
                .try_for_each(|_| self.object(walker, element.type_name.trim_end_matches('*').trim())),
            64 | 69 | 84 | 89 => (0..items).try_for_each(|_| self.pointer(walker).map(drop)),
            65 | 85 => (0..items).try_for_each(|_| walker.cursor.tstring_bytes().map(drop)),
            300 | 320 | 365 | 385 | 71 | 91 if is_plain(&element.type_name) => walker.cursor.skip_object(),
            _ => Err(undescribed(&format!("{}::{}", info.name, element.name), walker.position())),
        }
    }

    /// Walks over an object of a class with a custom streamer (HandWrittenStreamers §2); false for any other
    /// class.
    fn known(self, walker: &mut Walker<'_>, class: &str) -> Result<bool> {
        if let Some(primitive) = array_type(class) {
            skip_array(&mut walker.cursor, primitive.size())?;
            return Ok(true);
        }
        match class {
            "TObject" => walker.cursor.tobject().map(drop)?,
            "TNamed" => walker.cursor.tnamed().map(drop)?,
            "TString" => walker.cursor.tstring_bytes().map(drop)?,
            "TRef" => reference(walker)?,
            "TList" | "THashList" | "TSortedList" => walker.list(class, |walker| self.pointer(walker))?,
            "TObjArray" => walker.array(|walker| self.pointer(walker)).map(drop)?,
            "TClonesArray" => self.clones(walker)?,
            "TObjString" | "TCollection" | "TSeqCollection" | "THashTable" | "TOrdCollection" | "TMap" => {
                let header = walker.open()?;
                walker.cursor.tobject()?;
                walker.cursor.tstring_bytes()?;
                let times = match class {
                    "TObjString" => 0,
                    "TMap" => 2,
                    _ => 1,
                };
                let count = if times > 0 { walker.cursor.count(4 * times)? } else { 0 };
                (0..count * times).try_for_each(|_| self.pointer(walker).map(drop))?;
                walker.close(&header, class)?;
            }
            _ if WITHOUT_POINTERS.contains(&class) => walker.cursor.skip_object()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A `TClonesArray` (Collections §12).
    fn clones(self, walker: &mut Walker<'_>) -> Result<()> {
        let header = walker.open()?;
        let bits = if header.version > 2 { walker.cursor.tobject()?.bits } else { 0 };
        if header.version > 1 {
            walker.cursor.tstring_bytes()?;
        }
        let class = walker.cursor.tstring()?;
        let class = class.rsplit_once(';').map_or(&*class, |(class, _)| class);
        let count = walker.cursor.count(1)?;
        walker.cursor.skip(4)?; // fLowerBound
        if count > 0 && is_transposed(header.version, bits) {
            return Err(undescribed(class, walker.position()));
        }
        for _ in 0..count {
            if walker.cursor.u8()? != 0 {
                self.object(walker, class)?;
            }
        }
        walker.close(&header, "TClonesArray")
    }
}

/// True if the objects of a `TClonesArray` are stored member by member (Collections §12).
fn is_transposed(version: i16, bits: u32) -> bool {
    bits & if version == 3 { 1 << 14 } else { 1 << 12 } != 0
}

/// A `TRef` (root-io-spec References §3).
fn reference(walker: &mut Walker<'_>) -> Result<()> {
    /// `TRef::kHasUUID`: a string replaces the process ID.
    const HAS_UUID: u32 = 1 << 5;
    walker.cursor.skip(2 + 4)?;
    if walker.cursor.u32()? & HAS_UUID != 0 {
        walker.cursor.tstring_bytes().map(drop)
    } else {
        walker.cursor.skip(2)
    }
}

/// Bytes of a number on file, by its type code (root-io-spec ElementTypes §2).
fn size(element: &StreamerElement, code: i32) -> Result<usize> {
    let number = match code {
        9 | 19 => Some(StoredNumber::packed(element.range, code == 9)),
        _ => basic(code).map(StoredNumber::Plain),
    };
    let number = number
        .ok_or_else(|| Error::unsupported(format!("unknown type code {code} of '{}'", element.name)))?;
    Ok(number.size_on_file())
}

/// True for collections of types without pointers.
fn is_plain(type_name: &str) -> bool {
    let words = type_name.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut words = words.filter(|word| !word.is_empty());
    !type_name.trim_end_matches('*').contains('*')
        && words.all(|word| WORDS_OF_PLAIN_TYPES.split(' ').any(|plain| plain == word))
}

fn undescribed(what: &str, at: usize) -> Error {
    Error::unsupported(format!("the layout of {what} is unknown, {at} bytes into the record of the tree"))
        .hint("trees with such objects can be read, but not rewritten")
}
