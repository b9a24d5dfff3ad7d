//! The bytes of a dataset as those of one file: its ranges are parts of objects, whose checksums are verified.

use super::addresses::{AddressSpace, END, ObjectBytes, ObjectRead};
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, server_of};
use sapwood_source::{Checksum, CostModel, Identity, Source};
use sapwood_store::Store;
use sapwood_stripe::keys;
use std::sync::Arc;
use std::time::Duration;

/// Merged requests are usually for one stripe. The same holds for a directory: opening a file costs more than a gap.
const STRIPES: CostModel = CostModel {
    gap: 64 << 10,
    largest_request: 64 << 20,
    ranges_per_request: 1,
    concurrency: 8,
    immediate: false,
    tied: false,
    deals_out: false,
};

/// The objects of a dataset, one after the other.
#[derive(Debug)]
pub struct StripeSource {
    identity: Identity,
    /// By number of the base.
    stores: Vec<Arc<dyn Store>>,
    addresses: Arc<AddressSpace>,
}

impl StripeSource {
    /// The objects of the dataset at `url`, at a version.
    pub(super) fn new(
        url: String,
        version: String,
        stores: Vec<Arc<dyn Store>>,
        addresses: Arc<AddressSpace>,
    ) -> StripeSource {
        StripeSource { identity: Identity { url, size: END, version: Some(version) }, stores, addresses }
    }

    async fn read(&self, range: ByteRange, deadline: Deadline) -> Result<Bytes> {
        if range.len == 0 {
            return Ok(Bytes::new());
        }
        let read = self.addresses.find(range)?;
        let mut bytes = self.get(&read, deadline).await?;
        if let Err(error) = read.verify(&bytes) {
            log::warn!("{}: {error}; it is read again", self.identity.url);
            bytes = self.get(&read, deadline).await?;
            read.verify(&bytes).map_err(|error| self.locate(&read, error))?;
        }
        Ok(read.cut(&bytes))
    }

    fn store(&self, base: u32) -> Option<&Arc<dyn Store>> {
        self.stores.get(usize::try_from(base).ok()?)
    }

    /// Adds to an error which object it is about.
    fn locate(&self, read: &ObjectRead, error: Error) -> Error {
        let ObjectBytes::Stored(name) = &read.bytes else { return error };
        match self.store(name.base) {
            Some(store) => error.url(format!("{}/{}", store.url(), keys::data(name.id))),
            None => error,
        }
    }

    async fn get(&self, read: &ObjectRead, deadline: Deadline) -> Result<Bytes> {
        let name = match &read.bytes {
            ObjectBytes::Inline(bytes) => return Ok(read.of_all(bytes)),
            ObjectBytes::Stored(name) => name,
        };
        let store = self.store(name.base).ok_or_else(|| {
            Error::unsupported(format!("the dataset has no base {}, where objects of it lie", name.base))
        })?;
        let key = keys::data(name.id);
        let (got, len) = match read.whole {
            Some(size) => (store.get_whole(&key, size, deadline).await, size),
            None => (store.get(&key, Some(read.range), deadline).await, read.range.len),
        };
        let got = got.map_err(|error| read.explain(error))?;
        if got.len() as u64 != len {
            let message = format!("the store sent {} of {len} bytes", got.len());
            return Err(read.explain(Error::new(ErrorKind::Truncated, message).url(store.url())));
        }
        Ok(if read.whole.is_some() { read.of_all(&got) } else { got })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for StripeSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        let concurrency = self.stores.iter().map(|store| store.concurrency()).max().unwrap_or(1);
        CostModel { concurrency, ..STRIPES }
    }

    fn server(&self) -> Option<String> {
        server_of(&self.identity.url)
    }

    fn round_trip(&self) -> Option<Duration> {
        self.stores.iter().filter_map(|store| store.round_trip()).max()
    }

    fn is_cold(&self, _: &[ByteRange]) -> bool {
        false
    }

    fn announce(&self, _: &[ByteRange]) {}

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
