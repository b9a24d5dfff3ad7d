//! Objects cut into the bytes of their members, and put together again, without decoding them.
//!
//! A [`Part`] says which bytes of an object go to which place: one for each branch of a split object. [`Cut`] takes
//! objects apart, a [`Joiner`] builds them; both follow what ROOT stores (root-io-spec ReadingEntries §3, Collections §4).

mod cut;
mod join;
mod movable;

pub use cut::{Cut, Place};
pub use join::Joiner;
pub use movable::immovable;

use crate::node::Collection;
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
    },
    /// The members of a base class or of an object.
    Members {
        /// The header of the class.
        header: ClassHeader,
        /// True for a base class, which has no header in columns.
        is_base: bool,
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
}

/// The version header of objects of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassHeader {
    name: String,
    version: i16,
    checksum: u32,
    /// A checksum follows a version of 0 or less (Buffer §4).
    has_checksum: bool,
}

/// Bit 14 of a collection's version: its content is written member by member (Collections §2).
const MEMBER_WISE: u16 = 0x4000;
/// The version of collections that ROOT writes: that of `TStreamerInfo`.
const COLLECTION_VERSION: u16 = 9;
/// The first version behind which the version of the items' class is written (Collections §6).
const WITH_CLASS_VERSION: u16 = 8;

impl ClassHeader {
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

    /// The header of the objects that a description is of.
    pub fn class_header(&self, info: &StreamerInfo) -> ClassHeader {
        ClassHeader {
            name: info.name.clone(),
            version: i16::try_from(info.version).unwrap_or(i16::MAX),
            checksum: info.checksum,
            has_checksum: self.streamers().has_checksum_after_version(&info.name),
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
