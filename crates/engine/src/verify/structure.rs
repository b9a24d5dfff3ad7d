//! Checks that the entries of a tree, of its branches and of their baskets agree.

use super::checked_tree::CheckedTree;
use super::report::{FindingList, FindingLocation, Severity, VerifyFinding};
use sapwood_core::{ByteRange, Error};
use sapwood_table::Table;
use sapwood_ttree::{Branch, Meaning};
use std::ops::Range;

/// A problem of a branch, and the entries that are lost.
type BranchFault = (String, Range<u64>, Severity);

/// Checks the record of a tree.
pub(super) fn check_branches(tree: Option<&mut CheckedTree>, findings: &mut FindingList) {
    let Some(checked) = tree else { return };
    let (name, entries, record) = (checked.name(), checked.table.entries(), checked.record);
    let mut lost = Vec::new();
    for (branch, outcome) in checked.table.branches().iter().zip(checked.table.branch_types()) {
        let group = matches!(outcome.meaning, Meaning::Group) || !branch.children.is_empty();
        for (message, entries, severity) in faults(branch, entries, group) {
            let location =
                FindingLocation { branch: Some(branch.path.clone()), ..FindingLocation::of(&name) };
            let mut finding = VerifyFinding::damage(None, location, &Error::corrupt(message));
            finding.severity = severity;
            if severity == Severity::Damage {
                lost.push((branch.path.clone(), entries.clone()));
                finding.entries = Some(entries);
            }
            finding.range = Some(ByteRange { start: record, len: 0 });
            findings.add(finding);
        }
        if let Meaning::Unsupported(why) = &outcome.meaning
            && branch.broken.is_none()
        {
            checked.report.not_decoded.push((branch.path.clone(), why.clone()));
        }
    }
    for (branch, range) in lost {
        checked.report.lost.entry(branch).or_default().push(range);
    }
    check_entries(checked, findings);
}

/// The number of entries of a tree must be that of one of its branches.
fn check_entries(checked: &mut CheckedTree, findings: &mut FindingList) {
    let entries = checked.table.entries();
    let with_data = checked.table.branches().iter().filter(|branch| !branch.baskets.is_empty());
    let ends: Vec<u64> = with_data.map(end_of).collect();
    if ends.is_empty() || ends.contains(&entries) {
        return;
    }
    let most = ends.iter().copied().max().unwrap_or(0);
    let message =
        format!("the tree says {entries} entries, but none of its branches has as many (at most {most})");
    let range = Some(ByteRange { start: checked.record, len: 0 });
    let mut finding =
        VerifyFinding::damage(range, FindingLocation::of(checked.name()), &Error::corrupt(message));
    finding.entries = (most < entries).then_some(most..entries);
    // Some frameworks fill branches without updating the tree.
    if entries == 0 {
        finding.severity = Severity::Note;
    }
    findings.add(finding);
}

fn end_of(branch: &Branch) -> u64 {
    branch.first_entry.saturating_add(branch.entries)
}

/// The problems of a branch of a tree with this many entries.
fn faults(branch: &Branch, entries: u64, group: bool) -> Vec<BranchFault> {
    let end = end_of(branch);
    if let Some(why) = &branch.broken {
        return vec![(
            format!("the description of the branch is broken: {why}"),
            0..entries,
            Severity::Damage,
        )];
    }
    if branch.baskets.is_empty() && (group || branch.leaves.is_empty()) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    if branch.hides_offsets {
        let message = "the record says that all entries have one size, which they have not: ROOT reads other values; \
                       'sapwood repack' writes a file that it reads";
        faults.push((message.to_owned(), 0..0, Severity::Note));
    }
    let mut next = branch.first_entry;
    for (number, basket) in branch.baskets.iter().enumerate() {
        if basket.first_entry > next {
            let message = format!(
                "no basket holds the entries {next} to {}: basket {number} begins at {}",
                basket.first_entry, basket.first_entry
            );
            faults.push((message, next..basket.first_entry, Severity::Damage));
        }
        next = basket.end();
    }
    if next < end {
        let message = format!("the baskets end at entry {next}, but the branch says {end}");
        faults.push((message, next..end, Severity::Damage));
    } else if next > end {
        let message = format!("the baskets have entries up to {next}, but the branch says {end}");
        faults.push((message, end..next, Severity::Damage));
    }
    if end < entries && branch.entries > 0 {
        let message = format!("the branch has entries up to {end}, but the tree {entries}");
        faults.push((message, end..entries, Severity::Note));
    }
    faults
}
