//! STL collections and `TClonesArray`: item by item, or their items' members in columns.

use super::Runner;
use super::object_base::object_base;
use super::record::{read_version, undescribed};
use crate::builder::{Any, Builder, misfit, position};
use crate::node::{self, ClassLayout, Collection, CompiledClass};
use crate::{Node, StreamInput};
use sapwood_core::{Error, Result};
use std::sync::Arc;

/// Bit 14 of a collection's version: its content is written member by member (root-io-spec Collections §2).
const MEMBER_WISE: u16 = 0x4000;
/// `TClonesArray::kBypassStreamer`, and where it was in version 3 of the class (Collections §12).
const BYPASS: u32 = 1 << 12;
const BYPASS_OF_VERSION_3: u32 = 1 << 14;

/// The information in the frame around collections.
struct Frame<'l> {
    /// The layout of the items, if they are stored member by member.
    members: Option<(&'l Arc<CompiledClass>, &'l ClassLayout)>,
    version: u16,
}

impl<'l> Frame<'l> {
    /// Reads the bytes that stand once before all collections of a frame.
    fn read(collection: &'l Collection, body: &mut StreamInput<'_>) -> Result<Self> {
        let word = body.u16()?;
        let version = word & !MEMBER_WISE;
        if word & MEMBER_WISE == 0 {
            return Ok(Frame { members: None, version });
        }
        let Some(class) = &collection.class else { return Frame::without_class(collection, version, body) };
        // Older writers did not record the version of the items' class (Collections §6).
        let layout = if version >= if collection.is_pointer { 9 } else { 8 } {
            read_version(class, body)?
        } else {
            class.layouts.first().ok_or_else(|| undescribed(class))?
        };
        Ok(Frame { members: Some((class, layout)), version })
    }

    /// A collection of an undescribed class can be read if it is empty: it then consists of a version, a
    /// checksum if that is 0, and the count.
    fn without_class(collection: &Collection, version: u16, body: &mut StreamInput<'_>) -> Result<Self> {
        let len = body.remaining();
        if matches!((len, body.peek_u16(0)), (10, Some(0)) | (6, Some(1..))) {
            body.take(len - 4)?;
            if body.peek_u32() == Some(0) {
                return Ok(Frame { members: None, version });
            }
        }
        Err(match &collection.item {
            Node::Missing(class) => Error::unsupported(node::undescribed(class)),
            _ => body.error("a collection of this type cannot be stored member by member"),
        })
    }

    /// True if a collection without items has columns nevertheless (Collections §4.3).
    fn has_empty_columns(&self) -> bool {
        self.version < 7
    }
}

impl Runner<'_> {
    /// Reads `count` collections, or arrays of `each` of them, which share one frame.
    pub(super) fn collection(
        &mut self,
        collection: &Collection,
        count: usize,
        each: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        let mut body = input.must_frame()?;
        let frame = Frame::read(collection, &mut body)?;
        let (offsets, content) = out.lists_mut(count)?;
        self.collections(collection, &frame, count.saturating_mul(each), &mut body, (offsets, content))?;
        body.finish("a collection")
    }

    /// Reads a collection as an object. A count cannot be mistaken for the byte count of a frame.
    pub(super) fn unframed(
        &mut self,
        collection: &Collection,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        if input.clone().frame()?.is_some() {
            return self.collection(collection, 1, 1, input, out);
        }
        let (offsets, content) = out.lists_mut(1)?;
        let frame = Frame { members: None, version: 0 };
        self.collections(collection, &frame, 1, input, (offsets, content))
    }

    fn collections(
        &mut self,
        collection: &Collection,
        frame: &Frame<'_>,
        count: usize,
        body: &mut StreamInput<'_>,
        (offsets, content): (&mut Vec<i64>, &mut Builder),
    ) -> Result<()> {
        for _ in 0..count {
            self.one_collection(collection, frame, body, content)?;
            offsets.push(position(content.length()));
        }
        Ok(())
    }

    /// Reads collections to the end of an entry, `each` at once, behind one frame; there is none if there is no collection.
    pub(super) fn collections_to_end(
        &mut self,
        collection: &Collection,
        each: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        if input.is_at_end() {
            return Ok(());
        }
        let mut body = input.must_frame()?;
        let frame = Frame::read(collection, &mut body)?;
        while !body.is_at_end() {
            let lists = out.lists_mut(1)?;
            self.collections(collection, &frame, each.max(1), &mut body, lists)?;
        }
        input.finish("an entry")
    }

    /// Skips `count` collections behind the head of their frame.
    pub(super) fn skip_collections(
        &mut self,
        collection: &Collection,
        head: &[u8],
        count: usize,
        body: &mut StreamInput<'_>,
    ) -> Result<()> {
        let frame = Frame::read(collection, &mut StreamInput::new(head, 0..head.len(), 0)?)?;
        for _ in 0..count {
            let Some((class, layout)) = frame.members else {
                let items = self.count(&collection.item, body)?;
                self.skip_many(&collection.item, items, body)?;
                continue;
            };
            let items = body.u32()? as usize;
            self.check_count(layout, items, body)?;
            if items != 0 || frame.has_empty_columns() {
                self.skip_steps(class, layout, items, true, body)?;
            }
        }
        Ok(())
    }

    fn one_collection(
        &mut self,
        collection: &Collection,
        frame: &Frame<'_>,
        body: &mut StreamInput<'_>,
        content: &mut Builder,
    ) -> Result<()> {
        let Some((class, layout)) = frame.members else {
            let count = self.count(&collection.item, body)?;
            return self.read_many(&collection.item, count, body, content);
        };
        let count = body.u32()? as usize;
        self.check_count(layout, count, body)?;
        let Builder::Record { length, fields } = content else { return Err(misfit()) };
        if count != 0 || frame.has_empty_columns() {
            self.columns(class, layout, count, body, fields)?;
        }
        *length += count;
        Ok(())
    }

    /// Reads the items of a `TClonesArray`.
    pub(super) fn clones(
        &mut self,
        wanted: &crate::MemberSelection,
        input: &mut StreamInput<'_>,
        out: &mut Any,
    ) -> Result<()> {
        let mut body = input.must_frame()?;
        let head = ClonesHead::read(&mut body)?;
        if head.count == 0 && body.is_at_end() {
            return Ok(());
        }
        let (tag, one) = self.alternative(head.class, wanted, &mut out.alternatives)?;
        let outer = self.enter(one.depth)?;
        if head.is_transposed {
            let class = match &one.node {
                Node::Object(class) => class,
                Node::Opaque(class) => return Err(Error::unsupported(node::undescribed(class))),
                _ => return Err(body.error(format!("{} cannot be stored member by member", head.class))),
            };
            let layout = class.layout(head.version, None).or(class.layouts.first());
            let layout = layout.ok_or_else(|| undescribed(class))?;
            let Builder::Record { length, fields } = &mut one.builder else { return Err(misfit()) };
            self.check_count(layout, head.count, &body)?;
            self.columns(class, layout, head.count, &mut body, fields)?;
            *length += head.count;
            out.tags.resize(out.tags.len() + head.count, tag);
        } else {
            for _ in 0..head.count {
                if body.u8()? == 0 {
                    out.tags.push(-1);
                    continue;
                }
                self.read(&one.node, &mut body, &mut one.builder)?;
                out.tags.push(tag);
            }
        }
        self.leave(outer);
        body.finish("a TClonesArray")
    }

    /// Checks the number of objects whose members follow in columns against the remaining bytes. Objects of
    /// classes without any bytes are charged to the budget instead.
    fn check_count(&mut self, layout: &ClassLayout, count: usize, body: &StreamInput<'_>) -> Result<()> {
        if layout.smallest == 0 {
            return self.spend(count.saturating_mul(size_of::<i64>()));
        }
        if count > body.remaining() / layout.smallest {
            return Err(body.error(format!("a count of {count} items is too large for the bytes left")));
        }
        Ok(())
    }
}

/// The header before the items of a `TClonesArray` (Collections §12).
pub(crate) struct ClonesHead<'a> {
    pub(crate) class: &'a str,
    /// The version of that class.
    pub(crate) version: i16,
    pub(crate) count: usize,
    pub(crate) lower_bound: u32,
    /// True if the members are columns.
    pub(crate) is_transposed: bool,
}

impl<'a> ClonesHead<'a> {
    pub(crate) fn read(body: &mut StreamInput<'a>) -> Result<Self> {
        let version = body.i16()?;
        let bits = if version > 2 { object_base(body)? } else { 0 };
        if version > 1 {
            body.text()?;
        }
        let text = std::str::from_utf8(body.text()?).unwrap_or_default();
        let (class, class_version) = text.rsplit_once(';').unwrap_or((text, ""));
        let count = body.u32()? as usize;
        let lower_bound = body.u32()?;
        let is_transposed = bits & if version == 3 { BYPASS_OF_VERSION_3 } else { BYPASS } != 0;
        if !is_transposed && count > body.remaining() {
            return Err(body.error(format!("a count of {count} items is too large for the bytes left")));
        }
        let version = class_version.parse().unwrap_or(0);
        Ok(ClonesHead { class, version, count, lower_bound, is_transposed })
    }
}
