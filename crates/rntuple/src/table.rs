//! An RNTuple as a table of columns: its columns are its top-level fields, its chunks their pages.

use crate::anchor::Anchor;
use crate::encoding::Encoding;
use crate::node::{Builder, Node};
use crate::page_list::{Cluster, parse};
use crate::pages::Pages;
use crate::plan::FieldPlan;
use crate::schema::{ClusterGroup, Schema};
use crate::wire::uncompress;
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Error, Form, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_table::{
    Chunk, ColumnContent, ColumnPlan, ColumnSchema, FileIndex, Selection, Table, spelled_form,
};
use std::ops::Range;

/// An RNTuple.
#[derive(Debug)]
pub struct RNTuple {
    url: String,
    path: String,
    fetcher: Fetcher,
    name: String,
    description: String,
    starts: Vec<u64>,
    fields: Vec<TopField>,
    pages: Pages,
}

/// A top-level field.
#[derive(Debug)]
struct TopField {
    name: String,
    title: String,
    typename: String,
    content: std::result::Result<(Node, Form), String>,
}

/// The metadata of an RNTuple.
#[derive(Debug)]
pub struct Metadata {
    schema: Schema,
    clusters: Vec<Cluster>,
    max_key_size: u64,
}

impl Metadata {
    /// Parses the metadata that an anchor points at; asks for header and footer first, then for all lists of pages.
    ///
    /// # Errors
    /// `Corrupt`, `Checksum` or `Truncated` if they are damaged; `Unsupported` for features that are not known.
    pub fn parse(anchor: &Anchor, known: &Segments) -> Result<ParseStep<Metadata>> {
        let mut missing = Vec::new();
        let mut blob = |range: ByteRange| -> Result<Option<Bytes>> {
            if range.len > anchor.max_key_size {
                return Err(Error::unsupported("the metadata of the RNTuple is stored in several parts")
                    .at(range.start));
            }
            let found = known.get(range);
            if found.is_none() {
                missing.push(range);
            }
            Ok(found)
        };
        let envelope = |range: ByteRange, stored: &Bytes, len: u64| -> Result<Vec<u8>> {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            uncompress(stored, len).map_err(|error| error.at(range.start))
        };
        let (header, footer) = (blob(anchor.header)?, blob(anchor.footer)?);
        let (Some(header), Some(footer)) = (header, footer) else { return Ok(ParseStep::Need(missing)) };
        let at = |range: ByteRange| move |error: Error| error.at(range.start);
        let mut schema = Schema::parse(&envelope(anchor.header, &header, anchor.header_len)?)
            .map_err(at(anchor.header))?;
        let footer = envelope(anchor.footer, &footer, anchor.footer_len)?;
        let groups = schema.parse_footer(&footer).map_err(at(anchor.footer))?;
        let lists: Vec<Option<Bytes>> = groups.iter().map(|group| blob(group.list)).collect::<Result<_>>()?;
        if !missing.is_empty() {
            return Ok(ParseStep::Need(missing));
        }
        let mut clusters = Vec::new();
        for (group, list) in groups.iter().zip(lists.iter().flatten()) {
            let ClusterGroup { list: range, list_len, .. } = *group;
            clusters.extend(parse(&envelope(range, list, list_len)?, group, &schema).map_err(at(range))?);
        }
        clusters.retain(|cluster| cluster.entries > 0);
        clusters.sort_by_key(|cluster| cluster.first_entry);
        let mut end = 0;
        for cluster in &clusters {
            if cluster.first_entry != end {
                return Err(Error::corrupt(format!("the clusters of the RNTuple lack the entry {end}")));
            }
            end = cluster.end();
        }
        Ok(ParseStep::Done(Metadata { schema, clusters, max_key_size: anchor.max_key_size }))
    }
}

impl RNTuple {
    /// The table at `path` of the file at `url`, which `fetcher` reads.
    ///
    /// # Errors
    /// `Corrupt` if the metadata contradict each other.
    pub fn new(url: &str, path: &str, metadata: Metadata, fetcher: Fetcher) -> Result<RNTuple> {
        let Metadata { schema, mut clusters, max_key_size } = metadata;
        let encodings = schema.columns.iter().map(|one| Encoding::of(one.kind, one.bits, one.value_range));
        let encodings: Vec<Option<Encoding>> = encodings.collect::<Result<_>>()?;
        let deferred: Vec<bool> = schema.columns.iter().map(|column| column.deferred).collect();
        let builder = Builder::new(&schema, &encodings);
        let mut fields = Vec::new();
        for (id, field) in schema.fields.iter().enumerate().filter(|(id, field)| *id == field.parent) {
            let content = builder.node(id, 0, 1).map(|node| (node.form(), node));
            if let Ok((_, node)) = &content {
                shift_late_columns(node, &mut clusters, &deferred)?;
            }
            fields.push(TopField {
                name: field.name.clone(),
                title: field.description.clone(),
                typename: typename(&field.type_name, &content),
                content: content.map(|(form, node)| (node, form)).map_err(|error| error.message().to_owned()),
            });
        }
        let mut starts: Vec<u64> = clusters.iter().map(|cluster| cluster.first_entry).collect();
        starts.extend(clusters.last().map(Cluster::end));
        Ok(RNTuple {
            url: url.to_owned(),
            path: path.to_owned(),
            fetcher,
            name: schema.name.clone(),
            description: schema.description.clone(),
            starts,
            fields,
            pages: Pages::new(clusters, encodings, deferred, max_key_size),
        })
    }

    /// The name that its writer gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description that its writer gave it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How the pages of a field are compressed, as ROOT codes it: 100 · algorithm + level. `None` if it has no pages.
    pub fn compression(&self, field: usize) -> Option<u32> {
        let mut found = None;
        self.node(field).ok()?.visit(None, &mut |columns, _, _| {
            found = found.or_else(|| self.pages.compression(columns));
        });
        found
    }

    fn node(&self, column: usize) -> Result<&Node> {
        let field = self
            .fields
            .get(column)
            .ok_or_else(|| Error::usage(format!("the RNTuple has no field number {column}")))?;
        let unreadable = |why: &String| Error::unsupported(why.clone()).branch(&field.name);
        field.content.as_ref().map(|(node, _)| node).map_err(unreadable)
    }

    fn selected(&self, selection: &Selection) -> Result<Node> {
        let paths: Vec<&str> = selection.members.iter().map(String::as_str).collect();
        self.node(selection.column).map(|node| node.select(&paths))
    }
}

/// The type that its writer gave a field, or what it holds if it gave none.
fn typename(written: &str, content: &Result<(Form, Node)>) -> String {
    match content {
        Ok((form, _)) if written.is_empty() => spelled_form(form),
        _ => written.to_owned(),
    }
}

/// Moves the elements of columns that were added within a cluster behind zeros for the entries before.
fn shift_late_columns(node: &Node, clusters: &mut [Cluster], deferred: &[bool]) -> Result<()> {
    let mut late: Vec<(usize, u64)> = Vec::new();
    node.visit(Some(1), &mut |columns, _, repetitions| {
        let is_late = |column: &&usize| deferred.get(**column).copied().unwrap_or(false);
        if let Some(repetitions) = repetitions {
            late.extend(columns.iter().filter(is_late).map(|column| (*column, repetitions)));
        }
    });
    for cluster in clusters {
        for (column, repetitions) in &late {
            let Some(pages) = cluster.columns.get_mut(*column) else { continue };
            let (Some(offset), Some(first), Some(page)) =
                (pages.offset, cluster.first_entry.checked_mul(*repetitions), pages.pages.first())
            else {
                continue;
            };
            // A projection of a late field shares its columns.
            if page.first == 0 && offset > first {
                pages
                    .shift(offset - first)
                    .ok_or_else(|| Error::corrupt("a late column begins beyond all entries"))?;
            }
        }
    }
    Ok(())
}

impl Table for RNTuple {
    fn url(&self) -> &str {
        &self.url
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn entries(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn cluster_starts(&self) -> &[u64] {
        &self.starts
    }

    fn column_count(&self) -> usize {
        self.fields.len()
    }

    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>> {
        let TopField { name, title, typename, content } = self.fields.get(column)?;
        let content = match content {
            Ok((_, form)) => ColumnContent::Values(form),
            Err(why) => ColumnContent::Unreadable(why),
        };
        Some(ColumnSchema { name, title, typename, group: None, content, count_column: None })
    }

    fn fetcher(&self, _: FileIndex) -> Fetcher {
        self.fetcher.clone()
    }

    fn locate(&self, _: &[Selection], _: &mut Call<'_>) -> Result<()> {
        Ok(())
    }

    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)> {
        Ok((self.selected(selection)?.form(), Vec::new()))
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        let node = self.selected(selection)?;
        let name = self.fields.get(selection.column).map_or("", |field| &field.name);
        let end = self.entries();
        let entries = entries.start.min(end)..entries.end.min(end);
        Ok(Box::new(FieldPlan::new(&self.pages, name, node, entries)?))
    }

    fn has_checksum(&self, chunk: &Chunk) -> bool {
        self.pages.checksum_len(chunk.range.start) > 0
    }

    fn uncompressed_len(&self, chunk: &Chunk, stored: &Bytes) -> Option<usize> {
        let len = usize::try_from(chunk.uncompressed_bytes).ok()?;
        let page = stored.len().checked_sub(self.pages.checksum_len(chunk.range.start))?;
        (page < len).then_some(len)
    }

    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        let page = self.pages.verified(chunk.range.start, stored)?;
        let len = usize::try_from(chunk.uncompressed_bytes).unwrap_or(usize::MAX);
        if page.len() == len {
            return Ok(page);
        }
        uncompress(&page, len).map(Bytes::from).map_err(|error| error.at(chunk.range.start))
    }
}
