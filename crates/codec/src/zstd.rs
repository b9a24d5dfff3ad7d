//! Zstandard frames, and how far the library searches for repetitions to make them.

use crate::{Algorithm, Compression};
use zstd_safe::{CCtx, CParameter, ResetDirective, Strategy};

/// How far Zstandard searches at ROOT's levels 4 and 5, from the quickest way to the one that makes the smallest blocks.
///
/// On some columns the far search finds nothing that a quick one does not find, too: numbers that hardly repeat, or
/// hardly change. [`Encoder::learn`](crate::Encoder::learn) tells which way is enough for the baskets of a branch. Other
/// levels and algorithms know one way only, and take no notice of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// The last place where the same bytes may be, for repetitions of at least 5 bytes.
    First,
    /// Two such places, one for long repetitions: the library's level 3.
    Double,
    /// A few places, the longest repetition is taken: its level 5.
    Few,
    /// More places, and a look at what begins one byte later.
    #[default]
    Far,
}

impl Search {
    /// Whether a compression has more than one way.
    pub(crate) fn has_choice(compression: Compression) -> bool {
        compression.algorithm() == Algorithm::Zstd && matches!(compression.level(), 4 | 5)
    }
}

/// The longest block that the library has other ways for, which are of more use there than ours.
const SHORT_BLOCK: usize = 16_384;

/// Compresses a block at one of ROOT's levels; the bytes of the stream, `None` if it does not fit.
///
/// ROOT takes twice its own level for that of the library. Of its levels 4 and 5, the library's 8 and 10, blocks become
/// smaller by 0.6 % than by [`Search::Far`], in twice the time: cost model data repeat themselves too little for long
/// searches, and hardly ever in fewer than 5 bytes, as what repeats is numbers.
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
