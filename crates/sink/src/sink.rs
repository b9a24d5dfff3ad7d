//! The trait of sinks, and what an earlier writer of the same job left in one.

use sapwood_core::{Piece, Result};
use std::fmt;

/// A place for a new file.
///
/// # Contract
/// - Pieces come in the order of the file, each where the one before ended; those that were provisional come again.
/// - Nothing is seen of the file before `commit` returns; then all of it is.
/// - A sink that is dropped without `commit` abandons the file: what was there before stays.
/// - Errors name the place (without secrets) and say what to do. After one, the sink is only to be dropped.
pub trait Sink: fmt::Debug + Send {
    /// The path or URL, without secrets.
    fn url(&self) -> &str;

    /// Takes a piece. It may wait until there is room for it.
    ///
    /// # Errors
    /// `Io` if the disk is full; what the network can fail with.
    fn write(&mut self, piece: Piece) -> Result<()>;

    /// Makes the file appear, as it is.
    ///
    /// # Errors
    /// As [`write`](Sink::write).
    fn commit(self: Box<Self>) -> Result<()>;

    /// Takes up what an earlier writer of the same job left, before the first piece. Pieces of what is there may come
    /// again; those that follow go behind it. By default, nothing is ever left.
    ///
    /// # Errors
    /// As [`write`](Sink::write).
    fn take_up(&mut self, _job: u64) -> Result<Leftover> {
        Ok(Leftover::Never)
    }

    /// Takes what a later writer of the job has to know to go on behind the first `bytes` bytes, and keeps it with these,
    /// while other pieces are taken. `note` is empty then, or as it was if this is not the time for it.
    fn keep(&mut self, _bytes: u64, _note: &mut Vec<u8>) {}

    /// Ends without the file, but leaves what was kept to a later writer: where it is. None if nothing was kept;
    /// the sink is then abandoned. `bytes` and `note` are as in [`keep`](Sink::keep).
    fn leave(self: Box<Self>, _bytes: u64, _note: Vec<u8>) -> Option<String> {
        None
    }
}

/// Why what is left cannot be taken up.
pub(crate) const OTHER: &str = "it was of other files, of other options, or of another version";
pub(crate) const DAMAGED: &str = "its journal is not whole";

/// What an earlier writer of a job left.
#[derive(Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Nothing: here, nothing is kept.
    Never,
    /// Nothing.
    Nothing,
    /// Something that cannot be taken up, and why.
    Useless(&'static str),
    /// The file's first bytes.
    Kept {
        /// How many they are.
        bytes: u64,
        /// What was noted, one behind the other.
        notes: Vec<u8>,
    },
}
