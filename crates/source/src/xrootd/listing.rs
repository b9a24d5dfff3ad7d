//! Directories, on all servers that hold a part of them.

use super::query::query;
use crate::ListingEntry;
use sapwood_core::{Deadline, Result};
use std::collections::BTreeMap;

/// The entries of the directory at a URL, by name.
pub(crate) async fn list(url: &str, deadline: Deadline) -> Result<Vec<ListingEntry>> {
    let late = "the deadline passed before the directory was listed";
    Ok(entries(&query(url, deadline, late, |library| library.list).await?))
}

/// The entries in an answer with a line for each. Several servers may have an entry each.
fn entries(lines: &str) -> Vec<ListingEntry> {
    let by_name: BTreeMap<&str, bool> = lines
        .lines()
        .map(|line| line.strip_suffix('/').map_or((line, false), |directory| (directory, true)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let entry = |(name, is_directory): (&str, bool)| ListingEntry { name: name.to_owned(), is_directory };
    by_name.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_named_once() {
        let entry = |name: &str, is_directory| ListingEntry { name: name.to_owned(), is_directory };
        assert_eq!(entries("b.root\na/\nb.root\n\n"), [entry("a", true), entry("b.root", false)]);
    }
}
