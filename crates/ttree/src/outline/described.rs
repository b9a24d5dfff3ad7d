//! Walking over objects of any class, as the file describes it (root-io-spec StreamerDriven).

use sapwood_core::{Error, Result};
use sapwood_tfile::{
    ElementKind, Marker, PointerSlot, PointerTarget, StreamerElement, StreamerInfo, StreamerInfos,
};
use std::collections::HashMap;

/// `TObject::kIsReferenced`: a process id follows the bits (Buffer §7).
const IS_REFERENCED: u32 = 0x10;

/// Classes that hold no pointers, and whose byte count is sound.
const WITHOUT_POINTERS: [&str; 4] = ["TTreeIndex", "TRefArray", "TExMap", "TDatime"];

/// Walks over objects whose classes the file describes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Described<'a> {
    /// The descriptions.
    pub(super) streamers: &'a StreamerInfos,
}

impl Described<'_> {
    /// Walks over a pointer and the object behind it.
    pub(super) fn pointer(self, marker: &mut Marker<'_>) -> Result<PointerSlot> {
        let (slot, class) = marker.slot()?;
        if let PointerTarget::Object { .. } = slot.target {
            self.object(marker, class)?;
            return marker.leave(&slot, class);
        }
        Ok(slot)
    }

    /// Walks over an object of a class, from its version header on.
    pub(super) fn object(self, marker: &mut Marker<'_>, class: &str) -> Result<()> {
        marker.try_walk(|marker| self.walk(marker, class))
    }

    fn walk(self, marker: &mut Marker<'_>, class: &str) -> Result<()> {
        if self.known(marker, class)? {
            return Ok(());
        }
        let at = marker.position();
        let header = marker.open()?;
        let checksum = if header.version <= 0 && self.streamers.has_checksum_after_version(class) {
            Some(marker.cursor.u32()?)
        } else {
            None
        };
        let info = self.streamers.select(class, header.version, checksum);
        let info = info.ok_or_else(|| undescribed(class, at))?;
        if header.member_wise {
            return Err(undescribed(class, at));
        }
        self.members(marker, info, None)?;
        marker.close(&header, class)
    }

    /// Walks over the members of an object, except a base class that was walked over.
    pub(super) fn members(
        self,
        marker: &mut Marker<'_>,
        info: &StreamerInfo,
        but: Option<&str>,
    ) -> Result<()> {
        let mut counts = HashMap::new();
        for element in
            info.elements.iter().filter(|element| !(element.is_base() && Some(element.name.as_str()) == but))
        {
            self.member(marker, element, info, &mut counts)?;
        }
        Ok(())
    }

    fn member<'e>(
        self,
        marker: &mut Marker<'_>,
        element: &'e StreamerElement,
        info: &StreamerInfo,
        counts: &mut HashMap<&'e str, usize>,
    ) -> Result<()> {
        let items = usize::try_from(element.array_length.max(1)).unwrap_or(usize::MAX);
        let code = element.type_code;
        match code {
            // What a class writes for its base TObject, some leave out.
            0 | 66 if element.name == "TObject" && info.without_tobject => Ok(()),
            0 | 66 | 67 => self.object(marker, &element.name),
            // Any of them may count a member.
            3 | 6 | 13 => {
                let value = marker.cursor.i32()?;
                counts.insert(&element.name, usize::try_from(value).unwrap_or(0));
                Ok(())
            }
            7 => {
                let len = marker.cursor.count(1)?;
                marker.cursor.skip(len)
            }
            15 => {
                if marker.cursor.u32()? & IS_REFERENCED != 0 {
                    marker.cursor.skip(2)?;
                }
                Ok(())
            }
            1..=19 => marker.cursor.skip(size(element, code)?),
            21..=39 => marker.cursor.skip(size(element, code - 20)?.saturating_mul(items)),
            41..=59 => {
                let ElementKind::BasicPointer(count) = &element.kind else {
                    return Err(undescribed(&info.name, marker.position()));
                };
                let count = counts.get(count.name.as_str()).copied().unwrap_or(0);
                let size = size(element, code - 40)?.saturating_mul(count);
                for _ in 0..items {
                    if marker.cursor.u8()? != 0 {
                        marker.cursor.skip(size)?;
                    }
                }
                Ok(())
            }
            61 | 62 | 63 | 68 | 81 | 82 | 83 | 88 => self.each(marker, items, |marker| {
                self.object(marker, element.type_name.trim_end_matches('*').trim())
            }),
            64 | 69 | 84 | 89 => self.each(marker, items, |marker| self.pointer(marker).map(drop)),
            65 | 85 => self.each(marker, items, |marker| marker.cursor.tstring_bytes().map(drop)),
            300 | 320 | 365 | 385 | 71 | 91 if is_plain(&element.type_name) => marker.pass(),
            _ => Err(undescribed(&format!("{}::{}", info.name, element.name), marker.position())),
        }
    }

    fn each<'m>(
        self,
        marker: &mut Marker<'m>,
        count: usize,
        mut item: impl FnMut(&mut Marker<'m>) -> Result<()>,
    ) -> Result<()> {
        (0..count).try_for_each(|_| item(marker))
    }

    /// Walks over an object of a class that no description tells (HandWrittenStreamers §2); false if it is not one.
    fn known(self, marker: &mut Marker<'_>, class: &str) -> Result<bool> {
        match class {
            "TObject" => marker.cursor.tobject().map(drop)?,
            "TNamed" => marker.cursor.tnamed().map(drop)?,
            "TObjString" => {
                let header = marker.open()?;
                marker.cursor.tobject()?;
                marker.cursor.tstring_bytes()?;
                marker.close(&header, class)?;
            }
            "TString" => marker.cursor.tstring_bytes().map(drop)?,
            "TRef" => reference(marker)?,
            "TList" | "THashList" | "TSortedList" => self.list(marker, class)?,
            "TObjArray" => {
                super::array(marker, |marker, slot, class| match slot.target {
                    PointerTarget::Object { .. } => self.object(marker, class),
                    _ => Ok(()),
                })?;
            }
            "TClonesArray" => self.clones(marker)?,
            "TCollection" | "TSeqCollection" | "THashTable" | "TOrdCollection" | "TMap" => {
                let header = marker.open()?;
                marker.cursor.tobject()?;
                marker.cursor.tstring_bytes()?;
                let times = if class == "TMap" { 2 } else { 1 };
                let count = marker.cursor.count(4 * times)?;
                self.each(marker, count * times, |marker| self.pointer(marker).map(drop))?;
                marker.close(&header, class)?;
            }
            _ if class.starts_with("TArray") => {
                let size = match class {
                    "TArrayC" => 1,
                    "TArrayS" => 2,
                    "TArrayI" | "TArrayF" => 4,
                    _ => 8,
                };
                let count = marker.cursor.count(size)?;
                marker.cursor.skip(count.saturating_mul(size))?;
            }
            _ if WITHOUT_POINTERS.contains(&class) => marker.pass()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A `TClonesArray` (Collections §12).
    fn clones(self, marker: &mut Marker<'_>) -> Result<()> {
        let header = marker.open()?;
        let bits = if header.version > 2 { marker.cursor.tobject()?.bits } else { 0 };
        if header.version > 1 {
            marker.cursor.tstring_bytes()?;
        }
        let class = marker.cursor.tstring()?;
        let class = class.rsplit_once(';').map_or(&*class, |(class, _)| class);
        let count = marker.cursor.count(1)?;
        marker.cursor.skip(4)?; // fLowerBound
        if count > 0 && is_transposed(header.version, bits) {
            return Err(undescribed(class, marker.position()));
        }
        for _ in 0..count {
            if marker.cursor.u8()? != 0 {
                self.object(marker, class)?;
            }
        }
        marker.close(&header, "TClonesArray")
    }

    /// A `TList`: pointers, each with an option (StreamerInfo §4).
    pub(super) fn list(self, marker: &mut Marker<'_>, class: &str) -> Result<()> {
        let header = marker.open()?;
        if header.version > 3 {
            marker.cursor.tobject()?;
        }
        if header.version > 1 {
            marker.cursor.tstring_bytes()?;
        }
        for _ in 0..marker.cursor.count(4)? {
            self.pointer(marker)?;
            if header.version <= 3 {
                continue;
            }
            let len = match marker.cursor.u8()? {
                255 if header.version > 4 => marker.cursor.count(1)?,
                len => usize::from(len),
            };
            marker.cursor.skip(len)?;
        }
        marker.close(&header, class)
    }
}

/// True if the objects of a `TClonesArray` are stored member by member (Collections §12).
fn is_transposed(version: i16, bits: u32) -> bool {
    bits & if version == 3 { 1 << 14 } else { 1 << 12 } != 0
}

/// A `TRef` (root-io-spec References §3).
fn reference(marker: &mut Marker<'_>) -> Result<()> {
    /// `TRef::kHasUUID`: a string stands where otherwise the process is.
    const HAS_UUID: u32 = 1 << 5;
    marker.cursor.skip(2 + 4)?;
    if marker.cursor.u32()? & HAS_UUID != 0 {
        marker.cursor.tstring_bytes().map(drop)
    } else {
        marker.cursor.skip(2)
    }
}

/// Bytes of a number on file, by its type code (root-io-spec ElementTypes §2).
fn size(element: &StreamerElement, code: i32) -> Result<usize> {
    Ok(match code {
        1 | 11 | 18 => 1,
        2 | 12 => 2,
        3 | 5 | 6 | 13 => 4,
        4 | 8 | 14 | 16 | 17 => 8,
        // Packed (ElementTypes §5): scaled to four bytes, or a short float of three.
        9 => match element.range {
            Some(range) if range.factor == 0.0 => 3,
            _ => 4,
        },
        19 => match element.range {
            Some(range) if range.factor != 0.0 => 4,
            _ => 3,
        },
        _ => {
            return Err(Error::unsupported(format!(
                "a number of type code {code}, '{}', is not known",
                element.name
            )));
        }
    })
}

/// True for collections of what holds no pointers.
fn is_plain(type_name: &str) -> bool {
    let words = type_name.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut words = words.filter(|word| !word.is_empty() && *word != "std");
    !type_name.trim_end_matches('*').contains('*')
        && words.all(|word| {
            matches!(
                word,
                "vector"
                    | "list"
                    | "deque"
                    | "set"
                    | "multiset"
                    | "map"
                    | "multimap"
                    | "pair"
                    | "string"
                    | "TString"
                    | "unsigned"
                    | "signed"
                    | "char"
                    | "short"
                    | "int"
                    | "long"
                    | "float"
                    | "double"
                    | "bool"
                    | "Char_t"
                    | "UChar_t"
                    | "Short_t"
                    | "UShort_t"
                    | "Int_t"
                    | "UInt_t"
                    | "Long_t"
                    | "ULong_t"
                    | "Long64_t"
                    | "ULong64_t"
                    | "Float_t"
                    | "Double_t"
                    | "Bool_t"
                    | "unordered_map"
                    | "unordered_set"
            )
        })
}

fn undescribed(what: &str, at: usize) -> Error {
    Error::unsupported(format!("how {what} is stored is not known, {at} bytes into the record of the tree"))
        .hint("trees that hold such objects can be read, but not written again")
}
