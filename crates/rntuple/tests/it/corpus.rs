//! Real files: every field is read in every way, and damage is never taken for values.

use bytes::Bytes;
use sapwood_core::{Call, Column, Counters, Deadline, Error, ErrorKind, Form, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_rntuple::{Anchor, Metadata, RNTuple};
use sapwood_source::MemorySource;
use sapwood_table::{ColumnContent, Query, Table};
use sapwood_testkit::table::{Subject, check};
use sapwood_tfile::{KeyEntry, TFile};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// Files of more entries are not read in all ways.
const MOST_ENTRIES: u64 = 3000;

fn done<T>(step: ParseStep<T>) -> T {
    match step {
        ParseStep::Done(done) => done,
        ParseStep::Need(ranges) => panic!("{ranges:?} beyond the end of the file"),
    }
}

/// A file in memory.
pub(crate) struct Whole {
    bytes: Bytes,
    known: Segments,
}

impl Whole {
    fn new(bytes: &Bytes) -> Whole {
        let mut known = Segments::default();
        known.insert(0, bytes.clone());
        Whole { bytes: bytes.clone(), known }
    }

    /// The RNTuple with this anchor.
    fn table(&self, path: &str, anchor: &Anchor) -> Result<RNTuple> {
        let metadata = match Metadata::parse(anchor, &self.known)? {
            ParseStep::Done(metadata) => metadata,
            ParseStep::Need(_) => return Err(Error::new(ErrorKind::Truncated, "the file ends early")),
        };
        let source = Arc::new(MemorySource::new(self.bytes.clone()));
        RNTuple::new("memory", path, metadata, Fetcher::new(source, Arc::new(Counters::default())))
    }

    /// The sets of attributes of an RNTuple.
    fn attributes(&self, table: &RNTuple) -> Vec<(String, Result<RNTuple>)> {
        let sets = table.attribute_sets().iter().map(|set| {
            let table = match set.anchor(&self.known) {
                Ok(ParseStep::Done(anchor)) => self.table(set.name(), &anchor),
                Ok(ParseStep::Need(_)) => Err(Error::new(ErrorKind::Truncated, "the file ends early")),
                Err(error) => Err(error),
            };
            (set.name().to_owned(), table)
        });
        sets.collect()
    }
}

/// The RNTuples of a file, and their attributes.
pub(crate) fn open(bytes: &Bytes) -> Vec<(String, Result<RNTuple>)> {
    let whole = Whole::new(bytes);
    let file = done(TFile::open(&whole.known, bytes.len() as u64).unwrap());
    let keys = done(file.list(&whole.known).unwrap()).into_iter();
    let mut found = Vec::new();
    for KeyEntry { path, key, .. } in keys.filter(|entry| entry.key.class_name == "ROOT::RNTuple") {
        let anchor = file.record(&whole.known, &key).and_then(|record| Anchor::parse(&done(record).payload));
        let table = anchor.and_then(|anchor| whole.table(&path, &anchor));
        let attributes = table.as_ref().map_or_else(|_| Vec::new(), |table| whole.attributes(table));
        found.push((path, table));
        found.extend(attributes);
    }
    found
}

fn readable(table: &RNTuple) -> Vec<usize> {
    let is_readable = |column: &usize| {
        matches!(table.schema(*column).map(|schema| schema.content), Some(ColumnContent::Values(_)))
    };
    (0..table.column_count()).filter(is_readable).collect()
}

fn read(table: &Arc<RNTuple>, column: usize) -> Result<Column> {
    let mut never = || false;
    let shared = Arc::clone(table) as Arc<dyn Table>;
    let mut call = Call::new(Deadline::default(), &mut never);
    sapwood_table::read(&shared, &[column], 0..table.entries(), Some(1), &mut call)
        .map(|mut read| read.remove(0))
}

pub(crate) fn corpus_folder() -> PathBuf {
    std::env::var_os("SAPWOOD_CORPUS").map_or_else(|| shared().join("corpus"), PathBuf::from)
}

fn shared() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared")
}

/// The files with RNTuples of both corpora; none, said aloud, where there is no corpus.
pub(crate) fn files() -> Vec<(String, Bytes)> {
    let mut found = Vec::new();
    for folder in [corpus_folder().join("files"), shared().join("corpus-rntuple")] {
        let Ok(entries) = fs::read_dir(&folder) else {
            eprintln!("skipped: there is no corpus at {}", folder.display());
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // Their names say it, or that they are of a time before there were any.
            let is_rntuple = ["ntuple", "ntpl", "rc3", "gen640__"].iter().any(|part| name.contains(part));
            if name.ends_with(".root") && is_rntuple {
                let bytes = Bytes::from(fs::read(&path).unwrap());
                let class = b"ROOT::RNTuple";
                if bytes.windows(class.len()).any(|here| here == class) {
                    found.push((name, bytes));
                }
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let is_made = |(name, _): &(String, Bytes)| name == "gen640__var.root";
    assert!(!shared().join("corpus-rntuple").is_dir() || found.iter().any(is_made));
    found
}

/// The fields of a file of the corpus, if it is there.
fn fields(file: &str) -> Vec<(String, Column)> {
    let tables = files().into_iter().filter(|(name, _)| name == file).flat_map(|(_, bytes)| open(&bytes));
    let fields = tables.flat_map(|(_, table)| {
        let table = Arc::new(table.unwrap());
        let name = |column: usize| table.schema(column).unwrap().name.to_owned();
        let read = readable(&table).into_iter().map(|column| (name(column), read(&table, column).unwrap()));
        read.collect::<Vec<_>>()
    });
    fields.collect()
}

#[test]
fn every_field_is_read_or_refused_with_a_reason() {
    for (name, bytes) in files() {
        for (path, table) in open(&bytes) {
            let table = match table {
                Ok(table) => Arc::new(table),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {path}: {error}");
                    eprintln!("{name}: {path}: {error}");
                    continue;
                }
            };
            for column in 0..table.column_count() {
                let schema = table.schema(column).unwrap();
                match schema.content {
                    ColumnContent::Unreadable(why) => eprintln!("{name}: {path}: {why}"),
                    _ if table.entries() > 1_000_000 => {}
                    _ => match read(&table, column) {
                        Ok(read) => {
                            assert_eq!(read.length as u64, table.entries(), "{name}: {}", schema.name)
                        }
                        Err(error) if error.kind() == ErrorKind::Unsupported => eprintln!("{name}: {error}"),
                        Err(error) => panic!("{name}: {path}: {}: {error}", schema.name),
                    },
                }
            }
        }
    }
}

#[test]
fn small_files_keep_the_contract_of_tables() {
    let wanted = [
        "gen640__var",
        "gen640__pages",
        "gen640__late_record",
        "gen640__projected",
        "gen640__index32",
        "gen640__chunk",
        "gen640__streamer",
        "gen640__attributes",
        "gen640__nochecksum",
        "gen640__comp404",
        "test_extension_columns_rntuple_v1-0-0-0",
        "test_stl_containers_rntuple_v1-0-0-0",
        "test_multiple_cluster_groups_rntuple_v1-0-0-0",
    ];
    for (name, bytes) in files().into_iter().filter(|(name, _)| wanted.iter().any(|part| name.contains(part)))
    {
        for (path, table) in open(&bytes) {
            let table = Arc::new(table.unwrap());
            if table.entries() > MOST_ENTRIES {
                continue;
            }
            let columns = readable(&table).into_iter().take(8);
            let columns = columns.map(|column| (column, read(&table, column).unwrap())).collect();
            let checksums = !name.contains("nochecksum");
            let name = format!("{name}: {path}");
            check(&Subject { name, table: table as Arc<dyn Table>, columns, checksums, decorate: None });
        }
    }
}

#[test]
fn any_damaged_byte_is_noticed() {
    let values = |bytes: &Bytes| -> Vec<(String, Result<Vec<Column>>)> {
        let tables = open(bytes).into_iter().map(|(path, table)| {
            let columns = table
                .map(Arc::new)
                .and_then(|table| readable(&table).into_iter().map(|column| read(&table, column)).collect());
            (path, columns)
        });
        tables.collect()
    };
    for (name, bytes) in files() {
        // Each byte of the smallest files, some of the others; without checksums, damage cannot be seen.
        let step = match bytes.len() {
            0..2600 => 1,
            2600..5000 => 3,
            _ if name.contains("gen640__chunk") => 17,
            _ => continue,
        };
        if name.contains("nochecksum") || !(name.starts_with("gen640__") || name.contains("multiple_repr")) {
            continue;
        }
        let right = values(&bytes);
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x55;
            let damaged = Bytes::from(damaged);
            let whole = Whole::new(&damaged);
            // Damage of the container is the business of its own tests.
            let listed = TFile::open(&whole.known, damaged.len() as u64).and_then(|file| match file {
                ParseStep::Done(file) => file.list(&whole.known).map(|list| match list {
                    ParseStep::Done(list) => list.iter().all(|entry| {
                        matches!(file.record(&whole.known, &entry.key), Ok(ParseStep::Done(_)) | Err(_))
                    }),
                    ParseStep::Need(_) => false,
                }),
                ParseStep::Need(_) => Ok(false),
            });
            if !matches!(listed, Ok(true)) {
                continue;
            }
            for (path, read) in values(&damaged) {
                let expected = right.iter().find(|(known, _)| *known == path);
                if let (Ok(read), Some((_, Ok(expected)))) = (read, expected) {
                    assert!(read == *expected, "{name}: wrong values with byte {at} damaged");
                }
            }
        }
    }
}

#[test]
fn attributes_are_rntuples_of_their_own() {
    let found = fields("gen640__attributes.root");
    let numbers = |name: &str| -> Vec<u64> {
        let column = found.iter().find(|(known, _)| known == name).map(|(_, column)| column);
        column.map_or_else(Vec::new, |column| column.buffers[0].view().to_vec())
    };
    if !found.is_empty() {
        assert_eq!((numbers("_rangeStart"), numbers("_rangeLen")), (vec![0, 1], vec![1, 2]));
        let (_, data) = found.iter().find(|(name, _)| name == "_userData").unwrap();
        assert_eq!(data.buffers[0].view::<i32>(), [1, 2]);
    }
}

#[test]
fn pages_and_metadata_in_several_parts_are_joined() {
    for (_, column) in fields("gen640__chunk.root") {
        let lens: Vec<i64> =
            column.buffers[0].view::<i64>().windows(2).map(|pair| pair[1] - pair[0]).collect();
        let expected: Vec<i64> = (0..1000).map(|entry| entry % 5).collect();
        assert_eq!(lens, expected);
        let values = (0..1000_usize).flat_map(|entry| (0..entry % 5).map(move |_| entry as f32));
        assert!(column.buffers[1].view::<f32>().iter().copied().eq(values));
    }
}

#[test]
fn streamed_objects_are_read_with_the_descriptions_of_the_footer() {
    for (name, column) in fields("gen640__streamer.root").into_iter().filter(|(name, _)| name == "s") {
        let Form::Record { fields, .. } = &column.form else { panic!("{name}: {:?}", column.form) };
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["fName", "fTitle"]);
        assert_eq!(column.buffers[1].as_bytes(), b"n0n1n2n3n4");
        assert_eq!(column.buffers[3].as_bytes(), b"titletitletitletitletitle");
    }
}

#[test]
fn members_of_untyped_collections_have_the_values_of_their_projections() {
    let importer = |(name, _): &(String, Bytes)| name.contains("NANOAOD_RNTupleImporter");
    for (_, bytes) in files().into_iter().filter(importer) {
        for (_, table) in open(&bytes) {
            let table = Arc::new(table.unwrap());
            let name = |column: usize| table.schema(column).unwrap().name.to_owned();
            let mut compared = 0;
            for collection in
                (0..table.column_count()).filter(|column| name(*column).starts_with("_collection"))
            {
                let Some(ColumnContent::Values(form)) = table.schema(collection).map(|one| one.content)
                else {
                    continue;
                };
                let Form::List(item) = form else { panic!("{form:?}") };
                let Form::Record { fields, .. } = &**item else { panic!("{item:?}") };
                let member = fields[0].name.clone();
                let shared = Arc::clone(&table) as Arc<dyn Table>;
                let query = Query { column: collection, member: member.clone() };
                let mut never = || false;
                let mut call = Call::new(Deadline::default(), &mut never);
                let found = sapwood_table::read(&shared, &[query], 0..table.entries(), Some(2), &mut call);
                let projected = (0..table.column_count()).find(|column| name(*column) == member).unwrap();
                assert_eq!(found.unwrap().remove(0), read(&table, projected).unwrap(), "{member}");
                compared += 1;
            }
            assert!(compared > 10);
        }
    }
}

#[test]
fn the_values_of_variants_continue_in_each_cluster() {
    for (_, bytes) in files().into_iter().filter(|(name, _)| name == "gen640__var.root") {
        for (_, table) in open(&bytes) {
            let read = read(&Arc::new(table.unwrap()), 0).unwrap();
            // Presence, tags, positions, integers, floats, and the offsets and items of lists.
            let numbers: [&[i64]; 2] = [read.buffers[0].view(), read.buffers[2].view()];
            assert_eq!(numbers, [&[0, 1, 2, 3, 4, 5][..], &[0, 0, 0, 1, 1, 1]]);
            assert_eq!(read.buffers[1].view::<i8>(), [0, 1, 2, 0, 1, 2]);
            assert_eq!(read.buffers[4].view::<f32>(), [1.0, 4.0]);
            assert_eq!(read.buffers[6].view::<f32>()[2..], [5.0, 10.0]);
        }
    }
}

#[test]
fn members_of_a_class_that_is_inherited_twice_are_told_apart() {
    for (_, bytes) in files().into_iter().filter(|(name, _)| name.contains("test_class_inheritance")) {
        for (_, table) in open(&bytes) {
            let table = table.unwrap();
            let names: Vec<String> = readable(&table)
                .into_iter()
                .flat_map(|column| match table.schema(column).unwrap().content {
                    ColumnContent::Values(Form::Record { fields, .. }) => fields.clone(),
                    _ => Vec::new(),
                })
                .map(|field| field.name)
                .filter(|name| name.contains("::"))
                .collect();
            assert_eq!(names.len(), 6, "{names:?}");
            assert!(names.contains(&"MultiParent::base_a1".to_owned()));
        }
    }
}

#[test]
fn a_variant_without_a_value_is_missing() {
    for (_, column) in fields("skhep__test_emptystruct_invalidvar_rntuple_v1-0-0-0.root").into_iter().skip(1)
    {
        assert_eq!(column.buffers[0].view::<i64>(), [0, -1, 1]);
        assert_eq!(column.buffers[1].view::<i8>(), [0, 1]);
        assert_eq!(column.buffers[3..].iter().map(|one| one.view::<i32>()[0]).collect::<Vec<_>>(), [1, 2]);
    }
}
