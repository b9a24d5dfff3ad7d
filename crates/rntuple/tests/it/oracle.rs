//! The values of real files are those that other readers find: their digests are in the corpus.

use crate::corpus::{corpus_folder, files, open};
use ring::digest::{SHA256, digest};
use sapwood_core::{Buffer, Call, Column, Deadline, Field, Form, Primitive, Result};
use sapwood_rntuple::RNTuple;
use sapwood_table::{ColumnContent, Table};
use serde_json::Value;
use std::fs;
use std::slice::Iter;
use std::sync::Arc;

/// Digests are of at most as many entries.
const ENTRIES: u64 = 1000;

/// The digest of a column's values: the same for all types that have the same values.
fn digest_of(column: &Column) -> String {
    let mut stream = b"canon1".to_vec();
    append(&column.form, column.length, &mut column.buffers.iter(), &mut stream);
    digest(&SHA256, &stream).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn append(form: &Form, items: usize, buffers: &mut Iter<'_, Arc<Buffer>>, stream: &mut Vec<u8>) {
    if items == 0 {
        buffers.by_ref().take(form.buffer_count()).for_each(|_| ());
        stream.push(b'z');
        return;
    }
    let head = |tag: u8, stream: &mut Vec<u8>| {
        stream.push(tag);
        stream.extend((items as u64).to_le_bytes());
    };
    match form {
        Form::Primitive(primitive) => numbers(*primitive, buffers.next().unwrap(), head, stream),
        Form::Fixed { size, content } => {
            head(b'l', stream);
            (0..items).for_each(|_| stream.extend((*size as u64).to_le_bytes()));
            append(content, items * size, buffers, stream);
        }
        Form::List(content) => {
            let len = lengths(buffers.next().unwrap(), b'l', head, stream);
            append(content, len, buffers, stream);
        }
        Form::String => {
            lengths(buffers.next().unwrap(), b's', head, stream);
            stream.extend_from_slice(buffers.next().unwrap().as_bytes());
        }
        Form::Record { fields, .. } => {
            let fields = fields.iter().map(|Field { name, form, .. }| (name.clone(), form));
            record(fields.collect(), items, buffers, stream);
        }
        Form::Tuple(forms) => {
            let fields = forms.iter().enumerate().map(|(index, form)| (index.to_string(), form));
            record(fields.collect(), items, buffers, stream);
        }
        Form::Option(content) => {
            let positions = buffers.next().unwrap();
            let present: Vec<u8> = positions.view::<i64>().iter().map(|at| u8::from(*at >= 0)).collect();
            let count = present.iter().filter(|one| **one == 1).count();
            if count < items {
                head(b'o', stream);
                stream.extend_from_slice(&present);
            }
            append(content, count, buffers, stream);
        }
        Form::Union(forms) => {
            let tags: Vec<usize> =
                buffers.next().unwrap().view::<i8>().iter().map(|tag| *tag as usize).collect();
            buffers.next().unwrap();
            let mut order: Vec<usize> = Vec::new();
            tags.iter().for_each(|tag| {
                if !order.contains(tag) {
                    order.push(*tag)
                }
            });
            if order.len() > 1 {
                head(b'u', stream);
                for tag in &tags {
                    let place = order.iter().position(|known| known == tag).unwrap();
                    stream.extend((place as u64).to_le_bytes());
                }
            }
            let mut streams: Vec<Vec<u8>> = Vec::new();
            for (tag, form) in forms.iter().enumerate() {
                let mut stream = Vec::new();
                let count = tags.iter().filter(|known| **known == tag).count();
                append(form, count, buffers, &mut stream);
                streams.push(stream);
            }
            order.iter().for_each(|tag| stream.extend_from_slice(&streams[*tag]));
        }
        Form::Empty => stream.push(b'z'),
    }
}

/// Appends numbers as 64-bit integers or doubles.
fn numbers(primitive: Primitive, buffer: &Buffer, head: impl Fn(u8, &mut Vec<u8>), stream: &mut Vec<u8>) {
    macro_rules! all {
        ($tag:literal, $type:ty, $wide:ty) => {{
            head($tag, stream);
            for value in buffer.view::<$type>() {
                stream.extend((*value as $wide).to_le_bytes());
            }
        }};
    }
    match primitive {
        Primitive::Bool | Primitive::U8 => all!(b'i', u8, i64),
        Primitive::I8 => all!(b'i', i8, i64),
        Primitive::I16 => all!(b'i', i16, i64),
        Primitive::U16 => all!(b'i', u16, i64),
        Primitive::I32 => all!(b'i', i32, i64),
        Primitive::U32 => all!(b'i', u32, i64),
        Primitive::I64 => all!(b'i', i64, i64),
        Primitive::U64 => all!(b'i', u64, i64),
        Primitive::F32 | Primitive::F64 => {
            head(b'f', stream);
            let floats: Vec<f64> = match primitive {
                Primitive::F32 => buffer.view::<f32>().iter().map(|value| f64::from(*value)).collect(),
                _ => buffer.view::<f64>().to_vec(),
            };
            for value in floats {
                let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
                stream.extend(bits.to_le_bytes());
            }
        }
    }
}

fn lengths(offsets: &Buffer, tag: u8, head: impl Fn(u8, &mut Vec<u8>), stream: &mut Vec<u8>) -> usize {
    head(tag, stream);
    let offsets = offsets.view::<i64>();
    offsets.windows(2).for_each(|pair| stream.extend((pair[1] - pair[0]).to_le_bytes()));
    *offsets.last().unwrap() as usize
}

fn record(
    fields: Vec<(String, &Form)>,
    items: usize,
    buffers: &mut Iter<'_, Arc<Buffer>>,
    stream: &mut Vec<u8>,
) {
    stream.push(b'r');
    stream.extend((items as u64).to_le_bytes());
    stream.extend((fields.len() as u64).to_le_bytes());
    let mut named: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, form) in fields {
        let mut stream = Vec::new();
        append(form, items, buffers, &mut stream);
        named.push((name, stream));
    }
    named.sort();
    for (name, below) in named {
        stream.extend((name.len() as u64).to_le_bytes());
        stream.extend_from_slice(name.as_bytes());
        stream.extend_from_slice(&below);
    }
}

/// What the corpus knows of a file.
fn known(name: &str) -> Option<Value> {
    let packed = fs::read(corpus_folder().join(format!("oracle/{name}.json.gz"))).ok()?;
    let len = u32::from_le_bytes(*packed.last_chunk().unwrap()) as usize;
    let mut plain = vec![0; len];
    libdeflater::Decompressor::new().gzip_decompress(&packed, &mut plain).unwrap();
    // Numbers that are not finite are no JSON.
    let mut text = String::from_utf8(plain).unwrap().replace("\\udc", "\\u00");
    for before in ["[", ",", ":"] {
        for number in ["NaN", "Infinity", "-Infinity"] {
            text = text.replace(&format!("{before}{number}"), &format!("{before}null"));
        }
    }
    Some(serde_json::from_str(&text).unwrap())
}

fn read(table: &Arc<dyn Table>, column: usize) -> Result<Column> {
    let mut never = || false;
    let mut call = Call::new(Deadline::default(), &mut never);
    let entries = 0..table.entries().min(ENTRIES);
    sapwood_table::read(table, &[column], entries, Some(1), &mut call).map(|mut read| read.remove(0))
}

#[test]
fn values_are_those_of_other_readers() {
    let (mut equal, mut different) = (0, Vec::new());
    for (name, bytes) in files() {
        let Some(oracle) = known(&name) else { continue };
        for (path, table) in open(&bytes) {
            let Ok(table) = table.map(|table: RNTuple| Arc::new(table) as Arc<dyn Table>) else { continue };
            let branches = &oracle["trees"][path.as_str()]["branches"];
            for column in 0..table.column_count() {
                let schema = table.schema(column).unwrap();
                let expected = &branches[schema.name];
                let (Some(digest), ColumnContent::Values(_)) = (expected["digest"].as_str(), schema.content)
                else {
                    continue;
                };
                // A variant without a value is an alternative of its own in the digest.
                if expected["type"].as_str().is_some_and(|known| known.starts_with("union[?unknown")) {
                    continue;
                }
                match digest_of(&read(&table, column).unwrap()) == digest {
                    true => equal += 1,
                    false => different.push(format!("{name}: {path}: {} ({})", schema.name, schema.typename)),
                }
            }
        }
    }
    eprintln!("{equal} fields are equal");
    assert!(different.is_empty(), "{different:#?}");
}
