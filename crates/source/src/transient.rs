//! Which failures may pass, and so are worth a retry.

#[cfg(unix)]
use crate::xrootd::codes::{client, server};
use sapwood_core::ErrorKind;

/// True for an HTTP status that may be another one soon.
pub fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// True for a failure of XrdCl that may not happen again once the file is opened again; `number` is the server's code.
#[cfg(unix)]
pub(crate) fn xrootd_code(code: u16, number: u32) -> bool {
    match code {
        client::INVALID_ADDRESS | client::TLS => false,
        // Of the socket; or the file lost its connection before.
        102..=client::INVALID_SESSION | client::INTERRUPTED | client::INVALID_OPERATION => true,
        client::ERROR_RESPONSE => number == server::OVERLOADED,
        _ => false,
    }
}

/// True for errors of a kind that may pass, where nothing more is known than the kind.
pub fn is_transient(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Server)
}

/// True if a job that failed with an error of this kind may succeed when it is run again later, by somebody who looked
/// after files, permissions and disks.
pub fn may_succeed_later(kind: ErrorKind) -> bool {
    is_transient(kind)
        || matches!(kind, ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Io | ErrorKind::Cancelled)
}
