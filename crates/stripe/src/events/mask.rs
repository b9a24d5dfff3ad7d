//! Selected luminosity blocks in the format of CMS: `{"run": [[first, last], …]}`.

use sapwood_core::{Error, Result};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Selected luminosity blocks.
///
/// ```
/// use sapwood_stripe::LumiMask;
/// let mask = LumiMask::from_json(r#"{"273158": [[1, 12], [14, 20]]}"#)?;
/// assert!(mask.contains(273158, 12) && !mask.contains(273158, 13));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LumiMask {
    /// First and last blocks of each run, in order.
    runs: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl LumiMask {
    /// Reads the JSON format in which CMS certifies data.
    ///
    /// # Errors
    /// `Usage` if it has another format, or if a last block is before its first one.
    pub fn from_json(text: &str) -> Result<LumiMask> {
        let mut runs: BTreeMap<u32, Vec<(u32, u32)>> = serde_json::from_str(text).map_err(|error| {
            Error::usage(format!("not luminosity blocks by run: {error}"))
                .hint(r#"such as {"273158": [[1, 12], [14, 20]]}"#)
        })?;
        for (run, blocks) in &mut runs {
            if let Some((first, last)) = blocks.iter().find(|(first, last)| first > last) {
                return Err(Error::usage(format!("luminosity blocks {first} to {last} of run {run}")));
            }
            blocks.sort_unstable();
            // A block may be in several ranges: one of those that begin before it must reach it.
            let mut reach = 0;
            for (_, last) in blocks {
                reach = reach.max(*last);
                *last = reach;
            }
        }
        Ok(LumiMask { runs })
    }

    /// Whether a luminosity block is selected.
    pub fn contains(&self, run: u32, lumi: u32) -> bool {
        self.runs.get(&run).is_some_and(|blocks| {
            let after = blocks.partition_point(|(first, _)| *first <= lumi);
            after.checked_sub(1).and_then(|place| blocks.get(place)).is_some_and(|(_, last)| lumi <= *last)
        })
    }

    /// Whether a selected block has both numbers in these ranges.
    pub fn meets(&self, runs: RangeInclusive<u32>, lumis: RangeInclusive<u32>) -> bool {
        // With a reversed range, `BTreeMap` would panic.
        !runs.is_empty()
            && self.runs.range(runs).any(|(_, blocks)| {
                blocks.iter().any(|(first, last)| first <= lumis.end() && lumis.start() <= last)
            })
    }
}
