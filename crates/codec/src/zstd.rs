//! Zstandard frames.

use crate::Search;
use zstd_safe::{CCtx, CParameter, ResetDirective, Strategy};

/// The longest block for which the library has other parameters, which work better there than ours.
const SHORT_BLOCK: usize = 16_384;

/// Compresses a block at one of ROOT's levels; returns the length of the stream, `None` if it does not fit.
///
/// ROOT doubles its own level for the library. With its levels 4 and 5, the library's 8 and 10, baskets are
/// 0.6 % smaller than with [`Search::Far`], in twice the time: physics data repeat too little for long
/// searches, and hardly ever in fewer than 5 bytes, because numbers repeat. The record of a tree of 1,491
/// branches is 14 % smaller.
pub(crate) fn compress(
    context: &mut CCtx<'static>,
    block: &[u8],
    level: u8,
    search: Search,
    stream: &mut [u8],
) -> Option<usize> {
    context.reset(ResetDirective::SessionAndParameters).ok()?;
    let level = match (level, search) {
        (4 | 5, Search::First) => {
            context.set_parameter(CParameter::MinMatch(5)).ok()?;
            1
        }
        (4 | 5, Search::Double) => 3,
        (4 | 5, Search::Few) => 5,
        (4 | 5, Search::Far) if block.len() <= SHORT_BLOCK => 7,
        (4 | 5, Search::Far) => {
            context.set_parameter(CParameter::MinMatch(5)).ok()?;
            context.set_parameter(CParameter::SearchLog(4)).ok()?;
            context.set_parameter(CParameter::Strategy(Strategy::ZSTD_lazy)).ok()?;
            7
        }
        _ => 2 * i32::from(level),
    };
    context.set_parameter(CParameter::CompressionLevel(level)).ok()?;
    context.compress2(stream, block).ok()
}
