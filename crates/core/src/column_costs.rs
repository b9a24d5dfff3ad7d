//! What reading each column cost.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What reading one column cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnCost {
    /// Baskets decoded.
    pub baskets: u64,
    /// Stored bytes of the baskets that it needed; those that several columns need count for each of them.
    pub wanted_bytes: u64,
    /// Those of them that were fetched for it, and not held from the read of the entries before.
    pub fetched_bytes: u64,
    /// Bytes of the decoded column.
    pub decompressed_bytes: u64,
    /// Nanoseconds that threads decompressed baskets, summed over all threads.
    pub decompress_ns: u64,
    /// Nanoseconds spent decoding decompressed bytes, summed over threads.
    pub decode_ns: u64,
}

impl ColumnCost {
    /// Names and values, in a fixed order.
    pub fn entries(&self) -> [(&'static str, u64); 6] {
        [
            ("baskets", self.baskets),
            ("wanted_bytes", self.wanted_bytes),
            ("fetched_bytes", self.fetched_bytes),
            ("decompressed_bytes", self.decompressed_bytes),
            ("decompress_ns", self.decompress_ns),
            ("decode_ns", self.decode_ns),
        ]
    }

    fn add(&mut self, more: &ColumnCost) {
        self.baskets += more.baskets;
        self.wanted_bytes += more.wanted_bytes;
        self.fetched_bytes += more.fetched_bytes;
        self.decompressed_bytes += more.decompressed_bytes;
        self.decompress_ns += more.decompress_ns;
        self.decode_ns += more.decode_ns;
    }
}

/// The costs of the columns of a file, by table and name.
#[derive(Debug, Default)]
pub struct ColumnCosts(Mutex<BTreeMap<String, BTreeMap<String, ColumnCost>>>);

impl ColumnCosts {
    /// Adds to the cost of a column.
    pub fn add(&self, table: &str, column: &str, cost: &ColumnCost) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Names are copied only the first time.
        if let Some(known) = tables.get_mut(table).and_then(|columns| columns.get_mut(column)) {
            known.add(cost);
        } else {
            tables.entry(table.to_owned()).or_default().insert(column.to_owned(), *cost);
        }
    }

    /// Table, column and cost of each column that was read, in the order of their names.
    pub fn entries(&self) -> Vec<(String, String, ColumnCost)> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = tables.iter().flat_map(|(table, columns)| {
            columns.iter().map(move |(column, cost)| (table.clone(), column.clone(), *cost))
        });
        columns.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_by_table_and_column() {
        let costs = ColumnCosts::default();
        let one = ColumnCost {
            baskets: 1,
            wanted_bytes: 20,
            fetched_bytes: 10,
            decompressed_bytes: 40,
            decompress_ns: 2,
            decode_ns: 3,
        };
        for (table, column) in [("b", "x"), ("a", "y"), ("b", "x"), ("b", "w")] {
            costs.add(table, column, &one);
        }
        let names: Vec<_> =
            costs.entries().into_iter().map(|(table, column, _)| format!("{table}/{column}")).collect();
        assert_eq!(names, ["a/y", "b/w", "b/x"]);
        let values = costs.entries()[2].2.entries().map(|(_, value)| value);
        assert_eq!(values, [2, 40, 20, 80, 4, 6]);
    }
}
