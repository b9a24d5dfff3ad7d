//! The format of flat files (`docs/specs/flat.md`): constants, integers, and how a block is packed.

use super::column::Column;
use super::run::Run;
use bytes::Bytes;
use sapwood_codec::{Compression, Search, with_encoder};
use sapwood_core::{Error, ErrorKind, Result};

/// The first bytes of a flat file.
pub(super) const MAGIC: &[u8; 8] = b"\x89SAPPDS\n";
pub(super) const VERSION: u32 = 1;
/// Bytes of the fields before the path of the tree, of a block in the index, and of the trailer.
pub(super) const HEAD: u64 = 24;
pub(super) const BLOCK: usize = 24;
pub(super) const TRAILER: u64 = 24;

/// A column whose entries do not depend on their position.
const PLAIN: u8 = 0;
/// A column whose entries are stored with their original positions.
const PLACED: u8 = 1;
/// A column without entries.
pub(super) const EMPTY: u8 = 2;

/// True if the entries of a column are stored with their original positions.
pub(super) fn is_placed(column: &Column) -> bool {
    column.form.references.are_possible()
}

pub(super) fn kind(column: &Column) -> u8 {
    match (column.has_data, is_placed(column)) {
        (false, _) => EMPTY,
        (true, false) => PLAIN,
        (true, true) => PLACED,
    }
}

/// A block as it is stored.
#[derive(Debug)]
pub(super) struct PackedBlock {
    pub(super) stored: Bytes,
    pub(super) len: u32,
    /// Bytes of the entries of each column.
    pub(super) bytes: Vec<u64>,
}

/// Serialized events, and the bytes of each column in them.
pub(super) struct SerialisedEvents {
    content: Vec<u8>,
    bytes: Vec<u64>,
}

/// Joins the entries of all columns, event by event.
pub(super) fn events(columns: &[Column], runs: &[Vec<Run>], events: u64) -> Result<SerialisedEvents> {
    let short = || Error::corrupt("a column has fewer entries than the others");
    let mut cursors: Vec<_> = runs
        .iter()
        .map(|runs| {
            runs.iter().map(Run::entries).flat_map(|(entries, range)| range.map(move |i| (entries, i)))
        })
        .collect();
    let (mut content, mut bytes) = (Vec::new(), vec![0; columns.len()]);
    for _ in 0..events {
        for ((column, cursor), sum) in columns.iter().zip(&mut cursors).zip(&mut bytes) {
            if !column.has_data {
                continue;
            }
            let (entries, index) = cursor.next().ok_or_else(short)?;
            let entry = entries.entry(index);
            let len = u32::try_from(entry.len()).map_err(|_| too_long())?;
            content.extend(len.to_le_bytes());
            if is_placed(column) {
                let origin = entries.origins(index..index + 1).first().copied().ok_or_else(short)?;
                content.extend(origin.to_le_bytes());
            }
            content.extend_from_slice(entry);
            *sum += u64::from(len);
        }
    }
    Ok(SerialisedEvents { content, bytes })
}

/// Compresses a block.
pub(super) fn pack(events: SerialisedEvents, compression: Compression) -> Result<PackedBlock> {
    let SerialisedEvents { content, bytes } = events;
    let len = u32::try_from(content.len()).map_err(|_| too_long())?;
    let mut payload = Vec::new();
    let smaller = with_encoder(|encoder| {
        encoder.compress_basket(Search::default(), &content, content.len(), compression, &mut payload)
    })?;
    let stored = if smaller { payload } else { content };
    Ok(PackedBlock { stored: stored.into(), len, bytes })
}

pub(super) fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "a block of events has more than 4 GiB").hint("choose smaller batches")
}

/// The position of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) stored: u32,
    pub(super) len: u32,
    pub(super) checksum: u64,
}

/// A reader of little-endian numbers.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl<'a> Numbers<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let ends = || Error::new(ErrorKind::Truncated, "a part of the flat file is too short");
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(ends)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
