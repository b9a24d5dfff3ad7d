//! A version of a dataset: its contents, and where they are stored.

use crate::Id;
use crate::envelope::{Envelope, JOBS, ObjectKind, seal_with, unseal};
use crate::wire::{Reader, checksum, put_packed};
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A version of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub id: Id,
    /// The snapshot it was derived from.
    pub parent: Option<Id>,
    /// Path of the tree, such as `Events`.
    pub tree: String,
    /// The schemas of the products' branches; stored behind this description, not in it.
    pub schemas: Vec<Schema>,
    /// Columns that are read, added and replaced together.
    pub products: Vec<Product>,
    /// Entries that were added together, in order.
    pub segments: Vec<Segment>,
    /// URLs of stores with objects that are not below the dataset itself, which is number 0.
    pub bases: Vec<String>,
    /// The highest numbers ever given.
    #[serde(default)]
    pub used: HighestIds,
    /// Jobs whose receipts are in it, with the attempt of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<String, u32>,
    /// How it was made.
    pub made: Provenance,
    /// Feature bits that a writer must know to derive another snapshot, and that are unknown here.
    #[serde(skip)]
    pub unknown: u32,
}

/// The highest numbers ever given in a dataset: they are not given again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighestIds {
    /// Of [`Schema::id`].
    pub schemas: u32,
    /// Of [`Product::id`].
    pub products: u32,
    /// Of [`Segment::id`].
    pub segments: u32,
}

/// Most bytes of a description or a schema.
const LIMIT: usize = 256 << 20;

impl Snapshot {
    /// Encodes it as an object.
    ///
    /// # Errors
    /// `Limit` if a schema has 4 GiB or more.
    pub fn encode(&self) -> Result<Bytes> {
        let json = serde_json::to_vec(self)
            .map_err(|error| Error::usage("a snapshot cannot be written as JSON").caused_by(error))?;
        let mut content = Vec::new();
        put_packed(&mut content, &json)?;
        for schema in &self.schemas {
            put_packed(&mut content, &schema.file)?;
        }
        let features = if self.jobs.is_empty() { 0 } else { JOBS };
        Ok(seal_with(ObjectKind::Snapshot, features, &content))
    }

    /// Decodes an object.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset in the object.
    pub fn decode(object: &Bytes) -> Result<Snapshot> {
        let content = unseal(ObjectKind::Snapshot, object)?;
        let mut snapshot = Snapshot::parse(&content).map_err(|error| error.inside(Envelope::LEN as u64))?;
        snapshot.unknown = Envelope::parse(object)?.unknown();
        Ok(snapshot)
    }

    /// Checks that another snapshot may be derived from it, and that everything it refers to is known.
    ///
    /// # Errors
    /// `Unsupported` if it has unknown features.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.unknown {
            0 => Ok(()),
            bits => Err(Error::unsupported(format!(
                "the dataset has features that are not known here ({bits:#x}): it can be read, not changed"
            ))
            .hint("a newer sapwood can change it")),
        }
    }

    fn parse(content: &[u8]) -> Result<Snapshot> {
        let mut reader = Reader::new(content, "a snapshot");
        let json = reader.packed(LIMIT)?;
        let mut snapshot: Snapshot = serde_json::from_slice(&json)
            .map_err(|error| Error::corrupt(format!("the description of a snapshot: {error}")))?;
        for schema in &mut snapshot.schemas {
            schema.file = reader.packed(LIMIT)?.into();
        }
        reader.end()?;
        snapshot.check().map_err(|what| Error::corrupt(format!("a snapshot {what}")))?;
        Ok(snapshot)
    }

    /// Checks that all numbers refer to existing parts, and that sums do not overflow.
    pub(crate) fn check(&self) -> Result<(), String> {
        let entries = self.segments.iter().try_fold(0u64, |sum, segment| sum.checked_add(segment.entries));
        entries.ok_or("has more entries than can be counted")?;
        let schemas = distinct(self.schemas.iter().map(|schema| schema.id), "schemas")?;
        distinct(self.segments.iter().map(|segment| segment.id), "segments")?;
        let products = distinct(self.products.iter().map(|product| product.id), "products")?;
        if let Some(product) = self.products.iter().find(|product| !schemas.contains(&product.schema)) {
            return Err(format!("has no schema {}, which product '{}' names", product.schema, product.name));
        }
        for segment in &self.segments {
            let objects = segment.lists.values().chain(&segment.events).chain(&segment.auxiliary);
            let bases = objects.clone().all(|object| object.base as usize <= self.bases.len());
            let ends = objects.clone().all(|object| object.offset.checked_add(object.len).is_some());
            if segment.batch == 0 || !bases || !ends || !segment.lists.keys().all(|id| products.contains(id))
            {
                return Err(format!("has a segment ({}) that refers to missing parts", segment.id));
            }
        }
        Ok(())
    }
}

/// A ROOT file with the record of a tree without baskets, and the class descriptions it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Number, never used again in the dataset.
    pub id: u32,
    /// The file.
    #[serde(skip)]
    pub file: Bytes,
}

/// Columns that are read, added and replaced together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// Number, never used again in the dataset.
    pub id: u32,
    /// Name: that of the top branch, or the common beginning of the branch names.
    pub name: String,
    /// [`Schema::id`] of the tree that its branches are in.
    pub schema: u32,
    /// Indices of its branches among all branches of that tree, depth first.
    pub branches: Vec<u32>,
    /// Number of the version that wrote it.
    pub version: u64,
}

/// Entries that were added together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Number, never used again in the dataset.
    pub id: u32,
    /// Number of entries.
    pub entries: u64,
    /// Entries of a batch, at whose borders all products begin a new stripe; the last batch may be shorter.
    pub batch: u64,
    /// The stripe lists of the products, by [`Product::id`].
    pub lists: BTreeMap<u32, StripeListRef>,
    /// Run, luminosity block and event number of each entry, if known.
    pub events: Option<ObjectRef>,
    /// A ROOT file with everything else that came with these entries: other trees, histograms, provenance.
    pub auxiliary: Option<ObjectRef>,
}

/// A whole object, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRef {
    /// Index into [`Snapshot::bases`]; 0 is the dataset.
    #[serde(default)]
    pub base: u32,
    /// The object.
    pub id: Id,
    /// Its offset in the object.
    #[serde(default)]
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// XXH64 (seed 0) of these bytes.
    pub checksum: u64,
}

/// All IDs; an error if one occurs twice.
fn distinct(numbers: impl ExactSizeIterator<Item = u32>, of: &str) -> Result<BTreeSet<u32>, String> {
    let count = numbers.len();
    let known: BTreeSet<u32> = numbers.collect();
    if known.len() == count { Ok(known) } else { Err(format!("has two {of} of the same number")) }
}

impl ObjectRef {
    /// A whole object below the dataset itself.
    pub fn whole(id: Id, object: &[u8]) -> ObjectRef {
        ObjectRef { base: 0, id, offset: 0, len: object.len() as u64, checksum: checksum(object) }
    }

    /// Verifies length and checksum of the bytes.
    ///
    /// # Errors
    /// `Truncated` or `Checksum` if they do not match.
    pub fn verify(&self, bytes: &[u8]) -> Result<()> {
        let (kind, message) = if bytes.len() as u64 != self.len {
            (ErrorKind::Truncated, format!("has {} bytes instead of {}", bytes.len(), self.len))
        } else if checksum(bytes) != self.checksum {
            (ErrorKind::Checksum, "does not match its checksum".to_owned())
        } else {
            return Ok(());
        };
        Err(Error::new(kind, format!("a part of object {} {message}", self.id)).at(self.offset))
    }
}

/// A stripe list: a part of an object that holds the lists of several products.
pub type StripeListRef = ObjectRef;

/// How a version was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Milliseconds since 1970, by the writer's clock.
    pub time_ms: u64,
    /// `create`, `append`, `add`, `replace`, `drop`, ….
    pub operation: String,
    /// Who made it, if stated.
    #[serde(default)]
    pub who: Option<String>,
    /// Name and version of the tool that wrote it.
    pub tool: String,
    /// Job and attempt, by which a job that runs again recognizes that it is done.
    #[serde(default)]
    pub job: Option<(String, u32)>,
    /// The inputs, without secrets.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Relevant options.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}
