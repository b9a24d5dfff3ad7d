//! An RNTuple as a table of columns: its columns are its top-level fields, its chunks their pages.

use crate::anchor::Anchor;
use crate::attributes::AttributeSet;
use crate::blob::{Split, uncompress};
use crate::encoding::Encoding;
use crate::node::{Builder, NamedNode, Node, Representations};
use crate::page_list::{Cluster, parse};
use crate::pages::Pages;
use crate::plan::FieldPlan;
use crate::reader::verified;
use crate::schema::{Footer, Schema};
use crate::wire::Locator;
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Error, Form, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_table::pool::wait;
use sapwood_table::{
    Chunk, ColumnContent, ColumnPlan, ColumnSchema, FileIndex, Query, Selection, Table, TableLabel,
    spelled_form,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The class of RNTuples in ROOT.
pub const CLASS: &str = "ROOT::RNTuple";

/// An RNTuple.
#[derive(Debug, Clone)]
pub struct RNTuple {
    url: String,
    path: String,
    fetcher: Fetcher,
    pub(crate) schema: Arc<Schema>,
    encodings: Vec<Option<Encoding>>,
    attributes: Vec<AttributeSet>,
    fields: Vec<TopField>,
    pub(crate) pages: Arc<Pages>,
}

/// A top-level field.
#[derive(Debug, Clone)]
struct TopField {
    /// Its number among all fields.
    id: usize,
    name: String,
    title: String,
    typename: String,
    content: FieldContent,
    /// The top-level field with the number of its items.
    count: Option<usize>,
    /// The member of another top-level field with the same values.
    same_as: Option<Query>,
}

/// What a field holds, or why it cannot be read.
type FieldContent = std::result::Result<(Arc<Node>, Form), String>;

fn content(builder: &Builder<'_>, id: usize) -> FieldContent {
    let node = builder.node(id, 0, 1).map_err(|error| error.message().to_owned())?;
    let form = node.form();
    Ok((Arc::new(node), form))
}

/// The metadata of an RNTuple.
#[derive(Debug)]
pub struct Metadata {
    schema: Schema,
    attributes: Vec<AttributeSet>,
    clusters: Vec<Cluster>,
    max_key_size: u64,
}

/// The blobs of metadata that are known, and what is missing of them.
struct Blobs<'k> {
    known: &'k Segments,
    most: u64,
    missing: Vec<ByteRange>,
}

impl Blobs<'_> {
    /// The stored bytes of a blob; `None` if they are missing.
    fn stored(&mut self, range: ByteRange) -> Result<Option<Bytes>> {
        let Some(split) = Split::of(range, self.most)? else { return Ok(self.part(range)) };
        // The first part and what is behind it are read together.
        let Some(first) = self.part(ByteRange { start: range.start, len: self.most }) else {
            return Ok(None);
        };
        let links = usize::try_from(split.links.start - range.start).unwrap_or(usize::MAX);
        let parts = split.parts(first.get(links..).unwrap_or_default())?;
        let parts: Vec<Option<Bytes>> = parts.into_iter().map(|part| self.part(part)).collect();
        let parts: Option<Vec<Bytes>> = parts.into_iter().collect();
        Ok(parts.map(|parts| parts.concat().into()))
    }

    fn part(&mut self, range: ByteRange) -> Option<Bytes> {
        let found = self.known.get(range);
        if found.is_none() {
            self.missing.push(range);
        }
        found
    }
}

impl Metadata {
    /// Parses the metadata that an anchor points at; asks for header and footer first, then for all lists of pages.
    ///
    /// # Errors
    /// `Corrupt`, `Checksum` or `Truncated` if they are damaged; `Unsupported` for features that are not known.
    pub fn parse(anchor: &Anchor, known: &Segments) -> Result<ParseStep<Metadata>> {
        let mut blobs = Blobs { known, most: anchor.max_key_size, missing: Vec::new() };
        let at = |range: ByteRange| move |error: Error| error.at(range.start);
        let envelope = |range: ByteRange, stored: Bytes, len: u64| -> Result<Bytes> {
            uncompress(stored, usize::try_from(len).unwrap_or(usize::MAX)).map_err(at(range))
        };
        let (header, footer) = (blobs.stored(anchor.header)?, blobs.stored(anchor.footer)?);
        let (Some(header), Some(footer)) = (header, footer) else {
            return Ok(ParseStep::Need(blobs.missing));
        };
        let mut schema =
            Schema::parse(&envelope(anchor.header, header, anchor.header_len)?).map_err(at(anchor.header))?;
        let footer = envelope(anchor.footer, footer, anchor.footer_len)?;
        let Footer { groups, attributes } = schema.parse_footer(&footer).map_err(at(anchor.footer))?;
        let mut lists = Vec::with_capacity(groups.len());
        for group in &groups {
            lists.push(match group.list {
                Locator::File(range) => blobs.stored(range)?,
                Locator::Other(_) => None,
            });
        }
        if !blobs.missing.is_empty() {
            return Ok(ParseStep::Need(blobs.missing));
        }
        let mut clusters = Vec::new();
        for (group, list) in groups.iter().zip(lists) {
            match (group.list.in_file(), list) {
                (Ok(range), Some(list)) => {
                    let list = envelope(range, list, group.list_len)?;
                    clusters.extend(parse(&list, group, &schema).map_err(at(range))?);
                }
                (Err(error), _) => clusters.push(Cluster::unknown(group, error.message())),
                (Ok(_), None) => {}
            }
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
        Ok(ParseStep::Done(Metadata { schema, attributes, clusters, max_key_size: anchor.max_key_size }))
    }
}

impl RNTuple {
    /// The table at `path` of the file at `url`, which `fetcher` reads.
    ///
    /// # Errors
    /// `Corrupt` if the metadata contradict each other.
    pub fn new(url: &str, path: &str, metadata: Metadata, fetcher: Fetcher) -> Result<RNTuple> {
        let Metadata { schema, attributes, mut clusters, max_key_size } = metadata;
        let encodings = schema.columns.iter().map(|one| Encoding::of(one.kind, one.bits, one.value_range));
        let encodings: Vec<Option<Encoding>> = encodings.collect::<Result<_>>()?;
        let builder = Builder::new(&schema, &encodings);
        let mut late = vec![0; schema.columns.len()];
        let mut fields = Vec::new();
        for (id, field) in schema.fields.iter().enumerate().filter(|(id, field)| *id == field.parent) {
            let content = content(&builder, id);
            if let Ok((node, _)) = &content {
                find_late_columns(node, &schema, &mut late)?;
            }
            fields.push(TopField {
                id,
                name: field.name.clone(),
                title: field.description.clone(),
                typename: typename(&field.type_name, &content),
                content,
                count: None,
                same_as: None,
            });
        }
        find_counts(&mut fields);
        find_members(&mut fields);
        shift_late_columns(&late, &mut clusters)?;
        let late = late.iter().map(|repetitions| *repetitions > 0).collect();
        Ok(RNTuple {
            url: url.to_owned(),
            path: path.to_owned(),
            fetcher,
            schema: Arc::new(schema),
            encodings: encodings.clone(),
            attributes,
            fields,
            pages: Arc::new(Pages::new(clusters, encodings, late, max_key_size)),
        })
    }

    /// Its sets of attributes of ranges of entries.
    pub fn attribute_sets(&self) -> &[AttributeSet] {
        &self.attributes
    }

    /// The same table, whose objects that ROOT streamed are read as their bytes.
    pub fn with_objects_as_bytes(&self) -> RNTuple {
        let builder = self.builder().with_objects_as_bytes();
        let field = |field: &TopField| TopField { content: content(&builder, field.id), ..field.clone() };
        RNTuple { fields: self.fields.iter().map(field).collect(), ..self.clone() }
    }

    /// The number of a top-level field among all fields.
    pub(crate) fn field_id(&self, column: usize) -> Option<usize> {
        self.fields.get(column).map(|field| field.id)
    }

    pub(crate) fn builder(&self) -> Builder<'_> {
        Builder::new(&self.schema, &self.encodings)
    }

    pub(crate) fn encoding(&self, column: usize) -> Option<Encoding> {
        self.encodings.get(column).copied().flatten()
    }

    pub(crate) fn node(&self, column: usize) -> Result<&Arc<Node>> {
        let field = self
            .fields
            .get(column)
            .ok_or_else(|| Error::usage(format!("the RNTuple has no field number {column}")))?;
        let unreadable = |why: &String| Error::unsupported(why.clone()).branch(&field.name);
        field.content.as_ref().map(|(node, _)| node).map_err(unreadable)
    }

    fn selected(&self, selection: &Selection) -> Result<Arc<Node>> {
        let node = self.node(selection.column)?;
        if selection.members.is_empty() {
            return Ok(Arc::clone(node));
        }
        let paths: Vec<&str> = selection.members.iter().map(String::as_str).collect();
        Ok(Arc::new(node.select(&paths)))
    }
}

/// The type that its writer gave a field, or what it holds if it gave none.
fn typename(written: &str, content: &FieldContent) -> String {
    match content {
        Ok((_, form)) if written.is_empty() => spelled_form(form),
        _ => written.to_owned(),
    }
}

/// Finds the fields with the numbers of items of others.
fn find_counts(fields: &mut [TopField]) {
    let ends = |field: &TopField| match field.content.as_ref().map(|(node, _)| &**node) {
        Ok(Node::List { ends, .. }) => Some((ends.clone(), false)),
        Ok(Node::Count { ends, .. }) => Some((ends.clone(), true)),
        _ => None,
    };
    let of_fields: Vec<_> = fields.iter().map(ends).collect();
    let counts = of_fields.iter().enumerate().filter_map(|(field, found)| match found {
        Some((ends, true)) => Some((ends, field)),
        _ => None,
    });
    let counts: HashMap<&Representations, usize> = counts.collect();
    for (field, found) in fields.iter_mut().zip(&of_fields) {
        if let Some((ends, false)) = found {
            field.count = counts.get(ends).copied();
        }
    }
}

/// Finds the fields that are members of others, which are collections of records: how NanoAOD's columns are offered.
fn find_members(fields: &mut [TopField]) {
    let nodes = fields.iter().map(|field| field.content.as_ref().map(|(node, _)| &**node));
    let lists = nodes.map(|node| match node {
        Ok(Node::List { ends, item }) => Some((ends, &**item)),
        _ => None,
    });
    let lists: Vec<Option<(&Representations, &Node)>> = lists.collect();
    let mut members = HashMap::new();
    for (column, list) in lists.iter().enumerate() {
        let Some((ends, Node::Record { fields, .. })) = list else { continue };
        for NamedNode { name, node, .. } in fields.iter().filter(|field| !field.name.contains('.')) {
            if let Node::Number { columns, primitive } = node {
                members.insert((*ends, columns, *primitive), Query::from((column, name.as_str())));
            }
        }
    }
    let found = lists.iter().map(|list| match list {
        Some((ends, Node::Number { columns, primitive })) => {
            members.get(&(*ends, columns, *primitive)).cloned()
        }
        _ => None,
    });
    let found: Vec<Option<Query>> = found.collect();
    fields.iter_mut().zip(found).for_each(|(field, found)| field.same_as = found);
}

/// Notes the columns of a field that may begin after the first entry, with the number of their elements in an entry.
fn find_late_columns(node: &Node, schema: &Schema, late: &mut [u64]) -> Result<()> {
    node.visit(Some(1), &mut |columns, _, repetitions| {
        for column in columns.iter().filter(|column| schema.columns[**column].deferred) {
            // Below a collection, a column begins with a cluster.
            late[*column] = late[*column].max(repetitions.unwrap_or(0));
        }
        Ok(())
    })
}

/// Moves the elements of columns that were added within a cluster behind zeros for the entries before.
fn shift_late_columns(late: &[u64], clusters: &mut [Cluster]) -> Result<()> {
    for cluster in clusters {
        let columns = cluster.columns.iter_mut().zip(late).filter(|(_, repetitions)| **repetitions > 0);
        for (pages, repetitions) in columns {
            let first = cluster.first_entry.checked_mul(*repetitions);
            if let (Some(offset), Some(first)) = (pages.offset, first)
                && offset > first
            {
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

    fn label(&self) -> TableLabel<'_> {
        let Schema { name, description: title, .. } = &*self.schema;
        TableLabel { name, title, class_name: CLASS }
    }

    fn cluster_starts(&self) -> &[u64] {
        &self.pages.starts
    }

    fn column_count(&self) -> usize {
        self.fields.len()
    }

    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>> {
        let TopField { name, title, typename, content, count, .. } = self.fields.get(column)?;
        let content = match content {
            Ok((_, form)) => ColumnContent::Values(form),
            Err(why) => ColumnContent::Unreadable(why),
        };
        Some(ColumnSchema { name, title, typename, group: None, content, count_column: *count })
    }

    fn same_as(&self, column: usize) -> Option<Query> {
        self.fields.get(column)?.same_as.clone()
    }

    fn compression(&self, column: usize) -> Option<u32> {
        let mut found = None;
        let visited = self.node(column).ok()?.visit(None, &mut |columns, _, _| {
            found = found.or_else(|| self.pages.compression(columns));
            Ok(())
        });
        visited.ok().and(found)
    }

    fn fetcher(&self, _: FileIndex) -> Fetcher {
        self.fetcher.clone()
    }

    fn locate(&self, selections: &[Selection], call: &mut Call<'_>) -> Result<()> {
        if !self.pages.has_long_pages() {
            return Ok(());
        }
        let nodes = selections.iter().filter_map(|selection| self.selected(selection).ok());
        let columns: Vec<usize> = nodes.flat_map(|node| node.columns()).collect();
        let splits = self.pages.unlocated(&columns)?;
        let ranges: Vec<ByteRange> = splits.iter().map(|split| split.links).collect();
        if ranges.is_empty() {
            return Ok(());
        }
        let deadline = call.deadline();
        let links =
            wait(self.fetcher.fetch(&ranges, deadline), call).map_err(|error| error.url(&self.url))?;
        splits.iter().zip(links).try_for_each(|(split, links)| self.pages.locate(split, &links))
    }

    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)> {
        let node = self.selected(selection)?;
        Ok((node.form(), node.left_out()))
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
        (page < len && !self.pages.is_part(chunk.range.start)).then_some(len)
    }

    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        let offset = chunk.range.start;
        if self.pages.is_part(offset) {
            return Ok(stored.clone());
        }
        let page = match self.pages.checksum_len(offset) {
            0 => Ok(stored.clone()),
            _ => verified(stored).map(|page| stored.slice_ref(page)),
        };
        let len = usize::try_from(chunk.uncompressed_bytes).unwrap_or(usize::MAX);
        page.and_then(|page| uncompress(page, len)).map_err(|error| error.inside(offset))
    }
}
