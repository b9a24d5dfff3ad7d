//! What a verification found: findings, the entries that they cost, and what was looked at.

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
    /// Bytes of the file that were read and looked at; each counts once.
    pub checked_bytes: u64,
    /// Bytes of these that a checksum in the file covers. In all others, a change can go unnoticed as long as the
    /// structure stays sound.
    pub checksummed_bytes: u64,
    /// Bytes that came from the source, over-read and repeated bytes included.
    pub fetched_bytes: u64,
    /// Records that were checked: baskets, objects, directories, free segments excluded.
    pub records: u64,
    /// Baskets of trees among them, and baskets inside the records of trees.
    pub baskets: u64,
    /// The first findings, in the order in which they were met.
    pub findings: Vec<Finding>,
    /// Number of all findings that are damage.
    pub damage_count: u64,
    /// Number of all findings that are only worth knowing.
    pub note_count: u64,
    /// What was found of each tree, by path and cycle.
    pub trees: Vec<TreeReport>,
    /// Objects whose content sapwood cannot read: path, and class or reason. Their records were decompressed.
    pub not_decoded: Vec<(String, String)>,
    /// Why the verification ended before the end of the file.
    pub error: Option<Error>,
}

impl VerifyReport {
    /// True if all was checked, and nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damage_count == 0 && self.error.is_none()
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something cannot be read, or is not what it says.
    Damage,
    /// Something is unusual, and costs nothing.
    Note,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// Where the damaged part lies in the file: usually that of a record. `None` if it is not known.
    pub range: Option<ByteRange>,
    /// What lies there.
    pub place: Place,
    /// The entries that it costs.
    pub entries: Option<Range<u64>>,
    /// What is wrong.
    pub message: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Path of the tree, object or directory, with its cycle if it has one. Empty for the file as such.
    pub path: String,
    /// Path of the branch in the tree.
    pub branch: Option<String>,
    /// Number of the basket among those of the branch that hold entries.
    pub basket: Option<usize>,
}

impl Place {
    /// A tree, an object or a directory.
    pub(super) fn of(path: impl Into<String>) -> Place {
        Place { path: path.into(), ..Place::default() }
    }
}

impl Finding {
    /// What an error says about a range of the file.
    pub(super) fn damage(range: Option<ByteRange>, place: Place, error: &Error) -> Finding {
        Finding {
            severity: Severity::Damage,
            kind: error.kind(),
            range,
            place,
            entries: None,
            message: error.message().to_owned(),
        }
    }

    /// What is worth knowing.
    pub(super) fn note(range: Option<ByteRange>, place: Place, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Note, ..Finding::damage(range, place, &Error::corrupt(message.into())) }
    }
}

/// What was found of one tree.
#[derive(Debug, Clone, Default)]
pub struct TreeReport {
    /// Path.
    pub path: String,
    /// Cycle.
    pub cycle: u16,
    /// Entries, as the tree says.
    pub entries: u64,
    /// Branches.
    pub branches: usize,
    /// Baskets.
    pub baskets: u64,
    /// Branches whose entries were decompressed, but not decoded: path and reason.
    pub not_decoded: Vec<(String, String)>,
    /// Entries that are lost, by branch; ascending, and merged where they touch.
    pub lost: BTreeMap<String, Vec<Range<u64>>>,
}

impl TreeReport {
    /// Entries that are lost in any branch; ascending, and merged where they touch.
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

/// Findings while they are made: the first ones are kept, all are counted.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) kept: Vec<Finding>,
    pub(super) damage: u64,
    pub(super) notes: u64,
    most: usize,
}

impl Findings {
    pub(super) fn new(most: usize) -> Findings {
        Findings { kept: Vec::new(), damage: 0, notes: 0, most }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Damage => self.damage += 1,
            Severity::Note => self.notes += 1,
        }
        if self.kept.len() < self.most {
            self.kept.push(finding);
        } else if finding.severity == Severity::Damage
            && let Some(note) = self.kept.iter().rposition(|kept| kept.severity == Severity::Note)
        {
            // Notes make room: what costs entries is what people look for.
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
        let mut findings = Findings::new(2);
        for _ in 0..3 {
            findings.add(Finding::note(None, Place::default(), "odd"));
        }
        findings.add(Finding::damage(None, Place::default(), &Error::corrupt("broken")));
        assert_eq!((findings.damage, findings.notes), (1, 3));
        let kept: Vec<_> = findings.kept.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(kept, ["odd", "broken"]);
    }
}
