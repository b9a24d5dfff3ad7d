//! Additions to a dataset: products and segments that have no number yet.

use crate::{ObjectRef, StripeListRef};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Columns of a product that is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewProduct {
    /// Its name.
    pub name: String,
    /// As [`Product::branches`](crate::Product::branches).
    pub branches: Vec<u32>,
    /// As [`Schema::file`](crate::Schema::file); not in receipts. `None` keeps the schema of the product.
    #[serde(skip)]
    pub schema: Option<Bytes>,
}

/// Entries that are added. A worker returns this in its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewSegment {
    /// As [`Segment::entries`](crate::Segment::entries).
    pub entries: u64,
    /// As [`Segment::batch`](crate::Segment::batch).
    pub batch: u64,
    /// As [`Segment::lists`](crate::Segment::lists), by name of the product.
    pub lists: BTreeMap<String, StripeListRef>,
    /// As [`Segment::events`](crate::Segment::events).
    #[serde(default)]
    pub events: Option<ObjectRef>,
    /// As [`Segment::auxiliary`](crate::Segment::auxiliary).
    #[serde(default)]
    pub auxiliary: Option<ObjectRef>,
}
