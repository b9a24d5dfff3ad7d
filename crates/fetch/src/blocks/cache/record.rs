//! Which version of a file was seen last, and when.

use super::names::hashed;
use sapwood_source::Identity;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the record in the folder of a file.
pub(super) const FILE: &str = "latest";
/// The names of records that are being written begin with this.
const UNFINISHED: &str = ".latest";

/// What the server last said about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Latest {
    /// The version at that time.
    pub(crate) identity: Identity,
    /// Seconds since 1970 when the server was asked.
    pub(super) asked: u64,
}

impl Latest {
    /// The time since the server was asked; the maximum if that is in the future.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_secs(now().checked_sub(self.asked).unwrap_or(u64::MAX))
    }

    /// Reads the record in the folder of a file; `None` if it is missing or damaged.
    pub(super) fn read(folder: &Path) -> Option<Latest> {
        let text = fs::read_to_string(folder.join(FILE)).ok()?;
        let (sum, text) = text.split_once('\n')?;
        let record: Value = serde_json::from_str(text).ok().filter(|_| sum == hashed(text))?;
        let identity = Identity {
            url: record.get("url")?.as_str()?.to_owned(),
            size: record.get("size")?.as_u64()?,
            version: Some(record.get("version")?.as_str()?.to_owned()),
        };
        Some(Latest { identity, asked: record.get("asked")?.as_u64()? })
    }
}

/// Records what the server said just now.
pub(super) fn write(folder: &Path, identity: &Identity) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let Identity { url, size, version } = identity;
    let text = json!({"url": url, "size": size, "version": version, "asked": now()}).to_string();
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    io::Write::write_all(&mut file, format!("{}\n{text}", hashed(&text)).as_bytes())?;
    file.persist(folder.join(FILE)).map(drop).map_err(|error| error.error)
}

/// Removes records whose writer was killed.
pub(super) fn forget_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the record of the version that was seen last.
pub(super) fn forget(folder: &Path) {
    let _ = fs::remove_file(folder.join(FILE));
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_records_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let identity = Identity { url: "http://h/f".into(), size: 1234, version: Some("v".into()) };
        assert_eq!(Latest::read(folder), None);
        write(folder, &identity).unwrap();
        let latest = Latest::read(folder).unwrap();
        assert_eq!(latest.identity, identity);
        assert!(latest.age() < Duration::from_secs(60));
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("1234", "1235")).unwrap();
        assert_eq!(Latest::read(folder), None);
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        assert_eq!(Latest::read(folder), None);
        forget(folder);
        assert!(!path.exists());
    }

    #[test]
    fn records_from_the_future_are_not_recent() {
        let identity = Identity { url: String::new(), size: 0, version: None };
        assert_eq!(Latest { identity, asked: now() + 1000 }.age(), Duration::from_secs(u64::MAX));
    }
}
