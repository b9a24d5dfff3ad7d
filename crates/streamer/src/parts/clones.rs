//! A `TClonesArray` (root-io-spec Collections §12): whole, and in the bytes of the members of its items.

use super::join::{Joiner, open_frame};
use super::{COLLECTION_VERSION, ClassHeader, ObjectCutter, Part, close_frame, shared_head};
use crate::StreamInput;
use crate::run::collection::ClonesHead;
use sapwood_core::{Error, Result};
use sapwood_tfile::write::RecordBuffer;

/// The class and its version.
const CLASS: &str = "TClonesArray";
const VERSION: u16 = 4;
/// The version of `TObject`, its number, and its bits: `TClonesArray::kBypassStreamer`.
const OBJECT: [u8; 10] = [0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0];

/// The class of the items of a `TClonesArray`; the name of the array's class comes first if it `is_named`.
///
/// # Errors
/// `Corrupt` or `Unsupported` if there is none.
pub fn class_of_clones(array: &[u8], is_named: bool) -> Result<String> {
    let mut input = StreamInput::new(array, 0..array.len(), 0)?;
    if is_named {
        read_name(&mut input)?;
    }
    ClonesHead::read(&mut input.must_frame()?).map(|head| head.class.to_owned())
}

/// The name of the class, which has a zero behind it.
fn read_name(input: &mut StreamInput<'_>) -> Result<()> {
    let name = input.text()?;
    if (name, input.u8()?) == (CLASS.as_bytes(), 0) {
        return Ok(());
    }
    Err(Error::unsupported(format!("an object is not a {CLASS}")))
}

impl ObjectCutter<'_> {
    /// The items of a `TClonesArray`.
    pub(super) fn clones(
        &mut self,
        (is_named, place): (bool, usize),
        header: &ClassHeader,
        parts: &[Part],
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        if is_named {
            read_name(input)?;
        }
        let mut body = input.must_frame()?;
        let head = ClonesHead::read(&mut body)?;
        if head.class != header.name || head.version != header.version {
            return Err(Error::unsupported(format!(
                "a {CLASS} holds version {} of {}, not version {} of {}",
                head.version, head.class, header.version, header.name
            )));
        }
        if head.lower_bound != 0 {
            return Err(Error::unsupported(format!("a {CLASS} does not begin at 0")));
        }
        let number = u32::try_from(head.count).map_err(|_| body.error("there are too many items"))?;
        self.number(place, number)?;
        if head.is_transposed {
            // Without items, there are frames of columns nevertheless.
            if head.count > 0 || !body.is_at_end() {
                self.columns(parts, head.count, &mut body)?;
            }
            return body.finish(CLASS);
        }
        for _ in 0..head.count {
            if body.u8()? != 1 {
                return Err(Error::unsupported(format!("a {CLASS} has gaps")));
            }
            self.object(header, parts, &mut body, true)?;
        }
        body.finish(CLASS)
    }
}

impl Joiner<'_> {
    /// A `TClonesArray`. Its name is the one that its constructor gives.
    pub(super) fn clones(
        &mut self,
        (is_named, place): (bool, usize),
        header: &ClassHeader,
        parts: &[Part],
        places: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let number = super::join::number_of(places, place)?;
        if is_named {
            let mut name = RecordBuffer::new(0);
            name.tstring(CLASS);
            name.u8(0);
            out.extend(name.finish()?);
        }
        let at = open_frame(out);
        let mut head = RecordBuffer::new(0);
        head.u16(VERSION);
        head.bytes(&OBJECT);
        head.tstring(&format!("{}s", header.name));
        head.tstring(&format!("{};{}", header.name, header.version));
        head.u32(number);
        head.u32(0); // fLowerBound
        out.extend(head.finish()?);
        match number {
            0 => no_items(parts, places, out)?,
            _ => self.columns(parts, number as usize, places, out)?,
        }
        close_frame(out, at)
    }
}

/// The columns of no items: frames of nothing.
fn no_items(parts: &[Part], places: &[&[u8]], out: &mut Vec<u8>) -> Result<()> {
    for part in parts {
        match part {
            Part::Value { place, node, .. } => match super::join::bytes_of(places, *place)? {
                [] if shared_head(node, &[]).is_some() => {
                    let at = open_frame(out);
                    out.extend(COLLECTION_VERSION.to_be_bytes());
                    close_frame(out, at)?;
                }
                bytes => out.extend_from_slice(bytes),
            },
            Part::Members { without_header: true, parts, .. } => no_items(parts, places, out)?,
            Part::Members { .. } => {}
            Part::Items { .. } | Part::Clones { .. } => {
                return Err(Error::corrupt("items of items are not split"));
            }
        }
    }
    Ok(())
}
