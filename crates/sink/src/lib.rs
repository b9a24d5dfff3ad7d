//! Where a new file goes: it appears there whole, or not at all.
//!
//! [`create`] makes a [`Sink`] for a path or URL. Give it [`FilePiece`](sapwood_core::FilePiece)s in order, then
//! [`commit`](Sink::commit) it; a sink that is dropped before that leaves what was there as it was.

mod background;
mod create;
mod growing;
mod journal;
mod local;
mod lock;
mod parts;
mod sink;
mod update;
mod upload;
mod upload_journal;

pub use create::create;
pub use local::LocalSink;
pub use sink::{Leftover, Sink};
pub use update::LocalUpdate;
