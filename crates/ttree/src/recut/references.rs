//! References inside entries: tags that name positions in the basket and change when an entry moves.
//!
//! For an entry with a recorded original offset (`fDisplacement`), ROOT adds the distance to every tag,
//! including that of a null pointer (`TBufferFile::ReadObjectAny`), and then looks for an object where there
//! is none. The tags themselves are therefore rewritten if the file's class descriptions locate them.

use memchr::memmem;
use sapwood_core::{Error, Result};
use sapwood_streamer::{Program, StreamInput};
use std::ops::Range;
use std::sync::Arc;

/// The tag of the first object of any class in an entry: without it, an entry has no references (root-io-spec
/// Buffer §5).
const NEW_CLASS: [u8; 4] = [0xff; 4];

/// How to find the references inside the entries of a branch.
#[derive(Debug, Clone)]
pub enum References {
    /// No references: the entries are numbers.
    None,
    /// With the program that reads the entries.
    Described(Arc<Program>),
    /// Impossible: nothing describes the entries.
    Undescribed,
}

/// Tags in the entries of a basket.
#[derive(Debug, Clone)]
pub(super) enum Tags {
    /// The offsets, in the bytes of all entries, of the tags that name positions.
    At(Vec<u32>),
    /// There may be some, and this is why they cannot be located.
    Unknown(String),
}

impl Default for Tags {
    fn default() -> Self {
        Tags::At(Vec::new())
    }
}

impl Tags {
    /// True if the entries are known to have none.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Tags::At(tags) if tags.is_empty())
    }
}

impl References {
    /// False if the entries are known to be numbers.
    pub fn are_possible(&self) -> bool {
        !matches!(self, References::None)
    }

    /// The tags of entries, each given by its range in `data` and its offset in the buffer that it was first
    /// written to, counted from the start of the key.
    pub(super) fn find(&self, data: &[u8], entries: impl Iterator<Item = (Range<usize>, u32)>) -> Tags {
        let mut tags = Vec::new();
        if matches!(self, References::None) || !names_class(data) {
            return Tags::At(tags);
        }
        for (range, origin) in entries {
            let begin = range.start;
            let entry = data.get(range).unwrap_or_default();
            if !names_class(entry) {
                continue;
            }
            match self.find_in(entry, origin) {
                Ok(found) => {
                    tags.extend(found.into_iter().filter_map(|tag| u32::try_from(begin + tag).ok()));
                }
                Err(error) => {
                    let why = error.message();
                    return Tags::Unknown(format!(
                        "its objects may refer to each other by their positions, which cannot be found ({why})"
                    ));
                }
            }
        }
        Tags::At(tags)
    }

    fn find_in(&self, entry: &[u8], origin: u32) -> Result<Vec<usize>> {
        let References::Described(program) = self else {
            return Err(Error::unsupported("the file does not describe its objects"));
        };
        program.position_tags(StreamInput::new(entry, 0..entry.len(), origin as usize)?)
    }
}

/// Adds `distance` to the position that the tag at the start of `word` names. The highest bit, which marks a
/// class tag, stays.
pub(super) fn shift(word: &mut [u8], distance: i64) -> Option<()> {
    const POSITION: u32 = 0x3fff_ffff;
    let word = word.first_chunk_mut()?;
    let tag = u32::from_be_bytes(*word);
    let position = u32::try_from(i64::from(tag & POSITION) + distance).ok().filter(|at| *at <= POSITION)?;
    *word = (tag & !POSITION | position).to_be_bytes();
    Some(())
}

fn names_class(bytes: &[u8]) -> bool {
    memmem::find(bytes, &NEW_CLASS).is_some()
}
