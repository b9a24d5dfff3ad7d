//! Stripe lists: which objects hold the baskets of one product in one segment.

mod statistics;
mod wire;

use crate::object::{BasketRecord, ProductBaskets, too_long};
use crate::{Envelope, Id, ObjectKind, ObjectRef, checksum};
use bytes::Bytes;
use sapwood_core::Statistics;
use sapwood_core::{Error, Result};
use statistics::ListStatistics;
use std::ops::Range;

/// An object: where it lies, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// Index into [`crate::Snapshot::bases`]; 0 is the dataset.
    pub base: u32,
    /// Its name.
    pub id: Id,
}

/// Where bytes lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In an object.
    Object {
        /// Which.
        object: ObjectName,
        /// Their offset in it.
        offset: u64,
    },
    /// In the list itself: they are few.
    Inline(Bytes),
}

/// The baskets of a product, or of some of its branches, over some entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripe {
    /// Its first entry, in the segment.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// Indices of the branches in the product.
    pub branches: Range<usize>,
    /// Where the first basket lies.
    pub place: Location,
    /// Length of all baskets, which are contiguous, in bytes.
    pub len: u32,
    /// Size of their object in bytes, if known.
    pub object_size: Option<u64>,
}

/// A basket of one branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasketLocation {
    /// Its first entry, in the segment.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// Where its record lies.
    pub place: Location,
    /// Length of the record in bytes; 0 if the branch has no basket.
    pub len: u32,
    /// XXH64 of the record.
    pub checksum: u64,
}

/// The objects that hold the baskets of one product in one segment: each stripe has one basket for each of
/// its branches, which are all branches of the product, or some consecutive ones.
///
/// ```
/// use bytes::Bytes;
/// use sapwood_stripe::{Id, ObjectBuilder, ObjectName, Location, StripeList};
/// let mut builder = ObjectBuilder::default();
/// builder.add("Muon", 0, 720, vec![Bytes::from("a record"), Bytes::from("another")])?;
/// let (_, placed) = builder.finish()?;
/// let object = ObjectName { base: 0, id: Id::random() };
/// let mut list = StripeList::new(2);
/// list.push(object, &placed[0], &[])?;
/// let basket = list.basket(1, 0).unwrap();
/// assert_eq!(basket.place, Location::Object { object, offset: placed[0].offset + 8 });
/// assert_eq!((basket.first_entry, basket.entries, basket.len), (0, 720, 7));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StripeList {
    /// Number of branches of the product.
    branches: usize,
    /// For each branch, the number of entries in the stripes so far; a product without branches counts as
    /// one.
    ends: Vec<u64>,
    stripes: Vec<Span>,
    objects: Vec<ObjectName>,
    /// Sizes of the objects in bytes; 0 if unknown.
    sizes: Vec<u64>,
    inline: Vec<u8>,
    /// For each stripe, the offset of each basket, and the end of the last.
    starts: Vec<u32>,
    /// For each stripe, the checksum of each basket.
    checksums: Vec<u64>,
    statistics: ListStatistics,
}

/// The contents and position of a stripe.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    first_entry: u64,
    entries: u64,
    branches: Range<usize>,
    /// Index of the object, or [`INLINE`].
    object: u32,
    /// The offset in the object, or in the inline bytes.
    offset: u64,
    /// The index of its first basket.
    first_basket: usize,
}

/// In place of the index of an object: the baskets are in the list itself.
const INLINE: u32 = u32::MAX;

impl StripeList {
    /// An empty list, for a product with this many branches.
    pub fn new(branches: usize) -> StripeList {
        StripeList {
            branches,
            ends: vec![0; branches.max(1)],
            stripes: Vec::new(),
            objects: Vec::new(),
            sizes: Vec::new(),
            inline: Vec::new(),
            starts: Vec::new(),
            checksums: Vec::new(),
            statistics: ListStatistics::new(branches),
        }
    }

    /// Adds the next stripe of all branches, which lies in an object. `statistics` are those of each branch,
    /// where known; may be empty.
    ///
    /// # Errors
    /// `Usage` if it has no entries, another number of branches, or statistics of another type than earlier
    /// stripes; `Limit` for 4 GiB and more.
    pub fn push(
        &mut self,
        object: ObjectName,
        placed: &ProductBaskets,
        statistics: &[Option<Statistics>],
    ) -> Result<()> {
        self.push_some(0..self.branches, object, 0, placed, statistics)
    }

    /// Adds the next stripe of some branches, which lies in an object of `size` bytes; 0 if unknown. All
    /// these branches must have the same number of entries so far.
    ///
    /// # Errors
    /// As [`StripeList::push`].
    pub fn push_some(
        &mut self,
        branches: Range<usize>,
        object: ObjectName,
        size: u64,
        placed: &ProductBaskets,
        statistics: &[Option<Statistics>],
    ) -> Result<()> {
        let again = self.objects.last() == Some(&object);
        let number = self.objects.len() - usize::from(again);
        let number = u32::try_from(number).ok().filter(|number| *number != INLINE);
        let number = number.ok_or_else(|| Error::usage("a stripe list has too many objects"))?;
        self.add(branches, (number, placed.offset), placed.entries, &placed.baskets, statistics)?;
        if !again {
            self.objects.push(object);
            self.sizes.push(size);
        }
        Ok(())
    }

    /// Adds the next stripe of all branches, inline, because its baskets are too small for an object.
    ///
    /// # Errors
    /// As [`StripeList::push`].
    pub fn push_inline(
        &mut self,
        entries: u64,
        records: &[Bytes],
        statistics: &[Option<Statistics>],
    ) -> Result<()> {
        let baskets = records.iter().map(|record| BasketRecord::of(record)).collect::<Result<Vec<_>>>()?;
        self.add(0..self.branches, (INLINE, self.inline.len() as u64), entries, &baskets, statistics)?;
        records.iter().for_each(|record| self.inline.extend_from_slice(record));
        Ok(())
    }

    fn add(
        &mut self,
        branches: Range<usize>,
        place: (u32, u64),
        entries: u64,
        baskets: &[BasketRecord],
        statistics: &[Option<Statistics>],
    ) -> Result<()> {
        if baskets.len() != branches.len() {
            let (has, wants) = (baskets.len(), branches.len());
            let message = format!("a stripe of {entries} entries has {has} baskets for {wants} branches");
            return Err(Error::usage(message));
        }
        let sum: u64 = baskets.iter().map(|basket| u64::from(basket.len)).sum();
        u32::try_from(sum).map_err(|_| too_long(sum))?;
        let span = self.next(branches.clone(), entries, place)?;
        self.statistics.push(branches, self.stripes.len(), statistics)?;
        self.accept(span);
        self.starts.push(0);
        let mut start = 0;
        for basket in baskets {
            start += basket.len;
            self.starts.push(start);
            self.checksums.push(basket.checksum);
        }
        Ok(())
    }

    /// A stripe of these branches that follows the existing ones.
    fn next(&self, branches: Range<usize>, entries: u64, (object, offset): (u32, u64)) -> Result<Span> {
        let sound = branches.end <= self.branches && branches.is_empty() == (self.branches == 0);
        let ends = self.ends.get(counted(&branches)).filter(|_| sound).unwrap_or_default();
        let (Some(&first_entry), true) =
            (ends.first(), ends.windows(2).all(|pair| pair.first() == pair.last()))
        else {
            let message = format!("a stripe of the branches {branches:?} does not follow those before");
            return Err(Error::usage(message));
        };
        if entries == 0 || first_entry.checked_add(entries).is_none() {
            return Err(Error::usage(format!("a stripe cannot have {entries} entries")));
        }
        Ok(Span { first_entry, entries, branches, object, offset, first_basket: self.basket_count() })
    }

    fn accept(&mut self, span: Span) {
        let ends = self.ends.get_mut(counted(&span.branches)).unwrap_or_default();
        ends.iter_mut().for_each(|end| *end += span.entries);
        self.stripes.push(span);
    }

    fn basket_count(&self) -> usize {
        self.stripes.last().map_or(0, |last| last.first_basket + last.branches.len())
    }

    /// Number of branches.
    pub fn branches(&self) -> usize {
        self.branches
    }

    /// Number of stripes.
    pub fn len(&self) -> usize {
        self.stripes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stripes.is_empty()
    }

    /// Number of entries for which all branches have stripes.
    pub fn entries(&self) -> u64 {
        self.ends.iter().copied().min().unwrap_or_default()
    }

    /// The objects that hold the stripes, in order.
    pub fn objects(&self) -> &[ObjectName] {
        &self.objects
    }

    /// A stripe, by number.
    pub fn stripe(&self, stripe: usize) -> Option<Stripe> {
        let span = self.stripes.get(stripe)?;
        let len = self.start(span.branches.end, stripe)?;
        let place = self.place(span, 0, len)?;
        let Span { first_entry, entries, ref branches, object, .. } = *span;
        let object_size = self.sizes.get(object as usize).copied().filter(|size| *size > 0);
        Some(Stripe { first_entry, entries, branches: branches.clone(), place, len, object_size })
    }

    /// All stripes.
    pub fn stripes(&self) -> impl Iterator<Item = Stripe> + '_ {
        (0..self.len()).filter_map(|stripe| self.stripe(stripe))
    }

    /// The basket of a branch in a stripe, both by number; `None` if the stripe is of other branches.
    pub fn basket(&self, branch: usize, stripe: usize) -> Option<BasketLocation> {
        let span = self.stripes.get(stripe).filter(|span| span.branches.contains(&branch))?;
        let (start, end) = (self.start(branch, stripe)?, self.start(branch + 1, stripe)?);
        let checksum = *self.checksums.get(span.first_basket + branch - span.branches.start)?;
        Some(BasketLocation {
            first_entry: span.first_entry,
            entries: span.entries,
            place: self.place(span, start, end)?,
            len: end - start,
            checksum,
        })
    }

    /// The statistics of a branch in a stripe, if known.
    pub fn statistics(&self, branch: usize, stripe: usize) -> Option<Statistics> {
        self.statistics.get(branch, stripe)
    }

    /// The offset of a branch's basket in its stripe; for the index after the last, the end of the stripe.
    pub fn start(&self, branch: usize, stripe: usize) -> Option<u32> {
        let span = self.stripes.get(stripe)?;
        let place = branch.checked_sub(span.branches.start).filter(|place| *place <= span.branches.len())?;
        self.starts.get(span.first_basket + stripe + place).copied()
    }

    fn place(&self, span: &Span, start: u32, end: u32) -> Option<Location> {
        if span.object != INLINE {
            let object = *self.objects.get(span.object as usize)?;
            return Some(Location::Object { object, offset: span.offset + u64::from(start) });
        }
        let offset = usize::try_from(span.offset).ok()?;
        let bytes = self.inline.get(offset + start as usize..offset + end as usize)?;
        Some(Location::Inline(Bytes::copy_from_slice(bytes)))
    }
}

/// The indices of branches among the entry counts: a product without branches has one, too.
fn counted(branches: &Range<usize>) -> Range<usize> {
    branches.start..branches.end.max(branches.start + usize::from(branches.start == 0))
}

/// Builds an object of the stripe lists of several products.
///
/// ```
/// use sapwood_stripe::{Id, ListBuilder, StripeList};
/// let mut builder = ListBuilder::new(Id::random());
/// let list = StripeList::new(3);
/// let place = builder.add(&list)?;
/// let object = builder.finish();
/// let section = object.slice(place.offset as usize..(place.offset + place.len) as usize);
/// place.verify(&section)?;
/// assert_eq!(StripeList::decode(&section, 3, 0)?, list);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ListBuilder {
    id: Id,
    object: Vec<u8>,
}

impl ListBuilder {
    /// For an object with this name, below the dataset itself.
    pub fn new(id: Id) -> ListBuilder {
        ListBuilder { id, object: vec![0; Envelope::LEN] }
    }

    /// Adds a list; returns its part of the object.
    ///
    /// # Errors
    /// `Limit` if it is too long to be read again.
    pub fn add(&mut self, list: &StripeList) -> Result<ObjectRef> {
        let section = list.encode()?;
        let offset = self.object.len() as u64;
        let (len, checksum) = (section.len() as u64, checksum(&section));
        self.object.extend(section);
        Ok(ObjectRef { base: 0, id: self.id, offset, len, checksum })
    }

    /// Finishes the object.
    pub fn finish(self) -> Bytes {
        crate::envelope::close(ObjectKind::List, self.object)
    }
}
