//! The processing chain: moves events from a source to an output in lanes, to measure how fast that can be.
//!
//! ```text
//! feed: the next batch ─▶ lane: decompress ─▶ deserialize ─▶ serialize ─▶ compress ─▶ output, in order
//!                         …in each lane at the same time; all lanes share the threads
//! ```
//! A lane works on one batch of events at a time, column by column on all threads. The output has the same bytes as the
//! input: serialized entries are compared with those that were read. Columns that differ, or that cannot be serialized,
//! are passed on unchanged and counted.

mod chunk_feed;
mod claim;
mod column;
mod discard;
mod events;
mod feed;
mod flat_block;
mod flat_input;
mod flat_output;
mod flat_split;
mod input;
mod lane_output;
mod lanes;
mod options;
mod output;
mod run;
mod shared_block;
mod stages;
mod tree_input;

pub use options::{ChainOptions, ChainOutput, ChainReport, ChainSource};

use input::ChainInput;
use lanes::Lanes;
use output::{StripePlan, Target, open_output};
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Call, Error, Result};
use sapwood_table::pool::computing;
use stages::Stages;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The ZSTD level that ROOT uses by default.
const ZSTD: u8 = 5;
/// Further lanes would only wait for each other.
const MOST_LANES: usize = 1024;

/// Runs a chain.
///
/// # Errors
/// `Usage` if a chain that only reads, or a source without columns, has an output; those of the source and of the output;
/// `Unsupported` for data that no output can hold, such as baskets that do not record where entries begin.
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
        deserialise_seconds: spent(&stages.deserialize),
        serialise_seconds: spent(&stages.serialize),
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
        return Err(Error::usage("a source without columns has nothing to write").hint("choose no output"));
    }
    Ok(())
}
