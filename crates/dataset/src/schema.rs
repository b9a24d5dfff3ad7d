//! The tree of a snapshot: the branches of all its products, which may come from several schemas, as one.

use sapwood_core::{Error, ErrorKind, Result, Segments, Step};
use sapwood_stripe::{Schema, Snapshot};
use sapwood_tfile::{FileHeader, Record, StreamerInfos, TFile};
use sapwood_ttree::{Baskets, Branch, BranchKind, TTree};
use std::collections::{HashMap, HashSet};

/// Clusters of a tree: more than this, and their list is too long to be kept.
const MOST_CLUSTERS: u64 = 1 << 24;

/// A schema, parsed.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) header: FileHeader,
    pub(super) streamers: StreamerInfos,
    tree: TTree,
}

impl Parsed {
    /// Reads a schema of the tree at `path`.
    pub(super) fn new(schema: &Schema, path: &str) -> Result<Parsed> {
        let size = schema.file.len() as u64;
        let mut known = Segments::default();
        known.insert(0, schema.file.clone());
        let parsed = (|| {
            let file = done(TFile::open(&known, size)?)?;
            let key = done(file.find(&known, path)?)?;
            let record = done(file.record(&known, &key)?)?;
            let streamers = done(file.streamers(&known)?)?;
            let tree = TTree::parse(&key.class_name, &record.payload, record.key_len, size, &streamers)?;
            Ok(Parsed { header: file.header, streamers, tree })
        })();
        parsed.map_err(|error: Error| broken(schema, error))
    }

    /// The record of the descriptions of a schema's classes.
    pub(super) fn description(schema: &Schema) -> Result<Option<Record>> {
        let mut known = Segments::default();
        known.insert(0, schema.file.clone());
        let record = TFile::open(&known, schema.file.len() as u64)
            .and_then(done)
            .and_then(|file| file.streamers_record(&known).and_then(done));
        record.map_err(|error| broken(schema, error))
    }
}

fn broken(schema: &Schema, error: Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Corrupt,
    };
    Error::new(kind, format!("schema {} of the dataset: {error}", schema.id)).caused_by(error)
}

fn done<T>(step: Step<T>) -> Result<T> {
    match step {
        Step::Done(value) => Ok(value),
        Step::Need(_) => Err(Error::new(ErrorKind::Truncated, "it leads beyond its end")),
    }
}

/// Where a branch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its product, by its place among those of the snapshot.
    pub product: usize,
    /// Its place among the branches of the product.
    pub branch: usize,
    /// The schema, by its place among those of the snapshot.
    pub schema: usize,
}

/// The tree of a snapshot, without baskets.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) tree: TTree,
    /// Of each branch.
    pub(super) origins: Vec<Origin>,
}

impl Union {
    /// Joins the branches of all products, in the order of the products; `schemas` are those of the snapshot.
    pub(super) fn new(snapshot: &Snapshot, schemas: &[Parsed]) -> Result<Union> {
        let first = schemas.first().ok_or_else(|| {
            Error::new(ErrorKind::Missing, "this version of the dataset holds nothing")
                .hint("'sapwood stripe log' tells of the others")
        })?;
        let origins = origins(snapshot, schemas)?;
        let index_of: HashMap<(usize, usize), usize> =
            origins.iter().enumerate().map(|(index, (origin, own))| ((origin.schema, *own), index)).collect();
        let entries = total(snapshot)?;
        let source = |(origin, own): &(Origin, usize)| schemas.get(origin.schema)?.tree.branches.get(*own);
        let mut branches: Vec<Branch> = origins.iter().filter_map(source).cloned().collect();
        number_repeated_paths(&mut branches);
        let by_path: HashMap<String, usize> =
            branches.iter().enumerate().map(|(index, branch)| (branch.path.clone(), index)).collect();
        for (branch, (origin, _)) in branches.iter_mut().zip(&origins) {
            let tree = schemas.get(origin.schema).map_or(&first.tree, |schema| &schema.tree);
            let places = Places { tree, schema: origin.schema, index_of: &index_of, by_path: &by_path };
            places.move_branch(branch);
            (branch.entries, branch.first_entry, branch.file_name) = (entries, 0, String::new());
            if branch.broken.is_none() {
                branch.baskets = Baskets::default();
            }
        }
        let tree = TTree {
            entries,
            cluster_starts: cluster_starts(snapshot, entries)?,
            // What the writer counted is in the schemas, of the entries that it saw.
            total_bytes: branches.iter().map(|branch| branch.total_bytes).fold(0, u64::saturating_add),
            branches,
            ..first.tree.clone()
        };
        Ok(Union { tree, origins: origins.into_iter().map(|(origin, _)| origin).collect() })
    }
}

/// Of each branch of the union, where it comes from, and its place among all branches of its schema.
fn origins(snapshot: &Snapshot, schemas: &[Parsed]) -> Result<Vec<(Origin, usize)>> {
    let mut origins = Vec::new();
    let mut met = HashSet::new();
    for (number, product) in snapshot.products.iter().enumerate() {
        let schema = snapshot.schemas.iter().position(|schema| schema.id == product.schema);
        let branches = schema.and_then(|schema| schemas.get(schema)).map_or(0, |one| one.tree.branches.len());
        for (place, own) in product.branches.iter().enumerate() {
            let own = usize::try_from(*own).unwrap_or(usize::MAX);
            let Some(schema) = schema.filter(|schema| own < branches && met.insert((*schema, own))) else {
                let message =
                    format!("the product '{}' has a branch that no schema has, or twice", product.name);
                return Err(Error::corrupt(message));
            };
            origins.push((Origin { product: number, branch: place, schema }, own));
        }
    }
    Ok(origins)
}

/// From the indices of a schema's tree to those of the union.
struct Places<'a> {
    tree: &'a TTree,
    schema: usize,
    index_of: &'a HashMap<(usize, usize), usize>,
    by_path: &'a HashMap<String, usize>,
}

impl Places<'_> {
    fn get(&self, own: usize) -> Option<usize> {
        self.index_of.get(&(self.schema, own)).copied()
    }

    /// A branch that counts may have been replaced by one of another schema.
    fn counter(&self, own: usize) -> Option<usize> {
        self.get(own).or_else(|| self.by_path.get(&self.tree.branches.get(own)?.path).copied())
    }

    fn move_branch(&self, branch: &mut Branch) {
        branch.parent = branch.parent.and_then(|parent| self.get(parent));
        branch.children = branch.children.iter().filter_map(|child| self.get(*child)).collect();
        let mut missing = None;
        for leaf in &mut branch.leaves {
            let Some((own, place)) = leaf.count else { continue };
            leaf.count = self.counter(own).map(|index| (index, place));
            if leaf.count.is_none() {
                missing = Some(own);
            }
        }
        if let BranchKind::Element(element) = &mut branch.kind {
            for count in [&mut element.branch_count, &mut element.branch_count2] {
                let Some(own) = *count else { continue };
                *count = self.counter(own);
                if count.is_none() {
                    missing = Some(own);
                }
            }
        }
        if let Some(count) = missing.and_then(|own| self.tree.branches.get(own)) {
            let message = format!("the branch '{}' that counts its items is in no product", count.path);
            branch.broken.get_or_insert(message);
        }
    }
}

/// Two products may have a branch of the same name.
fn number_repeated_paths(branches: &mut [Branch]) {
    let mut met = HashSet::new();
    for branch in branches {
        let path = branch.path.clone();
        let mut times = 1;
        while !met.insert(branch.path.clone()) {
            times += 1;
            branch.path = format!("{path}#{times}");
        }
    }
}

/// Entries of all segments.
pub(super) fn total(snapshot: &Snapshot) -> Result<u64> {
    let mut entries = snapshot.segments.iter().map(|segment| segment.entries);
    let total = entries.try_fold(0_u64, u64::checked_add).filter(|total| i64::try_from(*total).is_ok());
    total.ok_or_else(|| Error::corrupt("the segments of the dataset have more entries than can be counted"))
}

/// The batches of all segments: at their borders, all branches begin a new basket.
pub(super) fn cluster_starts(snapshot: &Snapshot, entries: u64) -> Result<Vec<u64>> {
    let clusters = |segment: &sapwood_stripe::Segment| segment.entries.div_ceil(segment.batch.max(1));
    let count = snapshot.segments.iter().map(clusters).fold(0, u64::saturating_add);
    if count > MOST_CLUSTERS {
        let message = format!("the dataset has {count} batches, {MOST_CLUSTERS} can be read");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let mut starts = Vec::new();
    let mut first = 0;
    for segment in &snapshot.segments {
        let batch = usize::try_from(segment.batch.max(1)).unwrap_or(usize::MAX);
        starts.extend((first..first + segment.entries).step_by(batch));
        first += segment.entries;
    }
    if !starts.is_empty() {
        starts.push(entries);
    }
    Ok(starts)
}
