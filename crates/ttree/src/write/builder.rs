//! The builder of a tree: fills its branches in parallel, cluster by cluster.

use super::clusters::Clusters;
use super::columns;
use super::existing::ExistingRecord;
use super::fill::{CompressedBasket, Filler, FullBasket};
use super::record::{self, BranchState, PlacedBasket, TreeState};
use super::schema::{self, BranchSpec, Storage};
use super::shape::BranchShape;
use super::split::{self, split_branch};
use crate::basket::{FIELDS_LEN, basket_fields};
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_codec::Search;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_table::write::{ClusterSize, ColumnView};
use sapwood_tfile::StreamerInfo;
use sapwood_tfile::write::{NewKey, RecordBuffer};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of baskets of a branch after which the best search is learned again.
const SEARCH_LASTS: usize = 256;

/// A basket to be placed in the file.
#[derive(Debug)]
pub struct Basket {
    /// The index of its branch in the tree.
    pub branch: usize,
    /// Its key.
    pub key: NewKey,
    /// The basket's own fields, which end the key.
    pub header: Vec<u8>,
    /// Bytes of the content before compression.
    pub object_len: usize,
    /// The content.
    pub payload: Bytes,
    first_entry: u64,
}

/// A tree that is being written.
#[derive(Debug)]
pub struct TreeBuilder {
    name: String,
    title: String,
    branches: Vec<Branch>,
    specs: Vec<BranchSpec>,
    clusters: Clusters,
    entries: u64,
    ended: bool,
    /// The record of a tree by another writer.
    kept: Option<ExistingRecord>,
}

#[derive(Debug)]
struct Branch {
    filler: Filler,
    /// How to compress its baskets, and for how many of them.
    search: Search,
    known_for: usize,
    counts: bool,
    /// The key of its baskets, without the cycle.
    key: NewKey,
    /// Baskets of the open cluster.
    compressed: Vec<CompressedBasket>,
    placed: Vec<PlacedBasket>,
    total_bytes: u64,
    zip_bytes: u64,
}

impl TreeBuilder {
    /// A tree without entries.
    ///
    /// # Errors
    /// `Usage` if the branches are inconsistent: two with the same name, or a count branch of the wrong type.
    pub fn new(name: &str, title: &str, specs: Vec<BranchSpec>, cluster: ClusterSize) -> Result<TreeBuilder> {
        schema::check(&specs)?;
        split::check(&specs)?;
        let counters: BTreeSet<usize> = specs
            .iter()
            .enumerate()
            .filter_map(|(place, spec)| match spec.storage {
                Storage::Counted { counter, .. } => Some(counter),
                _ => split_branch(&specs, place).counter,
            })
            .collect();
        let of_spec = |(place, spec): (usize, &BranchSpec)| {
            // Keys of baskets have 8-byte offsets in files of any size (WritingTrees §5).
            let key = NewKey::new("TBasket", &spec.name, name, true);
            let counts = counters.contains(&place);
            let filler =
                Filler::new(spec, &split_branch(&specs, place), (key.len() + FIELDS_LEN) as usize, counts);
            Branch {
                filler,
                search: Search::default(),
                known_for: 0,
                counts,
                key,
                compressed: vec![],
                placed: vec![],
                total_bytes: 0,
                zip_bytes: 0,
            }
        };
        let branches = specs.iter().enumerate().map(of_spec).collect();
        Ok(TreeBuilder {
            name: name.to_owned(),
            title: title.to_owned(),
            branches,
            clusters: Clusters::new(cluster),
            specs,
            entries: 0,
            ended: false,
            kept: None,
        })
    }

    /// Resumes after `entries` entries, of which `open` are in the open cluster; `ended` if an earlier
    /// cluster has ended.
    pub(super) fn resume_at(&mut self, entries: u64, open: u64, ended: bool) {
        self.entries = entries;
        self.ended = ended;
        self.clusters.resume_at(open);
    }

    /// Resumes a branch with baskets in the file, whose bytes before and after compression are given.
    pub(super) fn resume_branch(
        &mut self,
        place: usize,
        placed: Vec<PlacedBasket>,
        maximum: u64,
        (total_bytes, zip_bytes): (u64, u64),
    ) {
        if let Some(branch) = self.branches.get_mut(place) {
            branch.filler.resume_at(self.entries, maximum);
            (branch.placed, branch.total_bytes, branch.zip_bytes) = (placed, total_bytes, zip_bytes);
        }
    }

    /// Keeps an existing record except for values that change, and begins a new cluster.
    pub(super) fn keep(&mut self, kept: ExistingRecord) {
        self.kept = Some(kept);
        self.clusters.resume_at(0);
    }

    /// The branches.
    pub fn branches(&self) -> &[BranchSpec] {
        &self.specs
    }

    /// Entries filled so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Checks that `entries` entries of columns, one per branch, can be filled.
    ///
    /// # Errors
    /// `Usage` or `Unsupported`, with the branch whose column does not fit.
    pub fn check(&self, columns: &[ColumnView<'_>], entries: usize) -> Result<()> {
        columns::check(&self.specs, columns, entries)
    }

    /// How many of the next entries can be filled at once. They have about `bytes` bytes, of which `largest`
    /// in one column. The result is limited by the end of the cluster and by memory.
    pub fn step(&self, entries: usize, bytes: usize, largest: usize) -> usize {
        let at_once = largest.saturating_mul(rayon::current_num_threads());
        self.clusters.step(entries as u64, bytes as u64, at_once as u64) as usize
    }

    /// Adds entries of [checked](TreeBuilder::check) columns, and compresses full baskets, on all threads of
    /// the current pool.
    ///
    /// # Errors
    /// `Usage` for an entry that is larger than ROOT can read, `Limit` if there is not enough memory,
    /// `Cancelled` soon after `cancelled` is set. The builder cannot be used afterwards.
    pub fn fill(
        &mut self,
        columns: &[ColumnView<'_>],
        entries: Range<usize>,
        cancelled: &AtomicBool,
    ) -> Result<()> {
        let specs = &self.specs;
        let ends = self.clusters.ends_with(entries.len() as u64);
        self.branches.par_iter_mut().zip(columns).zip(specs).try_for_each(|((branch, column), spec)| {
            if cancelled.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Cancelled, "writing was interrupted"));
            }
            let mut full = Vec::new();
            if ends {
                branch.filler.borrow_room();
            }
            branch
                .filler
                .fill(column, entries.clone(), &mut full)
                .and_then(|()| {
                    // Immediately, so that each thread holds the content of at most one branch.
                    if ends {
                        branch.filler.end(&mut full);
                    }
                    branch.compress(full, ends)
                })
                .map_err(|error| error.branch(&spec.name))
        })?;
        self.entries += entries.len() as u64;
        self.clusters.filled(entries.len() as u64, self.cluster_bytes());
        Ok(())
    }

    /// Bytes of the open cluster after compression; for uncompressed baskets, estimated with the ratio so
    /// far.
    fn cluster_bytes(&self) -> u64 {
        let (mut before, mut after, mut open) = (0, 0, 0);
        for branch in &self.branches {
            open += branch.filler.open_bytes() as u64;
            for basket in &branch.compressed {
                before += basket.object_len as u64;
                after += basket.payload.len() as u64;
            }
        }
        // Before anything is compressed, assume a third.
        after
            + if before == 0 {
                open / 3
            } else {
                (u128::from(open) * u128::from(after) / u128::from(before)) as u64
            }
    }

    /// True if the open cluster has all its entries.
    pub fn cluster_is_full(&self) -> bool {
        self.clusters.is_full()
    }

    /// Ends the open cluster and returns its baskets, branch by branch.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory.
    pub fn end_cluster(&mut self) -> Result<Vec<Basket>> {
        self.ended |= self.clusters.is_full();
        if let Some(kept) = &mut self.kept {
            kept.end_cluster(self.clusters.open());
        }
        self.clusters.end();
        self.branches.par_iter_mut().try_for_each(|branch| {
            let mut full = Vec::new();
            branch.filler.end(&mut full);
            branch.compress(full, true)
        })?;
        let mut baskets = Vec::new();
        for (place, (branch, spec)) in self.branches.iter_mut().zip(&self.specs).enumerate() {
            let first = branch.placed.len();
            for (nth, compressed) in branch.compressed.drain(..).enumerate() {
                baskets.push(basket(place, &branch.key, spec, first + nth, compressed)?);
            }
        }
        Ok(baskets)
    }

    /// Records the position of a basket: the offset and the length of its record, key included.
    pub fn placed(&mut self, basket: &Basket, offset: u64, bytes: u32) {
        if let Some(branch) = self.branches.get_mut(basket.branch) {
            branch.placed.push(PlacedBasket { offset, bytes, first_entry: basket.first_entry });
            branch.zip_bytes += u64::from(bytes);
            branch.total_bytes += u64::from(basket.key.len() + FIELDS_LEN) + basket.object_len as u64;
        }
    }

    /// The payload of the tree's record, for a key of `key_len` bytes. All baskets must have been placed.
    ///
    /// # Errors
    /// `Limit` if it is too long; `Unsupported` if the tree's class version cannot store a value.
    pub fn record(&self, key_len: u32) -> Result<Vec<u8>> {
        let branches = self.branches.iter().zip(self.shapes()).map(|(branch, shape)| BranchState {
            shape,
            baskets: &branch.placed,
            total_bytes: branch.total_bytes,
            zip_bytes: branch.zip_bytes,
            maximum: branch.filler.maximum,
            counts: branch.counts,
        });
        let tree = TreeState {
            name: &self.name,
            title: &self.title,
            entries: self.entries,
            cluster: self.clusters.entries().filter(|_| self.ended),
            branches: branches.collect(),
        };
        if let Some(kept) = &self.kept {
            return kept.record(key_len, &tree);
        }
        let mut buffer = RecordBuffer::new(key_len);
        record::put(&mut buffer, &tree);
        buffer.finish()
    }

    /// The classes of the objects in the record, which the file must describe; none for the record of another
    /// writer.
    pub fn classes(&self) -> BTreeSet<&'static str> {
        if self.kept.is_some() {
            return BTreeSet::new();
        }
        let mut classes = BTreeSet::from(["TTree", "TBranch"]);
        for shape in self.shapes() {
            classes.extend(shape.leaf.map(|leaf| leaf.class));
            classes.extend(shape.element.map(|_| "TBranchElement"));
        }
        classes
    }

    fn shapes(&self) -> impl Iterator<Item = BranchShape> {
        (0..self.specs.len()).filter_map(|place| BranchShape::of(&self.specs, place))
    }

    /// The descriptions of the classes of split objects, which the file must also contain.
    pub fn descriptions(&self) -> Vec<StreamerInfo> {
        let mut found = Vec::new();
        for spec in self.specs.iter().filter(|_| self.kept.is_none()) {
            if let Storage::Object(class) | Storage::Objects(class) = &spec.storage {
                class.describe(&mut found);
            }
        }
        found
    }
}

impl Branch {
    /// Compresses baskets. The search is learned from the first one, and again after a fixed number of
    /// baskets, so that the file does not depend on how many entries are filled at once. `ends` means that
    /// the cluster ends.
    fn compress(&mut self, full: Vec<FullBasket>, ends: bool) -> Result<()> {
        let compression = self.filler.compression();
        let mut rest = full.into_iter();
        while rest.len() > 0 {
            if self.known_for == 0
                && let Some(first) = rest.next()
            {
                let (compressed, search) = first.compress_and_learn(compression, ends)?;
                self.compressed.push(compressed);
                (self.search, self.known_for) = (search, SEARCH_LASTS);
            }
            let like_it: Vec<FullBasket> = rest.by_ref().take(self.known_for).collect();
            self.known_for -= like_it.len();
            let search = self.search;
            let compressed = like_it.into_par_iter().map(|full| full.compress(compression, search, ends));
            self.compressed.append(&mut compressed.collect::<Result<Vec<_>>>()?);
        }
        Ok(())
    }
}

/// A basket with its key; `number` is its index in the branch.
fn basket(
    branch: usize,
    key: &NewKey,
    spec: &BranchSpec,
    number: usize,
    compressed: CompressedBasket,
) -> Result<Basket> {
    let key = NewKey { cycle: Some(number as i16), ..key.clone() };
    let last = i32::try_from((key.len() + FIELDS_LEN) as usize + compressed.data_len).map_err(|_| {
        Error::new(ErrorKind::Limit, "a basket is too long for a ROOT file").branch(&spec.name)
    })?;
    let header =
        basket_fields([spec.basket_size, compressed.per_entry, compressed.entries, last.cast_unsigned()]);
    let CompressedBasket { first_entry, object_len, payload, .. } = compressed;
    Ok(Basket { branch, key, header, object_len, payload, first_entry })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_codec::Compression;
    use sapwood_core::Primitive;

    #[test]
    fn filling_ends_where_it_is_cancelled_however_large_the_cluster_is() {
        let storage = Storage::Numbers { primitive: Primitive::I32, dims: vec![] };
        let (name, compression) = ("x".to_owned(), Compression::default());
        let spec = BranchSpec { name, title: None, storage, compression, basket_size: 1000 };
        let mut builder = TreeBuilder::new("t", "", vec![spec], ClusterSize::Entries(100)).unwrap();
        let values = [1_u8; 4 * 100];
        let columns = [ColumnView { length: 100, buffers: vec![&values] }];
        builder.fill(&columns, 0..50, &AtomicBool::new(false)).unwrap();
        let error = builder.fill(&columns, 50..100, &AtomicBool::new(true)).unwrap_err();
        assert_eq!((error.kind(), builder.entries()), (ErrorKind::Cancelled, 50));
    }
}
