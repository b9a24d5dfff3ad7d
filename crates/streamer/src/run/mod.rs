//! Runs a program: bytes to columns, item by item or, in columns, many at once.

pub(crate) mod collection;
mod object_base;
mod pointer;
mod record;
mod skip;

use crate::builder::{Builder, misfit, position};
use crate::input::PointerValue;
use crate::{Compiler, Node, StoredNumber, StreamInput, node};
use object_base::reference;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_tfile::IS_REFERENCED;

/// Most levels of objects behind objects, and their contents: more cannot be shown as nested arrays, and do
/// not fit on the stack.
const DEEPEST: usize = 400;
/// Bytes that a run may build without bytes on file, plus more for each entry and each byte of it.
const BUDGET: usize = 1 << 20;
const BUDGET_OF_ENTRY: usize = 1 << 10;
const BUDGET_OF_BYTE: usize = 64;

/// The state of a running program.
#[derive(Debug)]
pub(crate) struct Runner<'c> {
    /// Compiles the classes that only the data name.
    compiler: Option<&'c Compiler>,
    /// Counts, by register and item, of the objects that are being read, the innermost last.
    registers: Vec<i64>,
    scope: Scope,
    /// The positions of the objects behind pointers that are being read.
    open: Vec<usize>,
    depth: usize,
    /// Objects of undescribed classes are skipped; otherwise they are an error.
    tolerant: bool,
    /// Bytes that may still be built without bytes on file: by reading an object again for a reference, for
    /// members that a version of a class does not have, for items without bytes.
    budget: usize,
    /// The positions of tags that name positions. While they are collected, nothing is skipped.
    tags: Option<Vec<usize>>,
}

/// The objects whose members are being read: one, or all of a column.
#[derive(Debug, Clone, Copy)]
struct Scope {
    /// The first register of the class.
    window: usize,
    items: usize,
    item: usize,
}

impl Scope {
    const ONE: Scope = Scope { window: 0, items: 1, item: 0 };
}

impl<'c> Runner<'c> {
    pub(crate) fn new(compiler: Option<&'c Compiler>) -> Self {
        Runner {
            compiler,
            registers: Vec::new(),
            scope: Scope::ONE,
            open: Vec::new(),
            depth: 0,
            tolerant: false,
            budget: BUDGET,
            tags: None,
        }
    }

    /// The same, but the gaps that [`Node::gaps`] reports are not errors.
    pub(crate) fn tolerant(self) -> Self {
        Runner { tolerant: true, ..self }
    }

    /// The positions of tags in an entry that name positions in its buffer, in ascending order.
    pub(crate) fn position_tags(&mut self, node: &Node, input: StreamInput<'_>) -> Result<Vec<usize>> {
        self.tags = Some(Vec::new());
        let walked = self.entry(node, input, &[], &mut Builder::new(node));
        let mut tags = self.tags.take().unwrap_or_default();
        walked?;
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    /// A pointer.
    fn slot<'a>(&mut self, input: &mut StreamInput<'a>) -> Result<PointerValue<'a>> {
        let (slot, tag_at) = input.slot()?;
        if let Some(tags) = &mut self.tags
            && input.names_position(tag_at)
        {
            tags.push(tag_at);
        }
        Ok(slot)
    }

    /// Reads one whole entry and appends it to `out`; `counts` are the values of another column for its
    /// objects.
    pub(crate) fn entry(
        &mut self,
        node: &Node,
        mut input: StreamInput<'_>,
        counts: &[i64],
        out: &mut Builder,
    ) -> Result<()> {
        self.begin(input.remaining());
        self.registers.extend_from_slice(counts);
        self.read(node, &mut input, out)?;
        input.finish("an entry")
    }

    /// Resets the state of the previous entry, for one of `len` bytes.
    pub(crate) fn begin(&mut self, len: usize) {
        self.registers.clear();
        self.open.clear();
        self.scope = Scope::ONE;
        self.depth = 0;
        let more = len.saturating_mul(BUDGET_OF_BYTE).saturating_add(BUDGET_OF_ENTRY);
        self.budget = self.budget.saturating_add(more);
    }

    /// Sets how many items the counted member of some objects has, whose values come next.
    pub(crate) fn set_counts(&mut self, counts: &[[u8; 4]]) {
        self.registers.clear();
        self.registers.extend(counts.iter().map(|count| i64::from(i32::from_be_bytes(*count))));
        self.scope = Scope { window: 0, items: counts.len(), item: 0 };
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                let message = "objects are repeated, or have members without bytes, beyond what can be real";
                Err(Error::new(ErrorKind::Limit, message))
            }
        }
    }

    /// Repeats `work` for each of `count` items; items without bytes are charged to the budget.
    fn each(
        &mut self,
        count: usize,
        input: &mut StreamInput<'_>,
        mut work: impl FnMut(&mut Self, usize, &mut StreamInput<'_>) -> Result<()>,
    ) -> Result<()> {
        for item in 0..count {
            let before = input.remaining();
            work(self, item, input)?;
            if input.remaining() == before {
                self.spend(size_of::<i64>())?;
            }
        }
        Ok(())
    }

    /// Reads one item and appends it to `out`.
    pub(crate) fn read(&mut self, node: &Node, input: &mut StreamInput<'_>, out: &mut Builder) -> Result<()> {
        match (node, out) {
            (Node::Number(number), Builder::Numbers { bytes, .. }) => {
                number.append(input.take(number.size_on_file())?, bytes);
            }
            (Node::Text, Builder::Text { offsets, bytes }) => {
                bytes.extend_from_slice(input.text()?);
                offsets.push(position(bytes.len()));
            }
            (Node::Object(class), Builder::Record { length, fields }) => {
                self.object(class, input, fields)?;
                *length += 1;
            }
            (Node::Collection(collection), out) => self.collection(collection, 1, 1, input, out)?,
            (Node::Fixed { size, content }, out) => {
                if let Some((collection, count)) = node.collection() {
                    return self.collection(collection, 1, count, input, out);
                }
                let Builder::Fixed { length, content: to, .. } = out else { return Err(misfit()) };
                self.read_many(content, *size, input, to)?;
                *length += 1;
            }
            (Node::List(content), Builder::List { offsets, content: to }) => {
                let count = self.count(content, input)?;
                self.read_many(content, count, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::Counted { register, flag, content, .. }, Builder::List { offsets, content: to }) => {
                let count = self.counted(*register, *flag, content, input)?;
                self.read_many(content, count, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::Pointer(wanted), Builder::Any(any)) => self.pointer(wanted, input, any)?,
            (Node::Later(class, wanted), Builder::Any(any)) => self.later(class, wanted, input, any)?,
            (Node::Tuple(nodes), Builder::Record { length, fields }) => {
                for (node, field) in nodes.iter().zip(fields) {
                    self.read(node, input, field)?;
                }
                *length += 1;
            }
            (Node::Record(named), Builder::Record { length, fields }) => {
                for ((_, node), field) in named.iter().zip(fields) {
                    self.read(node, input, field)?;
                }
                *length += 1;
            }
            (Node::Members(class, layout), Builder::Record { length, fields }) => {
                self.members(class, *layout, input, fields)?;
                *length += 1;
            }
            (node, out) => self.read_rare(node, input, out)?,
        }
        Ok(())
    }

    fn read_rare(&mut self, node: &Node, input: &mut StreamInput<'_>, out: &mut Builder) -> Result<()> {
        match (node, out) {
            (Node::Bits, Builder::Numbers { bytes, .. }) => {
                let bits = input.u32()?;
                if bits & IS_REFERENCED != 0 {
                    input.take(2)?;
                }
                bytes.extend_from_slice(&bits.to_ne_bytes());
            }
            (Node::TextOrNothing, Builder::Text { offsets, bytes }) => {
                if !input.is_at_end() {
                    bytes.extend_from_slice(input.text()?);
                }
                offsets.push(position(bytes.len()));
            }
            (Node::LongText, Builder::Text { offsets, bytes }) => {
                let len = input.count(1)?;
                bytes.extend_from_slice(input.take(len)?);
                offsets.push(position(bytes.len()));
            }
            (Node::FlaggedToEnd(content), Builder::List { offsets, content: to }) => {
                if input.u8()? != 0 {
                    self.read_to_end(content, input, to)?;
                }
                offsets.push(position(to.length()));
            }
            (Node::ToEnd(content), Builder::List { offsets, content: to }) => {
                self.read_to_end(content, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::CountedEach(content), Builder::List { offsets, content: to }) => {
                self.counted_each(content, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::Columns(class, layout, size), Builder::List { offsets, content }) => {
                self.columns_to_end(class, *layout, *size, input, content)?;
                offsets.push(position(content.length()));
            }
            (Node::Framed(content), out) => self.framed(content, 1, input, out)?,
            (Node::Symmetric(class, number, rows), Builder::Record { length, fields }) => {
                self.symmetric(class, *number, *rows, input, fields)?;
                *length += 1;
            }
            (Node::Unframed(collection), out) => self.unframed(collection, input, out)?,
            (Node::Named(content), out) => {
                let len = input.u8()?;
                input.take(usize::from(len) + 1)?;
                self.read(content, input, out)?;
            }
            (Node::FramedOrNothing(_), out) if input.is_at_end() => out.push_default(1),
            (Node::FramedOrNothing(content), out) => self.framed(content, 1, input, out)?,
            (Node::Pointers(kind, content), Builder::List { offsets, content: to }) => {
                self.pointers(*kind, content, input, to)?;
                offsets.push(position(to.length()));
            }
            (Node::Clones(wanted), Builder::List { offsets, content }) => {
                let Builder::Any(any) = &mut **content else { return Err(misfit()) };
                self.clones(wanted, input, any)?;
                offsets.push(position(content.length()));
            }
            (Node::Ref, Builder::Record { length, fields }) => {
                let number = reference(input)?;
                let [field] = fields.as_mut_slice() else { return Err(misfit()) };
                field.numbers_mut(1)?.extend_from_slice(&number.to_ne_bytes());
                *length += 1;
            }
            (Node::RefArray, Builder::Record { length, fields }) => {
                self.ref_array(input, fields)?;
                *length += 1;
            }
            (Node::Opaque(_), Builder::Record { length, .. }) if self.tolerant => {
                self.skip(node, 1, input)?;
                *length += 1;
            }
            (Node::Missing(class), _) => return Err(Error::unsupported(node::undescribed(class))),
            (Node::Opaque(class), _) => {
                let hint = "other members of the objects can be read by their paths";
                return Err(Error::unsupported(node::undescribed(class)).hint(hint));
            }
            (Node::PointerOrObject(class, wanted), Builder::Any(any)) => match input.holds_object() {
                true => self.later(class, wanted, input, any)?,
                false => self.pointer(wanted, input, any)?,
            },
            (Node::Nothing | Node::TObject, Builder::Record { length, .. }) => {
                self.skip(node, 1, input)?;
                *length += 1;
            }
            _ => return Err(misfit()),
        }
        Ok(())
    }

    /// A count of items, checked against the remaining bytes. Items without bytes are accepted if they take
    /// no memory either.
    fn count(&self, item: &Node, input: &mut StreamInput<'_>) -> Result<usize> {
        input.count(item.smallest())
    }

    /// Reads items one after the other.
    fn read_many(
        &mut self,
        node: &Node,
        count: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        if let Some(()) = read_numbers(node, count, input, out)? {
            return Ok(());
        }
        self.each(count, input, |runner, _, input| runner.read(node, input, out))
    }

    /// Reads the values of a member of this many objects: frames stand once for all of them (ReadingEntries
    /// §5.3).
    fn read_column(
        &mut self,
        node: &Node,
        count: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        match (node, &mut *out) {
            (Node::Collection(_) | Node::Fixed { .. }, out) if node.collection().is_some() => {
                let Some((collection, each)) = node.collection() else { return Err(misfit()) };
                self.collection(collection, count, each, input, out)
            }
            (Node::Framed(content), out) => self.framed(content, count, input, out),
            _ => {
                if let Some(()) = read_numbers(node, count, input, out)? {
                    return Ok(());
                }
                self.each(count, input, |runner, item, input| {
                    runner.scope.item = item;
                    runner.read(node, input, out)
                })?;
                self.scope.item = 0;
                Ok(())
            }
        }
    }

    fn read_to_end(&mut self, node: &Node, input: &mut StreamInput<'_>, out: &mut Builder) -> Result<()> {
        if let Some((number, values)) = node.numbers() {
            let size = number.size_on_file().saturating_mul(values).max(1);
            if !input.remaining().is_multiple_of(size) {
                let message =
                    format!("{} bytes are no whole number of {size}-byte values", input.remaining());
                return Err(input.error(message));
            }
            return self.read_many(node, input.remaining() / size, input, out);
        }
        if let Some((collection, each)) = node.collection() {
            return self.collections_to_end(collection, each, input, out);
        }
        while !input.is_at_end() {
            let before = input.remaining();
            self.read(node, input, out)?;
            if input.remaining() == before {
                return Err(Error::unsupported("objects have bytes that their description does not cover"));
            }
        }
        Ok(())
    }

    /// One byte count and version, then `count` items.
    fn framed(
        &mut self,
        content: &Node,
        count: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        let mut body = input.must_frame()?;
        body.u16()?;
        self.read_column(content, count, &mut body, out)?;
        body.finish("a member")
    }

    /// Reads a counted member, with one count per object. Without objects, there may be no frame.
    fn counted_each(&mut self, content: &Node, input: &mut StreamInput<'_>, out: &mut Builder) -> Result<()> {
        let items = self.registers.len();
        if items == 0 && input.is_at_end() {
            return Ok(());
        }
        let outer = std::mem::replace(&mut self.scope, Scope { window: 0, items, item: 0 });
        self.read_column(content, items, input, out)?;
        self.scope = outer;
        Ok(())
    }

    /// The number of items of a counted member: its counter, unless its flag is 0.
    fn counted(
        &self,
        register: usize,
        flag: bool,
        content: &Node,
        input: &mut StreamInput<'_>,
    ) -> Result<usize> {
        let place = self.scope.window + register * self.scope.items + self.scope.item;
        let count = self.registers.get(place).copied().unwrap_or_default();
        if flag && input.u8()? == 0 {
            return Ok(0);
        }
        let most = input.remaining() / content.smallest().max(1);
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(input.error(format!("a count of {count} items is too large for the bytes left"))),
        }
    }
}

/// Reads numbers, or fixed arrays of them, in one step; does nothing for other nodes.
#[inline]
fn read_numbers(
    node: &Node,
    count: usize,
    input: &mut StreamInput<'_>,
    out: &mut Builder,
) -> Result<Option<()>> {
    let (number, values): (StoredNumber, usize) = match node {
        Node::Number(number) => (*number, 1),
        Node::Fixed { .. } => match node.numbers() {
            Some(numbers) => numbers,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let size = count.saturating_mul(values).saturating_mul(number.size_on_file());
    let on_file = input.take(size)?;
    number.append(on_file, out.numbers_mut(count)?);
    Ok(Some(()))
}
