//! The trait of sinks, and what an earlier run of the same job left in one.

use sapwood_core::{FilePiece, Result};
use std::fmt;

/// A target for a new file.
///
/// # Contract
/// - Pieces come in the order of the file, each where the one before ended; provisional pieces come again.
/// - Nothing of the file is visible before `commit` returns; then all of it is.
/// - A sink that is dropped without `commit` abandons the file: what was there before stays.
/// - Errors name the target (without secrets) and say what to do. After an error, only drop the sink.
pub trait Sink: fmt::Debug + Send {
    /// The path or URL, without secrets.
    fn url(&self) -> &str;

    /// Takes a piece. It may wait until there is room for it.
    ///
    /// # Errors
    /// `Io` if the disk is full, and the errors of the network.
    fn write(&mut self, piece: FilePiece) -> Result<()>;

    /// Makes the complete file appear.
    ///
    /// # Errors
    /// As [`write`](Sink::write).
    fn commit(self: Box<Self>) -> Result<()>;

    /// Takes over what an earlier run of the same job left; call it before the first piece. Pieces of what is there
    /// may come again; new ones follow it. By default, nothing is ever left.
    ///
    /// # Errors
    /// As [`write`](Sink::write).
    fn take_up(&mut self, _job: u64) -> Result<Leftover> {
        Ok(Leftover::Never)
    }

    /// Keeps a note that lets a later run resume after the first `bytes` bytes. It takes `note`, which is empty then;
    /// or leaves it as it was, if it is still writing the last one. Pieces may follow at once.
    fn keep(&mut self, _bytes: u64, _note: &mut Vec<u8>) {}

    /// Ends without the file, but leaves what was kept for a later run, and says where that is. `None` if nothing was
    /// kept; the file is then abandoned. `bytes` and `note` are as in [`keep`](Sink::keep).
    fn leave(self: Box<Self>, _bytes: u64, _note: Vec<u8>) -> Option<String> {
        None
    }
}

/// Why a leftover cannot be used.
pub(crate) const OTHER: &str = "it was of other files, of other options, or of another version";
pub(crate) const DAMAGED: &str = "its journal is damaged";

/// What an earlier run of a job left.
#[derive(Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Nothing: this sink keeps nothing.
    Never,
    /// Nothing.
    Nothing,
    /// Something that cannot be used, and why.
    Useless(&'static str),
    /// The first bytes of the file.
    Kept {
        /// How many.
        bytes: u64,
        /// All notes, one after the other.
        notes: Vec<u8>,
    },
}
