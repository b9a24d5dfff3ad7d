//! Opens RNTuples: reads the metadata that the anchor in a key's record points at.

use crate::root_file::{KeyRecord, RootFile};
use sapwood_core::{Call, Result};
use sapwood_rntuple::{Anchor, AttributeSet, CLASS, Metadata, RNTuple};

/// Classes of RNTuples.
pub const RNTUPLES: [&str; 2] = [CLASS, "ROOT::Experimental::RNTuple"];

/// True for the class of an RNTuple.
pub(crate) fn is_ntuple(class: &str) -> bool {
    RNTUPLES.contains(&class)
}

/// The RNTuple of a key. Fetches what opening the file did not: header and footer in one round trip, all lists of pages
/// in another.
///
/// # Errors
/// Those of the source; `Unsupported`, `Checksum`, `Truncated` or `Corrupt`, with the offset, if it cannot be read.
pub(crate) fn open(file: &RootFile, found: &KeyRecord, call: &mut Call<'_>) -> Result<RNTuple> {
    let KeyRecord { path, key, record, .. } = found;
    let anchor =
        Anchor::parse(&record.payload).map_err(|error| record.locate(&key.name, &error).url(file.url()))?;
    let metadata = file.parse(call, |_, known| Metadata::parse(&anchor, known))?;
    RNTuple::new(file.url(), path, metadata, file.fetcher().clone())
        .map_err(|error| error.at(key.offset).url(file.url()))
}

/// An attribute set of the RNTuple at a path.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_attributes(
    file: &RootFile,
    path: &str,
    set: &AttributeSet,
    call: &mut Call<'_>,
) -> Result<RNTuple> {
    let anchor = file.parse(call, |_, known| set.anchor(known))?;
    let metadata = file.parse(call, |_, known| Metadata::parse(&anchor, known))?;
    let path = format!("{path}.{}", set.name());
    RNTuple::new(file.url(), &path, metadata, file.fetcher().clone()).map_err(|error| error.url(file.url()))
}
