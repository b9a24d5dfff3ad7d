//! Addresses: where the objects of a dataset lie in the file that its readers see, and what is known of their bytes.

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use sapwood_stripe::{ObjectName, Place, StripeList, checksum};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// Each object has so many addresses: far more than bytes, so that nobody reads across a border to spare a request.
const SPAN: u64 = 1 << 36;
/// One past the last address.
pub(super) const END: u64 = 1 << 62;

/// Where the baskets of a product lie that are in one segment.
#[derive(Debug)]
pub(super) struct Stripes {
    pub(super) product: String,
    /// The first entry of the segment, in the dataset.
    pub(super) first_entry: u64,
    pub(super) list: StripeList,
}

impl Stripes {
    /// Names a stripe, for errors.
    fn told(&self, stripe: usize) -> String {
        let span = self.list.stripe(stripe).map_or(0..0, |stripe| {
            let first = self.first_entry + stripe.first_entry;
            first..first + stripe.entries
        });
        format!("the entries {} to {} of the product '{}'", span.start, span.end, self.product)
    }
}

/// The objects whose addresses were given.
#[derive(Debug, Default)]
pub(super) struct Objects(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    number_of: HashMap<ObjectName, usize>,
    objects: Vec<Object>,
}

#[derive(Debug)]
struct Object {
    held: Held,
    /// In bytes, if it is known.
    size: Option<u64>,
    /// The stripes that are known to lie in it, by where they begin.
    stripes: BTreeMap<u64, (Arc<Stripes>, usize)>,
}

/// Where the bytes of an object are.
#[derive(Debug, Clone)]
pub(super) enum Held {
    /// In a store.
    There(ObjectName),
    /// Here already.
    Here(Bytes),
}

impl Objects {
    /// Gives addresses to all stripes: those of their first baskets.
    pub(super) fn place(&self, stripes: &Arc<Stripes>) -> Result<Vec<u64>> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let place = |(number, stripe): (usize, sapwood_stripe::Stripe)| {
            let (index, offset) = match stripe.place {
                Place::Object { object, offset } => (known.number(object, stripe.object_size), offset),
                Place::Inline(bytes) => (known.add(Held::Here(bytes)), 0),
            };
            if offset.saturating_add(u64::from(stripe.len)) > SPAN || index as u64 >= END / SPAN - 1 {
                return Err(Error::unsupported(
                    "the dataset has more objects, or larger ones, than can be read",
                ));
            }
            // One without bytes begins where the next one does, which is the one to be checked.
            if stripe.len > 0
                && let Some(object) = known.objects.get_mut(index)
            {
                object.stripes.entry(offset).or_insert_with(|| (Arc::clone(stripes), number));
            }
            // The first span is for what is no object: the schema.
            Ok((index as u64 + 1) * SPAN + offset)
        };
        stripes.list.stripes().enumerate().map(place).collect()
    }

    /// What has to be read for a range of addresses.
    pub(super) fn find(&self, range: ByteRange) -> Result<Piece> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let wrong = || Error::corrupt("a read of the dataset leads beyond its objects").at(range.start);
        let index = (range.start / SPAN).checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let object = index.and_then(|index| known.objects.get(index)).ok_or_else(wrong)?;
        let start = range.start % SPAN;
        let wanted = ByteRange { start, len: range.len };
        let before = object.stripes.range(..=start).next_back();
        let behind = object.stripes.range(start + 1..wanted.end().max(start + 1));
        let stripes = before.into_iter().chain(behind);
        let stripes = stripes.map(|(offset, (stripes, number))| (*offset, Arc::clone(stripes), *number));
        Ok(Piece::new(object.held.clone(), object.size, wanted, stripes.collect()))
    }
}

impl Known {
    fn number(&mut self, name: ObjectName, size: Option<u64>) -> usize {
        match self.number_of.get(&name) {
            Some(index) => *index,
            None => {
                let index = self.add(Held::There(name));
                self.objects.last_mut().into_iter().for_each(|object| object.size = size);
                self.number_of.insert(name, index);
                index
            }
        }
    }

    fn add(&mut self, held: Held) -> usize {
        self.objects.push(Object { held, size: None, stripes: BTreeMap::new() });
        self.objects.len() - 1
    }
}

/// A stripe in an object: where it begins, which list it is of, and its number there.
type KnownStripe = (u64, Arc<Stripes>, usize);

/// A part of an object that is read: whole baskets, so that their checksums can be compared.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) held: Held,
    /// What is wanted of the object.
    wanted: ByteRange,
    /// What is read of it.
    pub(super) range: ByteRange,
    /// The size of the object, if so much of it is wanted that all may be asked for: some servers send a file with less work
    /// than a range of it.
    pub(super) whole: Option<u64>,
    /// The stripes that lie there, or begin before it.
    stripes: Vec<KnownStripe>,
}

impl Piece {
    fn new(held: Held, size: Option<u64>, wanted: ByteRange, stripes: Vec<KnownStripe>) -> Piece {
        let mut piece = Piece { held, wanted, range: wanted, whole: None, stripes };
        let (mut start, mut end) = (wanted.start, wanted.end());
        let touched = |basket: &ByteRange| basket.start < wanted.end() && basket.end() > wanted.start;
        for (basket, ..) in piece.baskets().filter(|(basket, ..)| touched(basket)) {
            (start, end) = (start.min(basket.start), end.max(basket.end()));
        }
        piece.range = ByteRange { start, len: end - start };
        piece.whole = size.filter(|size| end <= *size && piece.range.len >= size / 8 * 7);
        piece
    }

    /// The baskets of its stripes: where each lies in the object, its checksum, and which stripe it is of.
    fn baskets(&self) -> impl Iterator<Item = (ByteRange, u64, &KnownStripe)> {
        self.stripes.iter().flat_map(|known| {
            let (offset, stripes, number) = known;
            let baskets =
                (0..stripes.list.branches()).filter_map(|branch| stripes.list.basket(branch, *number));
            let mut start = *offset;
            baskets.map(move |basket| {
                let range = ByteRange { start, len: u64::from(basket.len) };
                start = range.end();
                (range, basket.checksum, known)
            })
        })
    }

    /// Compares the checksums of all baskets in what was read.
    pub(super) fn verify(&self, bytes: &Bytes) -> Result<()> {
        for (basket, sum, (_, stripes, number)) in self.baskets() {
            if basket.len > 0
                && self.range.contains(basket)
                && checksum(&slice(bytes, self.range, basket)) != sum
            {
                let message = format!("{} are damaged: a checksum does not agree", stripes.told(*number));
                return Err(Error::new(ErrorKind::Checksum, message).at(basket.start));
            }
        }
        Ok(())
    }

    /// What has to be read, of the whole object.
    pub(super) fn of_all(&self, object: &Bytes) -> Bytes {
        slice(object, ByteRange { start: 0, len: object.len() as u64 }, self.range)
    }

    /// What is wanted, of what was read.
    pub(super) fn cut(&self, bytes: &Bytes) -> Bytes {
        slice(bytes, self.range, self.wanted)
    }

    /// Says of an error which entries of what are missing for it.
    pub(super) fn explain(&self, error: Error) -> Error {
        let told = self.stripes.last().map_or_else(String::new, |(_, stripes, number)| stripes.told(*number));
        match error.kind() {
            ErrorKind::NotFound => {
                let lost = Error::corrupt(format!("{told} are lost: their object is not in the store"));
                lost.hint(
                    "'sapwood stripe verify' tells what else is; an expired version may have been removed",
                )
            }
            ErrorKind::Truncated => Error::new(ErrorKind::Truncated, format!("{told} are cut off: {error}")),
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
    fn baskets_are_checked_behind_a_stripe_without_bytes() {
        let mut builder = ObjectBuilder::default();
        builder.add("empty", 0, 10, vec![Bytes::new()]).unwrap();
        builder.add("full", 0, 10, vec![Bytes::from("a record")]).unwrap();
        let (content, placed) = builder.finish().unwrap();
        let (name, objects) = (ObjectName { base: 0, id: Id::random() }, Objects::default());
        let of_product = |product: usize| {
            let mut list = StripeList::new(1);
            list.push(name, &placed[product], &[]).unwrap();
            let stripes = Stripes { product: product.to_string(), first_entry: 0, list };
            objects.place(&Arc::new(stripes)).unwrap()[0]
        };
        let (_, start) = (of_product(0), of_product(1));
        let piece = objects.find(ByteRange::new(start, 8).unwrap()).unwrap();
        piece.verify(&piece.of_all(&content)).unwrap();
        let error = piece.verify(&Bytes::from("a recorD")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum);
    }
}
