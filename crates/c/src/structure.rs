//! The parts of a ROOT file that every program reads one after the other: fetched in one round trip.

use sapwood_core::{ByteRange, Call, ParseStep, Result, Segments};
use sapwood_root::RawFile;
use sapwood_tfile::TFile;

/// Steps of parsing: the head, then the keys with the class descriptions.
const STEPS: usize = 2;
/// Most bytes to fetch before anybody asks for them.
const MOST: u64 = 4 << 20;

/// The head of a file, its keys and its class descriptions; less if it is no sound ROOT file.
///
/// # Errors
/// Those of reading.
pub(crate) fn structure(file: &RawFile, call: &mut Call<'_>) -> Result<Segments> {
    let mut known = Segments::default();
    for _ in 0..STEPS {
        // Whether it is a ROOT file, and a sound one, is for the reader to say.
        let Ok(ParseStep::Need(ranges)) = TFile::open(&known, file.size()) else { break };
        if ranges.iter().map(|range| range.len).fold(0, u64::saturating_add) > MOST {
            break;
        }
        for (range, bytes) in ranges.iter().zip(file.read(&ranges, call)?) {
            known.insert(range.start, bytes);
        }
    }
    Ok(known)
}

/// Reads ranges of a file, some of which may be known.
///
/// # Errors
/// Those of reading.
pub(crate) fn read(
    file: &RawFile,
    known: &Segments,
    wanted: &[ByteRange],
    call: &mut Call<'_>,
) -> Result<Vec<bytes::Bytes>> {
    let mut answers: Vec<_> = wanted.iter().map(|&range| known.get(range)).collect();
    let unknown = wanted.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
    let unknown: Vec<_> = unknown.map(|(&range, _)| range).collect();
    let mut fetched = match unknown.is_empty() {
        true => Vec::new(),
        false => file.read(&unknown, call)?,
    }
    .into_iter();
    Ok(answers.iter_mut().filter_map(|answer| answer.take().or_else(|| fetched.next())).collect())
}
