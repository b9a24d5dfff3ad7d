//! The blocks of a file, and which parts of the wanted ranges lie in each.

use bytes::{Bytes, BytesMut};
use sapwood_core::ByteRange;
use std::collections::BTreeMap;

/// How a file is divided into blocks: all have the same length except for the last one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    size: u64,
    block: u64,
}

impl Grid {
    /// The blocks of `block` bytes of a file of `size` bytes.
    pub(super) fn new(size: u64, block: u64) -> Self {
        Grid { size, block: block.max(1) }
    }

    /// Number of blocks.
    pub(super) fn count(self) -> u64 {
        self.size.div_ceil(self.block)
    }

    /// Where a block lies.
    pub(super) fn range(self, index: u64) -> ByteRange {
        let start = index.saturating_mul(self.block).min(self.size);
        ByteRange { start, len: self.block.min(self.size - start) }
    }

    /// The parts of a range, by the blocks that contain them.
    fn parts(self, range: ByteRange) -> impl Iterator<Item = (u64, ByteRange)> {
        let blocks =
            if range.len == 0 { 0..0 } else { range.start / self.block..range.end().div_ceil(self.block) };
        blocks.map(move |index| {
            let block = self.range(index);
            let start = range.start.max(block.start);
            (index, ByteRange { start, len: range.end().min(block.end()) - start })
        })
    }
}

/// A part of a wanted range that lies in one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPart {
    /// Where it lies in the file.
    pub(super) range: ByteRange,
    wanted: usize,
    place: usize,
}

/// The parts of wanted ranges, collected as they arrive.
#[derive(Debug)]
pub(super) struct Gather {
    missing: BTreeMap<u64, Vec<BlockPart>>,
    /// For each wanted range, its parts.
    answers: Vec<Vec<Bytes>>,
}

impl Gather {
    /// Nothing has arrived yet of `wanted`, which lies in the file.
    pub(super) fn new(grid: Grid, wanted: &[ByteRange]) -> Self {
        let mut missing: BTreeMap<u64, Vec<BlockPart>> = BTreeMap::new();
        let mut answers = Vec::with_capacity(wanted.len());
        for (i, &range) in wanted.iter().enumerate() {
            let mut places = 0;
            for (place, (block, range)) in grid.parts(range).enumerate() {
                missing.entry(block).or_default().push(BlockPart { range, wanted: i, place });
                places = place + 1;
            }
            answers.push(vec![Bytes::new(); places]);
        }
        Gather { missing, answers }
    }

    /// The blocks that are still needed, in the order of the file, and which parts of each.
    pub(super) fn missing(&self) -> Vec<(u64, Vec<BlockPart>)> {
        self.missing.iter().map(|(&block, parts)| (block, parts.clone())).collect()
    }

    /// True once all parts have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.missing.is_empty()
    }

    /// Takes the parts of a block: as many as `missing` listed, in that order.
    pub(super) fn add(&mut self, block: u64, found: impl IntoIterator<Item = Bytes>) {
        for (part, bytes) in self.missing.remove(&block).into_iter().flatten().zip(found) {
            if let Some(slot) = self.answers.get_mut(part.wanted).and_then(|parts| parts.get_mut(part.place))
            {
                *slot = bytes;
            }
        }
    }

    /// One buffer for each wanted range.
    pub(super) fn finish(self) -> Vec<Bytes> {
        self.answers.into_iter().map(joined).collect()
    }
}

/// Joins parts into one buffer; a single one is not copied.
fn joined(parts: Vec<Bytes>) -> Bytes {
    match <[Bytes; 1]>::try_from(parts) {
        Ok([whole]) => whole,
        Err(parts) => {
            let mut joined = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
            parts.iter().for_each(|part| joined.extend_from_slice(part));
            joined.freeze()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_assembled_from_their_parts() {
        let content: Vec<u8> = (0..25).collect();
        let grid = Grid::new(25, 10);
        let wanted = [(3, 4), (8, 14), (20, 5), (7, 0)].map(|(start, len)| ByteRange { start, len });
        let mut gather = Gather::new(grid, &wanted);
        assert_eq!(
            gather.missing().iter().map(|(block, parts)| (*block, parts.len())).collect::<Vec<_>>(),
            [(0, 2), (1, 1), (2, 2)]
        );
        for (block, parts) in gather.missing() {
            let slice = |part: &BlockPart| {
                Bytes::copy_from_slice(&content[part.range.start as usize..part.range.end() as usize])
            };
            gather.add(block, parts.iter().map(slice));
        }
        assert!(gather.is_done());
        assert_eq!(gather.finish(), [&content[3..7], &content[8..22], &content[20..], &[]]);
    }

    #[test]
    fn the_last_block_ends_with_the_file() {
        let grid = Grid::new(25, 10);
        assert_eq!((grid.count(), grid.range(2)), (3, ByteRange { start: 20, len: 5 }));
        assert_eq!(Grid::new(0, 10).count(), 0);
        assert_eq!(grid.range(9).len, 0);
    }
}
