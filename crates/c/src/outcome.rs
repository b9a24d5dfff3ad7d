//! How a call ended: a code and a message for the caller, whatever happened.

use sapwood_core::{Error, ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The code of success.
pub(crate) const OK: i32 = 0;
/// The code of a panic.
const DEFECT: i32 = 100;
/// The code of a kind of error that this ABI does not know yet.
const OTHER: i32 = 13;

/// Runs the work of a call. Returns its code and, for a failure, the message.
pub(crate) fn outcome(work: impl FnOnce() -> Result<()>) -> (i32, String) {
    match guarded(work) {
        Some(Ok(())) => (OK, String::new()),
        Some(Err(error)) => (code(error.kind()), error.to_string()),
        None => (DEFECT, "a defect in sapwood ended this call: please report it".to_owned()),
    }
}

/// The result of some work; `None` if it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // What the work shares with later calls is behind locks that ignore poisoning, or atomic.
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// The number of a kind of error in `sapwood.h`.
fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::NotFound => 1,
        ErrorKind::Permission => 2,
        ErrorKind::Usage => 3,
        ErrorKind::NotRoot => 4,
        ErrorKind::Corrupt => 5,
        ErrorKind::Truncated => 6,
        ErrorKind::Checksum => 7,
        ErrorKind::Changed => 8,
        ErrorKind::Unsupported => 9,
        ErrorKind::Missing => 10,
        ErrorKind::Timeout => 11,
        ErrorKind::Network => 12,
        ErrorKind::Server => 13,
        ErrorKind::Io => 14,
        ErrorKind::Limit => 15,
        ErrorKind::Closed => 16,
        ErrorKind::Cancelled => 17,
        ErrorKind::Conflict => 18,
        ErrorKind::CommitUnknown => 19,
        _ => OTHER,
    }
}

/// An error about an argument of the caller.
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error::usage(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_code_of_every_kind() {
        let header = include_str!("../include/sapwood.h");
        for kind in ErrorKind::ALL {
            let name = kind.code().replace('-', "_").to_uppercase();
            let line = format!("  SAPWOOD_{name} = {}", code(kind));
            assert!(header.lines().any(|found| found.starts_with(&line)), "{line}");
        }
        assert!(header.contains(&format!("SAPWOOD_DEFECT = {DEFECT} ")));
    }

    #[test]
    fn a_panic_becomes_a_code() {
        let (code, message) = outcome(|| panic!("on purpose"));
        assert_eq!(code, DEFECT);
        assert!(!message.contains("on purpose"));
    }
}
