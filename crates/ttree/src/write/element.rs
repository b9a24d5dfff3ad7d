//! What only the record of a `TBranchElement` says (root-io-spec TBranchElement §2).

/// The members of a `TBranchElement` that other branches do not have.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) class_name: String,
    pub(crate) parent_name: String,
    pub(crate) clones_name: String,
    pub(crate) checksum: u32,
    pub(crate) version: i16,
    /// `fID`, `fType`, `fStreamerType`.
    pub(crate) id: i32,
    pub(crate) kind: i32,
    pub(crate) streamer_type: i32,
    pub(crate) split_level: i32,
}
