//! Attribute sets: RNTuples that describe ranges of entries of another.

use crate::anchor::Anchor;
use crate::blob::uncompress;
use crate::wire::{Locator, Wire};
use sapwood_core::{Error, ParseStep, Result, Segments};

/// The schema of attribute sets that is known.
pub(crate) const MAJOR: u16 = 1;

/// A set of attributes of an RNTuple: an RNTuple itself, whose entries are about `_rangeLen` entries from `_rangeStart`
/// on, and have the values of `_userData`.
#[derive(Debug, Clone)]
pub struct AttributeSet {
    name: String,
    major: u16,
    anchor: Locator,
    anchor_len: u64,
}

impl AttributeSet {
    pub(crate) fn parse(record: &mut Wire<'_>) -> Result<AttributeSet> {
        let (major, _minor) = (record.u16()?, record.u16()?);
        let anchor_len = record.u32()?.into();
        let anchor = record.locator()?;
        Ok(AttributeSet { name: record.string()?, major, anchor, anchor_len })
    }

    /// The name that its writer gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its anchor is.
    ///
    /// # Errors
    /// `Unsupported` if it is not in the file.
    pub fn offset(&self) -> Result<u64> {
        self.anchor.in_file().map(|range| range.start)
    }

    /// The anchor, to [parse](crate::Metadata::parse) its metadata from; or the bytes that are needed for it.
    ///
    /// # Errors
    /// `Unsupported` if its schema is newer, or it is not in the file; those of [`Anchor::parse`].
    pub fn anchor(&self, known: &Segments) -> Result<ParseStep<Anchor>> {
        if self.major != MAJOR {
            let message = format!("the attribute set '{}' has the schema {}", self.name, self.major);
            return Err(Error::unsupported(message).hint(format!("only the schema {MAJOR} can be read")));
        }
        let range = self.anchor.in_file()?;
        let Some(stored) = known.get(range) else { return Ok(ParseStep::Need(vec![range])) };
        let payload = uncompress(stored, usize::try_from(self.anchor_len).unwrap_or(usize::MAX));
        payload
            .and_then(|payload| Anchor::parse(&payload))
            .map(ParseStep::Done)
            .map_err(|error| error.at(range.start))
    }
}
