//! A temporary directory for one test, and options that look for credentials only there.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "tests fail loudly")]

use sapwood_core::Deadline;
use sapwood_credentials::Environment;
use sapwood_source::SourceOptions;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A temporary directory. Dropping this removes it.
#[derive(Debug)]
pub struct TestDirectory(pub PathBuf);

impl TestDirectory {
    /// An empty directory.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sapwood-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TestDirectory(path)
    }

    /// Writes a file, and returns its path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Options that look for credentials in these variables and this directory only.
    pub fn options(&self, variables: &[(&str, &str)]) -> SourceOptions {
        let no_metadata = [("AWS_EC2_METADATA_DISABLED", "true")];
        let variables = variables.iter().chain(&no_metadata);
        let variables: HashMap<_, _> =
            variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        SourceOptions {
            environment: Environment::new(variables, self.0.clone()),
            deadline: Deadline::after(Duration::from_secs(30)),
            tail_size: 10_000,
            ..SourceOptions::default()
        }
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
