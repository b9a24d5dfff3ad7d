//! Keys of the objects of a dataset, below its URL.

use crate::Id;

/// What a dataset says of itself; written once.
pub const FORMAT: &str = "fmt";
/// Where the newest version was when somebody last looked; may be old, or missing.
pub const HINT: &str = "hint";
/// What the keys of stripes begin with.
pub const DATA: &str = "d/";
/// What the keys of stripe lists begin with.
pub const LISTS: &str = "list/";
/// What the keys of snapshots begin with.
pub const SNAPSHOTS: &str = "snap/";
/// What the keys of entries of the log begin with.
pub const LOG: &str = "log/";
/// What the keys of tags begin with.
pub const TAGS: &str = "ref/tag/";
/// What the keys of tags that were removed begin with.
pub const GONE: &str = "ref/gone/";
/// What the keys of marks of jobs begin with.
pub const JOBS: &str = "job/";
/// What the keys of leases begin with.
pub const LEASES: &str = "lease/";

/// The key of a stripe, a group of them, an index of events or an auxiliary file. Two letters of the name stand before
/// it, so that stores which divide keys by how they begin have many places for them.
pub fn data(id: Id) -> String {
    let name = id.to_string();
    let (_, last) = name.split_at(name.len().saturating_sub(2));
    format!("{DATA}{last}/{name}")
}

/// The key of stripe lists.
pub fn list(id: Id) -> String {
    format!("{LISTS}{id}")
}

/// The key of a snapshot.
pub fn snapshot(id: Id) -> String {
    format!("{SNAPSHOTS}{id}")
}

/// The key of an entry of the log.
pub fn log(n: u64) -> String {
    format!("{LOG}{n:020}")
}

/// The key of a tag.
pub fn tag(name: &str) -> String {
    format!("{TAGS}{name}")
}

/// The key of what says that a tag was removed.
pub fn gone(name: &str) -> String {
    format!("{GONE}{name}")
}

/// The key of a lease.
pub fn lease(id: Id) -> String {
    format!("{LEASES}{id}")
}

/// The key of what says that a job began to commit; of its name, only the checksum is in it.
pub fn job(name: &str) -> String {
    format!("{JOBS}{:016x}", crate::checksum(name.as_bytes()))
}

/// The name in a key, which is its last part.
pub(crate) fn id_in(key: &str) -> Option<Id> {
    key.rsplit('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_begin_with_their_kind_and_end_with_the_name() {
        let id = Id::random();
        for (key, kind) in
            [(data(id), DATA), (list(id), LISTS), (snapshot(id), SNAPSHOTS), (lease(id), LEASES)]
        {
            assert!(key.starts_with(kind) && id_in(&key) == Some(id), "{key}");
        }
        assert_eq!(log(12), "log/00000000000000000012");
        assert_eq!(data(id).len(), 2 + 3 + 20);
        assert_eq!(id_in("d/xx/else"), None);
    }
}
