//! Decodes fields: for each node, the buffers of its form.

use crate::node::{Node, Representations};
use crate::reader::Reader;
use crate::streamed::objects;
use rayon::prelude::*;
use sapwood_core::{Buffer, Error, Form, Primitive, Result};
use sapwood_table::ClusterPart;
use std::ops::Range;
use std::sync::Arc;

/// The values of a node.
#[derive(Debug, Default)]
pub(crate) struct NodeBuffers {
    pub(crate) buffers: Vec<Arc<Buffer>>,
    /// The forms of objects, which their classes alone do not tell.
    pub(crate) objects: Vec<Form>,
}

impl NodeBuffers {
    fn push(&mut self, buffer: Buffer) {
        self.buffers.push(Arc::new(buffer));
    }

    fn append(&mut self, below: NodeBuffers) {
        self.buffers.extend(below.buffers);
        self.objects.extend(below.objects);
    }

    fn of(buffer: Buffer) -> NodeBuffers {
        NodeBuffers { buffers: vec![Arc::new(buffer)], objects: Vec::new() }
    }
}

impl Reader<'_> {
    /// The values of a node. The `likely` offsets are those of a list with the same ends and entries.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset of the page.
    pub(crate) fn decode(
        &self,
        node: &Node,
        parts: &[ClusterPart],
        likely: Option<&Arc<Buffer>>,
    ) -> Result<NodeBuffers> {
        Ok(match node {
            Node::Number { columns, primitive } => NodeBuffers::of(self.numbers(columns, *primitive, parts)?),
            Node::Count { ends, primitive } => NodeBuffers::of(self.counts(ends, *primitive, parts)?),
            Node::Text { ends, chars } => {
                let (offsets, items) = self.lists(ends, parts, likely)?;
                let chars = Arc::new(self.bytes(chars, &items)?);
                NodeBuffers { buffers: vec![offsets, chars], objects: Vec::new() }
            }
            Node::List { ends, item } => {
                let (offsets, items) = self.lists(ends, parts, likely)?;
                let mut found = NodeBuffers { buffers: vec![offsets], objects: Vec::new() };
                found.append(self.decode(item, &items, None)?);
                found
            }
            Node::Option { ends, item } => {
                let (offsets, items) = self.lists(ends, parts, None)?;
                let mut found = NodeBuffers::of(positions(offsets.view())?);
                found.append(self.decode(item, &items, None)?);
                found
            }
            Node::Object { ends, bytes, program } => {
                let (offsets, items) = self.lists(ends, parts, None)?;
                let bytes = self.bytes(bytes, &items)?;
                let column = objects(program, offsets.view(), bytes.as_bytes(), self.counters)?;
                NodeBuffers { buffers: column.buffers, objects: vec![column.form] }
            }
            Node::Fixed { size, item } => {
                let items =
                    parts.iter().map(|part| part.scaled(*size)).collect::<Result<Vec<ClusterPart>>>()?;
                self.decode(item, &items, None)?
            }
            Node::Record { fields, .. } => {
                self.all(fields.par_iter().map(|field| self.decode(&field.node, parts, None)))?
            }
            Node::Tuple(items) => self.all(items.par_iter().map(|item| self.decode(item, parts, None)))?,
            Node::Union { switch, items } => self.variants(switch, items, parts)?,
        })
    }

    /// The values of neighbors, one behind the other.
    fn all(&self, each: impl IndexedParallelIterator<Item = Result<NodeBuffers>>) -> Result<NodeBuffers> {
        let mut found = NodeBuffers::default();
        each.collect::<Result<Vec<NodeBuffers>>>()?.into_iter().for_each(|below| found.append(below));
        Ok(found)
    }

    fn counts(&self, ends: &Representations, primitive: Primitive, parts: &[ClusterPart]) -> Result<Buffer> {
        let (offsets, _) = self.lists(ends, parts, None)?;
        let pairs = offsets.view::<i64>().windows(2);
        let mut buffer = Buffer::zeroed(pairs.len() * primitive.size());
        if primitive == Primitive::U64 {
            let counts = buffer.view_mut::<u64>().iter_mut();
            counts.zip(pairs).for_each(|(count, pair)| *count = (pair[1] - pair[0]).cast_unsigned());
            return Ok(buffer);
        }
        let mut longest = 0;
        for (count, pair) in buffer.view_mut::<u32>().iter_mut().zip(pairs) {
            let items = (pair[1] - pair[0]).cast_unsigned();
            longest = longest.max(items);
            // Checked for all at once.
            *count = items as u32;
        }
        match u32::try_from(longest) {
            Ok(_) => Ok(buffer),
            Err(_) => Err(Error::corrupt("a list is too long for the type of its size")),
        }
    }

    fn variants(
        &self,
        switch: &Representations,
        items: &[Node],
        parts: &[ClusterPart],
    ) -> Result<NodeBuffers> {
        let (mut present, mut new_tags, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = vec![0_i64; items.len()];
        let mut below: Vec<Vec<ClusterPart>> = vec![Vec::new(); items.len()];
        for part in parts {
            let (tags, ranges) = self.alternatives(switch, part, items.len())?;
            for tag in tags {
                let Some(alternative) = (tag as usize).checked_sub(1) else {
                    present.push(-1_i64);
                    continue;
                };
                present.push(i64::try_from(positions.len()).unwrap_or(i64::MAX));
                new_tags.push(i8::try_from(alternative).unwrap_or(i8::MAX));
                if let Some(next) = next.get_mut(alternative) {
                    positions.push(*next);
                    *next += 1;
                }
            }
            for (below, range) in below.iter_mut().zip(ranges) {
                below.push(ClusterPart { cluster: part.cluster, range });
            }
        }
        let mut found = NodeBuffers::of(Buffer::from_slice(&present));
        found.push(Buffer::from_slice(&new_tags));
        found.push(Buffer::from_slice(&positions));
        for (item, parts) in items.iter().zip(&below) {
            found.append(self.decode(item, parts, None)?);
        }
        Ok(found)
    }

    /// The tags of a part, and for each alternative the range of its values.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub(crate) fn alternatives(
        &self,
        switch: &Representations,
        part: &ClusterPart,
        count: usize,
    ) -> Result<(Vec<u32>, Vec<Range<u64>>)> {
        let found = self.switches(switch, part)?;
        let mut ranges: Vec<Option<Range<u64>>> = vec![None; count];
        for (position, tag) in &found {
            let Some(alternative) = (*tag as usize).checked_sub(1) else { continue };
            let range = ranges.get_mut(alternative);
            let range = range.ok_or_else(|| Error::corrupt(format!("a variant has no alternative {tag}")))?;
            let after = position
                .checked_add(1)
                .ok_or_else(|| Error::corrupt("a variant has an impossible position"))?;
            match range {
                None => *range = Some(*position..after),
                Some(range) if range.end == *position => range.end = after,
                Some(_) => return Err(Error::corrupt("the values of a variant are not in order")),
            }
        }
        let tags = found.into_iter().map(|(_, tag)| tag).collect();
        Ok((tags, ranges.into_iter().map(Option::unwrap_or_default).collect()))
    }
}

/// Where the values of optional values are; -1 for those that are missing.
fn positions(offsets: &[i64]) -> Result<Buffer> {
    let pairs = offsets.windows(2);
    let mut buffer = Buffer::zeroed(pairs.len() * size_of::<i64>());
    for (position, pair) in buffer.view_mut::<i64>().iter_mut().zip(pairs) {
        *position = match pair[1] - pair[0] {
            0 => -1,
            1 => pair[0],
            more => return Err(Error::corrupt(format!("an optional value has {more} values"))),
        };
    }
    Ok(buffer)
}
