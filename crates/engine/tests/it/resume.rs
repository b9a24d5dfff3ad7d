//! Repacking in several runs, of which all but the last were killed.

use crate::inputs::{MIXED, open};
use sapwood::repack::{Input, OutputFormat, RepackOptions, RepackReport, TreeSelection, repack};
use sapwood::write::{ClusterSize, Compression, FilePiece, Sink};
use sapwood::{Error, ErrorKind, File, Result};
use sapwood_sink::{Leftover, LocalSink};
use sapwood_source::MemorySource;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A temporary directory, which is removed on drop.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("sapwood-going-on-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn target(&self) -> PathBuf {
        self.0.join("out.root")
    }

    /// A copy of its contents.
    fn copy(&self, name: &str) -> Directory {
        let copy = Directory::new(name);
        for entry in fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap()) {
            fs::copy(entry.path(), copy.0.join(entry.file_name())).unwrap();
        }
        copy
    }

    /// The only file whose name has this ending.
    fn ending(&self, end: &str) -> Option<PathBuf> {
        let paths = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut paths = paths.filter(|path| path.to_str().unwrap().ends_with(end));
        let found = paths.next();
        assert_eq!(paths.next(), None);
        found
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A local file that copies every saved state, and that fails after this many pieces.
#[derive(Debug)]
struct Watched {
    inner: Box<LocalSink>,
    directory: PathBuf,
    states: Arc<Mutex<Vec<Directory>>>,
    most: usize,
}

impl Watched {
    fn new(directory: &Directory, most: usize) -> Watched {
        let inner = Box::new(LocalSink::create(directory.target()).unwrap());
        Watched { inner, directory: directory.0.clone(), states: Arc::default(), most }
    }
}

impl Sink for Watched {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        let Some(most) = self.most.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Network, "the link broke"));
        };
        self.most = most;
        self.inner.write(piece)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.inner.commit()
    }

    fn take_up(&mut self, job: u64) -> Result<Leftover> {
        self.inner.take_up(job)
    }

    fn keep(&mut self, bytes: u64, note: &mut Vec<u8>) {
        let directory = Directory(self.directory.clone());
        let journal_len = || directory.ending(".journal").map_or(0, |path| path.metadata().unwrap().len());
        let (before, deadline) = (journal_len(), Instant::now() + Duration::from_secs(60));
        let more = note.len() as u64 + 24;
        // Another thread writes the saved state, so the earlier state must be complete.
        while !note.is_empty() {
            self.inner.keep(bytes, note);
            assert!(Instant::now() < deadline);
        }
        while journal_len() < before + more {
            std::thread::sleep(Duration::from_millis(1));
            assert!(Instant::now() < deadline);
        }
        let mut states = self.states.lock().unwrap();
        let name = directory.0.file_name().unwrap().to_str().unwrap();
        let state = directory.copy(&format!("{name}-{}", states.len()));
        states.push(state);
        std::mem::forget(directory);
    }

    fn leave(self: Box<Self>, bytes: u64, note: Vec<u8>) -> Option<String> {
        self.inner.leave(bytes, note)
    }
}

fn layouts() -> Vec<(&'static str, RepackOptions)> {
    let every = |options| RepackOptions { keep_every: Some(Duration::ZERO), threads: Some(2), ..options };
    let lz4 = Some(Compression::from_number(404).unwrap());
    let choice = |ranges: Vec<std::ops::Range<u64>>| {
        let entries = Some(vec![ranges; INPUTS]);
        vec![TreeSelection { tree: "tree".to_owned(), branches: None, entries }]
    };
    let scattered = (0..60).map(|index| 8 * index..8 * index + 5).collect();
    let all = [
        ("copied", RepackOptions::default()),
        ("compressed", RepackOptions { compression: lz4, ..RepackOptions::default() }),
        (
            "a-range",
            RepackOptions {
                selections: choice(std::iter::once(30..450).collect()),
                ..RepackOptions::default()
            },
        ),
        ("scattered", RepackOptions { selections: choice(scattered), ..RepackOptions::default() }),
        (
            "cut",
            RepackOptions {
                basket_size: Some(1500),
                cluster: Some(ClusterSize::Entries(1300)),
                ..RepackOptions::default()
            },
        ),
        ("large-baskets", RepackOptions { basket_size: Some(1 << 20), ..RepackOptions::default() }),
    ];
    all.into_iter().map(|(name, options)| (name, every(options))).collect()
}

const INPUTS: usize = 4;

fn inputs() -> Vec<Input> {
    let file = open(MIXED).unwrap();
    vec![Input::Open(file); INPUTS]
}

/// The same as RNTuples of several clusters.
fn rntuples() -> Vec<Input> {
    let directory = Directory::new("rntuples");
    let options = RepackOptions {
        format: OutputFormat::RNTuple,
        basket_size: Some(1500),
        cluster: Some(ClusterSize::Entries(100)),
        ..RepackOptions::default()
    };
    written(&directory, &inputs(), &options).unwrap();
    vec![Input::Open(open(&bytes(&directory)).unwrap()); INPUTS]
}

fn written(directory: &Directory, inputs: &[Input], options: &RepackOptions) -> Result<RepackReport> {
    let sink = LocalSink::create(directory.target())?;
    repack(inputs, Box::new(sink), "out.root", options, call!())
}

fn bytes(directory: &Directory) -> Vec<u8> {
    fs::read(directory.target()).unwrap()
}

fn went_on(report: &RepackReport) -> bool {
    report.notes.iter().any(|note| note.contains("resumed an earlier run"))
}

/// A complete run, and all states that it saved.
fn watched(name: &str, options: &RepackOptions) -> (Directory, RepackReport, Vec<Directory>) {
    watched_over(&inputs(), name, options)
}

fn watched_over(
    inputs: &[Input],
    name: &str,
    options: &RepackOptions,
) -> (Directory, RepackReport, Vec<Directory>) {
    let directory = Directory::new(name);
    let sink = Watched::new(&directory, usize::MAX);
    let states = Arc::clone(&sink.states);
    let report = repack(inputs, Box::new(sink), "out.root", options, call!()).unwrap();
    let states = std::mem::take(&mut *states.lock().unwrap());
    (directory, report, states)
}

#[test]
fn a_run_that_goes_on_writes_the_same_file() {
    goes_on_to_the_same_file(&inputs(), "", layouts());
}

#[test]
fn a_run_that_copies_rntuples_goes_on_to_the_same_file() {
    // New sizes need the values, which are read again from the start.
    let copies_pages = |options: &RepackOptions| options.cluster.is_none() && options.basket_size.is_none();
    let whole_clusters =
        |(name, options): &(&str, RepackOptions)| copies_pages(options) && *name != "scattered";
    let layouts = layouts().into_iter().filter(whole_clusters).collect();
    goes_on_to_the_same_file(&rntuples(), "rntuple-", layouts);
}

fn goes_on_to_the_same_file(inputs: &[Input], kind: &str, layouts: Vec<(&str, RepackOptions)>) {
    for (name, options) in layouts {
        let name = &format!("{kind}{name}");
        let (whole, expected, states) = watched_over(inputs, name, &options);
        assert_eq!(whole.names(), ["out.root"], "{name}");
        assert!(states.len() >= INPUTS, "{name}: {}", states.len());
        for (index, state) in states.iter().enumerate() {
            let report = written(state, inputs, &options).unwrap();
            assert!(went_on(&report), "{name} {index}: {:?}", report.notes);
            assert!(bytes(state) == bytes(&whole), "{name} {index}");
            let baskets = |r: &RepackReport| (r.copied_baskets, r.recompressed_baskets, r.cut_baskets);
            assert_eq!(baskets(&report), baskets(&expected), "{name} {index}");
            assert_eq!((report.bytes, &report.trees), (expected.bytes, &expected.trees), "{name} {index}");
            assert_eq!(state.names(), ["out.root"], "{name} {index}");
        }
    }
}

#[test]
fn runs_that_fail_one_after_the_other_come_to_an_end() {
    for (name, options) in layouts() {
        let (whole, expected, _) = watched(&format!("{name}-whole"), &options);
        // Enough for one input and a part of the next.
        let baskets = expected.copied_baskets + expected.recompressed_baskets + expected.cut_baskets;
        let most = usize::try_from(2 * baskets / 3).unwrap() + 20;
        let directory = Directory::new(&format!("{name}-chain"));
        let mut runs = 0;
        let report = loop {
            let sink = Box::new(Watched::new(&directory, most));
            match repack(&inputs(), sink, "out.root", &options, call!()) {
                Ok(report) => break report,
                Err(error) => {
                    assert!(error.hint_text().unwrap().contains("to resume"), "{error}");
                    assert!(directory.ending(".part").is_some() && directory.ending(".journal").is_some());
                }
            }
            runs += 1;
            assert!(runs < 60, "{name}");
        };
        assert!(runs > 1 && went_on(&report), "{name}: {runs}");
        assert_eq!(directory.names(), ["out.root"], "{name}");
        // Times and names of the start differ; each basket is at the same offset.
        assert_eq!(bytes(&directory).len(), bytes(&whole).len(), "{name}");
    }
}

/// The last state that was kept, changed: the run starts from the beginning and writes the whole file.
fn begun_again(
    name: &str,
    change: impl FnOnce(&Directory),
    again: &RepackOptions,
    inputs: &[Input],
) -> Vec<String> {
    let (_, options) = layouts().remove(0);
    let (_, expected, mut states) = watched(name, &options);
    let state = states.pop().unwrap();
    change(&state);
    let report = written(&state, inputs, again).unwrap();
    assert!(!went_on(&report), "{name}: {:?}", report.notes);
    assert_eq!(report.trees.len(), expected.trees.len());
    assert_eq!(open(&bytes(&state)).unwrap().header().end, report.bytes);
    report.notes
}

#[test]
fn what_is_of_another_job_is_of_no_use() {
    let (_, options) = layouts().remove(0);
    let other =
        RepackOptions { compression: Some(Compression::from_number(505).unwrap()), ..options.clone() };
    let notes = begun_again("options", |_| {}, &other, &inputs());
    assert!(notes.iter().any(|note| note.contains("of other options")), "{notes:?}");
    let fewer = &inputs()[1..];
    let notes = begun_again("fewer", |_| {}, &options, fewer);
    assert!(notes.iter().any(|note| note.contains("of other files")), "{notes:?}");
    // Same location, same size, another version.
    let source = MemorySource::named("memory.root", Some("another".to_owned()), MIXED.to_vec());
    let other = File::from_source(Arc::new(source), call!()).unwrap();
    let mut inputs = inputs();
    inputs[3] = Input::Open(other);
    let notes = begun_again("changed", |_| {}, &options, &inputs);
    assert!(notes.iter().any(|note| note.contains("of other files")), "{notes:?}");
}

#[test]
fn what_is_damaged_is_of_no_use() {
    let (_, options) = layouts().remove(0);
    let cut = |directory: &Directory| {
        let part = directory.ending(".part").unwrap();
        fs::OpenOptions::new().write(true).open(part).unwrap().set_len(50_000).unwrap();
    };
    let notes = begun_again("cut-off", cut, &options, &inputs());
    assert!(notes.iter().any(|note| note.contains("a part of it is lost")), "{notes:?}");
    let emptied = |directory: &Directory| fs::write(directory.ending(".journal").unwrap(), b"").unwrap();
    let notes = begun_again("emptied", emptied, &options, &inputs());
    assert!(notes.iter().any(|note| note.contains("journal is damaged")), "{notes:?}");
    let lost = |directory: &Directory| fs::remove_file(directory.ending(".part").unwrap()).unwrap();
    begun_again("lost", lost, &options, &inputs());
}

#[test]
fn a_damaged_journal_counts_up_to_the_damage() {
    let (_, options) = layouts().remove(4);
    let (whole, _, mut states) = watched("damaged", &options);
    let last = states.pop().unwrap();
    let journal = fs::read(last.ending(".journal").unwrap()).unwrap();
    let mut ways = [0, 0];
    for at in (0..journal.len()).step_by(journal.len() / 24) {
        let state = last.copy("damaged-state");
        let mut journal = journal.clone();
        journal[at] ^= 1;
        fs::write(state.ending(".journal").unwrap(), journal).unwrap();
        let report = written(&state, &inputs(), &options).unwrap();
        ways[usize::from(went_on(&report))] += 1;
        assert!(!went_on(&report) || bytes(&state) == bytes(&whole), "{at}");
        assert_eq!(report.bytes, bytes(&whole).len() as u64);
    }
    assert!(ways[0] > 0 && ways[1] > 10, "{ways:?}");
}

#[test]
fn what_somebody_still_writes_is_left_alone() {
    let (_, options) = layouts().remove(0);
    let (_, _, mut states) = watched("two", &options);
    let state = states.pop().unwrap();
    let part = state.ending(".part").unwrap();
    let (before, held) = (fs::read(&part).unwrap(), fs::File::open(&part).unwrap());
    held.try_lock().unwrap();
    let report = written(&state, &inputs(), &options).unwrap();
    assert!(!went_on(&report), "{:?}", report.notes);
    assert_eq!(fs::read(&part).unwrap(), before);
    fs::remove_file(state.target()).unwrap();
    drop(held);
    assert!(went_on(&written(&state, &inputs(), &options).unwrap()));
    assert_eq!(state.names(), ["out.root"]);
}
