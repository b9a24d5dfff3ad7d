//! The envelopes of a new RNTuple: header, page lists, footer.

use super::envelope::Out;
use super::layout::{Layout, NewColumn};
use crate::attributes::MAJOR;
use crate::schema::{FieldRecord, Role};
use crate::wire::EnvelopeType;
use sapwood_core::ByteRange;

/// Longer blobs would have to be stored in several parts: ROOT's `fMaxKeySize`.
pub const MAX_BLOB: u64 = 1 << 30;
/// The flags of a column that begins behind the first entry, and of one with a range of values.
const DEFERRED: u16 = 1;
const WITH_RANGE: u16 = 2;
/// The first element of a column that another one stands in for.
const SUPPRESSED: i64 = i64::MIN;

/// A placed page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedPage {
    pub(super) elements: u32,
    /// Without its checksum.
    pub(super) stored: ByteRange,
}

/// A column of a finished cluster.
#[derive(Debug)]
pub(super) struct PlacedColumn {
    pub(super) first_element: u64,
    /// As ROOT codes it; none if other columns hold the values of the field in this cluster.
    pub(super) compression: Option<u32>,
    pub(super) pages: Vec<PlacedPage>,
}

/// A finished cluster.
#[derive(Debug)]
pub(super) struct PlacedCluster {
    pub(super) first_entry: u64,
    pub(super) entries: u64,
    pub(super) columns: Vec<PlacedColumn>,
}

/// A list of pages in the file.
#[derive(Debug)]
pub(super) struct PlacedGroup {
    pub(super) first_entry: u64,
    pub(super) entries: u64,
    pub(super) clusters: usize,
    pub(super) list: ByteRange,
    pub(super) list_len: u64,
}

/// An attribute set that is in the file.
#[derive(Debug)]
pub struct AttributeSetLink {
    /// The name that its writer gave it.
    pub name: String,
    /// Where its anchor is, uncompressed.
    pub anchor: ByteRange,
}

/// The header, and its checksum.
pub(super) fn header(name: &str, description: &str, writer: &str, layout: &Layout) -> (Vec<u8>, u64) {
    Out::envelope(EnvelopeType::Header, |out| {
        out.u64(0);
        out.string(name);
        out.string(description);
        out.string(writer);
        schema(out, layout);
    })
}

fn schema(out: &mut Out, layout: &Layout) {
    out.records(&layout.fields, field);
    out.records(&layout.columns, |out, NewColumn { record, first_element, .. }| {
        out.u16(record.kind);
        out.u16(record.bits);
        out.count(record.field);
        let deferred = if *first_element > 0 { DEFERRED } else { 0 };
        out.u16(deferred | if record.value_range.is_some() { WITH_RANGE } else { 0 });
        out.u16(record.representation);
        if *first_element > 0 {
            out.u64(*first_element);
        }
        if let Some((low, high)) = record.value_range {
            out.f64(low);
            out.f64(high);
        }
    });
    out.records(&layout.aliases, |out, (column, field)| {
        out.count(*column);
        out.count(*field);
    });
    out.records(&layout.extra, |out, info| {
        out.u32(info.content);
        out.u32(info.version);
        out.string(&info.type_name);
        out.blob(&info.bytes);
    });
}

fn field(out: &mut Out, field: &FieldRecord) {
    out.u32(field.version);
    out.u32(field.type_version);
    out.count(field.parent);
    out.u16(match field.role {
        Role::Plain => 0,
        Role::Collection => 1,
        Role::Record => 2,
        Role::Variant => 3,
        Role::Streamed => 4,
        Role::Unknown(role) => role,
    });
    out.u16(field.flags());
    for text in [&field.name, &field.type_name, &field.type_alias, &field.description] {
        out.string(text);
    }
    if let Some(repetitions) = field.repetitions {
        out.u64(repetitions);
    }
    if let Some(source) = field.source {
        out.count(source);
    }
    if let Some(checksum) = field.type_checksum {
        out.u32(checksum);
    }
}

/// The list of the pages of these clusters. Pages with checksums have a negative number of elements.
pub(super) fn page_list(header_checksum: u64, clusters: &[PlacedCluster], checksums: bool) -> Vec<u8> {
    let envelope = Out::envelope(EnvelopeType::PageList, |out| {
        out.u64(header_checksum);
        out.records(clusters, |out, cluster| {
            out.u64(cluster.first_entry);
            out.u64(cluster.entries);
        });
        out.list(clusters.len(), |out| {
            for cluster in clusters {
                out.list(cluster.columns.len(), |out| {
                    cluster.columns.iter().for_each(|column| pages(out, column, checksums));
                });
            }
        });
    });
    envelope.0
}

fn pages(out: &mut Out, column: &PlacedColumn, checksums: bool) {
    out.list(column.pages.len(), |out| {
        for page in &column.pages {
            let elements = page.elements.cast_signed();
            out.i32(if checksums { -elements } else { elements });
            out.locator(page.stored);
        }
        match column.compression {
            Some(compression) => {
                out.u64(column.first_element);
                out.u32(compression);
            }
            None => out.i64(SUPPRESSED),
        }
    });
}

/// The footer, with the `late` fields and columns that the header lacks.
pub(super) fn footer(
    header_checksum: u64,
    late: &Layout,
    groups: &[PlacedGroup],
    attribute_sets: &[AttributeSetLink],
) -> Vec<u8> {
    let envelope = Out::envelope(EnvelopeType::Footer, |out| {
        out.u64(0);
        out.u64(header_checksum);
        out.record(|out| schema(out, late));
        out.records(groups, |out, group| {
            out.u64(group.first_entry);
            out.u64(group.entries);
            out.count(group.clusters);
            out.u64(group.list_len);
            out.locator(group.list);
        });
        out.records(attribute_sets, |out, set| {
            out.u16(MAJOR);
            out.u16(0);
            out.u32(u32::try_from(set.anchor.len).unwrap_or(u32::MAX));
            out.locator(set.anchor);
            out.string(&set.name);
        });
    });
    envelope.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::FieldSpec;
    use sapwood_codec::Compression;
    use sapwood_core::{Form, Primitive};

    fn bytes(digits: &str) -> Vec<u8> {
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn header_and_footer_of_a_minimal_file_are_those_of_root() {
        let spec = FieldSpec {
            name: "x".to_owned(),
            title: String::new(),
            form: Form::Primitive(Primitive::F32),
            compression: Compression::default(),
        };
        let layout = Layout::new(&[spec], &[]).unwrap();
        let (header, checksum) = header("t", "", "ROOT v6.40.00", &layout);
        let expected =
            "0100a40000000000 0000000000000000 01000000 74 00000000 0d000000 524f4f542076362e34302e3030
            c6ffffffffffffff 01000000 2e00000000000000 00000000 00000000 00000000 0000 0000 01000000 78
            05000000 666c6f6174 00000000 00000000 e0ffffffffffffff 01000000 1400000000000000 1800 2000
            00000000 0000 0000 f4ffffffffffffff 00000000 f4ffffffffffffff 00000000 b47d90d8adf8b261";
        assert_eq!(header, bytes(expected));
        let empty = "f4ffffffffffffff 00000000";
        let expected = format!(
            "0200700000000000 0000000000000000 b47d90d8adf8b261 3800000000000000 {} 631756090b6cf1ff",
            [empty; 6].concat()
        );
        assert_eq!(footer(checksum, &Layout::default(), &[], &[]), bytes(&expected));
    }
}
