//! Cuts objects into the bytes of their parts.

use super::{ClassHeader, MEMBER_WISE, Part, WITH_CLASS_VERSION, close_frame, shared_head};
use crate::run::Runner;
use crate::{Compiler, Node, StreamInput};
use sapwood_core::{Error, Result};

/// Collects the bytes of the parts of objects.
#[derive(Debug)]
pub struct ObjectCutter<'p> {
    parts: &'p [Part],
    runner: Runner<'p>,
    places: Vec<PartBytes>,
}

/// The bytes that go to one place, of all objects.
#[derive(Debug, Default)]
pub struct PartBytes {
    /// The bytes of all entries.
    pub data: Vec<u8>,
    /// The start of each entry, and the end of the last.
    pub starts: Vec<u32>,
    /// The largest number of items that an entry counts.
    pub maximum: u32,
    /// Where the open entry's frame begins, if its values share one.
    frame: Option<usize>,
}

impl<'p> ObjectCutter<'p> {
    /// An empty cutter with this many places.
    pub fn new(compiler: &'p Compiler, parts: &'p [Part], places: usize) -> ObjectCutter<'p> {
        let empty = || PartBytes { starts: vec![0], ..PartBytes::default() };
        ObjectCutter {
            parts,
            runner: Runner::new(Some(compiler)),
            places: std::iter::repeat_with(empty).take(places).collect(),
        }
    }

    /// Adds an object.
    ///
    /// # Errors
    /// `Corrupt` if the bytes break the format; `Unsupported` if they do not match the description.
    pub fn add(&mut self, mut object: StreamInput<'_>) -> Result<()> {
        self.runner.begin(object.remaining());
        self.members(self.parts, &mut object, false)?;
        object.finish("an entry")?;
        for place in &mut self.places {
            if let Some(at) = place.frame.take() {
                close_frame(&mut place.data, at)?;
            }
            let end = u32::try_from(place.data.len());
            place.starts.push(end.map_err(|_| Error::unsupported("a basket is too long"))?);
        }
        Ok(())
    }

    /// The bytes of each place.
    pub fn finish(self) -> Vec<PartBytes> {
        self.places
    }

    fn place(&mut self, place: usize) -> Result<&mut PartBytes> {
        self.places.get_mut(place).ok_or_else(|| Error::corrupt("a part has no place"))
    }

    /// The members of one object; `gathers` if those of other objects of the entry go to the same places.
    fn members(&mut self, parts: &[Part], input: &mut StreamInput<'_>, gathers: bool) -> Result<()> {
        for part in parts {
            match part {
                Part::Value { place, node, counter } => {
                    if let Some(items) = self.count(*counter, 1)?
                        && !gathers
                    {
                        let counts = self.place(counter.unwrap_or(*place))?;
                        counts.maximum = counts.maximum.max(items);
                    }
                    let bytes = self.pass(node, 1, input)?;
                    self.place(*place)?.add(node, bytes, gathers)?;
                }
                Part::Members { header, parts, .. } => self.object(header, parts, input, gathers)?,
                Part::Items { place, header, parts } => self.items(*place, header, parts, input)?,
                Part::Clones { is_named, place, header, parts } => {
                    self.clones((*is_named, *place), header, parts, input)?;
                }
            }
        }
        Ok(())
    }

    /// Tells the runner how many items a member of the last objects has; returns the number of the last.
    fn count(&mut self, counter: Option<usize>, objects: usize) -> Result<Option<u32>> {
        let Some(counter) = counter else { return Ok(None) };
        let data = self.places.get(counter).map_or(&[][..], |place| &place.data);
        let counts = objects.checked_mul(4).and_then(|len| data.len().checked_sub(len));
        let counts = counts.and_then(|from| data.get(from..)).unwrap_or_default().as_chunks().0;
        self.runner.set_counts(counts);
        Ok(counts.last().map(|count| u32::from_be_bytes(*count)))
    }

    /// Passes over the values of `count` objects; returns their bytes.
    fn pass<'i>(&mut self, node: &Node, count: usize, input: &mut StreamInput<'i>) -> Result<&'i [u8]> {
        let mut begin = input.clone();
        self.runner.skip(node, count, input)?;
        begin.take(begin.remaining() - input.remaining())
    }

    /// Adds the number of items of a collection.
    pub(super) fn number(&mut self, place: usize, number: u32) -> Result<()> {
        let counts = self.place(place)?;
        counts.data.extend(number.to_be_bytes());
        counts.maximum = counts.maximum.max(number);
        Ok(())
    }

    pub(super) fn object(
        &mut self,
        header: &ClassHeader,
        parts: &[Part],
        input: &mut StreamInput<'_>,
        gathers: bool,
    ) -> Result<()> {
        let Some(mut body) = header.open(input)? else {
            header.read(input)?;
            return self.members(parts, input, gathers);
        };
        header.read(&mut body)?;
        self.members(parts, &mut body, gathers)?;
        body.finish(&header.name)
    }

    /// A collection: one object after the other, or member by member.
    fn items(
        &mut self,
        place: usize,
        header: &ClassHeader,
        parts: &[Part],
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        let mut body = input.must_frame()?;
        let version = body.u16()?;
        let in_columns = version & MEMBER_WISE != 0;
        if in_columns {
            if version & !MEMBER_WISE < WITH_CLASS_VERSION {
                return Err(Error::unsupported("a collection was written by a version of ROOT before 5"));
            }
            header.read(&mut body)?;
        }
        let number = body.u32()?;
        self.number(place, number)?;
        let count = number as usize;
        if !in_columns {
            // Each has a header, so there cannot be more than bytes.
            if count > body.remaining() {
                return Err(body.error(format!("there cannot be {count} items")));
            }
            for _ in 0..count {
                self.object(header, parts, &mut body, true)?;
            }
        } else if count > 0 {
            self.columns(parts, count, &mut body)?;
        }
        body.finish("a collection")
    }

    /// The members of `count` objects, each a column.
    pub(super) fn columns(
        &mut self,
        parts: &[Part],
        count: usize,
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        for part in parts {
            match part {
                Part::Value { place, node, counter } => {
                    self.count(*counter, count)?;
                    let bytes = self.pass(node, count, input)?;
                    self.place(*place)?.data.extend_from_slice(bytes);
                }
                Part::Members { without_header: true, parts, .. } => self.columns(parts, count, input)?,
                Part::Members { header, parts, .. } => {
                    if count > input.remaining() {
                        return Err(input.error(format!("there cannot be {count} items")));
                    }
                    for _ in 0..count {
                        self.object(header, parts, input, true)?;
                    }
                }
                Part::Items { .. } | Part::Clones { .. } => {
                    return Err(Error::corrupt("items of items are not split"));
                }
            }
        }
        Ok(())
    }
}

impl PartBytes {
    /// Adds a value; with those of other objects if it `gathers` them, behind one frame.
    fn add(&mut self, node: &Node, bytes: &[u8], gathers: bool) -> Result<()> {
        let (Some(head), true) = (shared_head(node, bytes), gathers) else {
            self.data.extend_from_slice(bytes);
            return Ok(());
        };
        let Some(at) = self.frame else {
            self.frame = Some(self.data.len());
            self.data.extend_from_slice(bytes);
            return Ok(());
        };
        let own = bytes.get(4..4 + head);
        if own.is_none() || own != self.data.get(at + 4..at + 4 + head) {
            return Err(Error::unsupported("collections of one entry were written in different ways"));
        }
        self.data.extend_from_slice(bytes.get(4 + head..).unwrap_or_default());
        Ok(())
    }
}
