//! The conformance suite on a synthetic format, where some pages give the positions of others.

use sapwood_core::{Buffer, Column, Form, Primitive};
use sapwood_source::{DelayedSource, MemorySource, Source};
use sapwood_table::Table;
use sapwood_testkit::table::{PagedFiles, PagedTable, Subject, check};
use std::sync::Arc;
use std::time::Duration;

fn column(form: Form, length: usize, buffers: Vec<Arc<Buffer>>) -> Column {
    Column { form, length, buffers }
}

fn buffer<T: Copy + Into<f64>>(values: impl Iterator<Item = T>) -> Arc<Buffer> {
    Arc::new(Buffer::from_slice(&values.map(|value| value.into() as f32).collect::<Vec<_>>()))
}

/// Numbers; two columns of lists with the same offsets; lists of records with offsets of their own; lists in another file.
fn columns(entries: usize) -> Vec<(&'static str, Column)> {
    let count = |entry: usize| [0, 3, 1, 0, 0, 17, 2][entry % 7];
    let offsets = |count: &dyn Fn(usize) -> usize| {
        let ends = (0..entries).scan(0, |end, entry| {
            *end += count(entry) as i64;
            Some(*end)
        });
        Arc::new(Buffer::from_slice(&[0].into_iter().chain(ends).collect::<Vec<i64>>()))
    };
    let shared = offsets(&count);
    let own = offsets(&|entry| count(entry + 3) % 5);
    let items = |offsets: &Buffer| offsets.view::<i64>()[entries] as usize;
    let float = Form::Primitive(Primitive::F32);
    let points = Form::list(Form::record([
        ("x".to_owned(), Form::Primitive(Primitive::U8)),
        ("y".to_owned(), float.clone()),
    ]));
    let number = Arc::new(Buffer::from_slice(
        &(0..entries as i64).map(|entry| entry * 7 % 31 - 9).collect::<Vec<_>>(),
    ));
    let bytes = |count: usize| {
        Arc::new(Buffer::from_slice(&(0..count).map(|item| (item / 9) as u8).collect::<Vec<_>>()))
    };
    let floats =
        |count: usize, scale: f64| buffer((0..count).map(|item| (item as f64 * scale).floor() as f32));
    vec![
        ("number", column(Form::Primitive(Primitive::I64), entries, vec![number])),
        (
            "a",
            column(
                Form::list(float.clone()),
                entries,
                vec![Arc::clone(&shared), floats(items(&shared), 0.1)],
            ),
        ),
        (
            "b",
            column(
                Form::list(Form::Primitive(Primitive::U8)),
                entries,
                vec![Arc::clone(&shared), bytes(items(&shared))],
            ),
        ),
        (
            "points",
            column(points, entries, vec![Arc::clone(&own), bytes(items(&own)), floats(items(&own), 3.0)]),
        ),
        (
            "away",
            column(Form::list(float), entries, vec![Arc::new((*own).clone()), floats(items(&own), 1.0)]),
        ),
    ]
}

/// The table with clusters of these sizes, and pages of this many elements.
pub(crate) fn subject(sizes: &[u64], page: usize, distant: bool) -> Subject {
    let columns = columns(sizes.iter().sum::<u64>() as usize);
    let made = PagedFiles::write(&columns, sizes, page);
    let sources = made.files.iter().map(|file| {
        let source = MemorySource::new(file.clone());
        match distant {
            true => Arc::new(DelayedSource::new(source, Duration::from_millis(2), None)) as Arc<dyn Source>,
            false => Arc::new(source),
        }
    });
    let sources = sources.collect();
    let table: Arc<dyn Table> = Arc::new(PagedTable::new(Arc::new(made), sources));
    let columns = columns.into_iter().map(|(_, column)| column).enumerate().collect();
    let name = format!("clusters of {sizes:?}, pages of {page}, distant: {distant}");
    Subject { name, table, columns, checksums: true, decorate: None }
}

#[test]
fn a_local_table_of_pages_is_read_in_all_ways() {
    check(&subject(&[7, 0, 33, 1, 20, 11], 9, false));
}

#[test]
fn a_distant_table_of_pages_is_read_in_all_ways() {
    check(&subject(&[12, 0, 9], 5, true));
}

#[test]
fn a_small_table_is_read_in_every_range() {
    check(&subject(&[3, 0, 0, 8, 1], 4, false));
}

#[test]
fn a_table_of_one_cluster_in_large_pages_is_read() {
    check(&subject(&[30], 1000, false));
}

#[test]
fn tables_without_entries_are_read() {
    check(&subject(&[], 4, false));
    check(&subject(&[0], 4, false));
}
