//! Which version of a dataset: a number, a tag, or a moment.

use crate::Id;
use sapwood_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Most characters of a tag.
const LONGEST: usize = 100;

/// Which version of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Version {
    /// The newest version.
    #[default]
    Latest,
    /// The version with this number.
    Number(u64),
    /// The version with this tag.
    Tag(String),
    /// The newest version at a moment: milliseconds since 1970.
    Time(u64),
}

impl FromStr for Version {
    type Err = Error;

    /// `v12`, `latest`, or the name of a tag.
    fn from_str(text: &str) -> Result<Version> {
        let number = text.strip_prefix('v').and_then(|digits| digits.parse().ok());
        match (text, number) {
            (_, Some(number)) => Ok(Version::Number(number)),
            ("latest", _) => Ok(Version::Latest),
            _ => check_tag(text).map(|()| Version::Tag(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Latest => f.write_str("latest"),
            Version::Number(number) => write!(f, "v{number}"),
            Version::Tag(name) => f.write_str(name),
            Version::Time(time) => write!(f, "the version of {time} ms"),
        }
    }
}

/// A name of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// Number of the version.
    pub version: u64,
    /// By which its writer recognizes it.
    pub commit: Id,
}

/// Checks the name of a tag.
pub(super) fn check_tag(name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._=+-".contains(&byte));
    let number = name.strip_prefix('v').is_some_and(|digits| digits.parse::<u64>().is_ok());
    let legal = plain && !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.');
    match legal && !number && name != "latest" {
        true => Ok(()),
        false => Err(Error::usage(format!("'{}' cannot be the name of a tag", name.escape_debug()))
            .hint("use letters, digits and ._=+-; names like v12 mean version 12")),
    }
}
