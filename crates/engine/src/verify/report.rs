//! The result of a verification: findings, lost entries, and what was checked.

use sapwood_core::{ByteRange, Error, ErrorKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// The result of [`verify`](super::verify).
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// URL of the file, without secrets.
    pub url: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// Bytes of the file that were checked; each counts once.
    pub checked_bytes: u64,
    /// Of these, bytes covered by a checksum in the file. In all others, a change that leaves the structure sound can go
    /// unnoticed.
    pub checksummed_bytes: u64,
    /// Bytes fetched from the source, including over-read and repeated bytes.
    pub fetched_bytes: u64,
    /// Records that were checked: baskets, objects, directories; not free segments.
    pub records: u64,
    /// Baskets among them, and baskets inside the records of trees.
    pub baskets: u64,
    /// The first findings, in the order in which they were found.
    pub findings: Vec<VerifyFinding>,
    /// Number of all findings of damage.
    pub damage_count: u64,
    /// Number of all other findings.
    pub note_count: u64,
    /// The report of each tree, by path and cycle.
    pub trees: Vec<TreeReport>,
    /// Objects that sapwood cannot read: path, and class or reason. Their records were decompressed.
    pub not_decoded: Vec<(String, String)>,
    /// Why the verification ended before the end of the file.
    pub error: Option<Error>,
}

impl VerifyReport {
    /// True if everything was checked, and nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damage_count == 0 && self.error.is_none()
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something cannot be read, or contradicts itself.
    Damage,
    /// Something is unusual, but nothing is lost.
    Note,
}

/// A problem in a file.
#[derive(Debug, Clone)]
pub struct VerifyFinding {
    /// How bad it is.
    pub severity: Severity,
    /// The kind of error.
    pub kind: ErrorKind,
    /// The damaged bytes of the file, usually a record. `None` if they are not known.
    pub range: Option<ByteRange>,
    /// What is there.
    pub location: FindingLocation,
    /// The entries that are lost.
    pub entries: Option<Range<u64>>,
    /// Description of the problem.
    pub message: String,
}

/// The part of a file that a finding is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindingLocation {
    /// Path of the tree, object or directory, with its cycle if it has one. Empty for the file itself.
    pub path: String,
    /// Path of the branch in the tree, or name of the first field that needs the page.
    pub branch: Option<String>,
    /// Number of the basket in the branch; baskets without entries do not count.
    pub basket: Option<usize>,
    /// Number of the page in the RNTuple, in the order of the file.
    pub page: Option<usize>,
}

impl FindingLocation {
    /// A tree, an object or a directory.
    pub(super) fn of(path: impl Into<String>) -> FindingLocation {
        FindingLocation { path: path.into(), ..FindingLocation::default() }
    }
}

impl VerifyFinding {
    /// Damage, described by an error.
    pub(super) fn damage(
        range: Option<ByteRange>,
        location: FindingLocation,
        error: &Error,
    ) -> VerifyFinding {
        VerifyFinding {
            severity: Severity::Damage,
            kind: error.kind(),
            range,
            location,
            entries: None,
            message: error.message().to_owned(),
        }
    }

    /// Something unusual.
    pub(super) fn note(
        range: Option<ByteRange>,
        location: FindingLocation,
        message: impl Into<String>,
    ) -> VerifyFinding {
        VerifyFinding {
            severity: Severity::Note,
            ..VerifyFinding::damage(range, location, &Error::corrupt(message.into()))
        }
    }
}

/// The report of one tree.
#[derive(Debug, Clone, Default)]
pub struct TreeReport {
    /// Path.
    pub path: String,
    /// Cycle.
    pub cycle: u16,
    /// Entries, according to the tree.
    pub entries: u64,
    /// True if it is an RNTuple.
    pub is_rntuple: bool,
    /// Branches or fields.
    pub branches: usize,
    /// Baskets or pages.
    pub baskets: u64,
    /// Branches that were decompressed, but not decoded: path and reason.
    pub not_decoded: Vec<(String, String)>,
    /// Lost entries, by branch; ascending, and merged where they touch.
    pub lost: BTreeMap<String, Vec<Range<u64>>>,
}

impl TreeReport {
    /// Entries lost in any branch; ascending, and merged where they touch.
    pub fn lost_in_any(&self) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = self.lost.values().flatten().cloned().collect();
        merge(&mut all);
        all
    }
}

/// Sorts ranges, and joins those that touch.
pub(super) fn merge(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    *ranges = merged;
}

/// Collects findings: the first ones are kept, all are counted.
#[derive(Debug)]
pub(super) struct FindingList {
    pub(super) kept: Vec<VerifyFinding>,
    pub(super) damage: u64,
    pub(super) notes: u64,
    most: usize,
}

impl FindingList {
    pub(super) fn new(most: usize) -> FindingList {
        FindingList { kept: Vec::new(), damage: 0, notes: 0, most }
    }

    pub(super) fn add(&mut self, finding: VerifyFinding) {
        match finding.severity {
            Severity::Damage => self.damage += 1,
            Severity::Note => self.notes += 1,
        }
        if self.kept.len() < self.most {
            self.kept.push(finding);
        } else if finding.severity == Severity::Damage
            && let Some(note) = self.kept.iter().rposition(|kept| kept.severity == Severity::Note)
        {
            // Damage is more important than notes.
            self.kept.remove(note);
            self.kept.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_or_overlap_become_one() {
        let mut ranges = vec![30..40, 0..10, 10..20, 35..50, 60..60];
        merge(&mut ranges);
        assert_eq!(ranges, [0..20, 30..50, 60..60]);
    }

    #[test]
    fn damage_is_kept_rather_than_notes() {
        let mut findings = FindingList::new(2);
        for _ in 0..3 {
            findings.add(VerifyFinding::note(None, FindingLocation::default(), "odd"));
        }
        findings.add(VerifyFinding::damage(None, FindingLocation::default(), &Error::corrupt("broken")));
        assert_eq!((findings.damage, findings.notes), (1, 3));
        let kept: Vec<_> = findings.kept.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(kept, ["odd", "broken"]);
    }
}
