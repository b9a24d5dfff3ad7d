//! Receipts: what a worker has stored, for another process to commit.

use crate::rebase::{conflict, fresh, shape};
use crate::record::{from_json, to_json};
use crate::{Id, NewSegment, Product, Segment, Snapshot};
use sapwood_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format of receipts.
const VERSION: u32 = 1;

/// What a worker has stored, for one process that commits the work of many: JSON, about 1 kB per ten
/// products.
///
/// A job may run more than once: of all its attempts, one is committed, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of its format: 1.
    pub sapwood_receipt: u32,
    /// The name of the dataset.
    pub dataset: Id,
    /// The job.
    pub job: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// The key of the lease that protects the stored objects.
    pub lease: String,
    /// The inputs, without secrets.
    pub inputs: Vec<String>,
    /// The products when the worker began.
    pub products: Vec<Product>,
    /// The entries.
    pub segments: Vec<NewSegment>,
}

impl Receipt {
    /// The current version of the format.
    pub(crate) fn version() -> u32 {
        VERSION
    }

    /// As JSON.
    ///
    /// # Errors
    /// `Usage` if it cannot be written.
    pub fn to_json(&self) -> Result<String> {
        let json = to_json(self)?;
        String::from_utf8(json.into()).map_err(|_| Error::usage("a receipt is not text"))
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// `Corrupt` if it is not a receipt; `Unsupported` if its format is newer.
    pub fn from_json(text: &str) -> Result<Receipt> {
        let receipt: Receipt = from_json(text.as_bytes(), "a receipt")?;
        match receipt.sapwood_receipt {
            VERSION => Ok(receipt),
            other => Err(Error::unsupported(format!("a receipt has format {other}; known is {VERSION}"))),
        }
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.entries))
    }

    /// Its segments, as they would appear in a snapshot; numbered from `first` on.
    pub(crate) fn segments_from(&self, first: u32) -> Result<Vec<Segment>> {
        let segments = self.segments.iter().zip(first..).map(|(new, id)| {
            let lists = new.lists.iter().map(|(name, list)| {
                let product = self.products.iter().find(|product| product.name == *name);
                let product = product.ok_or_else(|| Error::corrupt(format!("a receipt lacks '{name}'")))?;
                Ok((product.id, list.clone()))
            });
            let lists: BTreeMap<u32, _> = lists.collect::<Result<_>>()?;
            if new.entries == 0 || new.batch == 0 {
                return Err(Error::corrupt("a receipt has a segment without entries"));
            }
            let NewSegment { entries, batch, events, auxiliary, .. } = new.clone();
            Ok(Segment { id, entries, batch, lists, events, auxiliary })
        });
        segments.collect()
    }
}

/// Appends the entries of receipts, except those of jobs that were committed before.
pub(crate) fn receive(next: &mut Snapshot, receipts: &[Receipt]) -> Result<()> {
    for receipt in receipts {
        if next.jobs.contains_key(&receipt.job) {
            continue;
        }
        for known in &receipt.products {
            let now = next.products.iter().find(|product| product.name == known.name);
            if now.map(shape) != Some(shape(known)) {
                let message = format!("the product '{}' was dropped or replaced", known.name);
                return Err(conflict(&message).hint("run the job again for the newest version"));
            }
        }
        let first = fresh(next.segments.iter().map(|segment| &segment.id), next.used.segments)?;
        for segment in receipt.segments_from(first)? {
            next.used.segments = segment.id;
            next.segments.push(segment);
        }
        next.jobs.insert(receipt.job.clone(), receipt.attempt);
    }
    next.check().map_err(|what| Error::corrupt(format!("with the receipts, a snapshot {what}")))
}
