//! A stripe list as bytes: a header, then columns, packed; the statistics apart.

use super::statistics::{Column, Columns, NONE, NOT_NUMBERS, UNKNOWN};
use super::{INLINE, ObjectName, StripeList};
use crate::Id;
use crate::wire::{Reader, put_packed, put_planes, size};
use sapwood_core::{Error, ErrorKind, Result};

/// The first bytes of a list.
const MAGIC: [u8; 4] = *b"SPLT";
/// Of the form of a list.
const VERSION: u16 = 1;
/// What the columns of a list may have, in bytes: some 40 million baskets.
const LIMIT: usize = 512 << 20;

impl StripeList {
    /// As a part of a list object ([`super::ListBuilder`] makes these).
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
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        out.extend(self.entries().to_le_bytes());
        out.extend((self.len() as u64).to_le_bytes());
        for count in [self.branches, self.objects.len(), self.inline.len()] {
            out.extend((count as u32).to_le_bytes());
        }
        put_packed(&mut out, &places)?;
        put_packed(&mut out, &statistics)?;
        Ok(out)
    }

    fn encode_places(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_planes(&mut out, 4, self.objects.iter().map(|object| u64::from(object.base)));
        let before = std::iter::once(Id::ZERO).chain(self.objects.iter().map(|object| object.id));
        let steps = self.objects.iter().zip(before).map(|(object, before)| object.id.minus(before).halves());
        put_planes(&mut out, 8, steps.clone().map(|(low, _)| low));
        put_planes(&mut out, 4, steps.map(|(_, high)| u64::from(high)));
        put_planes(
            &mut out,
            8,
            self.firsts.iter().zip(self.firsts.iter().skip(1)).map(|(first, end)| end - first),
        );
        let before = std::iter::once(0).chain(self.places.iter().map(|place| place.0));
        put_planes(
            &mut out,
            4,
            self.places.iter().zip(before).map(|(place, b)| u64::from(place.0.wrapping_sub(b))),
        );
        put_planes(&mut out, 8, self.places.iter().map(|place| place.1));
        let baskets =
            (0..self.branches).flat_map(|branch| (0..self.len()).map(move |stripe| (branch, stripe)));
        let start = |branch, stripe| self.start(branch, stripe).unwrap_or_default();
        let lens = baskets.clone().map(|(branch, stripe)| start(branch + 1, stripe) - start(branch, stripe));
        put_planes(&mut out, 4, lens.map(u64::from));
        let sums = baskets.filter_map(|(branch, stripe)| self.checksums.get(stripe * self.branches + branch));
        out.extend(sums.flat_map(|sum| sum.to_le_bytes()));
        out.extend(&self.inline);
        out
    }

    /// Reads a list of a product of so many branches, in a segment of so many entries.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated`, with the offset in the list, `Checksum` if a packed block is damaged; `Unsupported` for a later
    /// form.
    pub fn decode(bytes: &[u8], branches: usize, entries: u64) -> Result<StripeList> {
        let mut reader = Reader::new(bytes, "a stripe list");
        if reader.array()? != MAGIC {
            return Err(Error::corrupt("this is not a stripe list").at(0));
        }
        let (version, features) = (reader.u16()?, reader.u16()?);
        if (version, features) != (VERSION, 0) {
            let message = format!("a stripe list has version {version}, with features {features:#x}");
            return Err(Error::unsupported(message).at(4).hint("a newer sapwood can read it"));
        }
        let (has_entries, stripes) = (reader.u64()?, reader.u64()?);
        let has_branches = reader.u32()? as usize;
        let (objects, inline) = (reader.u32()? as usize, reader.u32()? as usize);
        reader.rule((has_branches, has_entries) == (branches, entries), || {
            format!(
                "it is of {has_branches} branches and {has_entries} entries, not {branches} and {entries}"
            )
        })?;
        reader
            .rule(stripes <= entries, || format!("{stripes} stripes are too many for {entries} entries"))?;
        let stripes = size(stripes)?;
        let wanted = places_len(branches, stripes, objects, inline).unwrap_or(usize::MAX);
        let content = reader.packed(wanted.min(LIMIT))?;
        reader.rule(wanted == content.len(), || {
            format!("{} bytes are not what {stripes} stripes in {objects} objects take", content.len())
        })?;
        let statistics = reader.packed(LIMIT)?;
        reader.end()?;
        let mut list = StripeList::new(branches);
        list.decode_places(&mut Reader::new(&content, "the columns of a stripe list"), stripes, objects)?;
        if list.entries() != entries {
            let message = format!("the stripes have {} entries, their segment {entries}", list.entries());
            return Err(Error::corrupt(message));
        }
        list.statistics = Columns::decode(&statistics, branches, stripes)?;
        Ok(list)
    }

    fn decode_places(&mut self, reader: &mut Reader<'_>, stripes: usize, objects: usize) -> Result<()> {
        let bases = reader.planes(objects, 4)?;
        let (low, high) = (reader.planes(objects, 8)?, reader.planes(objects, 4)?);
        let mut id = Id::ZERO;
        self.objects.reserve_exact(objects);
        for ((base, low), high) in bases.into_iter().zip(low).zip(high) {
            id = id.plus(Id::from_halves(low, high as u32));
            self.objects.push(ObjectName { base: base as u32, id });
        }
        for entries in reader.planes(stripes, 8)? {
            let end = self.entries().checked_add(entries).filter(|_| entries > 0);
            self.firsts.push(end.ok_or_else(|| Error::corrupt(format!("a stripe has {entries} entries")))?);
        }
        let (steps, offsets) = (reader.planes(stripes, 4)?, reader.planes(stripes, 8)?);
        let mut number = 0u32;
        for (step, offset) in steps.into_iter().zip(offsets) {
            number = number.wrapping_add(step as u32);
            self.places.push((number, offset));
        }
        self.decode_baskets(reader, stripes)?;
        self.inline = reader.take(reader.left())?.to_vec();
        self.check_places()
    }

    fn decode_baskets(&mut self, reader: &mut Reader<'_>, stripes: usize) -> Result<()> {
        let branches = self.branches;
        let lens = reader.planes(branches * stripes, 4)?;
        self.starts.reserve_exact((branches + 1) * stripes);
        self.checksums = vec![0; branches * stripes];
        for stripe in 0..stripes {
            let mut start = 0u32;
            self.starts.push(start);
            for len in lens.iter().skip(stripe).step_by(stripes) {
                let end = start.checked_add(*len as u32);
                start = end.ok_or_else(|| Error::corrupt(format!("stripe {stripe} has 4 GiB or more")))?;
                self.starts.push(start);
            }
        }
        for place in 0..branches * stripes {
            let (branch, stripe) = (place / stripes, place % stripes);
            let sum = reader.u64()?;
            self.checksums.get_mut(stripe * branches + branch).into_iter().for_each(|place| *place = sum);
        }
        Ok(())
    }

    /// That all stripes lie in objects that there are, or in what is here.
    fn check_places(&self) -> Result<()> {
        for (stripe, (number, offset)) in self.places.iter().enumerate() {
            let len = u64::from(self.start(self.branches, stripe).unwrap_or_default());
            let end = offset.checked_add(len);
            let holds = match *number {
                INLINE => end.is_some_and(|end| end <= self.inline.len() as u64),
                number => end.is_some() && (number as usize) < self.objects.len(),
            };
            if !holds {
                return Err(Error::corrupt(format!("stripe {stripe} is said to lie where nothing can be")));
            }
        }
        Ok(())
    }
}

/// Length of the columns.
fn places_len(branches: usize, stripes: usize, objects: usize, inline: usize) -> Option<usize> {
    let baskets = branches.checked_mul(stripes)?.checked_mul(4 + 8)?;
    let (stripes, objects) = (stripes.checked_mul(8 + 4 + 8)?, objects.checked_mul(4 + Id::LEN)?);
    baskets.checked_add(stripes)?.checked_add(objects)?.checked_add(inline)
}

impl Columns {
    /// Nothing, if nothing is known of any branch.
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

    fn decode(bytes: &[u8], branches: usize, stripes: usize) -> Result<Columns> {
        let mut columns = Columns::new(branches);
        let mut reader = Reader::new(bytes, "the statistics of a stripe list");
        if bytes.is_empty() {
            return Ok(columns);
        }
        let kinds = reader.take(branches)?;
        for (column, kind) in columns.columns.iter_mut().zip(kinds) {
            reader.rule(*kind <= NOT_NUMBERS, || format!("numbers of kind {kind} are not known"))?;
            if *kind != NONE {
                *column = decode_column(&mut reader, *kind, stripes)?;
            }
        }
        reader.end()?;
        Ok(columns)
    }
}

fn decode_column(reader: &mut Reader<'_>, kind: u8, stripes: usize) -> Result<Column> {
    let (counts, nans) = (reader.planes(stripes, 8)?, reader.planes(stripes, 8)?);
    let (low, high) = (reader.planes(stripes, 8)?, reader.planes(stripes, 8)?);
    let numbers = counts.into_iter().zip(nans).zip(low.into_iter().zip(high));
    let mut rows: Vec<_> = numbers.map(|((count, nans), (low, high))| [count, nans, low, high]).collect();
    while rows.last().is_some_and(|row| row.first() == Some(&UNKNOWN)) {
        rows.pop();
    }
    Ok(Column { kind, rows })
}
