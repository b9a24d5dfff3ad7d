//! The bytes of a dataset as those of one file: ranges of it are parts of objects, checked before they are handed out.

use super::objects::{END, Held, Objects, Piece};
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::{BoxFuture, Checksum, Identity, Physics, Source, Store, server_of};
use sapwood_stripe::keys;
use std::sync::Arc;
use std::time::Duration;

/// What is merged is mostly one stripe. A directory is asked in the same way: a file that is opened costs more than a gap.
const STRIPES: Physics = Physics {
    gap: 64 << 10,
    largest_request: 64 << 20,
    ranges_per_request: 1,
    concurrency: 8,
    immediate: false,
    tied: false,
};

/// The objects of a dataset, one behind the other.
#[derive(Debug)]
pub struct StripeSource {
    identity: Identity,
    /// By the number of the base.
    stores: Vec<Arc<dyn Store>>,
    objects: Arc<Objects>,
}

impl StripeSource {
    /// The objects of the dataset at `url`, of that version.
    pub(super) fn new(
        url: String,
        version: String,
        stores: Vec<Arc<dyn Store>>,
        objects: Arc<Objects>,
    ) -> StripeSource {
        StripeSource { identity: Identity { url, size: END, version: Some(version) }, stores, objects }
    }

    async fn read(&self, range: ByteRange, deadline: Deadline) -> Result<Bytes> {
        if range.len == 0 {
            return Ok(Bytes::new());
        }
        let piece = self.objects.find(range)?;
        let mut bytes = self.get(&piece, deadline).await?;
        if let Err(error) = piece.verify(&bytes) {
            log::warn!("{}: {error}; it is read again", self.identity.url);
            bytes = self.get(&piece, deadline).await?;
            piece.verify(&bytes).map_err(|error| self.located(&piece, error))?;
        }
        Ok(piece.cut(&bytes))
    }

    fn store(&self, base: u32) -> Option<&Arc<dyn Store>> {
        self.stores.get(usize::try_from(base).ok()?)
    }

    /// Says of an error which object it is about.
    fn located(&self, piece: &Piece, error: Error) -> Error {
        let Held::There(name) = &piece.held else { return error };
        match self.store(name.base) {
            Some(store) => error.url(format!("{}/{}", store.url(), keys::data(name.id))),
            None => error,
        }
    }

    async fn get(&self, piece: &Piece, deadline: Deadline) -> Result<Bytes> {
        let name = match &piece.held {
            Held::Here(bytes) => return Ok(piece.of_all(bytes)),
            Held::There(name) => name,
        };
        let store = self.store(name.base).ok_or_else(|| {
            Error::unsupported(format!(
                "objects of the dataset lie at its base {}, which is not known",
                name.base
            ))
        })?;
        let key = keys::data(name.id);
        let (got, len) = match piece.whole {
            Some(size) => (store.get_whole(&key, size, deadline).await, size),
            None => (store.get(&key, Some(piece.range), deadline).await, piece.range.len),
        };
        let got = got.map_err(|error| piece.explain(error))?;
        if got.len() as u64 != len {
            let message = format!("{} bytes came of {len}", got.len());
            return Err(piece.explain(Error::new(ErrorKind::Truncated, message).url(store.url())));
        }
        Ok(if piece.whole.is_some() { piece.of_all(&got) } else { got })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for StripeSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn physics(&self) -> Physics {
        let concurrency = self.stores.iter().map(|store| store.concurrency()).max().unwrap_or(1);
        Physics { concurrency, ..STRIPES }
    }

    fn server(&self) -> Option<String> {
        server_of(&self.identity.url)
    }

    fn round_trip(&self) -> Option<Duration> {
        self.stores.iter().filter_map(|store| store.round_trip()).max()
    }

    fn checksums(&self, _: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(try_join_all(ranges.iter().map(move |range| self.read(*range, deadline))))
    }
}
