//! The layout of an RNTuple that gets fields of another one, and the pages of that one.

use super::elements::{Elements, Memory};
use super::feed::Node;
use super::layout::{FieldSpec, Layout, NewColumn};
use super::metadata::MAX_BLOB;
use super::recompressed::recompressed;
use crate::encoding::{Encoding, Kind};
use crate::node::{Builder, Node as Stored, Representations};
use crate::page_list::Page;
use crate::reader::verified;
use crate::schema::{ColumnRecord, ExtraTypeInfo};
use crate::table::RNTuple;
use bytes::{Bytes, BytesMut};
use sapwood_codec::Compression;
use sapwood_core::{ByteRange, Error, Form, Primitive, Result};
use sapwood_table::Table;
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

/// Fields nested deeper than this come from a damaged file.
const MOST_DEPTH: usize = 64;

/// Fields of an RNTuple that become those of a new one, with their types, encodings and projections.
///
/// A projection of a field that is not among them gets values of its own.
#[derive(Debug, Clone)]
pub struct CopiedFields {
    pub(super) specs: Vec<FieldSpec>,
    pub(super) layout: Layout,
    read: Vec<usize>,
    /// For each column: the one it is copied from, and the number of its elements in an entry if that is fixed.
    sources: Vec<(usize, Option<u64>)>,
    /// True if some pages hold other values than those of the other RNTuple.
    is_computed: bool,
    /// A field whose values cannot be read, and why.
    unreadable: Option<(String, String)>,
}

/// The pages of some columns in a cluster.
#[derive(Debug)]
pub struct StoredCluster {
    /// Number of entries.
    pub entries: u64,
    pub(super) columns: Vec<StoredColumn>,
}

/// The pages of a column in a cluster.
#[derive(Debug)]
pub struct StoredColumn {
    /// As ROOT codes it; none if other columns hold the values.
    pub(super) compression: Option<u32>,
    pub(super) pages: Vec<StoredPage>,
}

/// A page in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPage {
    /// Where it is, with its checksum.
    pub stored: ByteRange,
    pub(super) elements: u64,
    has_checksum: bool,
    /// If it is to be compressed otherwise: how, and its bytes before compression.
    recompressed: Option<(Compression, u64)>,
}

impl StoredPage {
    /// Whether it is to be compressed otherwise.
    pub fn is_recompressed(&self) -> bool {
        self.recompressed.is_some()
    }

    /// The page as it is written, with a checksum, from its bytes in the file.
    ///
    /// # Errors
    /// `Checksum`, `Truncated` or `Corrupt` if it is damaged.
    pub fn written(&self, stored: &Bytes) -> Result<Bytes> {
        let written = || {
            let page = if self.has_checksum { verified(stored)? } else { stored };
            match self.recompressed {
                Some((compression, len)) => recompressed(page, len, compression),
                None if self.has_checksum => Ok(stored.clone()),
                None => {
                    let mut page = BytesMut::from(page);
                    page.extend_from_slice(&xxh3_64(stored).to_le_bytes());
                    Ok(page.freeze())
                }
            }
        };
        written().map_err(|error: Error| error.inside(self.stored.start))
    }
}

impl StoredCluster {
    /// Its pages, each once, in the order of the file.
    pub fn pages(&self) -> Vec<StoredPage> {
        let mut pages: Vec<StoredPage> =
            self.columns.iter().flat_map(|column| column.pages.iter().copied()).collect();
        pages.sort_by_key(|page| page.stored.start);
        pages.dedup_by_key(|page| page.stored.start);
        pages
    }
}

impl CopiedFields {
    /// The fields of these columns of a table. They keep their compression unless another one is given; `usual` is that
    /// of fields without pages.
    ///
    /// # Errors
    /// `Unsupported` for fields of unknown types; `Corrupt` if the schema contradicts itself.
    pub fn new(
        table: &RNTuple,
        columns: &[usize],
        compression: Option<Compression>,
        usual: Compression,
    ) -> Result<CopiedFields> {
        let tops: Vec<(usize, usize)> =
            columns.iter().filter_map(|column| Some((*column, table.field_id(*column)?))).collect();
        let all: HashSet<usize> = tops.iter().map(|(_, id)| *id).collect();
        let is_projected =
            |id: &usize| table.root_of_source(*id).is_some_and(|root| root != *id && all.contains(&root));
        let (projected, stored): (Vec<_>, Vec<_>) = tops.into_iter().partition(|(_, id)| is_projected(id));
        let mut copier = Copier {
            table,
            builder: table.builder(),
            compression,
            usual,
            fields: HashMap::new(),
            columns: HashMap::new(),
            found: CopiedFields {
                specs: Vec::new(),
                layout: Layout { extra: table.schema.extra.clone(), ..Layout::default() },
                read: Vec::new(),
                sources: Vec::new(),
                is_computed: false,
                unreadable: None,
            },
        };
        let named = |id: usize, error: Error| match table.schema.fields.get(id) {
            Some(field) => error.branch(&field.name),
            None => error,
        };
        for (column, id) in stored {
            copier.stored(column, id).map_err(|error| named(id, error))?;
        }
        for (_, id) in projected {
            copier.field(id, None, FieldKind::Projected, 0).map_err(|error| named(id, error))?;
        }
        Ok(copier.found)
    }

    /// The columns of the table whose values are filled, in this order.
    pub fn columns_to_read(&self) -> &[usize] {
        &self.read
    }

    /// Fails if the values of some fields cannot be read.
    ///
    /// # Errors
    /// `Unsupported`, with the field.
    pub fn check_readable(&self) -> Result<()> {
        let Some((name, why)) = &self.unreadable else { return Ok(()) };
        Err(Error::unsupported(why.clone())
            .branch(name)
            .hint("drop the field; or copy whole clusters, with the sizes that they have"))
    }

    /// Adds what another RNTuple says about its types.
    pub fn add_types(&mut self, infos: &[ExtraTypeInfo]) {
        for info in infos {
            if !self.layout.extra.contains(info) {
                self.layout.extra.push(info.clone());
            }
        }
    }

    /// True if the pages of another RNTuple with the same fields can be copied to this one.
    pub fn is_stored_as(&self, other: &CopiedFields) -> bool {
        let columns = |fields: &CopiedFields| -> Vec<ColumnRecord> {
            fields.layout.columns.iter().map(|column| column.record.clone()).collect()
        };
        columns(self) == columns(other)
    }

    /// The pages of a cluster, to be compressed otherwise where that is asked; `None` if their columns cannot be copied.
    pub fn stored(
        &self,
        table: &RNTuple,
        cluster: usize,
        compression: Option<Compression>,
    ) -> Option<StoredCluster> {
        let cluster = table.pages.clusters.get(cluster).filter(|_| !self.is_computed)?;
        if cluster.unreadable.is_some() {
            return None;
        }
        let mut columns = Vec::with_capacity(self.sources.len());
        let mut holders = vec![0; self.sources.len()];
        for ((source, per_entry), new) in self.sources.iter().zip(&self.layout.columns) {
            let stored = cluster.columns.get(*source).filter(|column| column.offset.is_some());
            let Some(stored) = stored else {
                columns.push(StoredColumn { compression: None, pages: Vec::new() });
                continue;
            };
            *holders.get_mut(new.first_of)? += 1;
            let pages: Vec<_> = stored.pages.iter().filter(|page| page.elements > 0).collect();
            let elements: u64 = pages.iter().map(|page| page.elements).sum();
            let expected = per_entry.map(|count| count.saturating_mul(cluster.entries));
            let is_late = stored.pages.first().is_some_and(|page| page.first > 0);
            if is_late || expected.is_some_and(|expected| expected != elements) {
                return None;
            }
            let other = compression.filter(|asked| asked.number().cast_unsigned() != stored.compression);
            let encoding = new.elements.encoding;
            let page = |page: &&Page| {
                let recompressed = other.map(|compression| (compression, encoding.bytes(page.elements)));
                Some(StoredPage { recompressed, ..table.stored_page(page)? })
            };
            let pages = pages.iter().map(page).collect::<Option<Vec<_>>>()?;
            let compression = other.map_or(stored.compression, |other| other.number().cast_unsigned());
            columns.push(StoredColumn { compression: Some(compression), pages });
        }
        let is_complete = |(number, new): (usize, &NewColumn)| {
            new.first_of != number || holders.get(number).is_some_and(|holders| *holders == 1)
        };
        let complete = self.layout.columns.iter().enumerate().all(is_complete);
        complete.then_some(StoredCluster { entries: cluster.entries, columns })
    }
}

impl RNTuple {
    /// A page, if it is stored in one part that can be copied to one.
    fn stored_page(&self, page: &Page) -> Option<StoredPage> {
        let most = match self.pages.max_key_size {
            0 => MAX_BLOB,
            most => most.min(MAX_BLOB),
        };
        let stored = page.range.filter(|range| range.len <= most)?;
        let &Page { elements, has_checksum, .. } = page;
        let page = StoredPage { stored, elements, has_checksum, recompressed: None };
        (elements <= i32::MAX as u64).then_some(page)
    }
}

/// Whether a field is stored or projected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Stored,
    Projected,
}

struct Copier<'t> {
    table: &'t RNTuple,
    builder: Builder<'t>,
    compression: Option<Compression>,
    usual: Compression,
    /// New numbers of fields and columns.
    fields: HashMap<usize, usize>,
    columns: HashMap<usize, usize>,
    found: CopiedFields,
}

impl Copier<'_> {
    /// Adds a top-level field with values.
    fn stored(&mut self, column: usize, id: usize) -> Result<()> {
        let schema = self.table.schema(column).ok_or_else(|| Error::usage("there is no such field"))?;
        let (name, title) = (schema.name.to_owned(), schema.title.to_owned());
        let outer = std::mem::take(&mut self.columns);
        self.field(id, None, FieldKind::Stored, 0)?;
        let own = std::mem::replace(&mut self.columns, outer);
        let compression = self.compression.unwrap_or(self.usual);
        let (form, node) =
            match self.table.node(column).and_then(|node| Ok((node.form(), self.fed(node, &own)?))) {
                Ok(found) => found,
                Err(error) => {
                    self.found.unreadable.get_or_insert((name.clone(), error.message().to_owned()));
                    (Form::Empty, Node::Fields(Vec::new()))
                }
            };
        self.found.layout.nodes.push(node);
        self.found.read.push(column);
        self.found.specs.push(FieldSpec { name, title, form, compression });
        if self.table.schema.fields.get(id).is_some_and(|field| field.source.is_none()) {
            self.columns.extend(own);
        }
        Ok(())
    }

    fn field(&mut self, id: usize, parent: Option<usize>, kept: FieldKind, depth: usize) -> Result<()> {
        let damaged = || Error::corrupt("the schema contradicts itself");
        if depth > MOST_DEPTH {
            return Err(Error::corrupt(format!("fields are nested deeper than {MOST_DEPTH}")));
        }
        let mut record = self.table.schema.fields.get(id).ok_or_else(damaged)?.clone();
        let new = self.found.layout.fields.len();
        let is_count = record.is_count();
        record.parent = parent.unwrap_or(new);
        match (kept, record.source) {
            (FieldKind::Projected, Some(source)) => {
                record.source = Some(*self.fields.get(&source).ok_or_else(damaged)?);
            }
            (FieldKind::Projected, None) => return Err(damaged()),
            (FieldKind::Stored, source) => {
                record.source = None;
                if source.is_none() {
                    self.fields.insert(id, new);
                }
                if is_count {
                    let narrow = record.type_name.contains("uint32");
                    record.type_name = (if narrow { "std::uint32_t" } else { "std::uint64_t" }).to_owned();
                }
            }
        }
        let narrow = record.type_name == "std::uint32_t";
        self.found.layout.fields.push(record);
        let columns = self.builder.columns.get(id).cloned().unwrap_or_default();
        match kept {
            FieldKind::Projected => {
                for column in columns {
                    let source = *self.columns.get(&column).ok_or_else(damaged)?;
                    self.found.layout.aliases.push((source, new));
                }
            }
            FieldKind::Stored if is_count => self.count(&columns, new, narrow)?,
            FieldKind::Stored => self.columns(&columns, new)?,
        }
        let children = self.builder.children.get(id).cloned().unwrap_or_default();
        children.into_iter().try_for_each(|child| self.field(child, Some(new), kept, depth + 1))
    }

    /// Adds the columns of a field.
    fn columns(&mut self, columns: &[usize], field: usize) -> Result<()> {
        let unknown = || Error::unsupported("the field has a column of an unknown type");
        let first = self.found.layout.columns.len();
        let (mut representation, mut place) = (None, 0);
        for column in columns {
            let record = self.table.schema.columns.get(*column).ok_or_else(unknown)?;
            place = if representation == Some(record.representation) { place + 1 } else { 0 };
            representation = Some(record.representation);
            let encoding = self.table.encoding(*column).ok_or_else(unknown)?;
            let record = ColumnRecord { field, deferred: false, ..record.clone() };
            // What feeds it is not known yet.
            let elements = Elements { memory: Memory::Chars, encoding };
            self.column(*column, record, elements, first + place);
        }
        Ok(())
    }

    /// Adds a column of numbers instead of those that a projection would show.
    fn count(&mut self, columns: &[usize], field: usize, narrow: bool) -> Result<()> {
        let memory = Memory::Numbers(if narrow { Primitive::U32 } else { Primitive::U64 });
        self.found.is_computed = true;
        let Some(first) = columns.first() else { return Err(Error::corrupt("a count shows no column")) };
        let (kind, bits) = memory.usual_column(true);
        let encoding =
            Encoding::of(kind, bits, None)?.ok_or_else(|| Error::corrupt("no such column type"))?;
        let record =
            ColumnRecord { kind, bits, field, representation: 0, deferred: false, value_range: None };
        let own = self.found.layout.columns.len();
        self.column(*first, record, Elements { memory, encoding }, own);
        self.columns.extend(columns.iter().map(|column| (*column, own)));
        Ok(())
    }

    fn column(&mut self, source: usize, record: ColumnRecord, elements: Elements, first_of: usize) {
        let new = self.found.layout.columns.len();
        let own = self.table.pages.compression(&vec![source]);
        let own = own.and_then(|own| Compression::from_number(own.cast_signed()).ok());
        let compression = self.compression.or(own).unwrap_or(self.usual);
        self.found.layout.columns.push(NewColumn {
            record,
            elements,
            compression,
            first_of,
            first_element: 0,
        });
        self.found.sources.push((source, None));
        self.columns.insert(source, new);
    }

    /// How the values of a field are divided among its columns, whose new numbers are given.
    fn fed(&mut self, node: &Stored, own: &HashMap<usize, usize>) -> Result<Node> {
        let mut fed = Vec::new();
        let result = self.fed_below(node, own, &mut fed)?;
        node.visit(Some(1), &mut |columns, _, per_entry| {
            for new in columns.iter().filter_map(|column| own.get(column)) {
                if let Some((_, expected)) = self.found.sources.get_mut(*new) {
                    *expected = per_entry;
                }
            }
            Ok(())
        })?;
        self.found.layout.fed.extend(fed);
        Ok(result)
    }

    fn fed_below(
        &mut self,
        node: &Stored,
        own: &HashMap<usize, usize>,
        fed: &mut Vec<usize>,
    ) -> Result<Node> {
        let boxed = |copier: &mut Self, item: &Stored, fed: &mut Vec<usize>| {
            copier.fed_below(item, own, fed).map(Box::new)
        };
        Ok(match node {
            Stored::Number { columns, primitive } => {
                fed.push(self.fed_column(columns, Memory::Numbers(*primitive), own)?);
                Node::Numbers(*primitive)
            }
            Stored::Count { ends, primitive } => {
                let column = ends.first().and_then(|column| own.get(column));
                fed.push(*column.ok_or_else(|| Error::corrupt("a count shows no column"))?);
                Node::Numbers(*primitive)
            }
            Stored::Text { ends, chars } => {
                fed.push(self.fed_column(ends, Memory::Ends, own)?);
                fed.push(self.fed_column(chars, Memory::Chars, own)?);
                Node::Text
            }
            Stored::List { ends, item } => {
                fed.push(self.fed_column(ends, Memory::Ends, own)?);
                Node::List(boxed(self, item, fed)?)
            }
            Stored::Option { ends, item } => {
                fed.push(self.fed_column(ends, Memory::Ends, own)?);
                Node::Option(boxed(self, item, fed)?)
            }
            Stored::Object { .. } => {
                return Err(Error::unsupported("objects that ROOT streamed are written as their bytes"));
            }
            Stored::Fixed { size, item } => {
                Node::Fixed(usize::try_from(*size).unwrap_or(usize::MAX), boxed(self, item, fed)?)
            }
            Stored::Record { fields, .. } => {
                let fields = fields.iter().map(|field| self.fed_below(&field.node, own, fed));
                Node::Fields(fields.collect::<Result<_>>()?)
            }
            Stored::Tuple(items) => {
                let items = items.iter().map(|item| self.fed_below(item, own, fed));
                Node::Fields(items.collect::<Result<_>>()?)
            }
            Stored::Union { switch, items } => {
                fed.push(self.fed_column(switch, Memory::Switch, own)?);
                let items = items.iter().map(|item| self.fed_below(item, own, fed));
                Node::Union { optional: true, items: items.collect::<Result<_>>()? }
            }
        })
    }

    /// The column that gets values which any of several could hold: the one with the most bits that loses none.
    fn fed_column(
        &mut self,
        columns: &Representations,
        memory: Memory,
        own: &HashMap<usize, usize>,
    ) -> Result<usize> {
        let mut best: Option<(usize, Encoding)> = None;
        for new in columns.iter().filter_map(|column| own.get(column)) {
            let Some(column) = self.found.layout.columns.get_mut(*new) else { continue };
            column.elements.memory = memory;
            let encoding = column.elements.encoding;
            let is_better = |(_, best): &(usize, Encoding)| {
                (is_exact(encoding), encoding.bits) > (is_exact(*best), best.bits)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((*new, encoding));
            }
        }
        match best {
            Some((_, encoding)) if columns.len() > 1 && !is_exact(encoding) => Err(Error::unsupported(
                "the field is stored with several precisions, which cannot be written together",
            )),
            Some((new, _)) => Ok(new),
            None => Err(Error::corrupt("a field has no column")),
        }
    }
}

/// Whether the encoding keeps all digits of numbers.
fn is_exact(encoding: Encoding) -> bool {
    !matches!(encoding.kind, Kind::Half { .. } | Kind::Truncated | Kind::Quantized { .. })
}
