//! Errors of the operating system on files, as errors of sapwood.

use crate::{Error, ErrorKind};
use std::io;

/// The error for a file that cannot be read. If there is no such file, the message is `missing`.
pub fn cannot_read(error: io::Error, missing: &str) -> Error {
    let (kind, message) = match error.kind() {
        // A directory of the path may be a file.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (ErrorKind::NotFound, missing.to_owned()),
        io::ErrorKind::PermissionDenied => {
            (ErrorKind::Permission, "you are not allowed to read this file".to_owned())
        }
        _ => (ErrorKind::Io, format!("the operating system cannot read the file: {error}")),
    };
    Error::new(kind, message).caused_by(error)
}

/// The error for a file that cannot be written.
pub fn cannot_write(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = "there is no room left on the disk; existing data is unchanged";
            Error::new(ErrorKind::Io, message)
                .hint("free some space, or choose another location for the file")
        }
        io::ErrorKind::FileTooLarge => Error::new(
            ErrorKind::Io,
            "the file is longer than the file system or a limit of the process allows",
        )
        .hint("see 'ulimit -f', or choose another location for the file"),
        _ => Error::new(ErrorKind::Io, format!("the operating system cannot write the file: {error}")),
    }
    .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported() {
        let error = cannot_write(io::Error::from(io::ErrorKind::StorageFull));
        assert!(error.to_string().contains("no room left"), "{error}");
    }
}
