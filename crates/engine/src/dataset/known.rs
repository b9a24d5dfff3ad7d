//! What is known of the values of a branch without reading them: where a cut cannot pass.

use crate::{Interrupt, Tree};
use sapwood_core::{Deadline, Result};
use sapwood_stripe::Statistics;
use std::ops::Range;

/// What is known of the values of a branch in some entries.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownValues {
    /// The entries, of the tree.
    pub entries: Range<u64>,
    /// None if nothing is known.
    pub statistics: Option<Statistics>,
}

impl Tree {
    /// What is known of the values of a branch, stripe by stripe; nothing of a file.
    ///
    /// # Errors
    /// Those of [`Tree::find_baskets`].
    pub fn known_values(
        &self,
        branch: usize,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<KnownValues>> {
        self.find_baskets(&[branch], deadline, interrupt)?;
        let found = self.file().0.dataset.as_ref().zip(self.0.origins.get(branch));
        Ok(found.map_or_else(Vec::new, |(dataset, origin)| dataset.known_values(*origin)))
    }

    /// The product of a dataset that a branch belongs to.
    pub fn product(&self, branch: usize) -> Option<&str> {
        let (dataset, origin) = self.file().0.dataset.as_ref().zip(self.0.origins.get(branch))?;
        dataset.snapshot.products.get(origin.product).map(|product| product.name.as_str())
    }

    /// Counts entries that are not read because no value of theirs can pass a cut, and the whole clusters among them.
    pub fn count_excluded(&self, excluded: &[Range<u64>]) {
        let starts = &self.metadata().cluster_starts;
        let ends = starts.iter().skip(1).copied().chain([self.entries()]);
        let inside = |start: u64, end: u64| {
            let next = excluded.partition_point(|range| range.end < end);
            start < end && excluded.get(next).is_some_and(|range| range.start <= start)
        };
        let clusters = starts.iter().zip(ends).filter(|(start, end)| inside(**start, *end)).count();
        let counters = self.file().counters();
        counters
            .excluded_entries
            .add(excluded.iter().map(|range| range.end - range.start.min(range.end)).sum());
        counters.excluded_clusters.add(clusters as u64);
    }
}
