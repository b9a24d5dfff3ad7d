//! Reads a flat file: first its index, then its blocks, batch by batch.

use super::column::Column;
use super::flat_block::{BLOCK, BlockPlace, EMPTY, HEAD, MAGIC, Numbers, TRAILER, VERSION, kind};
use super::shared_block::{BlockFormat, SharedBlock};
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Deadline, Error, ErrorKind, Result};
use sapwood_dataset::{Template, open_schema};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use sapwood_source::SourceOptions;
use sapwood_stripe::checksum;
use sapwood_table::pool::{budget, read_ahead, wait};
use std::ops::Range;
use std::sync::Arc;

/// Most bytes before the blocks, and most bytes after them.
const LARGEST: u64 = 1 << 30;
/// Compressed bytes to fetch ahead.
const AHEAD: u64 = 32 << 20;

/// A flat file to read.
pub(super) struct FlatFile {
    fetcher: Fetcher,
    url: String,
    tree: String,
    schema: Bytes,
    /// For each column, the index of its branch in the schema's tree, and its kind.
    columns: Vec<(u32, u8)>,
    events: u64,
    batch: u64,
    blocks: Vec<BlockPlace>,
    bytes: Vec<u64>,
}

impl FlatFile {
    pub(super) fn open(url: &str, options: &SourceOptions, call: &mut Call<'_>) -> Result<FlatFile> {
        let deadline = call.deadline();
        let opened = wait(sapwood_source::open(url, options), call)?;
        let url = opened.source.identity().url.to_string();
        let fetcher = Fetcher::new(opened.source, Arc::clone(&options.counters))
            .with_budget(budget()?)
            .with_known(opened.known);
        let file = async {
            let size = fetcher.source().identity().size;
            let read = |offset, len| one(&fetcher, offset, len, size, deadline);
            let (head, trailer) = (read(0, HEAD).await?, read(size.saturating_sub(TRAILER), TRAILER).await?);
            if head.get(..8) != Some(MAGIC) {
                return Err(Error::corrupt("this is not a flat file of events").at(0));
            }
            let mut words = Numbers(head.get(8..).unwrap_or_default());
            let version = words.u32()?;
            if version != VERSION {
                return Err(Error::unsupported(format!("flat files of version {version} are not supported")));
            }
            let (columns, path, schema) = (words.u32()?, words.u32()?, words.u32()?);
            let front = u64::from(columns) * 5 + u64::from(path) + u64::from(schema);
            let mut words = Numbers(&trailer);
            let (offset, len, sum) = (words.u64()?, words.u64()?, words.u64()?);
            let (front, index) = (read(HEAD, front).await?, read(offset, len).await?);
            if checksum(&index) != sum {
                let message = "the checksum of the index of the flat file does not match";
                return Err(Error::new(ErrorKind::Checksum, message).at(offset));
            }
            let mut rest = Numbers(&front);
            let path = rest.take(path as usize)?;
            let tree = String::from_utf8(path.to_vec())
                .map_err(|_| Error::corrupt("the path of the tree is not UTF-8"))?;
            let schema = Bytes::copy_from_slice(rest.take(schema as usize)?);
            let columns = (0..columns).map(|_| Ok((rest.u32()?, rest.u8()?))).collect::<Result<Vec<_>>>()?;
            let mut words = Numbers(&index);
            if checksum(&[&head[..], &front[..]].concat()) != words.u64()? {
                let message = "the checksum of the head of the flat file does not match";
                return Err(Error::new(ErrorKind::Checksum, message).at(0));
            }
            let (events, batch, blocks) = (words.u64()?, words.u64()?, words.u64()?);
            let fits = usize::try_from(blocks).ok().filter(|&blocks| blocks <= index.len() / BLOCK);
            if batch == 0 || events.div_ceil(batch) != blocks || fits.is_none() {
                return Err(Error::corrupt("the index of the flat file contradicts itself").at(offset));
            }
            let blocks = (0..blocks).map(|_| {
                let (offset, stored, len) = (words.u64()?, words.u32()?, words.u32()?);
                Ok(BlockPlace { offset, stored, len, checksum: words.u64()? })
            });
            let blocks = blocks.collect::<Result<Vec<_>>>()?;
            let bytes = columns.iter().map(|_| words.u64()).collect::<Result<Vec<_>>>()?;
            Ok((tree, schema, columns, events, batch, blocks, bytes))
        };
        let read = wait(file, call).map_err(|error| error.url(&url))?;
        let (tree, schema, columns, events, batch, blocks, bytes) = read;
        Ok(FlatFile { fetcher, url, tree, schema, columns, events, batch, blocks, bytes })
    }

    pub(super) fn entries(&self) -> u64 {
        self.events
    }

    /// The products of its tree.
    pub(super) fn template(&self, call: &mut Call<'_>) -> Result<Template> {
        let input = open_schema(&self.schema, &self.tree, call)?;
        let template = Template::of_tree(&input, &self.tree, None, call)?;
        let branches = template.products.iter().flat_map(|product| &product.branches);
        let same = branches.map(|&branch| branch as u64).eq(self.columns.iter().map(|c| u64::from(c.0)));
        if !same {
            return Err(Error::corrupt("the columns are not the branches of the tree").url(&self.url));
        }
        Ok(template)
    }

    /// Adds what the file records of the columns, and checks their kinds.
    pub(super) fn describe(&self, columns: &mut [Column]) -> Result<()> {
        for (column, (_, known)) in columns.iter_mut().zip(&self.columns) {
            column.has_data = *known != EMPTY;
            if kind(column) != *known {
                let message = format!("the kind {known} of a column does not match its branch");
                return Err(Error::corrupt(message).branch(&column.path).url(&self.url));
            }
        }
        Ok(())
    }

    /// Compressed bytes of each column per event, assuming that all compress equally well.
    pub(super) fn sizes(&self) -> Vec<f64> {
        let (stored, len) = self.blocks.iter().fold((0.0, 1.0), |(stored, len), block| {
            (stored + f64::from(block.stored), len + f64::from(block.len))
        });
        let events = self.events.max(1) as f64;
        self.bytes.iter().map(|&bytes| bytes as f64 / events * stored / len).collect()
    }
}

/// The bytes of a range, which must lie in the file.
async fn one(fetcher: &Fetcher, offset: u64, len: u64, size: u64, deadline: Deadline) -> Result<Bytes> {
    if len > LARGEST || offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(
            Error::corrupt(format!("{len} bytes are expected here, but the file has only {size}")).at(offset)
        );
    }
    let answer = fetcher.fetch(&[ByteRange { start: offset, len }], deadline).await?;
    answer.into_iter().next().ok_or_else(|| Error::corrupt("a range was not fetched"))
}

/// Delivers blocks, batch by batch.
pub(super) struct FlatFeed {
    file: FlatFile,
    format: Arc<BlockFormat>,
    reader: ReadAhead<usize>,
    /// The last block of the previous batch, and its number.
    kept: Option<(usize, Arc<SharedBlock>)>,
}

impl FlatFeed {
    pub(super) fn new(file: FlatFile, columns: &[Column], entries: u64) -> Result<FlatFeed> {
        let needed = entries.div_ceil(file.batch);
        let places: Vec<BlockPlace> = file.blocks.iter().take(place(needed)).copied().collect();
        let jobs = places.into_iter().enumerate().map(|(number, block)| Job {
            wanted: vec![(0, ByteRange { start: block.offset, len: u64::from(block.stored) })],
            tag: number,
        });
        let fetcher = file.fetcher.clone();
        let reader = read_ahead(jobs, move |_| fetcher.clone(), Ahead { jobs: 8, bytes: AHEAD })?;
        let format = Arc::new(BlockFormat::new(&file.url, columns));
        Ok(FlatFeed { file, format, reader, kept: None })
    }

    /// The blocks that hold some events, and how many bytes were read for them.
    pub(super) fn claim(
        &mut self,
        events: Range<u64>,
        call: &mut Call<'_>,
    ) -> Result<(Vec<Arc<SharedBlock>>, u64)> {
        let (mut blocks, mut read) = (Vec::new(), 0);
        for number in events.start / self.file.batch..=(events.end - 1) / self.file.batch {
            let number = place(number);
            if let Some((_, known)) = self.kept.as_ref().filter(|(known, _)| *known == number) {
                blocks.push(Arc::clone(known));
                continue;
            }
            let lost = || Error::corrupt("a block was not fetched").url(&self.file.url);
            let (tag, bytes) = self.reader.next(call).ok_or_else(lost)??;
            let stored = bytes.into_iter().next().filter(|_| tag == number).ok_or_else(lost)?;
            let first = tag as u64 * self.file.batch;
            read += stored.len() as u64;
            let place = *self.file.blocks.get(tag).ok_or_else(lost)?;
            let events = self.file.batch.min(self.file.events - first);
            let block = Arc::new(SharedBlock::new(place, first, events, stored, &self.format));
            self.kept = Some((number, Arc::clone(&block)));
            blocks.push(block);
        }
        Ok((blocks, read))
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
