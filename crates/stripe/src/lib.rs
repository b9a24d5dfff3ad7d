//! The format of datasets in an object store: products, stripes, snapshots, commits. The crate `sapwood-dataset` reads
//! them as files, and writes them from files.
//!
//! A snapshot is a ROOT file whose baskets lie in other objects: it holds the records of the trees, without
//! entries, and says for each product and segment which stripes hold the baskets. Objects never change; a
//! version exists once its entry is in the log.
//!
//! ```text
//! log/n ─▶ snapshot ─▶ stripe lists ─▶ stripes: baskets
//!          products     of the wanted
//!          segments     products only
//! ```

mod additions;
mod change;
mod check_log;
mod consolidate;
mod dataset;
mod envelope;
mod events;
mod id;
pub mod keys;
mod layout;
mod list;
mod log;
mod object;
mod rebase;
mod receipt;
mod record;
mod snapshot;
mod wire;

pub use additions::{NewProduct, NewSegment};
pub use change::Change;
pub use check_log::check_log;
pub use consolidate::SegmentMerge;
pub use dataset::{
    ChecksumOptions, ChecksumReport, CommitOutcome, CopyReport, Damage, Dataset, DescribedProduct,
    DescribedSegment, Description, Format, Fragments, GcOptions, GcReport, Lease, LeaseKind, ListIndex,
    ListSections, RECEIPTS_LAST, Retention, StoredLease, Tag, Version, probe, read_lists,
};
pub use envelope::{Envelope, ObjectKind, seal, unseal};
pub use events::{EventBlock, EventHead, EventId, EventIndex, EventLookup, LumiMask};
pub use id::{Id, Ids};
pub use layout::{LayoutOptions, ObjectPlan, SegmentLayout, plan};
pub use list::{BasketLocation, ListBuilder, Location, ObjectName, Stripe, StripeList};
pub use log::{Log, LogEntry, ObjectLog};
pub use object::{BasketRecord, ObjectBuilder, ObjectDirectory, ProductBaskets, ProductStripes};
pub use receipt::Receipt;
pub use snapshot::{HighestIds, ObjectRef, Product, Provenance, Schema, Segment, Snapshot, StripeListRef};
pub use wire::checksum;
