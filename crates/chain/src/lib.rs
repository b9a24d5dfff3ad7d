//! The processing chain: events from a source to an output, in lanes, to measure how fast that can be.
//!
//! ```text
//! feed: the next batch ─▶ lane: decompress ─▶ deserialise ─▶ serialise ─▶ compress ─▶ output, in order
//!                         …as many at once as there are lanes; all share the threads
//! ```
//! A lane works on a batch of events at a time, column by column on all threads. Whatever comes out are the bytes that
//! went in: what was serialised is compared with what was read, and columns that come out differently, or of which
//! nobody knows how they are written, are passed on as they were, and counted.

mod claim;
mod column;
mod discard;
mod events;
mod feed;
mod flat_block;
mod flat_input;
mod flat_output;
mod lane_output;
mod lanes;
mod options;
mod output;
mod run;
mod stages;

pub use options::{ChainOptions, ChainOutput, ChainReport, ChainSource};

use feed::ChainInput;
use lanes::Lanes;
use output::{StripePlan, Target, open_output};
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Call, Error, Result};
use sapwood_table::pool::computing;
use stages::Stages;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// ROOT's own level of ZSTD.
const ZSTD: u8 = 5;
/// More lanes than this only wait for each other.
const MOST_LANES: usize = 1024;

/// Runs a chain.
///
/// # Errors
/// `Usage` for an output of a chain that only reads, and of a source without columns; those of reading the source and
/// of the output; `Unsupported` for what no output can carry, such as baskets that do not say where entries begin.
pub fn chain(
    source: &ChainSource,
    output: ChainOutput,
    options: &ChainOptions,
    call: &mut Call<'_>,
) -> Result<ChainReport> {
    check(source, &output, options)?;
    let kept = !matches!(output, ChainOutput::Nothing | ChainOutput::Discard);
    let (opened, feed) = ChainInput::new(source, options, kept, call)?;
    let compression = options.compression.map_or_else(|| Compression::new(Algorithm::Zstd, ZSTD), Ok)?;
    let target = Target { opened: &opened, options, compression };
    let stripes = StripePlan::new(&opened, options);
    let (output, pack) = open_output(output, &target, &stripes, call)?;
    let stages = Stages::new(&opened.columns, options.full, pack, compression);
    let pool = computing(options.threads)?;
    let begin = Instant::now();
    let lanes = Lanes { stages: &stages, pool: &pool, deadline: call.deadline() };
    let written = lanes.run(options.lanes, feed, output, call)?;
    let seconds = begin.elapsed().as_secs_f64();
    let spent = |sum: &std::sync::atomic::AtomicU64| sum.load(Ordering::Relaxed) as f64 / 1e9;
    let count = |sum: &std::sync::atomic::AtomicU64| sum.load(Ordering::Relaxed);
    let (columns, decoded, encoded) = stages.columns_done();
    Ok(ChainReport {
        events: written.events,
        batches: written.batches,
        columns,
        decoded_columns: decoded,
        encoded_columns: encoded,
        read_bytes: written.read_bytes,
        entry_bytes: count(&stages.entry_bytes),
        value_bytes: count(&stages.value_bytes),
        written_bytes: written.bytes,
        written_objects: written.objects,
        seconds,
        decompress_seconds: spent(&stages.times.decompress),
        deserialise_seconds: spent(&stages.deserialise),
        serialise_seconds: spent(&stages.serialise),
        compress_seconds: spent(&stages.times.compress),
    })
}

fn check(source: &ChainSource, output: &ChainOutput, options: &ChainOptions) -> Result<()> {
    let nowhere = matches!(output, ChainOutput::Nothing);
    if options.batch == 0 || !(1..=MOST_LANES).contains(&options.lanes) {
        let message = format!("a chain has 1 to {MOST_LANES} lanes, and batches of at least one event");
        return Err(Error::usage(message));
    }
    if !options.full && !nowhere {
        return Err(Error::usage("a chain that only reads has no output").hint("run the full chain"));
    }
    if matches!(source, ChainSource::Empty(_)) && !nowhere {
        return Err(Error::usage("a source without columns has nothing to write").hint("write nowhere"));
    }
    Ok(())
}
