//! Addresses: where the objects of a dataset lie in the virtual file that readers see, and the checksums of their baskets.

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use sapwood_stripe::{Location, ObjectName, Stripe, StripeList, checksum};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// Addresses of each object: far more than it has bytes, so that the planner never merges requests across objects.
const SPAN: u64 = 1 << 36;
/// One past the last address.
pub(super) const END: u64 = 1 << 62;

/// The stripes of a product in one segment.
#[derive(Debug)]
pub(super) struct SegmentStripes {
    pub(super) product: String,
    /// The first entry of the segment, in the dataset.
    pub(super) first_entry: u64,
    pub(super) list: StripeList,
}

impl SegmentStripes {
    /// Names a stripe in errors.
    fn name(&self, stripe: usize) -> String {
        let span = self.list.stripe(stripe).map_or(0..0, |stripe| {
            let first = self.first_entry + stripe.first_entry;
            first..first + stripe.entries
        });
        format!("entries {} to {} of the product '{}'", span.start, span.end, self.product)
    }
}

/// The objects that have addresses.
#[derive(Debug, Default)]
pub(super) struct AddressSpace(RwLock<AddressTable>);

#[derive(Debug, Default)]
struct AddressTable {
    number_of: HashMap<ObjectName, usize>,
    objects: Vec<AddressedObject>,
}

#[derive(Debug)]
struct AddressedObject {
    bytes: ObjectBytes,
    /// In bytes, if known.
    size: Option<u64>,
    /// The known stripes in it, by offset.
    stripes: BTreeMap<u64, (Arc<SegmentStripes>, usize)>,
}

/// Where the bytes of an object are.
#[derive(Debug, Clone)]
pub(super) enum ObjectBytes {
    /// In a store.
    Stored(ObjectName),
    /// In a stripe list, which was read.
    Inline(Bytes),
}

impl AddressSpace {
    /// Assigns addresses to all stripes; returns those of their first baskets.
    pub(super) fn place(&self, stripes: &Arc<SegmentStripes>) -> Result<Vec<u64>> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let place = |(number, stripe): (usize, Stripe)| {
            let (index, offset) = match stripe.place {
                Location::Object { object, offset } => (table.number(object, stripe.object_size), offset),
                Location::Inline(bytes) => (table.add(ObjectBytes::Inline(bytes), None), 0),
            };
            if offset.saturating_add(u64::from(stripe.len)) > SPAN || index as u64 >= END / SPAN - 1 {
                return Err(Error::unsupported(
                    "the dataset has more objects, or larger ones, than can be read",
                ));
            }
            // An empty stripe has the same offset as the next one, whose checksum counts.
            if stripe.len > 0
                && let Some(object) = table.objects.get_mut(index)
            {
                object.stripes.entry(offset).or_insert_with(|| (Arc::clone(stripes), number));
            }
            // The first span is that of the schema, which is not an object.
            Ok((index as u64 + 1) * SPAN + offset)
        };
        stripes.list.stripes().enumerate().map(place).collect()
    }

    /// The read of an object that a range of addresses needs.
    pub(super) fn find(&self, range: ByteRange) -> Result<ObjectRead> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let beyond = || Error::corrupt("a read of the dataset leads beyond its objects").at(range.start);
        let index = (range.start / SPAN).checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let object = index.and_then(|index| table.objects.get(index)).ok_or_else(beyond)?;
        let start = range.start % SPAN;
        let wanted = ByteRange { start, len: range.len };
        let before = object.stripes.range(..=start).next_back();
        let after = object.stripes.range(start + 1..wanted.end().max(start + 1));
        let stripes = before.into_iter().chain(after);
        let stripes = stripes.map(|(offset, (stripes, number))| (*offset, Arc::clone(stripes), *number));
        Ok(ObjectRead::new(object.bytes.clone(), object.size, wanted, stripes.collect()))
    }
}

impl AddressTable {
    fn number(&mut self, name: ObjectName, size: Option<u64>) -> usize {
        if let Some(index) = self.number_of.get(&name) {
            return *index;
        }
        let index = self.add(ObjectBytes::Stored(name), size);
        self.number_of.insert(name, index);
        index
    }

    fn add(&mut self, bytes: ObjectBytes, size: Option<u64>) -> usize {
        self.objects.push(AddressedObject { bytes, size, stripes: BTreeMap::new() });
        self.objects.len() - 1
    }
}

/// A stripe in an object: its offset, its list, and its number in the list.
type PlacedStripe = (u64, Arc<SegmentStripes>, usize);

/// A part of an object to read: whole baskets, so that their checksums can be verified.
#[derive(Debug)]
pub(super) struct ObjectRead {
    pub(super) bytes: ObjectBytes,
    /// The wanted range of the object.
    wanted: ByteRange,
    /// The range to read.
    pub(super) range: ByteRange,
    /// The size of the object, if enough of it is wanted that reading all of it may be better: some servers send whole
    /// objects with less work.
    pub(super) whole: Option<u64>,
    /// The stripes in the range, and the one that begins before it.
    stripes: Vec<PlacedStripe>,
}

impl ObjectRead {
    fn new(
        bytes: ObjectBytes,
        size: Option<u64>,
        wanted: ByteRange,
        stripes: Vec<PlacedStripe>,
    ) -> ObjectRead {
        let mut read = ObjectRead { bytes, wanted, range: wanted, whole: None, stripes };
        let (mut start, mut end) = (wanted.start, wanted.end());
        let touched = |basket: &ByteRange| basket.start < wanted.end() && basket.end() > wanted.start;
        for (basket, ..) in read.baskets().filter(|(basket, ..)| touched(basket)) {
            (start, end) = (start.min(basket.start), end.max(basket.end()));
        }
        read.range = ByteRange { start, len: end - start };
        read.whole = size.filter(|size| end <= *size && read.range.len >= size / 8 * 7);
        read
    }

    /// The baskets of its stripes: the range of each in the object, its checksum, and its stripe.
    fn baskets(&self) -> impl Iterator<Item = (ByteRange, u64, &PlacedStripe)> {
        self.stripes.iter().flat_map(|placed| {
            let (offset, stripes, number) = placed;
            let baskets =
                (0..stripes.list.branches()).filter_map(|branch| stripes.list.basket(branch, *number));
            let mut start = *offset;
            baskets.map(move |basket| {
                let range = ByteRange { start, len: u64::from(basket.len) };
                start = range.end();
                (range, basket.checksum, placed)
            })
        })
    }

    /// Verifies the checksums of all baskets in the bytes that were read.
    pub(super) fn verify(&self, bytes: &Bytes) -> Result<()> {
        for (basket, sum, (_, stripes, number)) in self.baskets() {
            if basket.len > 0
                && self.range.contains(basket)
                && checksum(&slice(bytes, self.range, basket)) != sum
            {
                let message = format!("{} are damaged: a checksum does not match", stripes.name(*number));
                return Err(Error::new(ErrorKind::Checksum, message).at(basket.start));
            }
        }
        Ok(())
    }

    /// The range to read, out of the whole object.
    pub(super) fn of_all(&self, object: &Bytes) -> Bytes {
        slice(object, ByteRange { start: 0, len: object.len() as u64 }, self.range)
    }

    /// The wanted bytes, out of those that were read.
    pub(super) fn cut(&self, bytes: &Bytes) -> Bytes {
        slice(bytes, self.range, self.wanted)
    }

    /// Adds to an error which entries are affected.
    pub(super) fn explain(&self, error: Error) -> Error {
        let stripe = self.stripes.last();
        let entries = stripe.map_or_else(String::new, |(_, stripes, number)| stripes.name(*number));
        match error.kind() {
            ErrorKind::NotFound => Error::corrupt(format!(
                "{entries} are lost: their object is not in the store"
            ))
            .hint(
                "run 'sapwood stripe verify' to find other damage; an expired version may have been removed",
            ),
            ErrorKind::Truncated => {
                Error::new(ErrorKind::Truncated, format!("{entries} are cut off: {error}"))
            }
            _ => return error,
        }
        .url(error.url_str().unwrap_or_default())
        .caused_by(error)
    }
}

/// A part of the `bytes` of a range.
fn slice(bytes: &Bytes, range: ByteRange, part: ByteRange) -> Bytes {
    let start = usize::try_from(part.start - range.start).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(part.len).unwrap_or(usize::MAX)).min(bytes.len());
    bytes.slice(start.min(end)..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_stripe::{Id, ObjectBuilder, StripeList};

    #[test]
    fn baskets_after_an_empty_stripe_are_verified() {
        let mut builder = ObjectBuilder::default();
        builder.add("empty", 0, 10, vec![Bytes::new()]).unwrap();
        builder.add("full", 0, 10, vec![Bytes::from("a record")]).unwrap();
        let (content, placed) = builder.finish().unwrap();
        let (name, addresses) = (ObjectName { base: 0, id: Id::random() }, AddressSpace::default());
        let of_product = |product: usize| {
            let mut list = StripeList::new(1);
            list.push(name, &placed[product], &[]).unwrap();
            let stripes = SegmentStripes { product: product.to_string(), first_entry: 0, list };
            addresses.place(&Arc::new(stripes)).unwrap()[0]
        };
        let (_, start) = (of_product(0), of_product(1));
        let read = addresses.find(ByteRange::new(start, 8).unwrap()).unwrap();
        read.verify(&read.of_all(&content)).unwrap();
        let error = read.verify(&Bytes::from("a recorD")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum);
    }
}
