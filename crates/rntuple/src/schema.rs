//! The schema of an RNTuple: fields, columns and alias columns, from the header and its extension in the footer.

use crate::attributes::AttributeSet;
use crate::wire::{EnvelopeType, Locator, Wire};
use sapwood_core::Result;

/// Least bytes of a record in any list: its frame.
const FRAME: usize = 8;
/// Bit 0: nested deferred columns, which need no other reading.
const KNOWN_FEATURES: u64 = 1;

/// The content of extra type information that describes classes.
const STREAMER_INFOS: u32 = 0;

/// Flags of fields: an array, a projection, a class with a checksum.
const REPETITIVE: u16 = 1;
const PROJECTED: u16 = 2;
const CHECKED: u16 = 4;

/// The structure of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    #[default]
    Plain,
    Collection,
    Record,
    Variant,
    Streamed,
    Unknown(u16),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FieldRecord {
    pub(crate) version: u32,
    pub(crate) type_version: u32,
    pub(crate) parent: usize,
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) type_name: String,
    pub(crate) type_alias: String,
    pub(crate) description: String,
    /// Flags that need no other reading.
    pub(crate) other_flags: u16,
    /// Repetitions of a fixed-size array or bitset.
    pub(crate) repetitions: Option<u64>,
    /// The field that a projected one shows.
    pub(crate) source: Option<usize>,
    /// The checksum of a class.
    pub(crate) type_checksum: Option<u32>,
}

impl FieldRecord {
    pub(crate) fn flags(&self) -> u16 {
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        self.other_flags
            | flag(self.repetitions.is_some(), REPETITIVE)
            | flag(self.source.is_some(), PROJECTED)
            | flag(self.type_checksum.is_some(), CHECKED)
    }

    /// True if it shows the number of items of a collection.
    pub(crate) fn is_count(&self) -> bool {
        self.type_name.starts_with("ROOT::RNTupleCardinality<")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnRecord {
    pub(crate) kind: u16,
    pub(crate) bits: u16,
    pub(crate) field: usize,
    pub(crate) representation: u16,
    /// True if it was added after the first entries.
    pub(crate) deferred: bool,
    pub(crate) value_range: Option<(f64, f64)>,
}

/// Fields and columns.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) checksum: u64,
    pub(crate) fields: Vec<FieldRecord>,
    pub(crate) columns: Vec<ColumnRecord>,
    /// Physical column and projected field.
    pub(crate) aliases: Vec<(usize, usize)>,
    pub(crate) extra: Vec<ExtraTypeInfo>,
}

/// What the file says about a type, other than its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraTypeInfo {
    pub(crate) content: u32,
    pub(crate) version: u32,
    pub(crate) type_name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Where a list of pages is.
#[derive(Debug, Clone)]
pub(crate) struct ClusterGroup {
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    pub(crate) clusters: usize,
    pub(crate) list: Locator,
    pub(crate) list_len: u64,
}

/// What the footer says in addition to the rest of the schema.
#[derive(Debug)]
pub(crate) struct Footer {
    pub(crate) groups: Vec<ClusterGroup>,
    pub(crate) attributes: Vec<AttributeSet>,
}

impl Schema {
    /// Descriptions of the classes whose objects ROOT streamed, each a list of them in a buffer of its own.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &[u8]> {
        self.extra.iter().filter(|info| info.content == STREAMER_INFOS).map(|info| info.bytes.as_slice())
    }

    /// The schema in the uncompressed header.
    pub(crate) fn parse(header: &[u8]) -> Result<Schema> {
        let (mut wire, checksum) = Wire::envelope(header, EnvelopeType::Header)?;
        wire.feature_flags(KNOWN_FEATURES)?;
        let (name, description) = (wire.string()?, wire.string()?);
        let _writer = wire.string()?;
        let mut schema = Schema { name, description, checksum, ..Schema::default() };
        schema.extend(&mut wire)?;
        Ok(schema)
    }

    /// Adds the extension in the uncompressed footer, and returns the rest of it.
    pub(crate) fn parse_footer(&mut self, footer: &[u8]) -> Result<Footer> {
        let (mut wire, _) = Wire::envelope(footer, EnvelopeType::Footer)?;
        wire.feature_flags(KNOWN_FEATURES)?;
        if wire.u64()? != self.checksum {
            return Err(wire.corrupt("belongs to another header"));
        }
        let mut extension = wire.record()?;
        if extension.remaining() > 0 {
            self.extend(&mut extension)?;
        }
        let (count, mut list) = wire.list(FRAME)?;
        let mut groups = Vec::new();
        for _ in 0..count {
            let mut record = list.record()?;
            let (first_entry, entries) = (record.u64()?, record.u64()?);
            let clusters = record.u32()? as usize;
            let list_len = record.u64()?;
            groups.push(ClusterGroup { first_entry, entries, clusters, list: record.locator()?, list_len });
        }
        groups.sort_by_key(|group| group.first_entry);
        let mut attributes = Vec::new();
        // Writers before ROOT 6.38 have no list of them.
        if wire.remaining() > 0 {
            let (count, mut list) = wire.list(FRAME)?;
            for _ in 0..count {
                attributes.push(AttributeSet::parse(&mut list.record()?)?);
            }
        }
        Ok(Footer { groups, attributes })
    }

    fn extend(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        let (count, mut list) = wire.list(FRAME)?;
        for _ in 0..count {
            let mut record = list.record()?;
            let field = field(&mut record, self.fields.len())?;
            self.fields.push(field);
        }
        let (count, mut list) = wire.list(FRAME)?;
        for _ in 0..count {
            let mut record = list.record()?;
            let column = column(&mut record)?;
            if column.field >= self.fields.len() {
                return Err(record.corrupt("has a column of no field"));
            }
            self.columns.push(column);
        }
        let (count, mut list) = wire.list(FRAME)?;
        for _ in 0..count {
            let mut record = list.record()?;
            let alias = (record.u32()? as usize, record.u32()? as usize);
            if alias.0 >= self.columns.len() || alias.1 >= self.fields.len() {
                return Err(record.corrupt("has an alias of no column"));
            }
            self.aliases.push(alias);
        }
        let (count, mut list) = wire.list(FRAME)?;
        for _ in 0..count {
            let mut record = list.record()?;
            let (content, version, type_name) = (record.u32()?, record.u32()?, record.string()?);
            let bytes = record.blob()?.to_vec();
            self.extra.push(ExtraTypeInfo { content, version, type_name, bytes });
        }
        Ok(())
    }
}

fn field(record: &mut Wire<'_>, id: usize) -> Result<FieldRecord> {
    let (version, type_version) = (record.u32()?, record.u32()?);
    let parent = record.u32()? as usize;
    if parent > id {
        return Err(record.corrupt(format!("has the field {id} before its parent")));
    }
    let role = match record.u16()? {
        0 => Role::Plain,
        1 => Role::Collection,
        2 => Role::Record,
        3 => Role::Variant,
        4 => Role::Streamed,
        other => Role::Unknown(other),
    };
    let flags = record.u16()?;
    let (name, type_name) = (record.string()?, record.string()?);
    let (type_alias, description) = (record.string()?, record.string()?);
    let repetitions = if flags & REPETITIVE != 0 { Some(record.u64()?) } else { None };
    let source = if flags & PROJECTED != 0 { Some(record.u32()? as usize) } else { None };
    let type_checksum = if flags & CHECKED != 0 { Some(record.u32()?) } else { None };
    Ok(FieldRecord {
        version,
        type_version,
        parent,
        role,
        name,
        type_name,
        type_alias,
        description,
        other_flags: flags & !(REPETITIVE | PROJECTED | CHECKED),
        repetitions,
        source,
        type_checksum,
    })
}

fn column(record: &mut Wire<'_>) -> Result<ColumnRecord> {
    let (kind, bits) = (record.u16()?, record.u16()?);
    let field = record.u32()? as usize;
    let (flags, representation) = (record.u16()?, record.u16()?);
    let deferred = flags & 1 != 0;
    if deferred {
        let _first_element = record.i64()?;
    }
    let value_range = if flags & 2 != 0 { Some((record.f64()?, record.f64()?)) } else { None };
    Ok(ColumnRecord { kind, bits, field, representation, deferred, value_range })
}
