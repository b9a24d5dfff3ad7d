//! A stripe list as bytes: a header, then compressed columns; the statistics separately.

use super::statistics::{BranchStatistics, ListStatistics, NONE, NOT_NUMBERS, UNKNOWN};
use super::{INLINE, ObjectName, Span, StripeList};
use crate::Id;
use crate::wire::{Reader, put_packed, put_planes, size};
use sapwood_core::{Error, ErrorKind, Result};

/// The first bytes of a list.
const MAGIC: [u8; 4] = *b"SPLT";
/// The version of the format of a list.
const VERSION: u16 = 1;
/// Feature: stripes may have only some of the branches.
const OF_BRANCHES: u16 = 1;
/// Feature: the list has the sizes of objects.
const SIZES: u16 = 2;
/// Feature: baskets may store numbers as planes, and offsets as steps.
const PLANES: u16 = 4;
/// Most bytes of the columns of a list: about 40 million baskets.
const LIMIT: usize = 512 << 20;

impl StripeList {
    /// Encodes it as a part of a list object (built by [`super::ListBuilder`]).
    ///
    /// # Errors
    /// `Limit` if it is too long to be read again.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let places = self.encode_places();
        let statistics = self.statistics.encode(self.len());
        if places.len().max(statistics.len()) > LIMIT {
            let message = format!("a stripe list of {} stripes is too long", self.len());
            return Err(Error::new(ErrorKind::Limit, message).hint("append in several segments"));
        }
        if self.ends.iter().any(|end| *end != self.entries()) {
            return Err(Error::usage("a stripe list has more entries of some branches than of others"));
        }
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        let of_branches = if self.is_of_branches() { OF_BRANCHES } else { 0 };
        let sizes = if self.has_sizes() { SIZES } else { 0 };
        out.extend((of_branches | sizes | PLANES).to_le_bytes());
        out.extend(self.entries().to_le_bytes());
        out.extend((self.len() as u64).to_le_bytes());
        for count in [self.branches, self.objects.len(), self.inline.len()] {
            out.extend((count as u32).to_le_bytes());
        }
        if self.is_of_branches() {
            out.extend((self.basket_count() as u64).to_le_bytes());
        }
        put_packed(&mut out, &places)?;
        put_packed(&mut out, &statistics)?;
        Ok(out)
    }

    fn is_of_branches(&self) -> bool {
        self.stripes.iter().any(|span| span.branches != (0..self.branches))
    }

    fn has_sizes(&self) -> bool {
        self.sizes.iter().any(|size| *size > 0)
    }

    /// The numbers of all baskets, branch by branch.
    fn by_branch(&self) -> Vec<usize> {
        let mut next = vec![0; self.branches + 1];
        for branch in self.stripes.iter().flat_map(|span| span.branches.clone()) {
            next.get_mut(branch + 1).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for place in &mut next {
            sum += *place;
            *place = sum;
        }
        let mut order = vec![0; sum];
        for span in &self.stripes {
            for (number, branch) in (span.first_basket..).zip(span.branches.clone()) {
                let Some(place) = next.get_mut(branch) else { continue };
                order.get_mut(*place).into_iter().for_each(|basket| *basket = number);
                *place += 1;
            }
        }
        order
    }

    fn encode_places(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_planes(&mut out, 4, self.objects.iter().map(|object| u64::from(object.base)));
        let before = std::iter::once(Id::ZERO).chain(self.objects.iter().map(|object| object.id));
        let steps = self.objects.iter().zip(before).map(|(object, before)| object.id.minus(before).halves());
        put_planes(&mut out, 8, steps.clone().map(|(low, _)| low));
        put_planes(&mut out, 4, steps.map(|(_, high)| u64::from(high)));
        if self.has_sizes() {
            put_planes(&mut out, 8, self.sizes.iter().copied());
        }
        put_planes(&mut out, 8, self.stripes.iter().map(|span| span.entries));
        if self.is_of_branches() {
            put_planes(&mut out, 4, self.stripes.iter().map(|span| span.branches.start as u64));
            put_planes(&mut out, 4, self.stripes.iter().map(|span| span.branches.len() as u64));
        }
        let before = std::iter::once(0).chain(self.stripes.iter().map(|span| span.object));
        let steps = self.stripes.iter().zip(before).map(|(span, before)| span.object.wrapping_sub(before));
        put_planes(&mut out, 4, steps.map(u64::from));
        put_planes(&mut out, 8, self.stripes.iter().map(|span| span.offset));
        let order = self.by_branch();
        let start = |branch, stripe| self.start(branch, stripe).unwrap_or_default();
        let of_stripe = |(number, span): (usize, &Span)| {
            span.branches.clone().map(move |branch| start(branch + 1, number) - start(branch, number))
        };
        let lens: Vec<u32> = self.stripes.iter().enumerate().flat_map(of_stripe).collect();
        put_planes(&mut out, 4, order.iter().filter_map(|basket| lens.get(*basket).copied().map(u64::from)));
        let sums = order.iter().filter_map(|basket| self.checksums.get(*basket));
        out.extend(sums.flat_map(|sum| sum.to_le_bytes()));
        out.extend(&self.inline);
        out
    }

    /// Decodes a list of a product with this many branches, in a segment with this many entries.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated`, with the offset in the list; `Checksum` if a compressed block is damaged;
    /// `Unsupported` for a later version.
    pub fn decode(bytes: &[u8], branches: usize, entries: u64) -> Result<StripeList> {
        let mut reader = Reader::new(bytes, "a stripe list");
        if reader.array()? != MAGIC {
            return Err(Error::corrupt("this is not a stripe list").at(0));
        }
        let (version, features) = (reader.u16()?, reader.u16()?);
        if version != VERSION || features & !(OF_BRANCHES | SIZES | PLANES) != 0 {
            let message = format!("a stripe list has version {version}, with features {features:#x}");
            return Err(Error::unsupported(message).at(4).hint("a newer sapwood can read it"));
        }
        let (has_entries, stripes) = (reader.u64()?, reader.u64()?);
        let has_branches = reader.u32()? as usize;
        let (objects, inline) = (reader.u32()? as usize, reader.u32()? as usize);
        let (of_branches, sizes) = (features & OF_BRANCHES != 0, features & SIZES != 0);
        let most = if of_branches { entries.saturating_mul(branches as u64) } else { entries };
        reader.rule((has_branches, has_entries) == (branches, entries), || {
            format!(
                "it is of {has_branches} branches and {has_entries} entries, not {branches} and {entries}"
            )
        })?;
        reader.rule(stripes <= most, || format!("{stripes} stripes are too many for {entries} entries"))?;
        let stripes = size(stripes)?;
        let baskets = if of_branches { Some(size(reader.u64()?)?) } else { branches.checked_mul(stripes) };
        let counts =
            ListCounts { stripes, baskets: baskets.unwrap_or(usize::MAX), objects, of_branches, sizes };
        let wanted = counts.len().and_then(|len| len.checked_add(inline)).unwrap_or(usize::MAX);
        let content = reader.packed(wanted.min(LIMIT))?;
        reader.rule(wanted == content.len(), || {
            format!("{} bytes are not what {stripes} stripes in {objects} objects take", content.len())
        })?;
        let statistics = reader.packed(LIMIT)?;
        reader.end()?;
        let mut list = StripeList::new(branches);
        list.decode_places(&mut Reader::new(&content, "the columns of a stripe list"), &counts)?;
        if let Some(end) = list.ends.iter().find(|end| **end != entries) {
            let message = format!("the stripes of a branch have {end} entries, their segment {entries}");
            return Err(Error::corrupt(message));
        }
        list.statistics = ListStatistics::decode(&statistics, branches, stripes)?;
        Ok(list)
    }

    fn decode_places(&mut self, reader: &mut Reader<'_>, counts: &ListCounts) -> Result<()> {
        let ListCounts { stripes, objects, .. } = *counts;
        let bases = reader.planes(objects, 4)?;
        let (low, high) = (reader.planes(objects, 8)?, reader.planes(objects, 4)?);
        let mut id = Id::ZERO;
        self.objects.reserve_exact(objects);
        for ((base, low), high) in bases.into_iter().zip(low).zip(high) {
            id = id.plus(Id::from_halves(low, high as u32));
            self.objects.push(ObjectName { base: base as u32, id });
        }
        self.sizes = if counts.sizes { reader.planes(objects, 8)? } else { vec![0; objects] };
        let entries = reader.planes(stripes, 8)?;
        let branches = match counts.of_branches {
            true => (reader.planes(stripes, 4)?, reader.planes(stripes, 4)?),
            false => (vec![0; stripes], vec![self.branches as u64; stripes]),
        };
        let (steps, offsets) = (reader.planes(stripes, 4)?, reader.planes(stripes, 8)?);
        let mut number = 0u32;
        let branches = branches.0.into_iter().zip(branches.1);
        for ((entries, (first, count)), (step, offset)) in
            entries.into_iter().zip(branches).zip(steps.into_iter().zip(offsets))
        {
            number = number.wrapping_add(step as u32);
            // Both have 4 bytes.
            let branches = size(first)?..size(first + count)?;
            self.accept(self.next(branches, entries, (number, offset)).map_err(|error| {
                Error::corrupt(format!("the stripes of a list do not follow each other: {error}"))
            })?);
        }
        if self.basket_count() != counts.baskets {
            let message = format!("{} baskets are not those of the stripes", counts.baskets);
            return Err(Error::corrupt(message));
        }
        self.decode_baskets(reader)?;
        self.inline = reader.take(reader.left())?.to_vec();
        self.check_places()
    }

    fn decode_baskets(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let order = self.by_branch();
        let lens_in_order = reader.planes(order.len(), 4)?;
        let mut lens = vec![0u32; order.len()];
        self.checksums = vec![0; order.len()];
        for (basket, len) in order.iter().zip(lens_in_order) {
            lens.get_mut(*basket).into_iter().for_each(|place| *place = len as u32);
        }
        for basket in &order {
            let sum = reader.u64()?;
            self.checksums.get_mut(*basket).into_iter().for_each(|place| *place = sum);
        }
        self.starts.reserve_exact(order.len() + self.stripes.len());
        let mut lens = lens.into_iter();
        for (number, span) in self.stripes.iter().enumerate() {
            let mut start = 0u32;
            self.starts.push(start);
            for len in lens.by_ref().take(span.branches.len()) {
                let end = start.checked_add(len);
                start = end.ok_or_else(|| Error::corrupt(format!("stripe {number} has 4 GiB or more")))?;
                self.starts.push(start);
            }
        }
        Ok(())
    }

    /// Checks that all stripes lie in known objects, or in the inline bytes.
    fn check_places(&self) -> Result<()> {
        for (stripe, span) in self.stripes.iter().enumerate() {
            let len = u64::from(self.start(span.branches.end, stripe).unwrap_or_default());
            let end = span.offset.checked_add(len);
            let holds = match span.object {
                INLINE => end.is_some_and(|end| end <= self.inline.len() as u64),
                number => end.is_some() && (number as usize) < self.objects.len(),
            };
            if !holds {
                return Err(Error::corrupt(format!("stripe {stripe} lies outside of its object")));
            }
        }
        Ok(())
    }
}

/// The lengths that a list states.
struct ListCounts {
    stripes: usize,
    baskets: usize,
    objects: usize,
    of_branches: bool,
    sizes: bool,
}

impl ListCounts {
    /// Length of the columns, without the inline bytes.
    fn len(&self) -> Option<usize> {
        let baskets = self.baskets.checked_mul(4 + 8)?;
        let stripes = self.stripes.checked_mul(8 + 4 + 8 + if self.of_branches { 8 } else { 0 })?;
        let objects = self.objects.checked_mul(4 + Id::LEN + if self.sizes { 8 } else { 0 })?;
        baskets.checked_add(stripes)?.checked_add(objects)
    }
}

impl ListStatistics {
    /// Nothing, if no branch has statistics.
    fn encode(&self, stripes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        if self.columns.iter().all(|column| column.rows.is_empty()) {
            return out;
        }
        out.extend(self.columns.iter().map(|column| column.kind));
        for column in self.columns.iter().filter(|column| column.kind != NONE) {
            let rows = column.rows.iter().copied().chain(std::iter::repeat([UNKNOWN, 0, 0, 0])).take(stripes);
            for number in 0..4 {
                let numbers = rows.clone().filter_map(|row| row.get(number).copied());
                put_planes(&mut out, 8, numbers);
            }
        }
        out
    }

    fn decode(bytes: &[u8], branches: usize, stripes: usize) -> Result<ListStatistics> {
        let mut columns = ListStatistics::new(branches);
        let mut reader = Reader::new(bytes, "the statistics of a stripe list");
        if bytes.is_empty() {
            return Ok(columns);
        }
        let kinds = reader.take(branches)?;
        for (column, kind) in columns.columns.iter_mut().zip(kinds) {
            reader.rule(*kind <= NOT_NUMBERS, || format!("numbers of kind {kind} are unknown"))?;
            if *kind != NONE {
                *column = decode_column(&mut reader, *kind, stripes)?;
            }
        }
        reader.end()?;
        Ok(columns)
    }
}

fn decode_column(reader: &mut Reader<'_>, kind: u8, stripes: usize) -> Result<BranchStatistics> {
    let (counts, nans) = (reader.planes(stripes, 8)?, reader.planes(stripes, 8)?);
    let (low, high) = (reader.planes(stripes, 8)?, reader.planes(stripes, 8)?);
    let numbers = counts.into_iter().zip(nans).zip(low.into_iter().zip(high));
    let mut rows: Vec<_> = numbers.map(|((count, nans), (low, high))| [count, nans, low, high]).collect();
    while rows.last().is_some_and(|row| row.first() == Some(&UNKNOWN)) {
        rows.pop();
    }
    Ok(BranchStatistics { kind, rows })
}
