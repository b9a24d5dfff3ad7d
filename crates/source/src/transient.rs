//! Which failures may pass, and so are worth a retry.

#[cfg(unix)]
use crate::xrootd_codes::{client, server};
use sapwood_core::ErrorKind;

/// True for an HTTP status that may be different in the next try.
pub fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// True for a failure of XrdCl that may not occur again once the file is reopened; `number` is the code of the
/// server.
#[cfg(unix)]
pub(crate) fn xrootd_code(code: u16, number: u32) -> bool {
    match code {
        client::INVALID_ADDRESS | client::TLS => false,
        // Failures of the socket, and of files that had lost their connection.
        102..=client::INVALID_SESSION | client::INTERRUPTED | client::INVALID_OPERATION => true,
        client::ERROR_RESPONSE => number == server::OVERLOADED,
        _ => false,
    }
}

/// True for errors of a kind that may pass, if nothing but the kind is known.
pub fn is_transient(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Server)
}

/// True if a job that failed with an error of this kind may succeed later, after somebody has checked files,
/// permissions and disks.
pub fn may_succeed_later(kind: ErrorKind) -> bool {
    is_transient(kind)
        || matches!(kind, ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Io | ErrorKind::Cancelled)
}
