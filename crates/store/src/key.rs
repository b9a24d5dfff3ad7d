//! Which keys are legal: those that mean the same in every store, and stay below it.

use sapwood_core::{Error, Result};

/// Longest key in bytes: stores take 1024, some of which the prefix in the bucket needs.
const LONGEST: usize = 700;

/// Checks that a key is legal.
///
/// # Errors
/// `Usage` if it is not.
pub fn check(key: &str) -> Result<()> {
    let legal = |part: &str| !part.is_empty() && !part.starts_with('.');
    match is_plain(key) && key.split('/').all(legal) {
        true => Ok(()),
        false => Err(Error::usage(format!("'{}' is not a legal key", key.escape_debug()))
            .hint("a key consists of parts of letters, digits and ._=+@-, separated by /; no part begins with a dot")),
    }
}

/// Checks that a legal key can have this prefix.
///
/// # Errors
/// `Usage` if it cannot.
pub fn check_prefix(prefix: &str) -> Result<()> {
    let whole = prefix.strip_suffix('/').unwrap_or(prefix);
    if whole.is_empty() && prefix.is_empty() { Ok(()) } else { check(whole) }
}

fn is_plain(key: &str) -> bool {
    key.len() <= LONGEST && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._=+@-/".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_below_their_store() {
        for key in ["a", "log/00000000000000000001", "ref/tag/v1.2", "d/ab/x=1+2@3-4_5"] {
            assert!(check(key).is_ok(), "{key}");
        }
        for key in ["", "/a", "a/", "a//b", "..", "a/../b", ".a", "a/.b", "a b", "a\\b", "a:b", "é", "a\0"] {
            assert!(check(key).is_err(), "{key}");
        }
        assert!(check(&"a".repeat(701)).is_err());
        for (prefix, legal) in [("", true), ("log/", true), ("log/00", true), ("/", false), ("../", false)] {
            assert_eq!(check_prefix(prefix).is_ok(), legal, "{prefix}");
        }
    }
}
