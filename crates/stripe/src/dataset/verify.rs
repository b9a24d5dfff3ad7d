//! Reads what a version refers to, and verifies all checksums.

use super::Dataset;
use super::objects::list_sections;
use super::storage::Storage;
use crate::record::url_of;
use crate::{
    ObjectDirectory, ObjectKind, ObjectName, ObjectRef, Product, Segment, StripeList, keys, read_lists,
    unseal,
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects to read at once.
const TOGETHER: usize = 8;

/// Options of a verification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChecksumOptions {
    /// Share of the objects with stripes to read, from 0 to 1; all lists are read.
    pub fraction: f64,
    /// The seed of the sample.
    pub seed: u64,
}

impl Default for ChecksumOptions {
    /// Verifies everything.
    fn default() -> Self {
        ChecksumOptions { fraction: 1.0, seed: 0 }
    }
}

/// A damaged or missing object, or part of one.
#[derive(Debug)]
pub struct Damage {
    /// The object: its URL.
    pub object: String,
    /// The product, if it belongs to one.
    pub product: Option<String>,
    /// The first affected entry of the dataset, and the number of entries.
    pub entries: (u64, u64),
    /// What is wrong with it.
    pub error: Error,
}

/// The result of a verification.
#[derive(Debug, Default)]
pub struct ChecksumReport {
    /// Number of objects read.
    pub objects: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Number of objects outside the sample.
    pub skipped: u64,
    /// The damage; empty if there is none.
    pub wrong: Vec<Damage>,
}

/// The expected contents of an object: some stripes of a product's list.
struct ExpectedStripes<'a> {
    product: &'a Product,
    list: Arc<StripeList>,
    stripes: Vec<usize>,
}

impl Dataset {
    /// Reads what this version refers to, or a sample of it, and verifies all checksums.
    ///
    /// # Errors
    /// `Timeout`, `Permission`; problems of single objects are in the result.
    pub async fn verify(&self, options: ChecksumOptions, deadline: Deadline) -> Result<ChecksumReport> {
        let mut verified = ChecksumReport::default();
        let mut random = fastrand::Rng::with_seed(options.seed);
        let mut first = 0;
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            let entries = (first, segment.entries);
            first += segment.entries;
            self.verify_parts(segment, entries, &mut verified, deadline).await?;
            let objects = self.expected_objects(number, entries, &mut verified, deadline).await?;
            let all = objects.len();
            let sample: Vec<_> = objects.into_iter().filter(|_| random.f64() < options.fraction).collect();
            verified.skipped += (all - sample.len()) as u64;
            // By index: references in streams would keep futures from being `Send`.
            let names: Vec<_> = sample.iter().map(|(name, _)| *name).enumerate().collect();
            let mut read = stream::iter(names)
                .map(|(index, name)| async move {
                    (index, name, self.read_data(name.base, name.id, deadline).await)
                })
                .buffer_unordered(TOGETHER);
            while let Some((index, name, read)) = read.next().await {
                let url = data_url(&self.storage, &self.base(name.base), name.id);
                let read = count(read, &mut verified)?;
                let expected = sample.get(index).map(|(_, stripes)| stripes.as_slice()).unwrap_or_default();
                compare(read, expected, &url, first - segment.entries, &mut verified);
            }
        }
        Ok(verified)
    }

    /// The index of events, and the auxiliary file of a segment.
    async fn verify_parts(
        &self,
        segment: &Segment,
        entries: (u64, u64),
        verified: &mut ChecksumReport,
        deadline: Deadline,
    ) -> Result<()> {
        let parts = [(&segment.events, Some(ObjectKind::Events)), (&segment.auxiliary, None)];
        for (part, kind) in parts {
            let Some(part) = part else { continue };
            let read = count(self.read_data(part.base, part.id, deadline).await, verified)?;
            let good = read.and_then(|object| {
                cut(part, &object).and_then(|bytes| part.verify(&bytes))?;
                kind.map_or(Ok(()), |kind| unseal(kind, &object).map(drop))
            });
            if let Err(error) = good {
                let object = data_url(&self.storage, &self.base(part.base), part.id);
                verified.wrong.push(Damage { object, product: None, entries, error });
            }
        }
        Ok(())
    }

    /// The expected contents of the objects of a segment, from its stripe lists.
    async fn expected_objects<'a>(
        &'a self,
        number: usize,
        entries: (u64, u64),
        verified: &mut ChecksumReport,
        deadline: Deadline,
    ) -> Result<BTreeMap<ObjectName, Vec<ExpectedStripes<'a>>>> {
        let mut objects: BTreeMap<ObjectName, Vec<ExpectedStripes<'a>>> = BTreeMap::new();
        for ((base, _), wanted) in list_sections(&self.snapshot, |(_, index), _| index == number) {
            let read = match self.base(base) {
                Ok(store) => read_lists(&*store, &self.snapshot, wanted.clone(), deadline).await,
                Err(error) => Err(error),
            };
            let lists = match read {
                Ok(lists) => lists,
                Err(error) if fatal(&error) => return Err(error),
                Err(error) => wanted.into_iter().map(|pair| (pair, Err(error.copy()))).collect(),
            };
            for ((product, _), list) in lists {
                let Some(product) = self.snapshot.products.get(product) else { continue };
                match list {
                    Ok(list) => expect_stripes(product, list, &mut objects),
                    Err(error) => {
                        let object = error.url_str().unwrap_or_default().to_owned();
                        verified.wrong.push(Damage {
                            object,
                            product: Some(product.name.clone()),
                            entries,
                            error,
                        });
                    }
                }
            }
        }
        Ok(objects)
    }

    async fn read_data(&self, base: u32, id: crate::Id, deadline: Deadline) -> Result<Bytes> {
        self.base(base)?.get(&keys::data(id), None, deadline).await
    }
}

/// Collects the objects that hold the stripes of a list.
fn expect_stripes<'a>(
    product: &'a Product,
    list: StripeList,
    objects: &mut BTreeMap<ObjectName, Vec<ExpectedStripes<'a>>>,
) {
    let list = Arc::new(list);
    let mut stripes: BTreeMap<ObjectName, Vec<usize>> = BTreeMap::new();
    for (number, stripe) in list.stripes().enumerate() {
        if let crate::Location::Object { object, .. } = stripe.place {
            stripes.entry(object).or_default().push(number);
        }
    }
    for (name, stripes) in stripes {
        objects.entry(name).or_default().push(ExpectedStripes { product, list: Arc::clone(&list), stripes });
    }
}

/// Compares an object with the lists, and with itself.
fn compare(
    read: Result<Bytes>,
    expected: &[ExpectedStripes<'_>],
    url: &str,
    first: u64,
    verified: &mut ChecksumReport,
) {
    let object = match read {
        Ok(object) => object,
        Err(error) => {
            return verified.wrong.extend(expected.iter().map(|stripes| Damage {
                object: url.to_owned(),
                product: Some(stripes.product.name.clone()),
                entries: stripes.entries(first),
                error: error.copy(),
            }));
        }
    };
    let known = verified.wrong.len();
    expected.iter().for_each(|stripes| stripes.compare(&object, url, first, verified));
    // The damage is in no product of this version: it is in the directory, or in another version's part.
    if known == verified.wrong.len()
        && let Err(error) = ObjectDirectory::of(&object)
    {
        let spans = || expected.iter().map(|stripes| stripes.entries(first));
        let begin = spans().map(|(begin, _)| begin).min().unwrap_or(first);
        let end = spans().map(|(begin, count)| begin + count).max().unwrap_or(begin);
        let entries = (begin, end - begin);
        verified.wrong.push(Damage { object: url.to_owned(), product: None, entries, error });
    }
}

impl ExpectedStripes<'_> {
    /// Entries of the dataset from the first to the last of the stripes.
    fn entries(&self, first: u64) -> (u64, u64) {
        let stripes = || self.stripes.iter().filter_map(|number| self.list.stripe(*number));
        let begin = stripes().map(|stripe| stripe.first_entry).min().unwrap_or(0);
        let end = stripes().map(|stripe| stripe.first_entry + stripe.entries).max().unwrap_or(begin);
        (first + begin, end - begin)
    }

    /// Compares the directory of an object with the list.
    fn compare(&self, object: &Bytes, url: &str, first: u64, verified: &mut ChecksumReport) {
        for stripe in &self.stripes {
            let baskets = (0..self.list.branches()).filter_map(|branch| self.list.basket(branch, *stripe));
            for basket in baskets {
                let crate::Location::Object { object: name, offset } = basket.place else { continue };
                let (base, id, len) = (name.base, name.id, u64::from(basket.len));
                let part = ObjectRef { base, id, offset, len, checksum: basket.checksum };
                if let Err(error) = cut(&part, object).and_then(|bytes| part.verify(&bytes)) {
                    let entries = (first + basket.first_entry, basket.entries);
                    let (object, product) = (url.to_owned(), Some(self.product.name.clone()));
                    verified.wrong.push(Damage { object, product, entries, error });
                    break;
                }
            }
        }
    }
}

/// The part of an object that is referred to.
fn cut(part: &ObjectRef, object: &Bytes) -> Result<Bytes> {
    let end = part.offset.checked_add(part.len).filter(|end| *end <= object.len() as u64);
    let range = end.and_then(|end| Some(usize::try_from(part.offset).ok()?..usize::try_from(end).ok()?));
    range.map(|range| object.slice(range)).ok_or_else(|| {
        let message = format!("an object of {} bytes ends before a part that is in it", object.len());
        Error::new(ErrorKind::Truncated, message).at(part.offset)
    })
}

/// Errors that end the verification.
fn fatal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Permission | ErrorKind::Cancelled)
}

/// Counts what was read; a problem of this object alone is the inner error.
fn count(read: Result<Bytes>, verified: &mut ChecksumReport) -> Result<Result<Bytes>> {
    match read {
        Err(error) if fatal(&error) => Err(error),
        Err(error) => Ok(Err(error)),
        Ok(object) => {
            verified.objects += 1;
            verified.bytes += object.len() as u64;
            Ok(Ok(object))
        }
    }
}

fn data_url(storage: &Storage, base: &Result<Arc<dyn sapwood_store::Store>>, id: crate::Id) -> String {
    url_of(base.as_ref().map_or(&*storage.store, |store| &**store), &keys::data(id))
}
