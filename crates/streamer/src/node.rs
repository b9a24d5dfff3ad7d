//! The decoding program of a branch whose entries are not plain numbers: a tree of nodes, run once per entry.

use crate::Number;
use crate::builder::{Builder, position};
use sapwood_core::{Error, Form, Primitive, Result};

/// One step of a program: what stands on file, and thereby what is built.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// One number.
    Number(Number),
    /// `TObject::fBits`: 32 bits, and 16 more if the object is referenced (root-io-spec ElementTypes §2.3).
    Bits,
    /// A counted string: one byte of length, or 255 and four bytes of length (Conventions §5.1).
    Text,
    /// A counted string, or no bytes at all for the empty one (TLeaf §9).
    TextOrNothing,
    /// A string with four bytes of length (ElementTypes §2.2).
    LongText,
    /// `size` items one after the other.
    Fixed {
        /// Items.
        size: usize,
        /// What each is.
        content: Box<Node>,
    },
    /// Four bytes of count, then that many items (Collections §3).
    List(Box<Node>),
    /// One flag byte, then numbers to the end of the entry; nothing more if the flag is 0 (ElementTypes §4).
    FlaggedToEnd(Box<Node>),
    /// Items to the end of the entry: the column of a member of a split collection (ReadingEntries §3.2).
    ToEnd(Box<Node>),
    /// Byte count and version, then the content (Collections §2).
    Framed(Box<Node>),
    /// As `Framed`, or no bytes at all, which stands for no items (ReadingEntries §3.2 and §3.6).
    FramedOrNothing(Box<Node>),
    /// Fields one after the other.
    Record(Vec<(String, Node)>),
}

/// Bit 30 of the word in front of an object: the word is a byte count (Buffer §3).
const BYTE_COUNT_MASK: u32 = 0x4000_0000;
/// Bit 14 of a collection's version: its content is written member by member (Collections §2).
const MEMBER_WISE: u16 = 0x4000;

impl Node {
    /// `content`, wrapped in fixed arrays of the sizes `dims`, the outermost first.
    pub fn fixed(dims: &[usize], content: Node) -> Node {
        dims.iter().rev().fold(content, |content, &size| Node::Fixed { size, content: Box::new(content) })
    }

    /// The number and how many of them, if this is nothing but a fixed number of numbers.
    pub fn numbers(&self) -> Option<(Number, usize)> {
        match self {
            Node::Number(number) => Some((*number, 1)),
            Node::Fixed { size, content } => {
                let (number, values) = content.numbers()?;
                Some((number, values.checked_mul(*size)?))
            }
            _ => None,
        }
    }

    /// The form of what this node builds.
    pub fn form(&self) -> Form {
        match self {
            Node::Number(number) => Form::Primitive(number.primitive()),
            Node::Bits => Form::Primitive(Primitive::U32),
            Node::Text | Node::TextOrNothing | Node::LongText => Form::String,
            Node::Fixed { size, content } => Form::fixed(&[*size], content.form()),
            Node::List(content) | Node::FlaggedToEnd(content) | Node::ToEnd(content) => {
                Form::list(content.form())
            }
            Node::Framed(content) | Node::FramedOrNothing(content) => content.form(),
            Node::Record(fields) => {
                Form::record(fields.iter().map(|(name, node)| (name.clone(), node.form())))
            }
        }
    }

    /// The fewest bytes that one item can take; bounds every count that a file announces.
    fn smallest(&self) -> usize {
        match self {
            Node::Number(number) => number.size_on_file(),
            Node::Bits | Node::LongText | Node::List(_) => 4,
            Node::Text | Node::FlaggedToEnd(_) => 1,
            Node::TextOrNothing | Node::ToEnd(_) | Node::FramedOrNothing(_) => 0,
            Node::Fixed { size, content } => size.saturating_mul(content.smallest()),
            Node::Framed(content) => 6usize.saturating_add(content.smallest()),
            Node::Record(fields) => fields.iter().map(|(_, node)| node.smallest()).sum(),
        }
    }

    /// Reads one item from `input` to the end of `out`.
    pub fn read(&self, input: &mut Input<'_>, out: &mut Builder) -> Result<()> {
        match (self, out) {
            (Node::Number(number), Builder::Numbers { bytes, .. }) => {
                append_numbers(*number, input.take(number.size_on_file())?, bytes);
            }
            (Node::Bits, Builder::Numbers { bytes, .. }) => {
                let bits = input.u32()?;
                if bits & IS_REFERENCED != 0 {
                    input.take(2)?;
                }
                bytes.extend_from_slice(&bits.to_ne_bytes());
            }
            (Node::Text, Builder::Text { offsets, bytes }) => append_text(input, false, offsets, bytes)?,
            (Node::TextOrNothing, Builder::Text { offsets, bytes }) => {
                append_text(input, true, offsets, bytes)?;
            }
            (Node::LongText, Builder::Text { offsets, bytes }) => {
                let len = input.count(1)?;
                bytes.extend_from_slice(input.take(len)?);
                offsets.push(position(bytes.len()));
            }
            (Node::Fixed { size, content }, Builder::Fixed { length, content: to }) => {
                content.read_many(*size, input, to)?;
                *length += 1;
            }
            (Node::List(content), Builder::List { offsets, content: to }) => {
                let count = input.count(content.smallest())?;
                content.read_many(count, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::FlaggedToEnd(content), Builder::List { offsets, content: to }) => {
                if input.take(1)?[0] != 0 {
                    content.read_to_end(input, to)?;
                }
                offsets.push(position(to.length()));
            }
            (Node::ToEnd(content), Builder::List { offsets, content: to }) => {
                content.read_to_end(input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::Framed(content), out) => content.read_framed(input, out)?,
            (Node::FramedOrNothing(content), out) => {
                if input.is_at_end() {
                    out.push_empty();
                } else {
                    content.read_framed(input, out)?;
                }
            }
            (Node::Record(fields), Builder::Record { length, fields: to }) => {
                for ((_, node), builder) in fields.iter().zip(to) {
                    node.read(input, builder)?;
                }
                *length += 1;
            }
            _ => return Err(Error::corrupt("a decoding program does not fit its output")),
        }
        Ok(())
    }

    fn read_many(&self, count: usize, input: &mut Input<'_>, out: &mut Builder) -> Result<()> {
        if let (Node::Number(number), Builder::Numbers { bytes, .. }) = (self, &mut *out) {
            let size = count.saturating_mul(number.size_on_file());
            append_numbers(*number, input.take(size)?, bytes);
            return Ok(());
        }
        (0..count).try_for_each(|_| self.read(input, out))
    }

    fn read_to_end(&self, input: &mut Input<'_>, out: &mut Builder) -> Result<()> {
        if let Node::Number(number) = self {
            let size = number.size_on_file();
            if !input.remaining().is_multiple_of(size) {
                return Err(input.error(format!(
                    "{} bytes are no whole number of {size}-byte values",
                    input.remaining()
                )));
            }
            return self.read_many(input.remaining() / size, input, out);
        }
        while !input.is_at_end() {
            let before = input.remaining();
            self.read(input, out)?;
            if input.remaining() == before {
                return Err(input.error("an item without bytes cannot fill an entry".into()));
            }
        }
        Ok(())
    }

    fn read_framed(&self, input: &mut Input<'_>, out: &mut Builder) -> Result<()> {
        let word = input.u32()?;
        if word & BYTE_COUNT_MASK == 0 {
            return Err(input.error(format!("a byte count was expected, found {word:#010x}")));
        }
        let size = (word & !BYTE_COUNT_MASK) as usize;
        let mut content = input.sub(size)?;
        let version = content.u16()?;
        if version & MEMBER_WISE != 0 {
            return Err(Error::unsupported("a collection is stored member by member").at(content.position));
        }
        self.read(&mut content, out)?;
        content.finish()
    }
}

/// `TObject::kIsReferenced` (root-io-spec Buffer §7).
const IS_REFERENCED: u32 = 1 << 4;

fn append_numbers(number: Number, on_file: &[u8], bytes: &mut Vec<u8>) {
    let begin = bytes.len();
    bytes.resize(begin + on_file.len() / number.size_on_file() * number.size(), 0);
    number.decode(on_file, &mut bytes[begin..]);
}

fn append_text(
    input: &mut Input<'_>,
    may_be_absent: bool,
    offsets: &mut Vec<i64>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    if !(may_be_absent && input.is_at_end()) {
        let len = match input.take(1)?[0] {
            255 => input.count(1)?,
            short => usize::from(short),
        };
        bytes.extend_from_slice(input.take(len)?);
    }
    offsets.push(position(bytes.len()));
    Ok(())
}

/// The bytes of one entry.
#[derive(Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    /// Offset of the next byte in the basket's plain data, for errors.
    position: u64,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8], position: u64) -> Self {
        Input { bytes, position }
    }

    fn error(&self, message: String) -> Error {
        Error::corrupt(format!("{message}, at byte {} of the basket's content", self.position))
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.bytes.split_at_checked(len) {
            Some((taken, rest)) => {
                self.bytes = rest;
                self.position += len as u64;
                Ok(taken)
            }
            None => {
                Err(self.error(format!("{len} bytes are needed, {} are left in the entry", self.remaining())))
            }
        }
    }

    fn sub(&mut self, len: usize) -> Result<Input<'a>> {
        let position = self.position;
        Ok(Input { bytes: self.take(len)?, position })
    }

    fn u16(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A count of items of at least `smallest` bytes each, checked against the bytes that are left.
    fn count(&mut self, smallest: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        let most = self.remaining() / smallest.max(1);
        if count > most {
            return Err(self.error(format!("{count} items are announced, at most {most} can follow")));
        }
        Ok(count)
    }

    /// An object ends where its byte count says (root-io-spec Buffer §9).
    pub fn finish(&self) -> Result<()> {
        if self.is_at_end() {
            return Ok(());
        }
        Err(self.error(format!("{} bytes are left over", self.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::{Column, ErrorKind};

    /// Runs a program on entries, each of which it must use up.
    fn run(node: &Node, entries: &[&[u8]]) -> Result<Column> {
        let mut builder = Builder::new(&node.form());
        for entry in entries {
            let mut input = Input::new(entry, 0);
            node.read(&mut input, &mut builder)?;
            input.finish()?;
        }
        Ok(Column::join(&node.form(), &[builder.slices()], entries.len()))
    }

    const BYTE: Node = Node::Number(Number::Plain(Primitive::U8));

    fn kind(node: &Node, entry: &[u8]) -> ErrorKind {
        run(node, &[entry]).unwrap_err().kind()
    }

    #[test]
    fn strings_have_a_short_and_a_long_form() {
        let long = [&[255, 0, 0, 1, 44][..], &[b'x'; 300]].concat();
        let column = run(&Node::TextOrNothing, &[&[2, b'a', b'b'], &[], &long]).unwrap();
        assert_eq!(column.buffers[0].view::<i64>(), [0, 2, 2, 302]);
        assert_eq!(&column.buffers[1].as_bytes()[..3], b"abx");
        assert_eq!(kind(&Node::Text, &[]), ErrorKind::Corrupt);
        assert_eq!(kind(&Node::Text, &[3, b'a']), ErrorKind::Corrupt);
    }

    #[test]
    fn a_count_beyond_the_entry_is_refused_before_memory_is_taken() {
        let list = Node::List(Box::new(Node::List(Box::new(BYTE))));
        assert_eq!(kind(&list, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]), ErrorKind::Corrupt);
        let column = run(&list, &[&[0, 0, 0, 2, 0, 0, 0, 1, 9, 0, 0, 0, 0]]).unwrap();
        assert_eq!(column.buffers[1].view::<i64>(), [0, 1, 1]);
    }

    #[test]
    fn a_column_has_one_frame_or_none_when_it_is_empty() {
        let column_node = Node::FramedOrNothing(Box::new(Node::ToEnd(Box::new(Node::Text))));
        let entry = [0x40, 0, 0, 5, 0, 9, 1, b'a', 0];
        let column = run(&column_node, &[&[], &entry]).unwrap();
        assert_eq!(column.buffers[0].view::<i64>(), [0, 0, 2]);
        assert_eq!(column.buffers[1].view::<i64>(), [0, 1, 1]);
        assert_eq!(kind(&column_node, &[0x40, 0, 0, 6, 0, 9, 1, b'a', 0]), ErrorKind::Corrupt);
        assert_eq!(kind(&column_node, &[0x40, 0, 0, 2, 0x40, 9]), ErrorKind::Unsupported);
    }

    #[test]
    fn bits_of_a_referenced_object_take_two_more_bytes() {
        let node = Node::ToEnd(Box::new(Node::Bits));
        let column = run(&node, &[&[3, 0, 0, 0, 3, 0, 0, 0x10, 0, 7]]).unwrap();
        assert_eq!(column.buffers[1].view::<u32>(), [0x0300_0000, 0x0300_0010]);
    }

    #[test]
    fn a_counted_pointer_says_whether_anything_follows() {
        let node = Node::FlaggedToEnd(Box::new(BYTE));
        let column = run(&node, &[&[0], &[1, 5, 6]]).unwrap();
        assert_eq!(column.buffers[0].view::<i64>(), [0, 0, 2]);
        assert_eq!(kind(&node, &[0, 5]), ErrorKind::Corrupt);
    }
}
