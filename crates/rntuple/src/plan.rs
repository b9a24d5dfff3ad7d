//! Plans how to read some entries of a field: which pages, and how to decode them.

use crate::needed::{Bounds, ChunkList};
use crate::node::Node;
use crate::pages::Pages;
use crate::reader::Reader;
use sapwood_core::{Buffer, Column, Counters, Result};
use sapwood_table::{Chunk, ChunkBytes, ClusterPart, ColumnPlan};
use std::ops::Range;
use std::sync::Arc;

/// The entries of a field.
pub(crate) struct FieldPlan<'t> {
    pages: &'t Pages,
    name: &'t str,
    node: Arc<Node>,
    entries: Range<u64>,
    chunks: Vec<Chunk>,
}

impl<'t> FieldPlan<'t> {
    pub(crate) fn new(pages: &'t Pages, name: &'t str, node: Arc<Node>, entries: Range<u64>) -> Result<Self> {
        let mut plan = FieldPlan { pages, name, node, entries, chunks: Vec::new() };
        let mut list = ChunkList::default();
        for part in plan.parts() {
            plan.add_chunks(&part, &mut list).map_err(|error| error.branch(name))?;
        }
        plan.chunks = list.in_order();
        Ok(plan)
    }

    fn parts(&self) -> Vec<ClusterPart> {
        ClusterPart::of_entries(&self.pages.starts, &self.entries)
    }

    /// The chunks for some entries of a cluster, before any index is known.
    fn add_chunks(&self, part: &ClusterPart, list: &mut ChunkList) -> Result<()> {
        let cluster = &self.pages.clusters[part.cluster];
        let (first, end) = (cluster.first_entry, cluster.end());
        self.node.visit(Some(1), &mut |columns, index, repetitions| {
            let Some((column, stored)) = self.pages.active(columns, part.cluster)? else { return Ok(()) };
            let repetitions = repetitions.filter(|repetitions| *repetitions > 0);
            for page in &stored.pages {
                let entries = match repetitions {
                    None => first..end,
                    Some(each) => {
                        // Where a list begins is where the one before ends.
                        let after = if index { page.end().saturating_add(1) } else { page.end() };
                        let (from, to) = (page.first / each, after.div_ceil(each));
                        if to <= part.range.start || part.range.end <= from {
                            continue;
                        }
                        first + from..first.saturating_add(to).min(end)
                    }
                };
                self.pages
                    .chunks(page, column, &entries, index)?
                    .into_iter()
                    .for_each(|chunk| list.add(chunk));
            }
            Ok(())
        })
    }
}

impl FieldPlan<'_> {
    /// The likely offsets, if they can be those of this field.
    fn likely<'o>(&self, offsets: Option<&'o Arc<Buffer>>) -> Option<&'o Arc<Buffer>> {
        let lists = self.entries.end - self.entries.start;
        let fits =
            |offsets: &&Arc<Buffer>| (offsets.view::<i64>().len() as u64).checked_sub(1) == Some(lists);
        offsets.filter(fits).filter(|_| self.offsets_key().is_some())
    }
}

impl ColumnPlan for FieldPlan<'_> {
    fn entries(&self) -> Range<u64> {
        self.entries.clone()
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    fn narrow(&self, index: ChunkBytes<'_>, likely: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
        let reader = Reader { pages: self.pages, chunks: index, counters: None };
        let mut list = ChunkList::default();
        self.chunks.iter().filter(|chunk| chunk.index).for_each(|chunk| list.add(chunk.clone()));
        let likely = self.likely(likely);
        let mut at = 0;
        for part in self.parts() {
            let first = self.pages.clusters[part.cluster].first_entry + part.range.start;
            let next = at + usize::try_from(part.len()).unwrap_or(usize::MAX);
            let offsets = likely.and_then(|offsets| offsets.view::<i64>().get(at..=next));
            at = next;
            let of_entries = (part.range.start..=part.range.end).collect();
            let bounds = Bounds { part, of_entries };
            let needed = reader.needed(&self.node, &bounds, first, offsets, &mut list);
            needed.map_err(|error| error.branch(self.name))?;
        }
        Ok(Some(list.in_order()))
    }

    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let reader = Reader { pages: self.pages, chunks, counters: Some(counters) };
        let decoded = reader.decode(&self.node, &self.parts(), self.likely(likely));
        let decoded = decoded.map_err(|error| error.branch(self.name))?;
        counters.baskets.add(self.chunks.len() as u64);
        let form = self.node.form_of(&mut decoded.objects.into_iter());
        let length = usize::try_from(self.entries.end - self.entries.start).unwrap_or(usize::MAX);
        Ok(Column { form, length, buffers: decoded.buffers })
    }

    /// Lists with the same ends have the same offsets. A column that is one of several representations may have others
    /// in a cluster.
    fn offsets_key(&self) -> Option<usize> {
        match &*self.node {
            Node::List { ends, .. } | Node::Text { ends, .. } => match ends.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
            _ => None,
        }
    }
}
