//! Stores in memory and in directories keep the contract, also when the directory is changed.

use sapwood_core::{Deadline, ErrorKind};
use sapwood_source::SourceOptions;
use sapwood_store::{CreateOutcome, LocalStore, Store, open_store};
use sapwood_testkit::{MemoryStore, TestDirectory, sample, store_conformance};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A store in a directory.
fn store_in(directory: &TestDirectory) -> LocalStore {
    LocalStore::new(&directory.0, &SourceOptions::default())
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    store_conformance(Arc::new(MemoryStore::new("memory:a")), 20).await;
}

#[tokio::test]
async fn a_directory_keeps_the_contract() {
    let directory = TestDirectory::new();
    let place = directory.0.join("made/when/needed");
    store_conformance(open_store(place.to_str().unwrap(), &SourceOptions::default()).unwrap(), 20).await;
    let url = format!("file://{}", place.display());
    store_conformance(open_store(&url, &SourceOptions::default()).unwrap(), 1).await;
    assert_eq!(fs::read_dir(place.join(".part")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_directory_needs_no_runtime() {
    let directory = TestDirectory::new();
    let store = store_in(&directory);
    let work = async {
        store.put("a/b", sample(10), soon()).await?;
        store.get("a/b", None, soon()).await
    };
    assert_eq!(futures::executor::block_on(work).unwrap(), sample(10));
}

#[tokio::test]
async fn reads_are_counted() {
    let directory = TestDirectory::new();
    let options = SourceOptions::default();
    let store = LocalStore::new(&directory.0, &options);
    store.put("a", sample(10), soon()).await.unwrap();
    store.get("a", None, soon()).await.unwrap();
    let counts = options.counters.snapshot();
    assert_eq!((counts.requests, counts.ranges, counts.fetched_bytes, counts.round_trips), (1, 1, 10, 0));
}

#[tokio::test]
async fn foreign_files_are_not_listed() {
    let directory = TestDirectory::new();
    for (name, content) in [(".hidden", "x"), ("with space", "x"), (".part/0", "x"), ("d/.x/y", "x")] {
        let path = directory.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let store = store_in(&directory);
    store.put("d/e", sample(1), soon()).await.unwrap();
    let listed = store.list("", soon()).await.unwrap();
    assert_eq!(listed.iter().map(|stored| stored.key.as_str()).collect::<Vec<_>>(), ["d/e"]);
    assert_eq!(store.get("d", None, soon()).await.unwrap_err().kind(), ErrorKind::NotFound, "a directory");
    assert_eq!(
        store.get("d/e/f", None, soon()).await.unwrap_err().kind(),
        ErrorKind::NotFound,
        "below a file"
    );
}

#[tokio::test]
async fn old_temporary_files_are_removed() {
    let directory = TestDirectory::new();
    let parts = directory.0.join(".part");
    fs::create_dir_all(&parts).unwrap();
    for (name, days) in [("old", 30), ("new", 0)] {
        let file = fs::File::create(parts.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 3600)).unwrap();
    }
    store_in(&directory).put("a", sample(1), soon()).await.unwrap();
    assert!(!parts.join("old").exists() && parts.join("new").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_directory_is_named_in_the_error() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TestDirectory::new();
    fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(directory.0.join("root may"), "").is_ok() {
        return;
    }
    let store = store_in(&directory);
    let put = store.put("a", sample(1), soon()).await.unwrap_err();
    let create = store.create("a", sample(1), soon()).await.unwrap_err();
    fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o755)).unwrap();
    for error in [put, create] {
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.to_string().contains(directory.0.to_str().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn a_place_that_is_no_directory_is_reported() {
    let directory = TestDirectory::new();
    fs::write(directory.0.join("file"), "x").unwrap();
    let store = LocalStore::new(directory.0.join("file"), &SourceOptions::default());
    assert_eq!(store.get("a", None, soon()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.put("a", sample(1), soon()).await.unwrap_err().kind(), ErrorKind::Io);
    assert!(store.create("a", sample(1), soon()).await.is_err());
}

/// Writes beyond a limit on the size of files: an object that cannot be written does not exist afterwards, and existing
/// ones stay.
#[cfg(target_os = "linux")]
#[test]
fn an_object_that_cannot_be_written_does_not_exist() {
    // The limit applies to a process, so the test runs in a separate one.
    let exe = std::env::current_exe().unwrap();
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg("ulimit -f 8; trap '' XFSZ; exec \"$0\" --ignored --exact local::limited --nocapture")
        .arg(exe)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    assert!(String::from_utf8_lossy(&status.stdout).contains("1 passed"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "runs in a process with a limit"]
async fn limited() {
    let directory = TestDirectory::new();
    let store = store_in(&directory);
    store.put("a", sample(100), soon()).await.unwrap();
    for error in [
        store.put("a", sample(1 << 20), soon()).await.unwrap_err(),
        store.create("b", sample(1 << 20), soon()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("longer than"), "{error}");
    }
    assert_eq!(store.get("a", None, soon()).await.unwrap(), sample(100));
    assert_eq!(store.get("b", None, soon()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read_dir(directory.0.join(".part")).unwrap().count(), 0);
    assert!(matches!(store.create("b", sample(10), soon()).await.unwrap(), CreateOutcome::Done));
}
