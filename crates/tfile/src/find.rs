//! Finds keys: by path, or all of them in all directories.

use crate::{Directory, Key, TFile};
use sapwood_core::{Error, ErrorKind, ParseStep, Result, Segments};

/// Directories nested deeper than this come from a damaged file.
pub(crate) const MAX_DEPTH: usize = 100;
/// Longer paths come from a damaged file; this bounds the memory of a listing.
pub(crate) const MAX_PATH: usize = 4096;

/// A key and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// Names from the root directory down, joined with `/`, without cycle.
    pub path: String,
    /// The key.
    pub key: Key,
}

impl TFile {
    /// The key at a path: `name`, `dir/name`, `dir/name;2`. Without a cycle, the highest is taken; every part
    /// may have one. Names may contain slashes.
    ///
    /// # Errors
    /// `Missing` if there is none: the message lists the contents of its directory. `Truncated` or `Corrupt`
    /// if a directory on the way is damaged.
    pub fn find(&self, known: &Segments, path: &str) -> Result<ParseStep<Key>> {
        let mut reader = self.reader(known);
        let mut reached: Option<Directory> = None;
        let mut rest = path.trim_matches('/');
        let mut depth = 0;
        loop {
            let directory = reached.as_ref().unwrap_or(&self.root);
            if let Some(key) = lookup(directory, rest) {
                return Ok(ParseStep::Done(key.clone()));
            }
            let below = rest.match_indices('/').find_map(|(slash, _)| {
                let key = lookup(directory, &rest[..slash]).filter(|key| key.is_directory())?;
                Some((key.clone(), rest[slash..].trim_start_matches('/')))
            });
            let Some((key, remainder)) = below else { return Err(missing(path, rest, directory)) };
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(too_deep(&key));
            }
            match Directory::read(&mut reader, key.offset, key.key_len)? {
                Some(directory) => reached = Some(directory),
                None => return Ok(reader.finish(None)),
            }
            rest = remainder;
        }
    }

    /// All keys of the file, in the order of the file, each directory before its contents.
    ///
    /// The directories of one level are requested together.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if a directory is damaged, or contains itself.
    pub fn list(&self, known: &Segments) -> Result<ParseStep<Vec<KeyEntry>>> {
        Ok(match self.list_partial(known)? {
            ParseStep::Need(ranges) => ParseStep::Need(ranges),
            ParseStep::Done(listing) => match listing.broken.into_iter().next() {
                Some((_, error)) => return Err(error),
                None => ParseStep::Done(listing.entries),
            },
        })
    }
}

/// The key for one part of a path, with or without a cycle.
fn lookup<'a>(directory: &'a Directory, part: &str) -> Option<&'a Key> {
    let with_cycle = part.rsplit_once(';').and_then(|(name, cycle)| match cycle {
        "*" => directory.key(name, None),
        _ => directory.key(name, Some(cycle.parse().ok()?)),
    });
    with_cycle.or_else(|| directory.key(part, None))
}

fn missing(path: &str, rest: &str, directory: &Directory) -> Error {
    const SHOWN: usize = 8;
    let mut names: Vec<&str> = directory.keys.iter().map(|key| key.name.as_str()).collect();
    names.dedup();
    let shown = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let holds = match names.len() {
        0 => "is empty".to_owned(),
        n if n <= SHOWN => format!("holds {shown}"),
        n => format!("holds {shown} and {} more", n - SHOWN),
    };
    let message = if rest == path.trim_matches('/') {
        format!("there is no '{path}': the file {holds}")
    } else {
        format!("there is no '{path}': the directory that should hold '{rest}' {holds}")
    };
    Error::new(ErrorKind::Missing, message)
}

pub(crate) fn too_deep(key: &Key) -> Error {
    let message =
        format!("directories are nested deeper than {MAX_DEPTH}, or paths longer than {MAX_PATH} bytes");
    Error::corrupt(message).at(key.offset)
}
