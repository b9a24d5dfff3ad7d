//! Writes a flat file of serialized events, block by block.

use super::column::Column;
use super::flat_block::{MAGIC, VERSION, kind, too_long};
use super::lane_output::{LaneOutput, Output};
use bytes::Bytes;
use sapwood_core::{Call, Error, FilePiece, Result};
use sapwood_dataset::Template;
use sapwood_sink::Sink;
use sapwood_stripe::checksum;

/// A flat file being written.
pub(super) struct FlatOutput {
    sink: Box<dyn Sink>,
    end: u64,
    events: u64,
    batch: u64,
    index: Vec<u8>,
    blocks: u64,
    bytes: Vec<u64>,
    /// Checksum of the bytes before the blocks.
    front: u64,
}

impl FlatOutput {
    /// Begins the file.
    pub(super) fn new(
        sink: Box<dyn Sink>,
        template: &Template,
        columns: &[Column],
        batch: u64,
    ) -> Result<FlatOutput> {
        let [schema] = template.schemas.as_slice() else {
            return Err(Error::corrupt("a flat file has one schema"));
        };
        let word = |len: usize| u32::try_from(len).map(u32::to_le_bytes).map_err(|_| too_long());
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend(word(columns.len())?);
        head.extend(word(template.tree.len())?);
        head.extend(word(schema.file.len())?);
        head.extend_from_slice(template.tree.as_bytes());
        head.extend_from_slice(&schema.file);
        let branches = template.products.iter().flat_map(|product| &product.branches);
        for (column, &branch) in columns.iter().zip(branches) {
            head.extend(word(branch)?);
            head.push(kind(column));
        }
        let mut output = FlatOutput {
            sink,
            end: 0,
            events: 0,
            batch,
            index: Vec::new(),
            blocks: 0,
            bytes: vec![0; columns.len()],
            front: checksum(&head),
        };
        output.write(head.into())?;
        Ok(output)
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        let (offset, len) = (self.end, bytes.len() as u64);
        self.sink.write(FilePiece { offset, bytes, provisional: false })?;
        self.end += len;
        Ok(())
    }
}

impl Output for FlatOutput {
    fn put(&mut self, _: u64, entries: u64, made: LaneOutput, _: &mut Call<'_>) -> Result<()> {
        let LaneOutput::Block(block) = made else { return Err(Error::corrupt("a block was not made")) };
        let stored = u32::try_from(block.stored.len()).map_err(|_| too_long())?;
        self.index.extend(self.end.to_le_bytes());
        self.index.extend(stored.to_le_bytes());
        self.index.extend(block.len.to_le_bytes());
        self.index.extend(checksum(&block.stored).to_le_bytes());
        self.bytes.iter_mut().zip(&block.bytes).for_each(|(sum, bytes)| *sum += bytes);
        self.events += entries;
        self.blocks += 1;
        self.write(block.stored)
    }

    fn finish(mut self: Box<Self>, _: &mut Call<'_>) -> Result<(u64, u64)> {
        let mut index = Vec::with_capacity(32 + self.index.len() + 8 * self.bytes.len());
        for number in [self.front, self.events, self.batch, self.blocks] {
            index.extend(number.to_le_bytes());
        }
        index.append(&mut self.index);
        index.extend(self.bytes.iter().flat_map(|bytes| bytes.to_le_bytes()));
        let (offset, len, sum) = (self.end, index.len() as u64, checksum(&index));
        index.extend([offset, len, sum].iter().flat_map(|number| number.to_le_bytes()));
        self.write(index.into())?;
        let end = self.end;
        self.sink.commit()?;
        Ok((end, 1))
    }
}
