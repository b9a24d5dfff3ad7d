//! The vocabulary of all layers: errors, byte ranges, columns, deadlines, counters.
//!
//! Nothing here does I/O, starts a thread or knows a file format.
//!
//! - [`Error`], [`ErrorKind`]: what went wrong, where (URL, byte offset, branch), what to do.
//! - [`ByteRange`], [`Segments`], [`ParseStep`]: how parsers ask for bytes without doing I/O.
//! - [`FilePiece`]: how writers return them.
//! - [`Form`], [`Column`], [`Buffer`]: arrays, as they leave sapwood.
//! - [`Call`], [`Deadline`]: no wait is unbounded, and each can be interrupted; [`stated_time`]: times in options.
//! - [`Counters`]: what a read cost, [`ColumnCosts`]: by column, [`ServerMessages`]: by server; [`EventLog`]: what
//!   happened at its sources.
//! - [`WORK`]: what the threads of the process have spent their time on.
//! - [`printable`]: text of files and servers, safe to show.
//! - [`RecentBest`]: the best of recent measurements.
//! - [`random_bytes`]: unique names.
//! - [`Protocol`], [`redact`]: what URLs mean, and how they are shown.

mod buffer;
mod call;
mod column;
mod column_costs;
mod counters;
mod deadline;
mod error;
mod event_log;
mod file_piece;
mod form;
mod future;
mod os_error;
mod printable;
mod random;
mod range;
mod recent;
mod segments;
mod server_messages;
mod statistics;
mod take;
mod unify;
mod url;
mod work;

pub use buffer::Buffer;
pub use call::{Call, Interrupt};
pub use column::Column;
pub use column_costs::{ColumnCost, ColumnCosts};
pub use counters::{Counter, CounterValues, Counters};
pub use deadline::{Deadline, stated_time};
pub use error::{Error, ErrorKind, Result};
pub use event_log::{EventLog, LoggedEvent, SourceEvent};
pub use file_piece::FilePiece;
pub use form::{Field, Form, Number, Primitive};
pub use future::BoxFuture;
pub use os_error::{cannot_read, cannot_write};
pub use printable::printable;
pub use random::random_bytes;
pub use range::ByteRange;
pub use recent::RecentBest;
pub use segments::{ParseStep, Segments};
pub use server_messages::{MessagesTo, ServerMessages};
pub use statistics::{Extremes, Statistics};
pub use url::{Protocol, local_path, redact, server_of, url_scheme};
pub use work::{WORK, Work};
