//! The list of a file's keys, which may still be in flight when the file is open.

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use sapwood_core::{Call, ErrorKind, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_table::pool;
use sapwood_tfile::{FileHeader, TFile};
use std::sync::{Arc, OnceLock};

/// The keys of a file, and the parts of the file known so far.
pub(crate) type KeyList = Arc<(TFile, Segments)>;

/// The keys of an open file.
///
/// If the first reads contain a tree but not the keys, the keys are fetched in the background until they are needed: the
/// baskets of that tree can be requested at the same time, which saves a round trip.
#[derive(Debug)]
pub(crate) struct Keys {
    found: OnceLock<KeyList>,
    /// Yields `None` if the keys could not be fetched: the next use fetches them again, and reports the error.
    pending: Option<Shared<BoxFuture<'static, Option<KeyList>>>>,
    /// The parts that were read on opening.
    known: Segments,
    size: u64,
}

impl Keys {
    /// Opens the keys of a file of `size` bytes, of which some are `known`; also returns its header.
    pub(crate) fn open(
        fetcher: &Fetcher,
        known: &mut Segments,
        size: u64,
        call: &mut Call<'_>,
    ) -> Result<(Keys, FileHeader)> {
        let keys =
            |known: &Segments| Keys { found: OnceLock::new(), pending: None, known: known.clone(), size };
        if !fetcher.source().cost_model().immediate
            && let Some(header) = header_beside_a_tree(known, size)?
        {
            let (fetcher, mut more, deadline) = (fetcher.clone(), known.clone(), call.deadline());
            let fetch = pool::runtime()?.spawn(async move {
                let tfile =
                    fetcher.satisfy(&mut more, deadline, |known| TFile::open(known, size)).await.ok()?;
                Some(Arc::new((tfile, more)))
            });
            let pending = fetch.map(|joined| joined.ok().flatten()).boxed().shared();
            return Ok((Keys { pending: Some(pending), ..keys(known) }, header));
        }
        let parse = fetcher.satisfy(known, call.deadline(), |known| TFile::open(known, size));
        let tfile = pool::wait(parse, call)?;
        let header = tfile.header.clone();
        let keys = Keys { found: OnceLock::from(Arc::new((tfile, known.clone()))), ..keys(known) };
        Ok((keys, header))
    }

    /// Whether they have arrived.
    pub(crate) fn are_known(&self) -> bool {
        self.found.get().is_some()
    }

    /// Waits for the keys.
    pub(crate) fn get(&self, fetcher: &Fetcher, call: &mut Call<'_>) -> Result<KeyList> {
        if let Some(found) = self.found.get() {
            return Ok(Arc::clone(found));
        }
        if let Some(pending) = self.pending.clone() {
            match pool::wait(pending.map(Ok), call) {
                Ok(Some(found)) => return Ok(Arc::clone(self.found.get_or_init(|| found))),
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                _ => {}
            }
        }
        let mut known = self.known.clone();
        let parse = fetcher.satisfy(&mut known, call.deadline(), |known| TFile::open(known, self.size));
        let tfile = pool::wait(parse, call)?;
        Ok(Arc::clone(self.found.get_or_init(|| Arc::new((tfile, known)))))
    }
}

/// The header of a file of which a tree is known, but not the keys.
///
/// # Errors
/// Those of [`TFile::open`].
fn header_beside_a_tree(known: &Segments, size: u64) -> Result<Option<FileHeader>> {
    match TFile::open(known, size)? {
        ParseStep::Done(_) => Ok(None),
        ParseStep::Need(_) if TFile::likely_tree(known, size, None).is_none() => Ok(None),
        ParseStep::Need(_) => FileHeader::parse(&known.get_from(0)).map(Some),
    }
}
