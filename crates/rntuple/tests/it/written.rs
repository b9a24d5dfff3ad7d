//! New RNTuples: what is written is read, whatever the sizes of pages, clusters and steps.

use crate::corpus;
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Buffer, Call, Column, Deadline, Form, Primitive};
use sapwood_rntuple::write::{FieldSpec, RNTupleBuilder, RNTupleOptions};
use sapwood_rntuple::{CLASS, RNTuple};
use sapwood_table::Table;
use sapwood_table::write::{ClusterSize, ColumnView};
use sapwood_tfile::write::{Datime, FileStamp, FileWriter};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ENTRIES: usize = 1000;

/// A file with an RNTuple of these columns, filled in steps of this many entries.
fn write(columns: &[(&str, Column)], options: RNTupleOptions, step: usize) -> Bytes {
    let stamp = FileStamp { time: Datime(1), uuid: [7; 16] };
    let mut file = FileWriter::new("test.root", "", options.compression, stamp).unwrap();
    let top = file.top();
    let spec = |(name, column): &(&str, Column)| FieldSpec {
        name: (*name).to_owned(),
        title: format!("about {name}"),
        form: column.form.clone(),
        compression: options.compression,
    };
    let specs = columns.iter().map(spec).collect();
    let mut builder =
        RNTupleBuilder::new("t", "all", specs, &[], options, &mut |parts| file.blob(top, parts)).unwrap();
    let views: Vec<ColumnView<'_>> = columns
        .iter()
        .map(|(_, column)| ColumnView {
            length: column.length,
            buffers: column.buffers.iter().map(|buffer| buffer.as_bytes()).collect(),
        })
        .collect();
    builder.check(&views, ENTRIES).unwrap();
    let bytes: usize = views.iter().map(ColumnView::byte_count).sum();
    let mut from = 0;
    while from < ENTRIES {
        let most = step.min(ENTRIES - from);
        let now = builder.step(most, bytes * most / ENTRIES);
        builder.fill(&views, from..from + now, &AtomicBool::new(false)).unwrap();
        from += now;
        if builder.cluster_is_full() {
            builder.end_cluster(&mut |parts| file.blob(top, parts)).unwrap();
        }
    }
    let anchor = builder.finish(&mut |parts| file.blob(top, parts)).unwrap();
    file.object(top, "ROOT::RNTuple", "t", "", |buffer| buffer.bytes(&anchor)).unwrap();
    let mut pieces = file.take();
    pieces.extend(file.finish().unwrap());
    let mut whole = vec![0; pieces.iter().map(|piece| piece.end()).max().unwrap() as usize];
    for piece in pieces {
        let at = piece.offset as usize;
        whole[at..at + piece.bytes.len()].copy_from_slice(&piece.bytes);
    }
    whole.into()
}

fn open(bytes: &Bytes) -> Arc<RNTuple> {
    Arc::new(corpus::open(bytes).remove(0).1.unwrap())
}

fn read(table: &Arc<RNTuple>) -> Vec<Column> {
    let mut never = || false;
    let mut call = Call::new(Deadline::default(), &mut never);
    let shared = Arc::clone(table) as Arc<dyn Table>;
    let all: Vec<usize> = (0..table.column_count()).collect();
    sapwood_table::read(&shared, &all, 0..table.entries(), Some(1), &mut call).unwrap()
}

/// Numbers without an order.
fn noise(n: usize) -> u64 {
    (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn buffer<T: bytemuck::Pod>(values: impl IntoIterator<Item = T>) -> Arc<Buffer> {
    Arc::new(Buffer::from_slice(&values.into_iter().collect::<Vec<T>>()))
}

/// A column of some length and of any form, with the same values for the same form.
fn make(form: &Form, length: usize, buffers: &mut Vec<Arc<Buffer>>) {
    let seed = buffers.len() + 3;
    let count = |n: usize| (noise(n * seed) % 4) as usize;
    match form {
        Form::Primitive(Primitive::Bool) => buffers.push(buffer((0..length).map(|n| (noise(n) % 2) as u8))),
        Form::Primitive(primitive) => {
            let bytes = (0..length * primitive.size()).map(|n| if n % 3 == 0 { noise(n) as u8 } else { 7 });
            buffers.push(buffer(bytes));
        }
        Form::Fixed { size, content } => make(content, length * size, buffers),
        Form::List(_) | Form::String => {
            let mut end = 0;
            let ends = (0..length).map(|n| {
                end += count(n) as i64;
                end
            });
            let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
            let items = offsets[length] as usize;
            buffers.push(buffer(offsets));
            match form {
                Form::List(content) => make(content, items, buffers),
                _ => buffers.push(buffer((0..items).map(|n| b'a' + (noise(n) % 26) as u8))),
            }
        }
        Form::Record { fields, .. } => fields.iter().for_each(|field| make(&field.form, length, buffers)),
        Form::Tuple(forms) => forms.iter().for_each(|form| make(form, length, buffers)),
        Form::Option(content) => {
            let mut next = 0;
            let positions = (0..length).map(|n| {
                if count(n) == 0 {
                    -1
                } else {
                    next += 1;
                    next - 1
                }
            });
            let positions: Vec<i64> = positions.collect();
            buffers.push(buffer(positions));
            make(content, next as usize, buffers);
        }
        Form::Union(forms) => {
            let mut next = vec![0_i64; forms.len()];
            let (mut tags, mut positions) = (Vec::new(), Vec::new());
            for n in 0..length {
                let tag = count(n) % forms.len();
                tags.push(tag as u8);
                positions.push(next[tag]);
                next[tag] += 1;
            }
            buffers.extend([buffer(tags), buffer(positions)]);
            for (form, length) in forms.iter().zip(next) {
                make(form, length as usize, buffers);
            }
        }
        Form::Empty => {}
    }
}

fn columns() -> Vec<(&'static str, Column)> {
    let number = Form::Primitive;
    let record = Form::record([
        ("pt".to_owned(), number(Primitive::F32)),
        ("hits".to_owned(), Form::list(number(Primitive::U16))),
    ]);
    let variant = Form::Union(vec![number(Primitive::I32), Form::String, Form::list(number(Primitive::F64))]);
    let option = |form: Form| Form::Option(Box::new(form));
    let mut forms = vec![
        ("string", Form::String),
        ("strings", Form::list(Form::list(Form::String))),
        ("record", record.clone()),
        ("records", Form::list(record)),
        ("array", Form::fixed(&[2, 3], number(Primitive::I16))),
        ("bits", Form::fixed(&[5], number(Primitive::Bool))),
        ("arrays", Form::list(Form::fixed(&[3], number(Primitive::F64)))),
        ("option", option(number(Primitive::I64))),
        ("options", Form::list(option(Form::String))),
        ("variant", option(variant.clone())),
        ("variants", Form::list(option(variant))),
        ("tuple", Form::Tuple(vec![number(Primitive::U8), Form::list(option(number(Primitive::F32)))])),
    ];
    forms.extend(Primitive::ALL.map(|primitive| (primitive.numpy_name(), number(primitive))));
    let made = forms.into_iter().map(|(name, form)| {
        let mut buffers = Vec::new();
        make(&form, ENTRIES, &mut buffers);
        (name, Column { form, length: ENTRIES, buffers })
    });
    made.collect()
}

fn options(compression: i32, page_size: usize, cluster: ClusterSize, checksums: bool) -> RNTupleOptions {
    let compression = Compression::from_number(compression).unwrap();
    RNTupleOptions { cluster, page_size, checksums, compression }
}

#[test]
fn what_is_written_is_read() {
    let columns = columns();
    for (options, clusters) in [
        (RNTupleOptions::default(), 1),
        (options(0, 1 << 20, ClusterSize::Entries(300), true), 4),
        (options(505, 256, ClusterSize::Entries(1000), false), 1),
        (options(404, 300, ClusterSize::Entries(333), true), 4),
        (options(101, 4096, ClusterSize::Bytes(1), true), 0),
        (options(207, 4096, ClusterSize::Bytes(20_000), true), 0),
    ] {
        let table = open(&write(&columns, options, ENTRIES));
        assert_eq!(table.entries(), ENTRIES as u64);
        if clusters > 0 {
            assert_eq!(table.cluster_starts().len() - 1, clusters);
        }
        let label = table.label();
        assert_eq!((label.name, label.title, label.class_name), ("t", "all", CLASS));
        for ((name, given), (number, found)) in columns.iter().zip(read(&table).into_iter().enumerate()) {
            assert_eq!(table.schema(number).unwrap().title, format!("about {name}"));
            assert!(*given == found, "{name} with {options:?}: {given:?} became {found:?}");
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_steps_and_threads() {
    let columns = columns();
    let options = options(505, 512, ClusterSize::Entries(400), true);
    let at_once = write(&columns, options, ENTRIES);
    assert_eq!(at_once, write(&columns, options, 7));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(at_once, pool.install(|| write(&columns, options, 250)));
}

#[test]
fn pages_of_the_same_content_are_stored_once() {
    let zeros = Column {
        form: Form::Primitive(Primitive::F64),
        length: ENTRIES,
        buffers: vec![buffer(vec![0.0_f64; ENTRIES])],
    };
    let columns = [("a", zeros.clone()), ("b", zeros.clone())];
    let size = |checksums| {
        write(&columns, options(0, 1000, ClusterSize::Entries(1 << 20), checksums), ENTRIES).len()
    };
    assert!(size(true) < 4000 && size(false) > 16_000);
    let shared = write(&columns, options(0, 1000, ClusterSize::Entries(300), true), ENTRIES);
    assert!(read(&open(&shared)).iter().all(|column| *column == zeros));
}
