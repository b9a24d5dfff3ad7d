//! Object stores: `s3://`, `gs://`, `az://`. The crate `object_store` finds credentials, signs, lists and writes;
//! bytes are read as from any HTTP server, since that is what object stores are.
//!
//! - `location`: what a URL names. `bucket`: where its objects are, and what signs requests for them.
//! - `s3`, `google`, `azure`: the providers; `cached`: credentials, until they expire.
//! - `connector`: the connections that `object_store` uses.
//! - `open`: from a URL to a bucket, and to the bytes of one of its objects.

mod azure;
mod bucket;
mod cached;
mod connector;
mod google;
mod location;
mod open;
mod s3;

pub use bucket::{Bucket, ObjectClient};
pub use connector::{MessageOutcome, watched};
pub use location::ObjectLocation;
pub(crate) use open::{access_of, list, open};
pub use open::{address, object_reader, open_bucket};
