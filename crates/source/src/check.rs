//! The checks that every source does before it reads, with the same messages.

use crate::Identity;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};

/// Fails if the deadline has passed or a range ends beyond the object.
pub(crate) fn request(identity: &Identity, ranges: &[ByteRange], deadline: Deadline) -> Result<()> {
    if deadline.has_passed() {
        return Err(timeout(identity));
    }
    for range in ranges {
        let end = range.start.checked_add(range.len);
        if end.is_none_or(|end| end > identity.size) {
            let message = format!(
                "{} bytes are wanted at {}, but the file ends at {}",
                range.len, range.start, identity.size
            );
            return Err(Error::new(ErrorKind::Truncated, message).at(range.start).url(&identity.url));
        }
    }
    Ok(())
}

/// The error for a deadline that passed.
pub(crate) fn timeout(identity: &Identity) -> Error {
    Error::new(ErrorKind::Timeout, "the deadline passed before the bytes came").url(&identity.url)
}
