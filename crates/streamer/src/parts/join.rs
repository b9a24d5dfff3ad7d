//! Builds objects from the bytes of their parts.

use super::{COLLECTION_VERSION, ClassHeader, MEMBER_WISE, Part, close_frame, shared_head};
use crate::run::Runner;
use crate::{Compiler, Node, StreamInput};
use sapwood_core::{Error, Result};

/// Longer entries are not real: ROOT's buffers hold less than 1 GB (root-io-spec Buffer §2).
const LONGEST: usize = 1 << 30;

/// Builds objects.
#[derive(Debug)]
pub struct Joiner<'p> {
    parts: &'p [Part],
    runner: Runner<'p>,
    /// The last value of each place, if it may count others.
    counts: Vec<[u8; 4]>,
}

/// A column whose values go to one object after the other.
struct Column<'a> {
    values: StreamInput<'a>,
    /// What stands before each value, in place of the frame around all of them.
    head: Option<&'a [u8]>,
    place: usize,
    counter: Option<usize>,
}

impl<'p> Joiner<'p> {
    /// Joins objects of these parts.
    pub fn new(compiler: &'p Compiler, parts: &'p [Part]) -> Joiner<'p> {
        Joiner { parts, runner: Runner::new(Some(compiler)), counts: Vec::new() }
    }

    /// Appends the object of which each place has these bytes.
    ///
    /// # Errors
    /// `Corrupt` if the bytes break the format.
    pub fn join(&mut self, places: &[&[u8]], out: &mut Vec<u8>) -> Result<()> {
        self.runner.begin(places.iter().map(|bytes| bytes.len()).sum());
        self.counts.resize(places.len(), [0; 4]);
        let parts = self.parts;
        self.members(parts, places, out)
    }

    fn members(&mut self, parts: &[Part], places: &[&[u8]], out: &mut Vec<u8>) -> Result<()> {
        for part in parts {
            match part {
                Part::Value { place, .. } => out.extend_from_slice(bytes_of(places, *place)?),
                Part::Members { header, parts, .. } => {
                    let at = header.begin(out);
                    self.members(parts, places, out)?;
                    header.end(out, at)?;
                }
                Part::Items { place, header, parts } => self.items((*place, header, parts), places, out)?,
                Part::Clones { is_named, place, header, parts } => {
                    self.clones((*is_named, *place), header, parts, places, out)?;
                }
            }
        }
        Ok(())
    }

    /// A collection, member by member.
    fn items(
        &mut self,
        (place, header, parts): (usize, &ClassHeader, &[Part]),
        places: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let number = number_of(places, place)?;
        let at = open_frame(out);
        out.extend((COLLECTION_VERSION | MEMBER_WISE).to_be_bytes());
        header.write(out);
        out.extend(number.to_be_bytes());
        match number as usize {
            0 => {}
            count => self.columns(parts, count, places, out)?,
        }
        close_frame(out, at)
    }

    pub(super) fn columns(
        &mut self,
        parts: &[Part],
        count: usize,
        places: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for part in parts {
            match part {
                Part::Value { place, .. } => out.extend_from_slice(bytes_of(places, *place)?),
                Part::Members { without_header: true, parts, .. } => {
                    self.columns(parts, count, places, out)?
                }
                Part::Members { header, parts, .. } => {
                    let mut columns = Vec::new();
                    begin_columns(parts, places, &mut columns)?;
                    for _ in 0..count {
                        self.scatter((header, parts), &mut columns.iter_mut(), out)?;
                        // Objects without bytes can be counted without end.
                        if out.len() > LONGEST {
                            return Err(Error::corrupt(format!("there cannot be {count} objects")));
                        }
                    }
                    for (_, column) in &columns {
                        column.values.finish("a column")?;
                    }
                }
                Part::Items { .. } | Part::Clones { .. } => {
                    return Err(Error::corrupt("items of items are not split"));
                }
            }
        }
        Ok(())
    }

    /// Appends one object, with the next value of each column.
    fn scatter<'c, 'a: 'c>(
        &mut self,
        (header, parts): (&ClassHeader, &[Part]),
        columns: &mut impl Iterator<Item = &'c mut (Node, Column<'a>)>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let at = header.begin(out);
        for part in parts {
            match part {
                Part::Value { .. } => {
                    let (node, column) =
                        columns.next().ok_or_else(|| Error::corrupt("a column is missing"))?;
                    self.value(node, column, out)?;
                }
                Part::Members { header, parts, .. } => self.scatter((header, parts), columns, out)?,
                Part::Items { .. } | Part::Clones { .. } => {
                    return Err(Error::corrupt("items of items are not split"));
                }
            }
        }
        header.end(out, at)
    }

    fn value(&mut self, node: &Node, column: &mut Column<'_>, out: &mut Vec<u8>) -> Result<()> {
        let mut begin = column.values.clone();
        if let Some(count) = column.counter.and_then(|counter| self.counts.get(counter)) {
            self.runner.set_counts(&[*count]);
        }
        let Some(head) = column.head else {
            self.runner.skip(node, 1, &mut column.values)?;
            let value = begin.take(begin.remaining() - column.values.remaining())?;
            if let (Some(last), Ok(value)) = (self.counts.get_mut(column.place), value.try_into()) {
                *last = value;
            }
            out.extend_from_slice(value);
            return Ok(());
        };
        let at = open_frame(out);
        out.extend_from_slice(head);
        self.runner.skip_in_frame(node, head, &mut column.values)?;
        out.extend_from_slice(begin.take(begin.remaining() - column.values.remaining())?);
        close_frame(out, at)
    }
}

/// The columns of the values of some parts, in their order.
fn begin_columns<'a>(
    parts: &[Part],
    places: &[&'a [u8]],
    columns: &mut Vec<(Node, Column<'a>)>,
) -> Result<()> {
    for part in parts {
        match part {
            Part::Value { place, node, counter } => {
                let bytes = bytes_of(places, *place)?;
                let mut values = StreamInput::new(bytes, 0..bytes.len(), 0)?;
                let head = match shared_head(node, bytes) {
                    Some(len) => {
                        let mut body = values.must_frame()?;
                        values.finish("a column")?;
                        let head = body.take(len)?;
                        values = body;
                        Some(head)
                    }
                    None => None,
                };
                columns.push((node.clone(), Column { values, head, place: *place, counter: *counter }));
            }
            Part::Members { parts, .. } => begin_columns(parts, places, columns)?,
            Part::Items { .. } | Part::Clones { .. } => {}
        }
    }
    Ok(())
}

/// The number of items that a place counts.
pub(super) fn number_of(places: &[&[u8]], place: usize) -> Result<u32> {
    let number = bytes_of(places, place)?.try_into();
    number.map(u32::from_be_bytes).map_err(|_| Error::corrupt("the number of items is not a number"))
}

pub(super) fn bytes_of<'a>(places: &[&'a [u8]], place: usize) -> Result<&'a [u8]> {
    places.get(place).copied().ok_or_else(|| Error::corrupt("a part has no place"))
}

/// Leaves room for a byte count.
pub(super) fn open_frame(out: &mut Vec<u8>) -> usize {
    out.extend([0; 4]);
    out.len() - 4
}
