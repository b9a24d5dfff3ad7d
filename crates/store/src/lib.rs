//! Stores: objects by key that are put whole, read by range, and listed.
//!
//! [`open_store`] makes a [`Store`] of a directory or the URL of a bucket. The operation to build on is
//! [`create`](Store::create): of all writers that create the same key, exactly one succeeds.

mod cloud;
mod key;
mod local;
mod open;
mod store;

pub use key::{check as check_key, check_prefix};
pub use local::LocalStore;
pub use open::open_store;
pub use store::{CreateOutcome, ObjectInfo, Store};
