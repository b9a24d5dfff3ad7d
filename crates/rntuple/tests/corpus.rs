//! Real files: every field is read in every way, and damage is never taken for values.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use bytes::Bytes;
use sapwood_core::{Call, Column, Counters, Deadline, ErrorKind, Form, ParseStep, Result, Segments};
use sapwood_fetch::Fetcher;
use sapwood_rntuple::{Anchor, Metadata, RNTuple};
use sapwood_source::MemorySource;
use sapwood_table::{ColumnContent, Table};
use sapwood_testkit::table::{Subject, check};
use sapwood_tfile::{Key, TFile};
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

/// The RNTuples of a file.
fn open(bytes: &Bytes) -> Vec<(String, Result<RNTuple>)> {
    let mut known = Segments::default();
    known.insert(0, bytes.clone());
    let file = done(TFile::open(&known, bytes.len() as u64).unwrap());
    let keys =
        done(file.list(&known).unwrap()).into_iter().filter(|entry| entry.key.class_name == "ROOT::RNTuple");
    let open = |path: &str, key: &Key| -> Result<RNTuple> {
        let record = done(file.record(&known, key)?);
        let metadata = match Metadata::parse(&Anchor::parse(&record.payload)?, &known)? {
            ParseStep::Done(metadata) => metadata,
            ParseStep::Need(_) => {
                return Err(sapwood_core::Error::new(ErrorKind::Truncated, "the file ends early"));
            }
        };
        let source = Arc::new(MemorySource::new(bytes.clone()));
        RNTuple::new("memory", path, metadata, Fetcher::new(source, Arc::new(Counters::default())))
    };
    keys.map(|entry| (entry.path.clone(), open(&entry.path, &entry.key))).collect()
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

/// The files with RNTuples of both corpora; none, said aloud, where there is no corpus.
fn files() -> Vec<(String, Bytes)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let corpus = std::env::var_os("SAPWOOD_CORPUS").map_or_else(|| root.join("corpus"), PathBuf::from);
    let mut found = Vec::new();
    for folder in [corpus.join("files"), root.join("corpus-rntuple")] {
        let Ok(entries) = fs::read_dir(&folder) else {
            eprintln!("skipped: there is no corpus at {}", folder.display());
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_rntuple =
                name.contains("rntuple") || name.contains("ntpl") || name.starts_with("gen640__");
            if name.ends_with(".root") && is_rntuple {
                found.push((name, fs::read(&path).unwrap().into()));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let is_made = |(name, _): &(String, Bytes)| name == "gen640__var.root";
    assert!(!root.join("corpus-rntuple").is_dir() || found.iter().any(is_made));
    found
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
            let columns = columns.map(|column| (column, read(&table, column).unwrap()));
            // Where the values of an alternative are not asked for, its pages are fetched with those around them.
            let columns =
                columns.filter(|(_, column)| !format!("{:?}", column.form).contains("Union")).collect();
            let name = format!("{name}: {path}");
            check(&Subject { name, table: table as Arc<dyn Table>, columns, checksums: true });
        }
    }
}

#[test]
fn any_damaged_byte_is_noticed() {
    let small = files().into_iter().filter(|(name, bytes)| {
        bytes.len() < 4000
            && (name.contains("gen640__var") || name.contains("test_stl") || name.contains("multiple_repr"))
    });
    for (name, bytes) in small {
        let values = |bytes: &Bytes| -> Vec<Result<Vec<Column>>> {
            let tables = open(bytes).into_iter().map(|(_, table)| {
                let table = Arc::new(table?);
                readable(&table).into_iter().map(|column| read(&table, column)).collect()
            });
            tables.collect()
        };
        let right: Vec<Vec<Column>> = values(&bytes).into_iter().map(|one| one.unwrap()).collect();
        let mut known = Segments::default();
        known.insert(0, bytes.clone());
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x55;
            let damaged = Bytes::from(damaged);
            let mut known = Segments::default();
            known.insert(0, damaged.clone());
            // Damage of the container is the business of its own tests.
            let listed = TFile::open(&known, damaged.len() as u64).and_then(|file| match file {
                ParseStep::Done(file) => file.list(&known).map(|list| matches!(list, ParseStep::Done(_))),
                ParseStep::Need(_) => Ok(false),
            });
            if !matches!(listed, Ok(true)) {
                continue;
            }
            for (one, right) in values(&damaged).into_iter().zip(&right) {
                if let Ok(read) = one {
                    assert!(read == *right, "{name}: wrong values with byte {at} damaged");
                }
            }
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
