//! How near reading an RNTuple comes to its limit: pages read, decompressed and decoded into new memory, nothing else.
//!
//! `limit FILE ROUNDS` reads all top-level numbers, and lists of them, of the first RNTuple of FILE, by turns bare and as a
//! table, on one thread and on two, and prints for each the least CPU and wall time of all rounds in milliseconds.
//! The bare reading verifies no checksum, and takes each page for what the default encoding of its field says.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a tool")]

use bytes::Bytes;
use multiversion::multiversion;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sapwood_codec::with_decoder;
use sapwood_core::{ByteRange, Call, Column, Counters, Deadline, Form, ParseStep, Primitive, Segments};
use sapwood_fetch::Fetcher;
use sapwood_rntuple::{Anchor, Metadata, RNTuple};
use sapwood_source::LocalSource;
use sapwood_table::{Chunk, ColumnContent, Query, Selection, Table};
use sapwood_tfile::{KeyEntry, TFile};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, rounds] = arguments.as_slice() else { panic!("usage: limit FILE ROUNDS") };
    let rounds: usize = rounds.parse().unwrap();
    let bytes: Bytes = fs::read(path).unwrap().into();
    let mut opening = Vec::new();
    let mut metadata = Vec::new();
    let mut table = None;
    for _ in 0..rounds {
        let (opened, parsing, all) = open(Path::new(path), &bytes);
        metadata.push(parsing);
        opening.push(all);
        table = Some(opened);
    }
    let table: Arc<dyn Table> = Arc::new(table.unwrap());
    println!("opening: metadata {:.2} ms, all {:.2} ms", least(&metadata), least(&opening));
    drop(bytes);

    let columns = numbers(&*table);
    let bare = bare_columns(&*table, &columns);
    println!(
        "{} of {} fields, {} entries, {} columns, {} pages",
        columns.len(),
        table.column_count(),
        table.entries(),
        bare.len(),
        bare.iter().map(|column| column.pages.len()).sum::<usize>()
    );
    let file = File::open(path).unwrap();
    // The time of threads that ended would be lost.
    let pools = [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for pool in &pools {
        let threads = pool.current_num_threads();
        let (mut limit, mut read) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let read_all =
                || bare.par_iter().map_init(Default::default, |room, one| read_bare(&file, one, room));
            limit.push(measured(|| pool.install(|| read_all().collect::<Vec<_>>())));
            read.push(measured(|| read_table(&table, &columns, threads)));
        }
        let of = |times: &[(Duration, Duration)]| {
            let (cpu, wall): (Vec<_>, Vec<_>) = times.iter().copied().unzip();
            (least(&cpu), least(&wall))
        };
        let (limit, read) = (of(&limit), of(&read));
        println!(
            "{threads} threads: limit CPU {:.1}, wall {:.1}; table CPU {:.1}, wall {:.1}; CPU ratio {:.3}",
            limit.0,
            limit.1,
            read.0,
            read.1,
            read.0 / limit.0
        );
    }
}

fn least(times: &[Duration]) -> f64 {
    times.iter().min().unwrap().as_secs_f64() * 1e3
}

/// The first RNTuple of a file, the time for its metadata, and for all.
fn open(path: &Path, bytes: &Bytes) -> (RNTuple, Duration, Duration) {
    let mut known = Segments::default();
    known.insert(0, bytes.clone());
    let file = done(TFile::open(&known, bytes.len() as u64).unwrap());
    let is_rntuple = |entry: &KeyEntry| entry.key.class_name == "ROOT::RNTuple";
    let key = done(file.list(&known).unwrap()).into_iter().find(is_rntuple).unwrap();
    let record = done(file.record(&known, &key.key).unwrap());
    let source = Arc::new(LocalSource::open(path).unwrap());
    let fetcher = Fetcher::new(source, Arc::new(Counters::default()));
    let start = Instant::now();
    let metadata = done(Metadata::parse(&Anchor::parse(&record.payload).unwrap(), &known).unwrap());
    let parsing = start.elapsed();
    let table = RNTuple::new("file", &key.path, metadata, fetcher).unwrap();
    (table, parsing, start.elapsed())
}

fn done<T>(step: ParseStep<T>) -> T {
    match step {
        ParseStep::Done(value) => value,
        ParseStep::Need(ranges) => panic!("{ranges:?} beyond the end of the file"),
    }
}

/// The primitive type of a column of numbers, or of lists of numbers.
fn primitive(table: &dyn Table, column: usize) -> Option<Primitive> {
    match table.schema(column)?.content {
        ColumnContent::Values(Form::Primitive(primitive)) => Some(*primitive),
        ColumnContent::Values(Form::List(item)) => match **item {
            Form::Primitive(primitive) => Some(primitive),
            _ => None,
        },
        _ => None,
    }
}

fn numbers(table: &dyn Table) -> Vec<usize> {
    (0..table.column_count()).filter(|column| primitive(table, *column).is_some()).collect()
}

fn read_table(table: &Arc<dyn Table>, columns: &[usize], threads: usize) -> Vec<Column> {
    let mut never = || false;
    let mut call = Call::new(Deadline::default(), &mut never);
    let queries: Vec<Query> = columns.iter().map(|column| Query::from(*column)).collect();
    sapwood_table::read(table, &queries, 0..table.entries(), Some(threads), &mut call).unwrap()
}

/// A column as it is stored.
struct Bare {
    kind: Kind,
    pages: Vec<(ByteRange, usize)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Bits,
    Bytes,
    Split(usize),
    Zigzag(usize),
    Ends,
}

fn bare_columns(table: &dyn Table, columns: &[usize]) -> Vec<Bare> {
    // Columns that several fields share are read once.
    let mut found: BTreeMap<u64, Bare> = BTreeMap::new();
    for column in columns {
        let plan = table.plan(&Selection::whole(*column), &(0..table.entries())).unwrap();
        let primitive = primitive(table, *column).unwrap();
        for index in [true, false] {
            let of: Vec<&Chunk> = plan.chunks().iter().filter(|chunk| chunk.index == index).collect();
            let Some(first) = of.first() else { continue };
            let kind = match primitive {
                _ if index => Kind::Ends,
                Primitive::Bool => Kind::Bits,
                Primitive::I16 | Primitive::I32 | Primitive::I64 => Kind::Zigzag(primitive.size()),
                one if one.size() == 1 => Kind::Bytes,
                other => Kind::Split(other.size()),
            };
            let pages = of.iter().map(|chunk| (chunk.range, chunk.uncompressed_bytes as usize)).collect();
            found.entry(first.range.start).or_insert(Bare { kind, pages });
        }
    }
    found.into_values().collect()
}

/// Reads, decompresses and decodes a column.
fn read_bare(file: &File, column: &Bare, (raw, page): &mut (Vec<u8>, Vec<u8>)) -> Vec<u64> {
    let stored: usize = column.pages.iter().map(|(_, len)| len).sum();
    let bytes = if matches!(column.kind, Kind::Bits) { 8 * stored } else { stored };
    let mut out = vec![0_u64; bytes.div_ceil(8)];
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
    for (range, len) in &column.pages {
        raw.resize(range.len as usize, 0);
        file.read_exact_at(raw, range.start).unwrap();
        let stored = &raw[..raw.len() - 8];
        page.resize(*len, 0);
        match stored.len() == *len {
            true => page.copy_from_slice(stored),
            false => with_decoder(|decoder| decoder.decode(stored, page)).unwrap(),
        }
        let here = if matches!(column.kind, Kind::Bits) { 8 * len } else { *len };
        let (place, after) = rest.split_at_mut(here);
        rest = after;
        match column.kind {
            Kind::Bits => bits(page, place),
            Kind::Bytes => place.copy_from_slice(page),
            Kind::Split(2) => split_2(page, bytemuck::cast_slice_mut(place)),
            Kind::Split(4) => split_4(page, bytemuck::cast_slice_mut(place)),
            Kind::Split(_) => split_8(page, bytemuck::cast_slice_mut(place)),
            Kind::Zigzag(2) => zigzag_2(page, bytemuck::cast_slice_mut(place)),
            Kind::Zigzag(4) => zigzag_4(page, bytemuck::cast_slice_mut(place)),
            Kind::Zigzag(_) => zigzag_8(page, bytemuck::cast_slice_mut(place)),
            Kind::Ends => {
                let ends: &mut [u64] = bytemuck::cast_slice_mut(place);
                split_8(page, ends);
                ends.iter_mut().fold(0, |sum, end| {
                    *end += sum;
                    *end
                });
            }
        }
    }
    out
}

fn bits(page: &[u8], out: &mut [u8]) {
    for (out, byte) in out.as_chunks_mut::<8>().0.iter_mut().zip(page) {
        let each = u64::from(*byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
        *out = ((each + 0x7F7F_7F7F_7F7F_7F7F) >> 7 & 0x0101_0101_0101_0101).to_le_bytes();
    }
}

macro_rules! split {
    ($($split:ident, $zigzag:ident, $word:ty;)*) => { $(
        #[multiversion(targets("x86_64+avx2"))]
        fn $split(page: &[u8], out: &mut [$word]) {
            let planes: [&[u8]; size_of::<$word>()] =
                std::array::from_fn(|plane| &page[plane * out.len()..(plane + 1) * out.len()]);
            let planes = planes.map(|plane| &plane[..out.len()]);
            for (index, out) in out.iter_mut().enumerate() {
                *out = <$word>::from_le_bytes(planes.map(|plane| plane[index]));
            }
        }

        fn $zigzag(page: &[u8], out: &mut [$word]) {
            $split(page, out);
            out.iter_mut().for_each(|word| *word = (*word >> 1) ^ (*word & 1).wrapping_neg());
        }
    )* };
}

split! { split_2, zigzag_2, u16; split_4, zigzag_4, u32; split_8, zigzag_8, u64; }

/// The CPU and wall time of `work`.
fn measured<T>(work: impl FnOnce() -> T) -> (Duration, Duration) {
    let (cpu, start) = (cpu_time(), Instant::now());
    let result = work();
    let times = (cpu_time() - cpu, start.elapsed());
    drop(result);
    times
}

/// The CPU time of all threads, which live as long as the process.
fn cpu_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let used = tasks.map(|task| {
        let statistics = fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        statistics.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(used.sum())
}
