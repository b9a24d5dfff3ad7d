//! A set of columns, with a bit for each: there is one for every window, and wide trees have thousands of columns.

/// The columns that were touched in a window.
#[derive(Debug, Default)]
pub(super) struct ColumnSet(Vec<u64>);

const BITS: usize = u64::BITS as usize;

impl ColumnSet {
    /// Adds a column; true if it was not in the set.
    pub(super) fn insert(&mut self, column: usize) -> bool {
        if column / BITS >= self.0.len() {
            self.0.resize(column / BITS + 1, 0);
        }
        let Some(word) = self.0.get_mut(column / BITS) else { return false };
        let before = *word;
        *word |= 1 << (column % BITS);
        *word != before
    }

    pub(super) fn contains(&self, column: usize) -> bool {
        self.0.get(column / BITS).is_some_and(|word| word >> (column % BITS) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(place, &word)| {
            (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place * BITS + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_added() {
        let mut set = ColumnSet::default();
        assert!(set.is_empty() && !set.contains(0) && set.iter().next().is_none());
        let columns = [64, 0, 63, 1490, 65];
        assert!(columns.iter().all(|column| set.insert(*column)) && !set.insert(63));
        assert!(
            columns.iter().all(|column| set.contains(*column)) && !set.contains(62) && !set.contains(9999)
        );
        assert!(!set.is_empty() && set.iter().eq([0, 63, 64, 65, 1490]));
    }
}
