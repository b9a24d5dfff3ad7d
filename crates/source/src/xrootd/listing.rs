//! Directories, on all servers that hold a part of them.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{begin, end, seconds};
use super::contact::library_for;
use super::status::{Status, advise};
use crate::ListingEntry;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::ffi::CString;

/// The entries of the directory at a URL, by name.
pub(crate) async fn list(url: &str, deadline: Deadline) -> Result<Vec<ListingEntry>> {
    let named = |error: Error| advise(error, url);
    let library = library_for(url, deadline).await.map_err(named)?;
    let place = CString::new(url).map_err(|_| Error::usage("the URL holds a zero byte"))?;
    let listing = tokio::task::spawn_blocking(move || {
        begin((), |done, context| {
            // SAFETY: the URL is a C string.
            unsafe { (library.list)(place.as_ptr(), seconds(deadline), done, context) };
        })
    });
    let listing = async {
        match listing.await {
            Ok(receiver) => end(receiver).await,
            Err(_) => Err(Status::unanswered()),
        }
    };
    match tokio::time::timeout_at(deadline.instant().into(), listing).await {
        Ok(Ok(answer)) => Ok(entries(&answer.text)),
        Ok(Err(status)) => Err(named(status.error())),
        Err(_) => {
            Err(named(Error::new(ErrorKind::Timeout, "the deadline passed before the directory was listed")))
        }
    }
}

/// The entries in an answer with a line for each. Several servers may have an entry each.
fn entries(lines: &str) -> Vec<ListingEntry> {
    let by_name: BTreeMap<&str, bool> = lines
        .lines()
        .map(|line| line.strip_suffix('/').map_or((line, false), |directory| (directory, true)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let entry = |(name, is_directory): (&str, bool)| ListingEntry { name: name.to_owned(), is_directory };
    by_name.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_named_once() {
        let entry = |name: &str, is_directory| ListingEntry { name: name.to_owned(), is_directory };
        assert_eq!(entries("b.root\na/\nb.root\n\n"), [entry("a", true), entry("b.root", false)]);
    }
}
