//! Trees that are sets, such as the files' metadata: equal sets of several inputs are written once.

use super::input::InputTree;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_fetch::{Ahead, Job};
use sapwood_table::Table;
use sapwood_table::pool::read_ahead;
use sapwood_ttree::{BasketRef, Entries, References};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Compressed size of the baskets that are fetched together.
const BATCH: u64 = 8 << 20;

/// The different contents that the inputs have in their sets.
#[derive(Debug, Default)]
pub(super) struct TreeSets {
    /// By the path of the tree: the digests of the different contents, and the number of inputs.
    of_path: BTreeMap<String, (HashSet<[u64; 2]>, usize)>,
}

impl TreeSets {
    /// Adds the set of an input. Returns false if one with the same entries, in the same order, was added before.
    pub(super) fn insert(&mut self, path: &str, input: &mut InputTree, call: &mut Call<'_>) -> Result<bool> {
        input.find_baskets(0..input.branches().count(), call)?;
        let digest = digest(input, call)?;
        let (met, inputs) = self.of_path.entry(path.to_owned()).or_default();
        *inputs += 1;
        Ok(met.insert(digest))
    }

    /// One message for each tree.
    pub(super) fn notes(self) -> impl Iterator<Item = String> {
        self.of_path.into_iter().map(|(path, (met, inputs))| match met.len() {
            1 => format!("'{path}' is the same in all {inputs} files and was written once"),
            sets => format!("'{path}' has {sets} different contents in {inputs} files; they were merged"),
        })
    }
}

/// A digest of all entries of a tree, however they are compressed and split into baskets.
fn digest(input: &InputTree, call: &mut Call<'_>) -> Result<[u64; 2]> {
    let mut other = DefaultHasher::new();
    other.write_u8(1);
    let mut hashers = [DefaultHasher::new(), other];
    let mut add = |bytes: &[u8]| hashers.iter_mut().for_each(|hasher| bytes.hash(hasher));
    for (place, branch) in input.branches().enumerate() {
        add(input.path(place).as_bytes());
        let baskets = input.baskets(place);
        let jobs = baskets.iter().map(job).collect::<Vec<_>>();
        let fetcher = input.table.fetcher(input.table.file(place)?);
        let mut ahead = read_ahead(jobs, move |_| fetcher.clone(), Ahead { jobs: 4, bytes: BATCH })?;
        for basket in baskets {
            let Some(answer) = ahead.next(call) else { break };
            let bytes = basket.embedded.clone().or_else(|| answer.as_ref().ok()?.1.first().cloned());
            answer?;
            let bytes = bytes.ok_or_else(|| Error::corrupt("a basket was not fetched"))?;
            let entries = Entries::parse(&bytes, basket.embedded.is_some(), &References::None);
            let entries = entries.map_err(|error| error.branch(&branch.name).url(input.file.url()))?;
            (0..entries.len()).for_each(|index| add(entries.entry(index)));
        }
    }
    Ok(hashers.map(|hasher| hasher.finish()))
}

fn job(basket: &BasketRef) -> Job<()> {
    let range = ByteRange { start: basket.offset, len: basket.len };
    Job { wanted: if basket.embedded.is_some() { Vec::new() } else { vec![(0, range)] }, tag: () }
}
