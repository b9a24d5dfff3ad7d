//! Branches of one tree's record put into that of another.

use super::edit::{pointed_at, too_many};
use super::{Slots, TreeChange, TreeOutline, TreePlaces, tree};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Edits, StreamerInfos};
use std::collections::HashSet;

impl TreeOutline {
    /// Puts the branches of another tree behind those of this one. Gives the place in [`branches`](TreeOutline::branches)
    /// of the first; `streamers` describe the classes of the other.
    ///
    /// # Errors
    /// `Unsupported` if both together are too long for a record; those of [`parse`](TreeOutline::parse).
    pub fn graft(&mut self, other: &TreeOutline, streamers: &StreamerInfos) -> Result<usize> {
        let start = self.payload.len();
        // Its references are written as for a place behind this record: so one walk can pass over it there.
        let key_len = u32::try_from(start).ok().and_then(|start| start.checked_add(self.key_len));
        let record = other.unchanged(key_len.ok_or_else(|| Error::unsupported("a tree is too long"))?)?;
        let payload = [self.payload.as_ref(), &record].concat().into();
        let part = tree::parse(&other.class_name, &payload, start, self.key_len, u64::MAX, streamers)?;
        let first = self.branches.len();
        self.branches.extend(part.branches.into_iter().map(|mut branch| {
            branch.parent = branch.parent.map(|place| place + first);
            branch.children.iter_mut().chain(&mut branch.needs).for_each(|place| *place += first);
            branch
        }));
        self.outline.append(part.outline);
        self.grafted.push(part.tree);
        self.payload = payload;
        Ok(first)
    }

    /// Puts what was grafted on the tree, and is not dropped, into its arrays.
    pub(super) fn put_in(&self, change: &TreeChange, edits: &mut Edits) -> Result<()> {
        if self.grafted.is_empty() {
            return Ok(());
        }
        let dropped = || self.branches.iter().zip(&change.branches).filter(|(_, change)| change.is_none());
        let branches = dropped().map(|(branch, _)| branch.places.at).collect();
        let leaves =
            dropped().flat_map(|(branch, _)| branch.places.leaves.slots.iter().filter_map(pointed_at));
        let leaves = leaves.collect();
        self.put_slots(|tree| &tree.branches, &branches, edits)?;
        self.put_slots(|tree| &tree.leaves, &leaves, edits)
    }

    fn put_slots(
        &self,
        array: impl Fn(&TreePlaces) -> &Slots,
        dropped: &HashSet<usize>,
        edits: &mut Edits,
    ) -> Result<()> {
        let all = [&self.tree].into_iter().chain(&self.grafted).flat_map(|tree| &array(tree).slots);
        let kept = all.filter(|slot| pointed_at(slot).is_none_or(|at| !dropped.contains(&at)));
        let ranges: Vec<_> = kept.map(|slot| slot.at..slot.end).collect();
        let own = array(&self.tree);
        // The lower bound stands between the number of pointers and the first of them.
        let behind = own.count_at + 8;
        let end = own.slots.last().map_or(behind, |slot| slot.end);
        let count = i32::try_from(ranges.len()).map_err(|_| too_many("branches"))?;
        let bytes = [count.to_be_bytes(), [0; 4]].concat();
        edits.splice(own.count_at..end, bytes, ranges);
        Ok(())
    }
}
