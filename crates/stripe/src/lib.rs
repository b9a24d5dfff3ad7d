//! Datasets in an object store: products, stripes, snapshots, commits.
//!
//! A snapshot is a ROOT file whose baskets lie in other objects: it holds the records of the trees, without entries, and
//! says for each product and segment which stripes hold the baskets. Objects are never changed; a version is there
//! when its entry in the log is.
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
mod rebase;
mod receipt;
mod record;
mod snapshot;
mod stripe;
mod wire;

pub use additions::{NewProduct, NewSegment};
pub use change::Change;
pub use check_log::check_log;
pub use consolidate::Consolidated;
pub use dataset::{
    Collected, Committed, Copied, Dataset, DescribedProduct, DescribedSegment, Description, Format,
    Fragments, GcOptions, Keep, Lease, LeaseKind, Leased, RECEIPTS_LAST, Tag, Verified, VerifyOptions,
    Version, Wrong, probe,
};
pub use envelope::{Envelope, Kind, seal, unseal};
pub use events::{EventBlock, EventHead, EventId, EventIndex, Lookup, LumiMask};
pub use id::{Id, Ids};
pub use layout::{Layout, LayoutOptions, Planned, plan};
pub use list::{BasketPlace, Extremes, ListBuilder, ObjectName, Place, Statistics, Stripe, StripeList};
pub use log::{Entry, Log, ObjectLog};
pub use receipt::Receipt;
pub use snapshot::{Made, ObjectRef, Product, Schema, Segment, Snapshot, StripeListRef, Used};
pub use stripe::{Basket, Directory, Member, ObjectBuilder, Placed};
pub use wire::checksum;
