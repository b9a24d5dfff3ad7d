//! The list of a file's keys: there when the file is open, or on its way meanwhile.

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use sapwood_core::{Call, ErrorKind, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_table::pool;
use sapwood_tfile::{FileHeader, TFile};
use std::sync::{Arc, OnceLock};

/// The keys of a file, and the parts of the file that are known with them.
pub(crate) type Found = Arc<(TFile, Segments)>;

/// The keys of a file that is open.
///
/// Where they do not come with opening, but a tree does, nobody waits for them until they are needed: the baskets of that
/// tree can be asked for at the same time, which spares a round trip.
#[derive(Debug)]
pub(crate) struct Keys {
    found: OnceLock<Found>,
    /// None comes if they could not be fetched: whoever needs them asks again, and is told why.
    pending: Option<Shared<BoxFuture<'static, Option<Found>>>>,
    /// What came with opening.
    known: Segments,
    size: u64,
}

impl Keys {
    /// The keys of a file of `size` bytes of which something is `known`, and its header.
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

    /// True if nobody has to wait for them.
    pub(crate) fn are_known(&self) -> bool {
        self.found.get().is_some()
    }

    /// The keys, as soon as they are there.
    pub(crate) fn get(&self, fetcher: &Fetcher, call: &mut Call<'_>) -> Result<Found> {
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

/// The header of a file whose keys are not known, but a tree of it is.
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
