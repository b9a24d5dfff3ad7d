//! Writing a tree's record again, for baskets that lie elsewhere.

use super::{BranchOutline, BranchPlaces, Number, Slots, Tables, TreeOutline};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Edits, PointerSlot, PointerTarget};
use std::collections::HashSet;

/// Room for fewer baskets is never stored (root-io-spec TBranch §4).
const FEWEST_BASKETS: usize = 10;

/// What a tree's record is to say instead.
#[derive(Debug, Clone, Default)]
pub struct TreeChange {
    /// `fEntries`.
    pub entries: u64,
    /// Where clusters end; `None` leaves what the record says.
    pub clusters: Option<ClusterChange>,
    /// By the places of [`TreeOutline::branches`]; `None` leaves the branch out, with what is below it.
    pub branches: Vec<Option<BranchChange>>,
    /// Leaves out `fTreeIndex`: what it says of entries holds no longer.
    pub drop_index: bool,
}

/// What a tree's record is to say of its clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterChange {
    /// `fAutoFlush`: entries of the clusters behind the last of `ranges`; 0 or less if that is not known.
    pub auto_flush: i64,
    /// `fClusterRangeEnd` and `fClusterSize`: the last entry of each range, and the size of its clusters.
    pub ranges: Vec<(u64, u64)>,
}

impl ClusterChange {
    /// For clusters of so many entries each, one after the other. A range of clusters of one size may end with a
    /// smaller one (root-io-spec TTree §6.1).
    pub fn of_sizes(sizes: impl IntoIterator<Item = u64>) -> ClusterChange {
        let (mut ranges, mut end) = (Vec::new(), 0_u64);
        let mut open: Option<u64> = None;
        for size in sizes.into_iter().filter(|&size| size > 0) {
            if let Some(of) = open.filter(|&of| size > of) {
                ranges.push((end - 1, of));
                open = None;
            }
            end += size;
            match open {
                Some(of) if size < of => {
                    ranges.push((end - 1, of));
                    open = None;
                }
                _ => open = Some(size),
            }
        }
        let last = open.or_else(|| ranges.pop().map(|(_, size)| size));
        ClusterChange { auto_flush: last.and_then(|size| i64::try_from(size).ok()).unwrap_or(0), ranges }
    }
}

/// What a branch is to say instead.
#[derive(Debug, Clone, Default)]
pub struct BranchChange {
    /// `fCompress`.
    pub compression: i32,
    /// `fBasketSize`.
    pub basket_size: i32,
    /// `fFirstEntry`.
    pub first_entry: u64,
    /// `fEntryNumber`: one past the last entry.
    pub entry_number: u64,
    /// `fTotBytes`: of all baskets, key and content before compression.
    pub total_bytes: u64,
    /// `fZipBytes`: of all baskets, key and content as stored.
    pub zip_bytes: u64,
    /// What is to stand for [`BranchOutline::maxima`]; nothing to leave them.
    pub maxima: Vec<i64>,
    /// First entry, offset and length of each basket's record, in order.
    pub baskets: Vec<(u64, u64, u32)>,
    /// Nothing of the above: the branch keeps its baskets, in the file that it names or in the record of the tree.
    pub keeps_baskets: bool,
}

impl TreeOutline {
    /// The record as it stands.
    ///
    /// # Errors
    /// Those of [`Outline::emit`](sapwood_tfile::Outline::emit).
    pub fn unchanged(&self, key_len: u32) -> Result<Vec<u8>> {
        self.outline.emit_first(self.len, &self.payload, key_len, &Edits::default())
    }

    /// The record with changes, for a key of `key_len` bytes. Baskets inside the record are left out: they are records
    /// of their own now.
    ///
    /// # Errors
    /// `Unsupported` if the tree is too old for what it is to say; `Corrupt` if the change is not of this tree.
    pub fn emit(&self, key_len: u32, change: &TreeChange) -> Result<Vec<u8>> {
        if change.branches.len() != self.branches.len() {
            return Err(Error::corrupt("a change is not of this tree"));
        }
        let mut edits = Edits::default();
        self.drop_branches(change, &mut edits);
        self.put_in(change, &mut edits)?;
        let (mut total, mut zip) = (0, 0);
        for (branch, change) in self.branches.iter().zip(&change.branches) {
            if let Some(change) = change {
                if !change.keeps_baskets {
                    branch.edit(change, &mut edits)?;
                }
                total += change.total_bytes;
                zip += change.zip_bytes;
            }
        }
        let places = &self.tree;
        let mut numbers = vec![
            (places.entries, change.entries),
            (places.total_bytes, total),
            (places.zip_bytes, zip),
            (places.saved_bytes, zip),
            (places.flushed_bytes, zip),
        ];
        if let Some(clusters) = &change.clusters {
            numbers.push((places.auto_flush, u64::from_ne_bytes(clusters.auto_flush.to_ne_bytes())));
        }
        for (place, value) in numbers {
            put(&mut edits, place, value)?;
        }
        if let (Some((count_at, range)), Some(clusters)) = (&places.clusters, &change.clusters) {
            let count = i32::try_from(clusters.ranges.len()).map_err(|_| too_many("clusters"))?;
            edits.replace(*count_at..*count_at + 4, count.to_be_bytes());
            edits.replace(range.clone(), cluster_arrays(&clusters.ranges));
        }
        if let Some(index) = places.index.filter(|_| change.drop_index) {
            edits.replace(index.at..index.end, [0; 4]);
        }
        self.outline.emit_first(self.len, &self.payload, key_len, &edits)
    }

    /// Takes branches out of the arrays that hold them, and their leaves out of the tree's array.
    fn drop_branches(&self, change: &TreeChange, edits: &mut Edits) {
        let dropped = || self.branches.iter().zip(&change.branches).filter(|(_, change)| change.is_none());
        let branches: HashSet<usize> = dropped().map(|(branch, _)| branch.places.at).collect();
        if branches.is_empty() {
            return;
        }
        let leaves: HashSet<usize> = dropped()
            .flat_map(|(branch, _)| branch.places.leaves.slots.iter().filter_map(pointed_at))
            .collect();
        // Who else refers to them (a table of references may) gets nothing instead.
        for slot in self.outline.slots() {
            if let PointerTarget::Reference(at) = slot.target
                && (branches.contains(&at) || leaves.contains(&at))
            {
                edits.replace(slot.at..slot.end, [0; 4]);
            }
        }
        self.tree.branches.without(&branches, edits);
        self.tree.leaves.without(&leaves, edits);
        for branch in &self.branches {
            branch.places.children.without(&branches, edits);
        }
        if let Some(slot) = self.tree.branch_ref
            && branches.contains(&slot.at)
        {
            edits.replace(slot.at..slot.end, [0; 4]);
        }
    }
}

/// Where the object stands that a pointer points at.
pub(super) fn pointed_at(slot: &PointerSlot) -> Option<usize> {
    match slot.target {
        PointerTarget::Object { .. } => Some(slot.at),
        PointerTarget::Reference(at) => Some(at),
        PointerTarget::Null | PointerTarget::Own => None,
    }
}

impl Slots {
    /// Takes those pointers out that point at one of `objects`.
    fn without(&self, objects: &HashSet<usize>, edits: &mut Edits) {
        let mut left = 0_i32;
        for slot in &self.slots {
            if pointed_at(slot).is_some_and(|at| objects.contains(&at)) {
                edits.remove(slot.at..slot.end);
            } else {
                left = left.saturating_add(1);
            }
        }
        if usize::try_from(left) != Ok(self.slots.len()) {
            edits.replace(self.count_at..self.count_at + 4, left.to_be_bytes());
        }
    }

    /// Takes all pointers out, and writes so many that point at nothing.
    fn empty(&self, count: usize, edits: &mut Edits) -> Result<()> {
        let behind = self.count_at + 4;
        let end = self.slots.last().map_or(behind + 4, |last| last.end);
        let number = i32::try_from(count).map_err(|_| too_many("baskets"))?;
        edits.replace(self.count_at..behind, number.to_be_bytes());
        // The lower bound, which is 0, stands between.
        edits.replace(behind..end, vec![0; 4 + 4 * count]);
        Ok(())
    }
}

impl BranchOutline {
    /// True if the branch can have baskets.
    pub fn holds_baskets(&self) -> bool {
        self.places.tables_form != Tables::None
    }

    fn edit(&self, change: &BranchChange, edits: &mut Edits) -> Result<()> {
        let places = &self.places;
        let entries = change.entry_number - change.first_entry.min(change.entry_number);
        let numbers = [
            (places.entry_number, change.entry_number),
            (places.entries, entries),
            (places.first_entry, change.first_entry),
            (places.total_bytes, change.total_bytes),
            (places.zip_bytes, change.zip_bytes),
        ];
        for (place, value) in numbers {
            put(edits, place, value)?;
        }
        edits.replace(places.compression..places.compression + 4, change.compression.to_be_bytes());
        edits.replace(places.basket_size..places.basket_size + 4, change.basket_size.to_be_bytes());
        for (maximum, value) in self.maxima.iter().zip(&change.maxima) {
            // Big-endian: the last bytes are those of the value.
            let bytes = value.to_be_bytes();
            let bytes = bytes.get(8 - maximum.width..).unwrap_or_default();
            edits.replace(maximum.at..maximum.at + maximum.width, bytes);
        }
        if !self.holds_baskets() {
            return Ok(());
        }
        if !places.file_name.is_empty() {
            edits.replace(places.file_name.clone(), [0]);
        }
        let count = change.baskets.len();
        // Where a record is of a version below 10, ROOT takes the last basket out of this array and does not ask how many
        // it holds: beyond 16 that ends in memory of others.
        places.baskets.empty(if places.tables_form == Tables::Long { 0 } else { count + 1 }, edits)?;
        let room = FEWEST_BASKETS.max(count + 1);
        let word = |value: usize| i32::try_from(value).map(i32::to_be_bytes).map_err(|_| too_many("baskets"));
        edits.replace(places.write_basket..places.write_basket + 4, word(count)?);
        edits.replace(places.max_baskets..places.max_baskets + 4, word(room)?);
        edits.replace(places.tables.clone(), tables(places, change, room)?);
        Ok(())
    }
}

/// `fBasketBytes`, `fBasketEntry` and `fBasketSeek`, with room for more (root-io-spec TBranch §4, §13).
fn tables(places: &BranchPlaces, change: &BranchChange, room: usize) -> Result<Vec<u8>> {
    let padded = |values: Vec<u64>| {
        let mut values = values;
        values.resize(room, 0);
        values
    };
    let bytes = padded(change.baskets.iter().map(|(_, _, len)| u64::from(*len)).collect());
    let entries = change.baskets.iter().map(|(entry, ..)| *entry).chain([change.entry_number]);
    let entries = padded(entries.collect());
    let seeks = padded(change.baskets.iter().map(|(_, offset, _)| *offset).collect());
    let mut out = Vec::with_capacity(room * 20 + 16);
    match places.tables_form {
        Tables::None => {}
        Tables::Long => {
            out.push(1);
            narrow(&mut out, &bytes)?;
            out.push(1);
            wide(&mut out, &entries);
            out.push(1);
            wide(&mut out, &seeks);
        }
        Tables::Int => {
            out.push(1);
            narrow(&mut out, &bytes)?;
            out.push(1);
            narrow(&mut out, &entries)?;
            if seeks.iter().all(|&seek| i32::try_from(seek).is_ok()) {
                out.push(1);
                narrow(&mut out, &seeks)?;
            } else {
                out.push(2);
                wide(&mut out, &seeks);
            }
        }
        Tables::First { bytes: has_bytes, seek } => {
            let count = u32::try_from(room).map_err(|_| too_many("baskets"))?;
            out.extend(count.to_be_bytes());
            narrow(&mut out, &entries)?;
            if has_bytes {
                out.extend(count.to_be_bytes());
                narrow(&mut out, &bytes)?;
            }
            if seek {
                out.extend(count.to_be_bytes());
                narrow(&mut out, &seeks)?;
            }
        }
    }
    Ok(out)
}

fn narrow(out: &mut Vec<u8>, values: &[u64]) -> Result<()> {
    for &value in values {
        let value = i32::try_from(value).map_err(|_| {
            Error::unsupported("the tree is of a version of ROOT that cannot name places beyond 2 GiB")
                .hint("write fewer entries or branches, so that the file stays below 2 GiB")
        })?;
        out.extend(value.to_be_bytes());
    }
    Ok(())
}

fn wide(out: &mut Vec<u8>, values: &[u64]) {
    out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
}

/// `fClusterRangeEnd` and `fClusterSize`: a byte tells whether each is there (TTree §6.1).
fn cluster_arrays(clusters: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for values in [clusters.iter().map(|c| c.0).collect::<Vec<_>>(), clusters.iter().map(|c| c.1).collect()] {
        out.push(u8::from(!values.is_empty()));
        wide(&mut out, &values);
    }
    out
}

fn put(edits: &mut Edits, place: Option<Number>, value: u64) -> Result<()> {
    match place {
        None => {}
        Some(Number::I32(at)) => {
            let value = i32::try_from(value).map_err(|_| too_many("entries"))?;
            edits.replace(at..at + 4, value.to_be_bytes());
        }
        Some(Number::I64(at)) => edits.replace(at..at + 8, value.to_be_bytes()),
        #[expect(clippy::cast_precision_loss, reason = "ROOT stored these numbers as a double")]
        Some(Number::F64(at)) => edits.replace(at..at + 8, (value as f64).to_be_bytes()),
    }
    Ok(())
}

pub(super) fn too_many(what: &str) -> Error {
    Error::unsupported(format!("there are more {what} than ROOT can count"))
}
