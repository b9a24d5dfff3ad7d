//! The auxiliary files of the segments: other trees, histograms, provenance, read as if the input files were merged.

use super::memory::MemorySink;
use futures::stream::{self, StreamExt, TryStreamExt};
use sapwood_codec::Compression;
use sapwood_core::{Call, Counters, Deadline, Error, ErrorKind, Result};
use sapwood_rewrite::repack::inputs::Inputs;
use sapwood_rewrite::repack::objects::{copy_objects, copy_process_ids};
use sapwood_rewrite::repack::output::OutputFile;
use sapwood_rewrite::repack::plan::RepackPlan;
use sapwood_rewrite::repack::{Input, RepackOptions, RepackReport, copy_tables};
use sapwood_root::{File, KeyEntry, is_tree};
use sapwood_source::MemorySource;
use sapwood_store::Store;
use sapwood_stripe::{ObjectRef, Snapshot, keys};
use sapwood_table::pool::wait;
use sapwood_tfile::write::{FileStamp, FileWriter};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Most bytes of the auxiliary files of all segments together.
const LARGEST: u64 = 1 << 30;
/// Requests in flight.
const TOGETHER: usize = 16;
/// Trees of CMS that describe the provenance: entries that several segments share are kept once.
const SETS: [&str; 3] = ["MetaData", "ParameterSets", "Parentage"];

/// The auxiliary files of all segments, and objects that were merged from several of them.
#[derive(Debug)]
pub struct AuxiliaryFiles {
    url: String,
    counters: Arc<Counters>,
    /// Path of the dataset's tree.
    tree: String,
    files: Vec<(File, Vec<KeyEntry>)>,
    /// The same, as handed out: decoding them is counted.
    counted: Vec<(MemorySource, OnceLock<File>)>,
    /// Files with one merged object each, by the object's path.
    joined: Mutex<HashMap<String, File>>,
}

impl AuxiliaryFiles {
    /// Reads the auxiliary files of a version at `url`.
    pub(super) fn read(
        url: &str,
        snapshot: &Snapshot,
        store: impl Fn(u32) -> Result<Arc<dyn Store>>,
        counters: Arc<Counters>,
        call: &mut Call<'_>,
    ) -> Result<AuxiliaryFiles> {
        let objects = objects(snapshot, store, call).map_err(|error| error.url(url))?;
        let (mut files, mut counted) = (Vec::with_capacity(objects.len()), Vec::with_capacity(objects.len()));
        for object in objects {
            let file = File::from_source(Arc::new(object.clone()), call)?;
            let keys = file.keys(call)?;
            files.push((file, keys));
            counted.push((object, OnceLock::new()));
        }
        Ok(AuxiliaryFiles {
            url: url.to_owned(),
            counters,
            counted,
            tree: snapshot.tree.clone(),
            files,
            joined: Mutex::default(),
        })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().map(|(file, _)| file)
    }

    /// The keys of all segments, each path once; without that of the dataset's tree.
    pub fn keys(&self) -> Vec<KeyEntry> {
        let (mut seen, mut keys) = (HashSet::new(), Vec::new());
        for (_, own) in &self.files {
            let new =
                own.iter().filter(|entry| entry.path != self.tree && !seen.contains(entry.path.as_str()));
            keys.extend(new.cloned());
            seen.extend(own.iter().map(|entry| entry.path.as_str()));
        }
        keys
    }

    /// The file that holds a path, and the cycle to look for in it.
    pub fn holder(
        &self,
        path: &str,
        cycle: Option<u16>,
        call: &mut Call<'_>,
    ) -> Result<Option<(File, Option<u16>)>> {
        let has =
            |keys: &[KeyEntry]| keys.iter().any(|entry| entry.path == path && !entry.key.is_directory());
        let files = self.files.iter().enumerate();
        let holders: Vec<_> = files.filter(|(_, (_, keys))| has(keys)).collect();
        let Some((place, (first, keys))) = holders.first() else { return Ok(None) };
        let newest = keys.iter().filter(|entry| entry.path == path).max_by_key(|entry| entry.key.cycle);
        let is_older = newest.zip(cycle).is_some_and(|(entry, cycle)| entry.key.cycle != cycle);
        if holders.len() == 1 || is_older {
            return Ok(Some((self.counted(*place, call)?, cycle)));
        }
        if let Some(known) = self.joined().get(path) {
            return Ok(Some((known.clone(), None)));
        }
        let streamers = first.streamers(call)?;
        let is_tree = newest.is_some_and(|entry| is_tree(&entry.key.class_name, &streamers));
        let files = holders.into_iter().map(|(_, (file, _))| Input::Open(file.clone())).collect::<Vec<_>>();
        let file = join(&files, path, is_tree, &self.url, &self.counters, call)?;
        Ok(Some((self.joined().entry(path.to_owned()).or_insert(file).clone(), None)))
    }

    /// A file, opened so that decoding it is counted.
    fn counted(&self, place: usize, call: &mut Call<'_>) -> Result<File> {
        let missing = || Error::corrupt("an auxiliary file is missing");
        let (object, opened) = self.counted.get(place).ok_or_else(missing)?;
        if let Some(file) = opened.get() {
            return Ok(file.clone());
        }
        let file = File::in_memory(object.clone(), &self.counters, call)?;
        Ok(opened.get_or_init(|| file).clone())
    }

    fn joined(&self) -> std::sync::MutexGuard<'_, HashMap<String, File>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The options for merging the auxiliary files of several segments.
pub(super) fn joining(threads: Option<usize>) -> RepackOptions {
    let sets = SETS.map(str::to_owned).to_vec();
    RepackOptions { sets, threads, ..RepackOptions::default() }
}

/// The auxiliary files of the segments, in order.
///
/// # Errors
/// `Limit` if they are too large; `Checksum` or `Corrupt` if one is damaged or lost; those of the stores.
fn objects(
    snapshot: &Snapshot,
    store: impl Fn(u32) -> Result<Arc<dyn Store>>,
    call: &mut Call<'_>,
) -> Result<Vec<MemorySource>> {
    let places = || snapshot.segments.iter().filter_map(|segment| segment.auxiliary.as_ref());
    let sum = places().fold(0_u64, |sum, place| sum.saturating_add(place.len));
    if sum > LARGEST {
        let message = format!("the auxiliary files have {sum} bytes; at most {LARGEST} fit in memory");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let deadline = call.deadline();
    let read = stream::iter(places()).map(|place| {
        let store = store(place.base);
        async move { whole(&*store?, place, deadline).await }
    });
    wait(read.buffered(TOGETHER).try_collect(), call)
}

/// A whole auxiliary file.
async fn whole(store: &dyn Store, object: &ObjectRef, deadline: Deadline) -> Result<MemorySource> {
    let url = format!("{}/{}", store.url(), keys::data(object.id));
    match object.read_whole(store, deadline).await {
        Ok(bytes) => Ok(MemorySource::named(url, None, bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let lost = "the auxiliary file of a segment is lost: its object is not in the store";
            Err(Error::corrupt(lost).url(url).caused_by(error))
        }
        Err(error) => Err(error),
    }
}

/// A file with the merged object at a path: the concatenated trees, the sum of the histograms, or the first object of
/// another kind.
fn join(
    inputs: &[Input],
    path: &str,
    is_tree: bool,
    url: &str,
    counters: &Arc<Counters>,
    call: &mut Call<'_>,
) -> Result<File> {
    let trees = Some(Vec::from_iter(is_tree.then(|| path.to_owned())));
    let options = RepackOptions { trees, ..joining(None) };
    let (mut inputs, mut report) = (Inputs::new(inputs), RepackReport::default());
    let mut plan = RepackPlan::new(&mut inputs, &options, &mut report.notes, call)?;
    plan.objects.retain(|(entry, _)| entry.path == path);
    let sink = MemorySink::new(usize::try_from(LARGEST).unwrap_or(usize::MAX));
    let file = FileWriter::new("auxiliary.root", "", Compression::default(), FileStamp::now())?;
    let mut output = OutputFile::new(file, Box::new(sink.clone()));
    output.file.descriptions().unite(&plan.descriptions);
    copy_process_ids(&plan.process_ids, &mut inputs, &mut output, call)?;
    copy_objects(&plan.objects, &mut inputs, &mut output, &mut report, call)?;
    copy_tables(&mut plan, &mut inputs, &mut output, &options, &mut report, call)?;
    output.commit()?;
    report.notes.iter().for_each(|note| log::info!("{url}: {note}"));
    File::in_memory(MemorySource::named(url, None, sink.take()), counters, call)
}
