//! Limits the memory for reordering the entries of a tree.

use super::segment::InputProduct;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_rewrite::repack::input::InputTree;
use std::collections::HashMap;

/// Most bytes for the entries of one batch, compressed and uncompressed.
const MOST: u64 = 2 << 30;

/// Baskets of branches that begin at the same entries: their first entries, and the bytes of all baskets that begin there.
type Baskets = (Vec<u64>, Vec<u64>);

/// Checks that the baskets with the entries of any batch fit in memory together.
///
/// # Errors
/// `Limit` if they are too large.
pub(super) fn check(input: &InputTree, parts: &[InputProduct], order: &[u64], batch: u64) -> Result<()> {
    let most = most(&baskets(input, parts), order, batch);
    if most <= MOST {
        return Ok(());
    }
    let message = format!(
        "reordering {batch} entries needs {} MB of the tree at once; the limit is {} MB",
        most / 1_000_000,
        MOST / 1_000_000
    );
    Err(Error::new(ErrorKind::Limit, message)
        .url(input.file.url())
        .hint("write the tree in the order of the dataset, or add its products one by one"))
}

fn baskets(input: &InputTree, parts: &[InputProduct]) -> Vec<Baskets> {
    let mut alike: HashMap<Vec<u64>, Vec<u64>> = HashMap::new();
    for &branch in parts.iter().flat_map(|part| &part.branches) {
        let baskets = input.baskets(branch);
        let stored: u64 = baskets.iter().map(|basket| basket.len).sum();
        let whole = input.record().branches.get(branch).map_or(0, |branch| branch.total_bytes);
        let grows = 1.0 + whole.max(stored) as f64 / stored.max(1) as f64;
        let firsts = baskets.iter().map(|basket| basket.first_entry).collect::<Vec<_>>();
        let sums = alike.entry(firsts).or_insert_with(|| vec![0; baskets.len()]);
        for (sum, basket) in sums.iter_mut().zip(baskets) {
            *sum = sum.saturating_add((basket.len as f64 * grows) as u64);
        }
    }
    alike.into_iter().collect()
}

/// The largest number of bytes that a batch needs.
fn most(baskets: &[Baskets], order: &[u64], batch: u64) -> u64 {
    let batch = usize::try_from(batch).unwrap_or(usize::MAX).max(1);
    let needed = |entries: &[u64]| -> u64 {
        let of_some = baskets.iter().map(|(firsts, bytes)| {
            let mut seen = vec![false; firsts.len()];
            let mut sum: u64 = 0;
            for entry in entries {
                let place = firsts.partition_point(|first| first <= entry).saturating_sub(1);
                if let Some(seen) = seen.get_mut(place).filter(|seen| !**seen) {
                    *seen = true;
                    sum = sum.saturating_add(bytes.get(place).copied().unwrap_or(0));
                }
            }
            sum
        });
        of_some.fold(0, u64::saturating_add)
    };
    order.chunks(batch).map(needed).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_needs_the_baskets_that_hold_its_entries() {
        let baskets = [(vec![0, 10, 20], vec![100, 200, 400]), (vec![0], vec![7])];
        let order: Vec<u64> = (0..30).collect();
        assert_eq!(most(&baskets, &order, 10), 407);
        assert_eq!(most(&baskets, &order, 15), 607);
        let reordering: Vec<u64> = (0..30).map(|entry| entry * 7 % 30).collect();
        assert_eq!(most(&baskets, &reordering, 10), 707);
        assert_eq!(most(&baskets, &[], 10), 0);
    }
}
