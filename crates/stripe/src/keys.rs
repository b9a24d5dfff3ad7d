//! Keys of the objects of a dataset, below its URL.

use crate::Id;

/// The description of a dataset, written once.
pub const FORMAT: &str = "fmt";
/// The newest version when it was last recorded; may be outdated, or missing.
pub const HINT: &str = "hint";
/// Prefix of the keys of stripes.
pub const DATA: &str = "d/";
/// Prefix of the keys of stripe lists.
pub const LISTS: &str = "list/";
/// Prefix of the keys of snapshots.
pub const SNAPSHOTS: &str = "snap/";
/// Prefix of the keys of log entries.
pub const LOG: &str = "log/";
/// Prefix of the keys of tags.
pub const TAGS: &str = "ref/tag/";
/// Prefix of the keys of removed tags.
pub const GONE: &str = "ref/gone/";
/// Prefix of the keys of marks of jobs.
pub const JOBS: &str = "job/";
/// Prefix of the keys of leases.
pub const LEASES: &str = "lease/";

/// The key of a stripe, a group of stripes, an index of events or an auxiliary file. It begins with two
/// letters of the name, so that stores which partition keys by prefix can spread them.
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

/// The key of a log entry.
pub fn log(n: u64) -> String {
    format!("{LOG}{n:020}")
}

/// The key of a tag.
pub fn tag(name: &str) -> String {
    format!("{TAGS}{name}")
}

/// The key that marks a tag as removed.
pub fn gone(name: &str) -> String {
    format!("{GONE}{name}")
}

/// The key of a lease.
pub fn lease(id: Id) -> String {
    format!("{LEASES}{id}")
}

/// The key that marks the begin of a job's commit; it contains only the checksum of the job's name.
pub fn job(name: &str) -> String {
    format!("{JOBS}{:016x}", crate::checksum(name.as_bytes()))
}

/// The name in a key: its last part.
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
