//! A flat file of serialised events (`docs/specs/flat.md`): what can be read without any structure.

use super::feed::{Column, Plain, plain_of};
use super::output::{Made, Output};
use super::stages::Run;
use bytes::Bytes;
use sapwood_codec::{Compression, is_compressed, uncompressed_len, with_decoder, with_encoder};
use sapwood_core::{ByteRange, Call, Deadline, Error, ErrorKind, Piece, Result};
use sapwood_dataset::{Template, open_schema};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use sapwood_source::OpenOptions;
use sapwood_source::sink::Sink;
use sapwood_stripe::checksum;
use sapwood_table::pool::wait;
use sapwood_table::pool::{budget, runtime};
use sapwood_ttree::Entries;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// What a flat file begins with.
const MAGIC: &[u8; 8] = b"\x89SAPPDS\n";
const VERSION: u32 = 1;
/// Bytes of the fields before the path of the tree, of a block in the index, and of the trailer.
const HEAD: u64 = 24;
const BLOCK: usize = 24;
const TRAILER: u64 = 24;
/// What is in front of the blocks, and what is behind them, have no more bytes each.
const LARGEST: u64 = 1 << 30;
/// Compressed bytes that are fetched ahead.
const AHEAD: u64 = 32 << 20;

/// Of a column: its entries have the same bytes wherever they stand; they say where they stood; it has none.
const PLAIN: u8 = 0;
const PLACED: u8 = 1;
const EMPTY: u8 = 2;

fn kind(column: &Column) -> u8 {
    match (column.has_data, column.form.references.are_possible()) {
        (false, _) => EMPTY,
        (true, false) => PLAIN,
        (true, true) => PLACED,
    }
}

/// A block as it is stored.
#[derive(Debug)]
pub(super) struct Packed {
    stored: Bytes,
    len: u32,
    /// Bytes of the entries of each column.
    bytes: Vec<u64>,
}

/// Events, one behind the other, and the bytes of each column in them.
pub(super) struct Events {
    content: Vec<u8>,
    bytes: Vec<u64>,
}

/// Puts the entries of all columns together, event by event.
pub(super) fn events(columns: &[Column], runs: &[Vec<Run>], events: u64) -> Result<Events> {
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
            if column.form.references.are_possible() {
                let origin = entries.origins(index..index + 1).first().copied().ok_or_else(short)?;
                content.extend(origin.to_le_bytes());
            }
            content.extend_from_slice(entry);
            *sum += u64::from(len);
        }
    }
    Ok(Events { content, bytes })
}

/// Compresses a block.
pub(super) fn pack(events: Events, compression: Compression) -> Result<Packed> {
    let Events { content, bytes } = events;
    let len = u32::try_from(content.len()).map_err(|_| too_long())?;
    let mut payload = Vec::new();
    let smaller = with_encoder(|encoder| encoder.compress(&content, compression, &mut payload))?;
    let stored = if smaller { payload } else { content };
    Ok(Packed { stored: stored.into(), len, bytes })
}

fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "a block of events has more than 4 GiB").hint("take smaller batches")
}

/// A flat file that is written.
pub(super) struct FlatOutput {
    sink: Box<dyn Sink>,
    end: u64,
    events: u64,
    batch: u64,
    index: Vec<u8>,
    blocks: u64,
    bytes: Vec<u64>,
    /// Checksum of all that is in front of the blocks.
    front: u64,
}

impl FlatOutput {
    /// Begins one.
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
        self.sink.write(Piece { offset, bytes, provisional: false })?;
        self.end += len;
        Ok(())
    }
}

impl Output for FlatOutput {
    fn put(&mut self, _: u64, entries: u64, made: Made, _: &mut Call<'_>) -> Result<()> {
        let Made::Block(block) = made else { return Err(Error::corrupt("a block was not made")) };
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

/// Where a block lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    stored: u32,
    len: u32,
    checksum: u64,
}

/// A flat file that is read.
pub(super) struct FlatFile {
    fetcher: Fetcher,
    url: String,
    tree: String,
    schema: Bytes,
    /// Place of the branch of each column in the schema's tree, and its kind.
    columns: Vec<(u32, u8)>,
    events: u64,
    batch: u64,
    blocks: Vec<Place>,
    bytes: Vec<u64>,
}

impl FlatFile {
    pub(super) fn open(url: &str, options: &OpenOptions, call: &mut Call<'_>) -> Result<FlatFile> {
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
                return Err(Error::corrupt("this is no flat file of events").at(0));
            }
            let mut words = Numbers(head.get(8..).unwrap_or_default());
            let version = words.u32()?;
            if version != VERSION {
                return Err(Error::unsupported(format!("a flat file of version {version}")));
            }
            let (columns, path, schema) = (words.u32()?, words.u32()?, words.u32()?);
            let front = u64::from(columns) * 5 + u64::from(path) + u64::from(schema);
            let mut words = Numbers(&trailer);
            let (offset, len, sum) = (words.u64()?, words.u64()?, words.u64()?);
            let (front, index) = (read(HEAD, front).await?, read(offset, len).await?);
            if checksum(&index) != sum {
                let message = "the index of a flat file has another checksum than it should";
                return Err(Error::new(ErrorKind::Checksum, message).at(offset));
            }
            let mut rest = Numbers(&front);
            let path = rest.take(path as usize)?;
            let tree = String::from_utf8(path.to_vec())
                .map_err(|_| Error::corrupt("the path of the tree is no text"))?;
            let schema = Bytes::copy_from_slice(rest.take(schema as usize)?);
            let columns = (0..columns).map(|_| Ok((rest.u32()?, rest.u8()?))).collect::<Result<Vec<_>>>()?;
            let mut words = Numbers(&index);
            if checksum(&[&head[..], &front[..]].concat()) != words.u64()? {
                let message = "the front of a flat file has another checksum than it should";
                return Err(Error::new(ErrorKind::Checksum, message).at(0));
            }
            let (events, batch, blocks) = (words.u64()?, words.u64()?, words.u64()?);
            let fits = usize::try_from(blocks).ok().filter(|&blocks| blocks <= index.len() / BLOCK);
            if batch == 0 || events.div_ceil(batch) != blocks || fits.is_none() {
                return Err(Error::corrupt("the index of a flat file contradicts itself").at(offset));
            }
            let blocks = (0..blocks).map(|_| {
                let (offset, stored, len) = (words.u64()?, words.u32()?, words.u32()?);
                Ok(Place { offset, stored, len, checksum: words.u64()? })
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

    /// Says what is known of the columns.
    pub(super) fn describe(&self, columns: &mut [Column]) -> Result<()> {
        for (column, (_, known)) in columns.iter_mut().zip(&self.columns) {
            column.has_data = *known != EMPTY;
            if kind(column) != *known {
                let message = format!("a column is of kind {known}, which its branch is not");
                return Err(Error::corrupt(message).branch(&column.path).url(&self.url));
            }
        }
        Ok(())
    }

    /// Compressed bytes of each column per event, if all compress alike.
    pub(super) fn sizes(&self) -> Vec<f64> {
        let (stored, len) = self.blocks.iter().fold((0.0, 1.0), |(stored, len), block| {
            (stored + f64::from(block.stored), len + f64::from(block.len))
        });
        let events = self.events.max(1) as f64;
        self.bytes.iter().map(|&bytes| bytes as f64 / events * stored / len).collect()
    }
}

/// One range of a file, which must lie in it.
async fn one(fetcher: &Fetcher, offset: u64, len: u64, size: u64, deadline: Deadline) -> Result<Bytes> {
    if len > LARGEST || offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(
            Error::corrupt(format!("a flat file of {size} bytes has no {len} bytes there")).at(offset)
        );
    }
    let answer = fetcher.fetch(&[ByteRange { start: offset, len }], deadline).await?;
    answer.into_iter().next().ok_or_else(|| Error::corrupt("a range was not fetched"))
}

/// Blocks, batch by batch.
pub(super) struct FlatFeed {
    file: FlatFile,
    /// Kind of each column, and how its entries become baskets.
    columns: Arc<[Column]>,
    reader: ReadAhead<usize>,
    /// The last block of the batch before.
    kept: Option<(usize, Arc<Block>)>,
}

/// The entries of each column; none of one without.
type Columns = Arc<[Option<Arc<Plain>>]>;

/// A block that several batches may need: who comes first takes it apart.
pub(super) struct Block {
    place: Place,
    first: u64,
    events: u64,
    stored: Bytes,
    url: String,
    columns: Arc<[Column]>,
    plain: Mutex<Option<Columns>>,
}

impl FlatFeed {
    pub(super) fn new(file: FlatFile, columns: &[Column], entries: u64) -> Result<FlatFeed> {
        let needed = entries.div_ceil(file.batch);
        let places: Vec<Place> = file.blocks.iter().take(place(needed)).copied().collect();
        let jobs = places.into_iter().enumerate().map(|(number, block)| Job {
            wanted: vec![ByteRange { start: block.offset, len: u64::from(block.stored) }],
            tag: number,
        });
        let ahead = Ahead { jobs: 8, bytes: AHEAD };
        let reader = ReadAhead::new(jobs, file.fetcher.clone(), runtime()?, ahead);
        Ok(FlatFeed { columns: columns.iter().cloned().collect(), file, reader, kept: None })
    }

    /// The blocks with some events, and how many bytes had to be read for them.
    pub(super) fn claim(
        &mut self,
        events: Range<u64>,
        call: &mut Call<'_>,
    ) -> Result<(Vec<Arc<Block>>, u64)> {
        let (mut blocks, mut read) = (Vec::new(), 0);
        for number in events.start / self.file.batch..=(events.end - 1) / self.file.batch {
            let number = place(number);
            if let Some((_, known)) = self.kept.as_ref().filter(|(known, _)| *known == number) {
                blocks.push(Arc::clone(known));
                continue;
            }
            let lost = || Error::corrupt("a block was not fetched").url(&self.file.url);
            let (tag, bytes) = self.reader.next(call.deadline(), call.interrupt()).ok_or_else(lost)??;
            let stored = bytes.into_iter().next().filter(|_| tag == number).ok_or_else(lost)?;
            let first = tag as u64 * self.file.batch;
            read += stored.len() as u64;
            let block = Arc::new(Block {
                place: *self.file.blocks.get(tag).ok_or_else(lost)?,
                first,
                events: self.file.batch.min(self.file.events - first),
                stored,
                url: self.file.url.clone(),
                columns: Arc::clone(&self.columns),
                plain: Mutex::new(None),
            });
            self.kept = Some((number, Arc::clone(&block)));
            blocks.push(block);
        }
        Ok((blocks, read))
    }
}

impl Block {
    /// The entries of a column, as a basket; none if it has none.
    pub(super) fn column(&self, column: usize) -> Result<Option<Arc<Plain>>> {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = match &*plain {
            Some(columns) => Arc::clone(columns),
            None => {
                let found = self.open().map_err(|error| error.inside(self.place.offset).url(&self.url))?;
                Arc::clone(plain.insert(found.into()))
            }
        };
        Ok(columns.get(column).cloned().flatten())
    }

    fn open(&self) -> Result<Vec<Option<Arc<Plain>>>> {
        if checksum(&self.stored) != self.place.checksum {
            let message = "a block of events has another checksum than it should";
            return Err(Error::new(ErrorKind::Checksum, message));
        }
        let len = self.place.len as usize;
        let content = if is_compressed(len, self.stored.len()) {
            if uncompressed_len(&self.stored, len)? != len {
                return Err(Error::corrupt("a block of events has another length than it should"));
            }
            Bytes::from(with_decoder(|decoder| decoder.decode_to_vec(&self.stored, len))?)
        } else {
            self.stored.clone()
        };
        let mut found: Vec<(Vec<u8>, Vec<u32>, Vec<u32>)> = vec![Default::default(); self.columns.len()];
        let mut numbers = Numbers(&content);
        // Without data, a file could claim any number of events.
        let events = if self.columns.iter().any(|column| column.has_data) { self.events } else { 0 };
        for _ in 0..events {
            for (column, (data, starts, origins)) in self.columns.iter().zip(&mut found) {
                if !column.has_data {
                    continue;
                }
                let len = numbers.u32()? as usize;
                let start = u32::try_from(data.len()).map_err(|_| too_long())?;
                let origin = if column.form.references.are_possible() { numbers.u32()? } else { start };
                starts.push(start);
                origins.push(origin);
                data.extend_from_slice(numbers.take(len)?);
            }
        }
        if !numbers.0.is_empty() {
            return Err(Error::corrupt("a block has bytes behind its events"));
        }
        let columns = found.into_iter().zip(&*self.columns).map(|((data, mut starts, origins), column)| {
            if !column.has_data {
                return Ok(None);
            }
            starts.push(u32::try_from(data.len()).map_err(|_| too_long())?);
            let entries = Entries::new(data, starts, origins, &column.form.references)?;
            plain_of(column, self.first, entries).map(|plain| Some(Arc::new(plain)))
        });
        columns.collect()
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Numbers, low bytes first.
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let ends = || Error::new(ErrorKind::Truncated, "a part of a flat file ends too early");
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(ends)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
