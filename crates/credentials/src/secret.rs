//! Text that is never shown.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A password, a key, or a token. `Debug` does not show it.
///
/// ```
/// let secret = sapwood_credentials::Secret::from("hunter2");
/// assert_eq!(format!("{secret:?}"), "…");
/// assert_eq!(secret.reveal(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A hash that tells secrets apart within this process.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Secret(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
