//! The entries of directories on servers.

/// A file or directory in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry {
    /// Its name, without the directory.
    pub name: String,
    /// True if it is a directory.
    pub is_directory: bool,
}
