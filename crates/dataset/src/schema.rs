//! The tree of a snapshot: the branches of all its products, which may have different schemas, as one tree.

use sapwood_core::{Error, ErrorKind, ParseStep, Result, Segments};
use sapwood_stripe::{Schema, Snapshot};
use sapwood_tfile::{FileHeader, Record, StreamerInfos, TFile};
use sapwood_ttree::{Baskets, Branch, BranchKind, TTree};
use std::collections::{HashMap, HashSet};

/// Most clusters of a tree, since their starts are kept in memory.
const MOST_CLUSTERS: u64 = 1 << 24;

/// The parsed form of a schema.
#[derive(Debug)]
pub(super) struct ParsedSchema {
    pub(super) header: FileHeader,
    pub(super) streamers: StreamerInfos,
    tree: TTree,
}

impl ParsedSchema {
    /// Reads a schema of the tree at `path`.
    pub(super) fn new(schema: &Schema, path: &str) -> Result<ParsedSchema> {
        let size = schema.file.len() as u64;
        let mut known = Segments::default();
        known.insert(0, schema.file.clone());
        let parsed = (|| {
            let file = done(TFile::open(&known, size)?)?;
            let key = done(file.find(&known, path)?)?;
            let record = done(file.record(&known, &key)?)?;
            let streamers = done(file.streamers(&known)?)?;
            let tree = TTree::parse(&key.class_name, &record.payload, record.key_len, size, &streamers)?;
            Ok(ParsedSchema { header: file.header, streamers, tree })
        })();
        parsed.map_err(|error: Error| broken(schema, error))
    }

    /// The record of a schema's class descriptions.
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

fn done<T>(step: ParseStep<T>) -> Result<T> {
    match step {
        ParseStep::Done(value) => Ok(value),
        ParseStep::Need(_) => Err(Error::new(ErrorKind::Truncated, "it refers to bytes beyond its end")),
    }
}

/// The product and schema of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchOrigin {
    /// Index of its product in the snapshot.
    pub product: usize,
    /// Its index in the product.
    pub branch: usize,
    /// Index of the schema in the snapshot.
    pub schema: usize,
}

/// The tree of a snapshot, without baskets.
#[derive(Debug)]
pub(super) struct UnionTree {
    pub(super) tree: TTree,
    /// The origin of each branch.
    pub(super) origins: Vec<BranchOrigin>,
}

impl UnionTree {
    /// Joins the branches of all products, in order of the products; `schemas` are those of the snapshot.
    pub(super) fn new(snapshot: &Snapshot, schemas: &[ParsedSchema]) -> Result<UnionTree> {
        let first = schemas.first().ok_or_else(empty_version)?;
        let origins = origins(snapshot, schemas)?;
        let index_of: HashMap<(usize, usize), usize> =
            origins.iter().enumerate().map(|(index, (origin, own))| ((origin.schema, *own), index)).collect();
        let entries = total(snapshot)?;
        let source =
            |(origin, own): &(BranchOrigin, usize)| schemas.get(origin.schema)?.tree.branches.get(*own);
        let mut branches: Vec<Branch> = origins.iter().filter_map(source).cloned().collect();
        number_repeated_paths(&mut branches);
        let by_path: HashMap<String, usize> =
            branches.iter().enumerate().map(|(index, branch)| (branch.path.clone(), index)).collect();
        for (branch, (origin, _)) in branches.iter_mut().zip(&origins) {
            let tree = schemas.get(origin.schema).map_or(&first.tree, |schema| &schema.tree);
            let places = BranchMap { tree, schema: origin.schema, index_of: &index_of, by_path: &by_path };
            places.move_branch(branch);
            (branch.entries, branch.first_entry, branch.file_name) = (entries, 0, String::new());
            if branch.broken.is_none() {
                branch.baskets = Baskets::default();
            }
        }
        let tree = TTree {
            entries,
            cluster_starts: cluster_starts(snapshot, entries)?,
            // The schemas have the sizes that their writers counted.
            total_bytes: branches.iter().map(|branch| branch.total_bytes).fold(0, u64::saturating_add),
            branches,
            ..first.tree.clone()
        };
        Ok(UnionTree { tree, origins: origins.into_iter().map(|(origin, _)| origin).collect() })
    }
}

/// The origin of each branch of the union, and its index among all branches of its schema.
fn origins(snapshot: &Snapshot, schemas: &[ParsedSchema]) -> Result<Vec<(BranchOrigin, usize)>> {
    let mut origins = Vec::new();
    let mut met = HashSet::new();
    for (number, product) in snapshot.products.iter().enumerate() {
        let schema = snapshot.schemas.iter().position(|schema| schema.id == product.schema);
        let branches = schema.and_then(|schema| schemas.get(schema)).map_or(0, |one| one.tree.branches.len());
        for (place, own) in product.branches.iter().enumerate() {
            let own = usize::try_from(*own).unwrap_or(usize::MAX);
            let Some(schema) = schema.filter(|schema| own < branches && met.insert((*schema, own))) else {
                let message = format!(
                    "the product '{}' has a branch that is not in its schema, or a branch that is used twice",
                    product.name
                );
                return Err(Error::corrupt(message));
            };
            origins.push((BranchOrigin { product: number, branch: place, schema }, own));
        }
    }
    Ok(origins)
}

/// Maps the indices of a schema's tree to those of the union.
struct BranchMap<'a> {
    tree: &'a TTree,
    schema: usize,
    index_of: &'a HashMap<(usize, usize), usize>,
    by_path: &'a HashMap<String, usize>,
}

impl BranchMap<'_> {
    fn get(&self, own: usize) -> Option<usize> {
        self.index_of.get(&(self.schema, own)).copied()
    }

    /// A counter branch may have been replaced by one of another schema.
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
            let message = format!("its counter branch '{}' is in no product", count.path);
            branch.broken.get_or_insert(message);
        }
    }
}

/// Numbers equal paths: two products may have a branch of the same name.
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

/// The error for a version without schemas.
pub(super) fn empty_version() -> Error {
    Error::new(ErrorKind::Missing, "this version of the dataset is empty")
        .hint("run 'sapwood stripe log' to see the others")
}

/// The number of entries of all segments.
pub(super) fn total(snapshot: &Snapshot) -> Result<u64> {
    let mut entries = snapshot.segments.iter().map(|segment| segment.entries);
    let total = entries.try_fold(0_u64, u64::checked_add).filter(|total| i64::try_from(*total).is_ok());
    total.ok_or_else(|| Error::corrupt("the number of entries of the dataset overflows"))
}

/// The starts of the batches of all segments: there, all branches begin a new basket.
pub(super) fn cluster_starts(snapshot: &Snapshot, entries: u64) -> Result<Vec<u64>> {
    let clusters = |segment: &sapwood_stripe::Segment| segment.entries.div_ceil(segment.batch.max(1));
    let count = snapshot.segments.iter().map(clusters).fold(0, u64::saturating_add);
    if count > MOST_CLUSTERS {
        let message = format!("the dataset has {count} batches; at most {MOST_CLUSTERS} can be read");
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
