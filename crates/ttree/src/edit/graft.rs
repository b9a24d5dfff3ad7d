//! Adds the branches of one tree to the record of another.

use crate::record::TreeOutline;
use sapwood_core::{Error, Result};
use sapwood_tfile::StreamerInfos;

impl TreeOutline {
    /// Appends the branches of another tree; `streamers` describe its classes. Returns the index of the first
    /// in [`branches`](TreeOutline::branches).
    ///
    /// # Errors
    /// `Unsupported` if the result is too long for a record; those of [`parse`](TreeOutline::parse).
    pub fn graft(&mut self, other: &TreeOutline, streamers: &StreamerInfos) -> Result<usize> {
        let start = self.payload.len();
        // Its references count from the end of this record, where it will be parsed.
        let key_len = u32::try_from(start).ok().and_then(|start| start.checked_add(self.key_len));
        let record = other.unchanged(key_len.ok_or_else(|| Error::unsupported("a tree is too long"))?)?;
        let payload = [self.payload.as_ref(), &record].concat().into();
        let behind = TreeOutline::of_grafted(&other.class_name, &payload, start, self.key_len, streamers)?;
        let first = self.branches.len();
        self.branches.extend(behind.branches);
        self.outline.append(behind.outline);
        self.grafted.push(behind.tree);
        self.payload = payload;
        Ok(first)
    }
}
