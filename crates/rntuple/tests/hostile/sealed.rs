//! Invented RNTuples whose checksums are right: an input as a header, a footer, a list of pages, or a page. The fuzz targets
//! use this file as well.

use bytes::Bytes;
use sapwood_core::{ByteRange, Counters, ParseStep, Segments};
use sapwood_fetch::Fetcher;
use sapwood_rntuple::{Anchor, Metadata, RNTuple};
use sapwood_source::MemorySource;
use sapwood_table::{ChunkContent, ChunkId, Selection, Table};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// As many entries of an invented RNTuple are read.
const MOST: u64 = 300;
/// Where its pages are.
const PAGES: u64 = 1 << 20;

/// Reads whatever a header describes.
pub fn header(payload: &[u8]) {
    let header = seal(1, payload);
    read(&header, &footer_payload(&header, &[group(1, 30)]), &[], payload);
}

/// Reads the sample with another footer.
pub fn footer(payload: &[u8]) {
    let header = seal(1, &sample_header());
    let mut payload = payload.to_vec();
    if let Some(checksum) = payload.get_mut(8..16) {
        checksum.copy_from_slice(header.last_chunk::<8>().unwrap_or(&[0; 8]));
    }
    read(&header, &payload, &sample_list(), &sample_pages());
}

/// Reads the sample with another list of pages.
pub fn page_list(payload: &[u8]) {
    let header = seal(1, &sample_header());
    read(&header, &footer_payload(&header, &[group(1, 6)]), payload, &sample_pages());
}

/// Reads a page: four bytes choose the type of its column and its field, and how many elements it has.
pub fn page(input: &[u8]) {
    let Some((&[kind, bits, field, count], stored)) = input.split_first_chunk() else { return };
    const TYPES: [&str; 12] = [
        "bool",
        "char",
        "std::uint8_t",
        "std::int16_t",
        "std::uint16_t",
        "std::int32_t",
        "std::uint32_t",
        "std::int64_t",
        "std::uint64_t",
        "float",
        "double",
        "ROOT::RNTupleCardinality<std::uint32_t>",
    ];
    const BITS: [u16; 29] = [
        1, 8, 8, 8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64, 32, 64, 96, 16, 16, 32, 32, 64, 64, 16, 32, 64,
        32, 64, 20,
    ];
    let kind = kind % 0x1E;
    let bits = BITS.get(usize::from(kind)).copied().unwrap_or(u16::from(bits) % 32 + 1);
    let name = TYPES[usize::from(field) % TYPES.len()];
    let header = [
        &[0; 8][..],
        &[text("t"), text(""), text("")].concat(),
        &list(&[field_record("x", name, 0, 0)]),
        &list(&[record(&[
            &u16::from(kind).to_le_bytes()[..],
            &bits.to_le_bytes(),
            &0_u32.to_le_bytes(),
            &2_u16.to_le_bytes(),
            &[0; 2],
            &(-1_f64).to_le_bytes(),
            &2_f64.to_le_bytes(),
        ])]),
        &list(&[]),
        &list(&[]),
    ]
    .concat();
    let header = seal(1, &header);
    let count = i32::from(count);
    let pages = listed(&[column_pages(&[(count, 0, stored.len())])], count.unsigned_abs().into());
    read(&header, &footer_payload(&header, &[group(1, count.unsigned_abs().into())]), &pages, stored);
}

/// A header with fields of all structures.
pub fn sample_header() -> Vec<u8> {
    let fields = [
        field_record("i", "std::int32_t", 0, 0),
        field_record("v", "std::vector<float>", 1, 1),
        field_record("_0", "float", 1, 0),
        field_record("s", "std::string", 3, 0),
        field_record("w", "std::variant<std::int32_t,float>", 4, 3),
        field_record("_0", "std::int32_t", 4, 0),
        field_record("_1", "float", 4, 0),
        field_record("o", "std::optional<float>", 7, 1),
        field_record("_0", "float", 7, 0),
        field_record("r", "", 9, 2),
        field_record("b", "bool", 9, 0),
    ];
    let column = |kind: u16, bits: u16, field: u32| {
        let numbers = [&kind.to_le_bytes()[..], &bits.to_le_bytes(), &field.to_le_bytes(), &[0; 4]].concat();
        record(&[&numbers])
    };
    let columns = [
        column(0x13, 32, 0),
        column(0x1B, 64, 1),
        column(0x18, 32, 2),
        column(0x1A, 32, 3),
        column(0x02, 8, 3),
        column(0x10, 96, 4),
        column(0x13, 32, 5),
        column(0x18, 32, 6),
        column(0x1B, 64, 7),
        column(0x18, 32, 8),
        column(0x00, 1, 10),
    ];
    let names = [text("t"), text("description"), text("writer")].concat();
    [&[0; 8][..], &names, &list(&fields), &list(&columns), &list(&[]), &list(&[])].concat()
}

/// The bytes of its pages, for six entries.
fn sample_pages() -> Vec<u8> {
    let mut pages: Vec<u8> = (0..24).collect();
    pages.resize(600, 0);
    // The differences of the ends of lists are small.
    (24..600).step_by(7).for_each(|at| pages[at] = 1);
    pages
}

/// Its list of pages, without the envelope.
pub fn sample_list() -> Vec<u8> {
    let lens = [24, 48, 24, 24, 6, 72, 12, 12, 48, 12, 1];
    let counts = [6, 6, 6, 6, 6, 6, 3, 3, 6, 3, 6];
    let mut at = 0;
    let columns = counts.iter().zip(lens).map(|(count, len)| {
        at += len;
        column_pages(&[(*count, at - len, len)])
    });
    listed(&columns.collect::<Vec<_>>(), 6)
}

/// A footer of the sample, without the envelope.
pub fn sample_footer() -> Vec<u8> {
    footer_payload(&seal(1, &sample_header()), &[group(1, 6)])
}

fn footer_payload(header: &[u8], groups: &[Vec<u8>]) -> Vec<u8> {
    let checksum = header.last_chunk::<8>().unwrap_or(&[0; 8]);
    [&[0; 8][..], checksum, &record(&[]), &list(groups), &list(&[])].concat()
}

/// A group of clusters; its list of pages is put where it says when all is read.
fn group(clusters: u32, entries: u64) -> Vec<u8> {
    let numbers = [&0_u64.to_le_bytes()[..], &entries.to_le_bytes(), &clusters.to_le_bytes()].concat();
    record(&[&numbers, &[0xEE; 8], &[0xEE; 4], &[0xEE; 8]])
}

fn listed(columns: &[Vec<u8>], entries: u64) -> Vec<u8> {
    let summary = record(&[&0_u64.to_le_bytes(), &entries.to_le_bytes()]);
    [&[0; 8][..], &list(&[summary]), &list(&[list(columns)])].concat()
}

/// The pages of a column: their elements, offsets and lengths; they have no checksums.
fn column_pages(pages: &[(i32, usize, usize)]) -> Vec<u8> {
    let page = |(count, at, len): &(i32, usize, usize)| {
        let (at, len) = (PAGES + *at as u64, *len as u32);
        [&count.to_le_bytes()[..], &len.to_le_bytes(), &at.to_le_bytes()].concat()
    };
    let content = pages.iter().map(page).collect::<Vec<_>>().concat();
    let size = -(12 + content.len() as i64 + 12);
    let count = pages.len() as u32;
    [&size.to_le_bytes()[..], &count.to_le_bytes(), &content, &[0; 8], &[0; 4]].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn record(parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    [&(8 + content.len() as i64).to_le_bytes()[..], &content].concat()
}

fn list(elements: &[Vec<u8>]) -> Vec<u8> {
    let content = elements.concat();
    let size = -(12 + content.len() as i64);
    [&size.to_le_bytes()[..], &(elements.len() as u32).to_le_bytes(), &content].concat()
}

fn field_record(name: &str, type_name: &str, parent: u32, role: u16) -> Vec<u8> {
    let names = [text(name), text(type_name), text(""), text("")].concat();
    record(&[&[0; 8], &parent.to_le_bytes(), &role.to_le_bytes(), &[0; 2], &names])
}

fn seal(kind: u64, payload: &[u8]) -> Vec<u8> {
    let head = kind | (payload.len() as u64 + 16) << 16;
    let mut envelope = [&head.to_le_bytes()[..], payload].concat();
    envelope.extend(xxh3_64(&envelope).to_le_bytes());
    envelope
}

/// Reads some entries of every field.
fn read(header: &[u8], footer: &[u8], list: &[u8], pages: &[u8]) {
    let mut list = list.to_vec();
    if let Some(checksum) = list.get_mut(..8) {
        checksum.copy_from_slice(header.last_chunk::<8>().unwrap_or(&[0; 8]));
    }
    let list = seal(3, &list);
    let list_at = (header.len() + footer.len() + 16) as u64;
    let link =
        [&(list.len() as u64).to_le_bytes()[..], &(list.len() as u32).to_le_bytes(), &list_at.to_le_bytes()];
    let mut footer = footer.to_vec();
    while let Some(at) = footer.windows(20).position(|bytes| bytes == [0xEE; 20]) {
        footer[at..at + 20].copy_from_slice(&link.concat());
    }
    let footer = seal(2, &footer);
    let front = [header, &footer, &list].concat();
    let end = front.len().max(PAGES as usize);
    // Memory that the system fills with zeros costs less than filling it here.
    let mut file = vec![0; end + pages.len()];
    file[..front.len()].copy_from_slice(&front);
    file[end..].copy_from_slice(pages);
    let file = Bytes::from(file);
    let mut known = Segments::default();
    known.insert(0, file.clone());
    let anchor = Anchor {
        header: ByteRange { start: 0, len: header.len() as u64 },
        header_len: header.len() as u64,
        footer: ByteRange { start: header.len() as u64, len: footer.len() as u64 },
        footer_len: footer.len() as u64,
        max_key_size: 1 << 30,
    };
    let Ok(ParseStep::Done(metadata)) = Metadata::parse(&anchor, &known) else { return };
    let fetcher = Fetcher::new(Arc::new(MemorySource::new(file)), Arc::new(Counters::default()));
    let Ok(table) = RNTuple::new("memory", "t", metadata, fetcher) else { return };
    let end = table.entries().min(MOST);
    for column in 0..table.column_count().min(50) {
        let selection = Selection::whole(column);
        for entries in [0..end, end / 2..end] {
            let Ok(plan) = table.plan(&selection, &entries) else { continue };
            let content = |id: ChunkId| {
                let chunk = plan.chunks().iter().find(|chunk| chunk.id() == id)?;
                known.get(chunk.range).map(ChunkContent::Stored)
            };
            let _ = plan.narrow(&content, None);
            if let Ok(column) = plan.decode(&content, None, &Counters::default()) {
                assert_eq!(column.length as u64, entries.end - entries.start);
            }
        }
    }
}
