//! What the process remembers about each server: the limits of its vector reads, and its site.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{begin, end, seconds};
use super::library::Library;
use sapwood_core::Deadline;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

static LIMITS: Mutex<Option<HashMap<String, Limits>>> = Mutex::new(None);

static SITES: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// Names of the settings to ask a server for.
const SETTINGS: &str = "readv_iov_max readv_ior_max sitename";

/// The name of a server's site, if it was asked before and has one.
pub(crate) fn site(server: &str) -> Option<String> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(server).cloned()
}

/// The name of the site in an answer: its third line. A server without one repeats the question.
fn site_in(text: &str) -> Option<&str> {
    text.lines().nth(2).map(str::trim).filter(|site| !site.is_empty() && *site != "sitename")
}

/// The limits of one vector read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Number of chunks.
    pub(super) chunks: usize,
    /// Bytes in one chunk.
    pub(super) chunk_bytes: u64,
}

impl Default for Limits {
    /// Those of XRootD's own server in its default configuration.
    fn default() -> Self {
        Limits { chunks: 1024, chunk_bytes: 2_097_136 }
    }
}

impl Limits {
    /// The limits of a server, if it was asked before.
    pub(super) fn known(server: &str) -> Option<Limits> {
        LIMITS.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(server).copied()
    }

    /// Asks a server for its limits, and remembers them. A server that does not answer gets the default ones.
    ///
    /// `url` is that of a file on it, so that the connection of that file is used.
    pub(super) async fn ask(
        library: &'static Library,
        server: &str,
        url: String,
        deadline: Deadline,
    ) -> Limits {
        let (Ok(url), Ok(settings)) = (CString::new(url), CString::new(SETTINGS)) else {
            return Limits::default();
        };
        let answer = end(begin((), |done, context| {
            let time = seconds(deadline);
            // SAFETY: both are C strings.
            unsafe { (library.query_config)(url.as_ptr(), settings.as_ptr(), time, done, context) };
        }));
        let Ok(answer) = answer.await else { return Limits::default() };
        let limits = Limits::parse(&answer.text);
        let mut known = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().insert(server.to_owned(), limits);
        if let Some(site) = site_in(&answer.text) {
            let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
            sites.get_or_insert_default().insert(server.to_owned(), site.to_owned());
        }
        limits
    }

    /// The limits in an answer with a line for each setting. A server repeats the names of settings that it does not
    /// have.
    fn parse(text: &str) -> Limits {
        let usual = Limits::default();
        let mut lines = text.lines().map(|line| line.trim().parse::<u64>().ok().filter(|&n| n > 0));
        let chunks = lines.next().flatten().and_then(|n| usize::try_from(n).ok());
        let chunk_bytes = lines.next().flatten();
        Limits {
            chunks: chunks.map_or(usual.chunks, |chunks| chunks.min(1 << 16)),
            // Lengths of chunks have 31 bits.
            chunk_bytes: chunk_bytes.map_or(usual.chunk_bytes, |bytes| bytes.min(1 << 30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_servers() {
        assert_eq!(Limits::parse("512\n1000000\n"), Limits { chunks: 512, chunk_bytes: 1_000_000 });
        assert_eq!(Limits::parse("1024\n2097136"), Limits::default());
        assert_eq!(Limits::parse("readv_iov_max\nreadv_ior_max\n"), Limits::default());
        assert_eq!(Limits::parse("0\n-1\n"), Limits::default());
        assert_eq!(Limits::parse(""), Limits::default());
        assert_eq!(site_in("1024\n2097136\nT2_CH_CERN\n"), Some("T2_CH_CERN"));
        assert_eq!(site_in("1024\n2097136\nsitename\n").or(site_in("1024\n")).or(site_in("1\n2\n\n")), None);
    }
}
