//! Objects that hold baskets: a stripe of one product, or a group of stripes, behind a directory.

use crate::envelope::{Envelope, ObjectKind, close, unseal};
use crate::wire::{Reader, checksum, put_packed};
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Bytes that are read to get the directory: a group of all products has about 100 kB.
const DIRECTORY_LIMIT: usize = 64 << 20;

/// A basket's record, as ROOT writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BasketRecord {
    /// Its length in bytes; 0 for a branch without leaves, which has no basket.
    pub len: u32,
    /// XXH64 of it; that of no bytes if there is no basket.
    pub checksum: u64,
}

impl BasketRecord {
    /// Describes a record.
    ///
    /// # Errors
    /// `Limit` for 4 GiB and more.
    pub fn of(record: &[u8]) -> Result<BasketRecord> {
        let len = u32::try_from(record.len()).map_err(|_| too_long(record.len() as u64))?;
        Ok(BasketRecord { len, checksum: checksum(record) })
    }
}

pub(crate) fn too_long(len: u64) -> Error {
    Error::new(ErrorKind::Limit, format!("baskets of {len} bytes are too much for one stripe"))
        .hint("write fewer entries in a stripe")
}

/// Baskets of one product over some entries: one for each of its branches, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductBaskets {
    /// Offset of the first one in the object.
    pub offset: u64,
    /// Number of entries.
    pub entries: u64,
    /// Its baskets.
    pub baskets: Vec<BasketRecord>,
}

impl ProductBaskets {
    /// Length of all baskets together, in bytes.
    pub fn byte_count(&self) -> u64 {
        self.baskets.iter().map(|basket| u64::from(basket.len)).sum()
    }
}

/// What one product has in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductStripes {
    /// Name of the product.
    pub product: String,
    /// Its first entry, in the segment.
    pub first_entry: u64,
    /// Its baskets.
    pub placed: ProductBaskets,
}

/// Builds an object of baskets: a stripe, if one product is added, or a group.
///
/// ```
/// use bytes::Bytes;
/// use sapwood_stripe::{ObjectDirectory, ObjectBuilder};
/// let mut builder = ObjectBuilder::default();
/// builder.add("Muon", 0, 720, vec![Bytes::from("a record"), Bytes::from("another")])?;
/// let (object, placed) = builder.finish()?;
/// assert_eq!(ObjectDirectory::of(&object)?.members[0].placed, placed[0]);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ObjectBuilder {
    members: Vec<ProductStripes>,
    records: Vec<Bytes>,
    byte_count: u64,
}

impl ObjectBuilder {
    /// Adds the basket records of one product, one per branch in order; an empty one for a branch without a
    /// basket.
    ///
    /// # Errors
    /// `Limit` if they have 4 GiB or more; `Usage` for no entries, or a name of more than 65,535 bytes.
    pub fn add(&mut self, product: &str, first_entry: u64, entries: u64, records: Vec<Bytes>) -> Result<()> {
        if entries == 0 || u16::try_from(product.len()).is_err() {
            return Err(Error::usage(format!("a stripe of '{product}' cannot have {entries} entries")));
        }
        let baskets = records.iter().map(|record| BasketRecord::of(record)).collect::<Result<Vec<_>>>()?;
        let placed = ProductBaskets { offset: self.byte_count, entries, baskets };
        let len = placed.byte_count();
        u32::try_from(len).map_err(|_| too_long(len))?;
        self.byte_count += len;
        self.members.push(ProductStripes { product: product.to_owned(), first_entry, placed });
        self.records.extend(records);
        Ok(())
    }

    /// Finishes the object; also returns where the baskets lie in it, in the order in which they were added.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory.
    pub fn finish(self) -> Result<(Bytes, Vec<ProductBaskets>)> {
        let mut directory = Vec::new();
        put_packed(&mut directory, &encode(&self.members))?;
        let start = Envelope::LEN + 8 + directory.len();
        let mut object = Vec::with_capacity(start + usize::try_from(self.byte_count).unwrap_or(0));
        object.resize(Envelope::LEN, 0);
        object.extend(checksum(&directory).to_le_bytes());
        object.extend(directory);
        for record in &self.records {
            object.extend_from_slice(record);
        }
        let at = |placed: ProductBaskets| ProductBaskets { offset: start as u64 + placed.offset, ..placed };
        let placed = self.members.into_iter().map(|member| at(member.placed)).collect();
        Ok((close(ObjectKind::Stripe, object), placed))
    }
}

fn encode(members: &[ProductStripes]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((members.len() as u32).to_le_bytes());
    for ProductStripes { product, first_entry, placed } in members {
        out.extend((product.len() as u16).to_le_bytes());
        out.extend(product.as_bytes());
        out.extend(first_entry.to_le_bytes());
        out.extend(placed.entries.to_le_bytes());
        out.extend((placed.baskets.len() as u32).to_le_bytes());
        out.extend(placed.baskets.iter().flat_map(|basket| basket.len.to_le_bytes()));
        out.extend(placed.baskets.iter().flat_map(|basket| basket.checksum.to_le_bytes()));
    }
    out
}

/// The directory of an object. Readers use the stripe lists; this is for checks, and for recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectDirectory {
    /// Its contents, in order.
    pub members: Vec<ProductStripes>,
}

impl ObjectDirectory {
    /// Reads the directory of a whole object, and verifies all checksums.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset in the object.
    pub fn of(object: &Bytes) -> Result<ObjectDirectory> {
        unseal(ObjectKind::Stripe, object)?;
        let directory = ObjectDirectory::head(object)?;
        let mut end = directory.members.first().map_or(object.len() as u64, |member| member.placed.offset);
        for member in &directory.members {
            for basket in &member.placed.baskets {
                let start = end;
                end += u64::from(basket.len);
                let range = crate::wire::size(start)?..crate::wire::size(end)?;
                let record = object.get(range).ok_or_else(|| ends_before(&member.product).at(start))?;
                if checksum(record) != basket.checksum {
                    let message = format!("the checksum of a basket of '{}' does not match", member.product);
                    return Err(Error::new(ErrorKind::Checksum, message).at(start));
                }
            }
        }
        if end != object.len() as u64 {
            return Err(Error::corrupt("a stripe has bytes that no product claims").at(end));
        }
        Ok(directory)
    }

    /// Reads the directory of an object from its first bytes; `Truncated` if these are not enough.
    ///
    /// # Errors
    /// As [`ObjectDirectory::of`]; baskets are not checked.
    pub fn head(object: &[u8]) -> Result<ObjectDirectory> {
        let envelope = Envelope::parse(object)?;
        if envelope.kind != ObjectKind::Stripe {
            return Err(Error::corrupt(format!("an object is {}, not a stripe", envelope.kind.name())).at(8));
        }
        let mut reader = Reader::new(object, "a stripe");
        reader.take(Envelope::LEN)?;
        let sum = reader.u64()?;
        let start = reader.place();
        let content = reader.packed(DIRECTORY_LIMIT)?;
        if checksum(object.get(start..reader.place()).unwrap_or_default()) != sum {
            let message = "the checksum of the directory of a stripe does not match";
            return Err(Error::new(ErrorKind::Checksum, message).at(start as u64));
        }
        let mut offset = reader.place() as u64;
        let mut reader = Reader::new(&content, "the directory of a stripe");
        let members = (0..reader.u32()?).map(|_| member(&mut reader, &mut offset)).collect::<Result<_>>()?;
        reader.end()?;
        Ok(ObjectDirectory { members })
    }
}

fn member(reader: &mut Reader<'_>, offset: &mut u64) -> Result<ProductStripes> {
    let len = usize::from(reader.u16()?);
    let name = std::str::from_utf8(reader.take(len)?);
    let product = name.map_err(|_| Error::corrupt("a stripe names a product in bytes that are not text"))?;
    let (first_entry, entries) = (reader.u64()?, reader.u64()?);
    let count = reader.u32()? as usize;
    reader.rule(count <= reader.left() / 12, || format!("'{product}' has {count} baskets, more than fit"))?;
    let lens = (0..count).map(|_| reader.u32()).collect::<Result<Vec<_>>>()?;
    let sums = (0..count).map(|_| reader.u64()).collect::<Result<Vec<_>>>()?;
    let baskets = lens.into_iter().zip(sums).map(|(len, checksum)| BasketRecord { len, checksum }).collect();
    let placed = ProductBaskets { offset: *offset, entries, baskets };
    // At most 2^32 numbers of 32 bits: no overflow.
    *offset += placed.byte_count();
    Ok(ProductStripes { product: product.to_owned(), first_entry, placed })
}

fn ends_before(product: &str) -> Error {
    Error::new(ErrorKind::Truncated, format!("a stripe ends before a basket of '{product}'"))
}
