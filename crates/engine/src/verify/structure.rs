//! Whether the entries of a tree, of its branches and of their baskets agree.

use super::checked_tree::CheckedTree;
use super::report::{Finding, Findings, Place, Severity};
use sapwood_core::{ByteRange, Error};
use sapwood_ttree::{Branch, Meaning};
use std::ops::Range;

/// Something that is wrong with a branch, and the entries that it costs.
type Fault = (String, Range<u64>, Severity);

/// Checks a tree by what its record says.
pub(super) fn check_branches(tree: Option<&mut CheckedTree>, findings: &mut Findings) {
    let Some(checked) = tree else { return };
    let (name, entries, record) = (checked.name(), checked.tree.entries(), checked.tree.record_offset());
    let mut lost = Vec::new();
    for (branch, outcome) in checked.tree.branches().iter().zip(checked.tree.branch_types()) {
        let group = matches!(outcome.meaning, Meaning::Group) || !branch.children.is_empty();
        for (message, entries, severity) in faults(branch, entries, group) {
            let place = Place { branch: Some(branch.path.clone()), ..Place::of(&name) };
            let mut finding = Finding::damage(None, place, &Error::corrupt(message));
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

/// A tree whose number of entries is that of none of its branches has a wrong number.
fn check_entries(checked: &mut CheckedTree, findings: &mut Findings) {
    let entries = checked.tree.entries();
    let with_data = checked.tree.branches().iter().filter(|branch| !branch.baskets.is_empty());
    let ends: Vec<u64> = with_data.map(end_of).collect();
    if ends.is_empty() || ends.contains(&entries) {
        return;
    }
    let most = ends.iter().copied().max().unwrap_or(0);
    let message = format!(
        "the tree announces {entries} entries, and none of its branches has so many (at most {most})"
    );
    let range = Some(ByteRange { start: checked.tree.record_offset(), len: 0 });
    let mut finding = Finding::damage(range, Place::of(checked.name()), &Error::corrupt(message));
    finding.entries = (most < entries).then_some(most..entries);
    // Some frameworks fill branches, and never tell the tree.
    if entries == 0 {
        finding.severity = Severity::Note;
    }
    findings.add(finding);
}

fn end_of(branch: &Branch) -> u64 {
    branch.first_entry.saturating_add(branch.entries)
}

/// What is wrong with a branch of a tree with so many entries.
fn faults(branch: &Branch, entries: u64, group: bool) -> Vec<Fault> {
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
        let message = format!("the baskets end at entry {next}, the branch announces {end}");
        faults.push((message, next..end, Severity::Damage));
    } else if next > end {
        let message = format!("the baskets hold entries up to {next}, the branch announces {end}");
        faults.push((message, end..next, Severity::Damage));
    }
    if end < entries && branch.entries > 0 {
        let message = format!("the branch has entries up to {end}, the tree {entries}");
        faults.push((message, end..entries, Severity::Note));
    }
    faults
}
