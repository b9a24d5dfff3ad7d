//! Where credentials are searched.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variables, the user and the directories that are searched for credentials.
///
/// The default is the environment of the process. A service that reads for several users gives each of them its own.
#[derive(Clone)]
pub struct Environment {
    variables: Option<Arc<HashMap<String, String>>>,
    temporary: PathBuf,
}

impl Default for Environment {
    fn default() -> Self {
        Environment { variables: None, temporary: PathBuf::from("/tmp") }
    }
}

impl Environment {
    /// An environment with these variables, and with the directory `temporary` in place of `/tmp`.
    pub fn new(variables: HashMap<String, String>, temporary: PathBuf) -> Self {
        Environment { variables: Some(Arc::new(variables)), temporary }
    }

    /// The value of a variable, if it has one that is not blank.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.variables {
            Some(variables) => variables.get(name).cloned(),
            None => std::env::var(name).ok(),
        };
        value.filter(|value| !value.trim().is_empty())
    }

    /// The first of several variables that has a value, and its name.
    pub fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|&name| Some((name, self.get(name)?)))
    }

    /// True if a variable is set to a true value.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| matches!(value.trim().to_ascii_lowercase().as_str(), "true" | "1" | "yes"))
    }

    /// All variables whose names begin with `prefix`.
    pub fn with_prefix(&self, prefix: &str) -> Vec<(String, String)> {
        let all: Vec<(String, String)> = match &self.variables {
            Some(variables) => variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            None => std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        };
        all.into_iter().filter(|(name, _)| name.starts_with(prefix)).collect()
    }

    /// The home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// A file in the directory for temporary files.
    pub fn temporary(&self, name: &str) -> PathBuf {
        self.temporary.join(name)
    }

    /// The effective user, whose files are searched.
    pub fn user() -> u32 {
        #[cfg(unix)]
        {
            rustix::process::geteuid().as_raw()
        }
        #[cfg(not(unix))]
        {
            0
        }
    }

    /// Why a file in a directory that everybody may write to is not trusted; `None` if it is.
    pub fn distrust(path: &Path) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let owner = std::fs::symlink_metadata(path).ok()?.uid();
            (owner != Self::user()).then(|| format!("it belongs to another user ({owner})"))
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            None
        }
    }
}

impl fmt::Debug for Environment {
    /// Variables may hold secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("temporary", &self.temporary).finish_non_exhaustive()
    }
}
