//! All baskets of a dataset, batch by batch, as they lie in its stripes: fetched ahead, and checked.

use crate::Interrupt;
use crate::pool::runtime;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_fetch::wait;
use sapwood_source::Store;
use sapwood_stripe::{Dataset, Place, Segment, StripeList, checksum, keys};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Requests that are in flight together.
const TOGETHER: usize = 32;

/// The stripes of all products in a segment.
#[derive(Debug)]
pub(super) struct SegmentStripes {
    stores: Vec<Arc<dyn Store>>,
    /// For each product its name, and where its stripes are.
    lists: Vec<(String, StripeList)>,
    entries: u64,
    batch: u64,
    deadline: Deadline,
}

/// The basket of a branch in a stripe.
#[derive(Debug)]
pub(crate) struct Basket {
    /// Place of the product in the snapshot, and of the branch in the product.
    pub(crate) product: usize,
    pub(crate) branch: usize,
    /// First entry in the segment, and number of entries.
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    pub(crate) record: Bytes,
}

impl SegmentStripes {
    /// Reads the lists of a segment.
    pub(super) fn open(
        dataset: &Dataset,
        segment: &Segment,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<SegmentStripes> {
        let snapshot = dataset.snapshot();
        let bases = u32::try_from(snapshot.bases.len()).unwrap_or(u32::MAX);
        let stores = (0..=bases).map(|base| dataset.base(base)).collect::<Result<Vec<_>>>()?;
        let lists = stream::iter(&snapshot.products).map(|product| {
            let stores = &stores;
            async move {
                let place = segment.lists.get(&product.id).ok_or_else(|| {
                    let message = format!("segment {} has no product '{}'", segment.id, product.name);
                    Error::new(ErrorKind::Missing, message)
                        .hint("drop the product, or add it for all entries")
                })?;
                let key = keys::list(place.id);
                let range = ByteRange::new(place.offset, place.len)?;
                let section = store(stores, place.base)?.get(&key, Some(range), deadline).await?;
                let list = place
                    .verify(&section)
                    .and_then(|()| StripeList::decode(&section, product.branches.len(), segment.entries));
                Ok::<_, Error>((product.name.clone(), list.map_err(|error| error.url(key))?))
            }
        });
        let lists = wait(&runtime()?, lists.buffered(TOGETHER).try_collect(), deadline, interrupt)?;
        let batch = segment.batch.max(1);
        Ok(SegmentStripes { stores, lists, entries: segment.entries, batch, deadline })
    }

    /// Hands over the baskets of one batch after the other; within it, by product, branch and stripe.
    pub(super) fn each_batch(
        self,
        interrupt: Interrupt<'_>,
        each: &mut dyn FnMut(Vec<Basket>) -> Result<()>,
    ) -> Result<()> {
        let this = Arc::new(self);
        let handle = runtime()?;
        let fetch = |batch: u64| {
            let this = Arc::clone(&this);
            Task(handle.spawn(async move { this.batch(batch).await }))
        };
        let batches = this.entries.div_ceil(this.batch);
        let mut next = (batches > 0).then(|| fetch(0));
        for batch in 0..batches {
            let Some(mut task) = next.take() else { break };
            next = (batch + 1 < batches).then(|| fetch(batch + 1));
            let done =
                async { (&mut task.0).await.unwrap_or_else(|_| Err(Error::corrupt("a thread ended"))) };
            each(wait(&handle, done, this.deadline, interrupt)?)?;
        }
        Ok(())
    }

    async fn batch(&self, batch: u64) -> Result<Vec<Basket>> {
        let (first, end) = (batch * self.batch, ((batch + 1) * self.batch).min(self.entries));
        let stripes = self.lists.iter().enumerate().flat_map(|(product, (_, list))| {
            list.within(first..end).map(move |stripe| (product, stripe))
        });
        let read =
            stream::iter(stripes.collect::<Vec<_>>()).map(|(product, stripe)| self.stripe(product, stripe));
        let mut baskets: Vec<Basket> = read.buffered(TOGETHER).try_concat().await?;
        baskets.sort_by_key(|basket| (basket.product, basket.branch, basket.first_entry));
        Ok(baskets)
    }

    async fn stripe(&self, product: usize, number: usize) -> Result<Vec<Basket>> {
        let missing = || Error::corrupt("a stripe is missing");
        let (name, list) = self.lists.get(product).ok_or_else(missing)?;
        let stripe = list.stripe(number).ok_or_else(missing)?;
        let end = stripe.first_entry + stripe.entries;
        let told = format!("the entries {} to {end} of the product '{name}'", stripe.first_entry);
        let (bytes, url) = match &stripe.place {
            Place::Inline(bytes) => (bytes.clone(), String::new()),
            Place::Object { object, offset } => {
                let (store, key) = (store(&self.stores, object.base)?, keys::data(object.id));
                let range = ByteRange::new(*offset, u64::from(stripe.len))?;
                let bytes = store.get(&key, Some(range), self.deadline).await;
                let lost = |error: Error| match error.kind() {
                    ErrorKind::NotFound => {
                        Error::corrupt(format!("{told} are lost: their object is not in the store"))
                            .url(format!("{}/{key}", store.url()))
                    }
                    _ => error,
                };
                (bytes.map_err(lost)?, format!("{}/{key}", store.url()))
            }
        };
        let mut start = 0;
        let baskets = stripe.branches.map(|branch| {
            let basket = list.basket(branch, number).ok_or_else(missing)?;
            let end = start + basket.len as usize;
            let record = bytes.get(start..end).map(|_| bytes.slice(start..end)).ok_or_else(missing)?;
            start = end;
            if checksum(&record) != basket.checksum {
                let message = format!("{told} are damaged: a checksum does not agree");
                return Err(Error::new(ErrorKind::Checksum, message).url(url.clone()));
            }
            let (first_entry, entries) = (stripe.first_entry, stripe.entries);
            Ok(Basket { product, branch, first_entry, entries, record })
        });
        baskets.collect()
    }
}

fn store(stores: &[Arc<dyn Store>], base: u32) -> Result<&Arc<dyn Store>> {
    stores.get(base as usize).ok_or_else(|| Error::corrupt(format!("the dataset has no base {base}")))
}

/// A task that is abandoned when dropped.
struct Task(JoinHandle<Result<Vec<Basket>>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
