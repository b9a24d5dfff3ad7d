//! Fields of objects that ROOT streamed: each entry is an object in a buffer of its own.

use sapwood_core::{Column, Counters, Error, Result};
use sapwood_streamer::{ColumnPart, Compiler, Program, StreamInput};
use sapwood_tfile::{Record, StreamerInfos};
use std::time::Instant;

/// The version of ROOT that wrote the first RNTuples that are read: descriptions of classes have changed before.
const ROOT_VERSION: u32 = 63_400;
/// What marks the name of a class that was not named before.
const NEW_CLASS: &[u8] = &[0xFF; 4];

/// Compiles the classes in the extra type information of an RNTuple: a pointer to a list for each content.
///
/// # Errors
/// `Corrupt` if one is damaged.
pub(crate) fn compiler<'c>(contents: impl Iterator<Item = &'c [u8]>) -> Result<Compiler> {
    let mut infos = Vec::new();
    for content in contents {
        // A byte count, a mark, and the name of the class stand before the list; positions count from the first.
        let name = content.get(4..).and_then(|rest| rest.strip_prefix(NEW_CLASS));
        let len = name.and_then(|name| name.iter().position(|byte| *byte == 0));
        let len =
            len.ok_or_else(|| Error::corrupt("the descriptions of classes of the RNTuple are damaged"))?;
        let key_len = 4 + NEW_CLASS.len() + len + 1;
        let payload = content.get(key_len..).unwrap_or_default().to_vec().into();
        let key_len = u32::try_from(key_len).unwrap_or(u32::MAX);
        let record = Record { payload, key_len, offset: 0, compressed: true };
        infos.extend(StreamerInfos::parse(&record, ROOT_VERSION)?.iter().cloned());
    }
    Ok(Compiler::new(infos.into_iter().collect()))
}

/// The objects with these offsets in `bytes`.
///
/// # Errors
/// `Corrupt` if they break the format; `Unsupported` if they do not match the descriptions of their classes.
pub(crate) fn objects(
    program: &Program,
    offsets: &[i64],
    bytes: &[u8],
    counters: Option<&Counters>,
) -> Result<Column> {
    let start = Instant::now();
    let mut run = program.run();
    for pair in offsets.windows(2) {
        let place = |offset: i64| usize::try_from(offset).unwrap_or(usize::MAX);
        let object = bytes.get(place(pair[0])..place(pair[1])).unwrap_or_default();
        run.entry(StreamInput::new(object, 0..object.len(), 0)?)?;
    }
    let column = ColumnPart::join(vec![run.finish()]);
    if let Some(counters) = counters {
        counters.decode_ns.add_time(start.elapsed());
    }
    column
}
