//! An open file: its keys, its trees, its class descriptions, and what reading it has cost.

use crate::dataset::{Named, View, stored};
use crate::elsewhere::beside;
use crate::keys::Keys;
use crate::reach::Reached;
use crate::{Interrupt, Object, Tree, opening, pool};
use sapwood_core::{Counters, Deadline, Error, ErrorKind, Result, Segments, Step, redact};
use sapwood_fetch::{Fetcher, wait};
use sapwood_source::{
    CountingSource, MemorySource, OpenOptions, OpenedSource, ReplicaOptions, Source, Trace, TracedSource,
    is_document, record,
};
use sapwood_streamer::Compiler;
use sapwood_tfile::{FileHeader, Key, Record, StreamerInfos, TFile};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use sapwood_tfile::Entry as KeyEntry;

/// Classes of trees that are known without the file's class descriptions.
const TREES: [&str; 3] = ["TTree", "TNtuple", "TNtupleD"];
/// Classes of the other columnar format.
pub(crate) const RNTUPLES: [&str; 2] = ["ROOT::RNTuple", "ROOT::Experimental::RNTuple"];

/// An open ROOT file. Cheap to clone; all clones share one connection and its counters.
#[derive(Debug, Clone)]
pub struct File(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) fetcher: Fetcher,
    header: FileHeader,
    /// What came with opening.
    pub(crate) known: Segments,
    pub(crate) keys: Keys,
    streamers: OnceLock<Arc<StreamerInfos>>,
    compiler: OnceLock<Compiler>,
    trace: Trace,
    /// What it was opened with, if it was opened by its name.
    origin: Option<(String, OpenOptions)>,
    /// The dataset that is read as a file.
    pub(crate) dataset: Option<Arc<View>>,
}

impl File {
    /// Opens a path or URL: that of a file, or of a dataset, whose version may be named behind it (`s3://bucket/name@v12`).
    /// Of a file, also where else `options.replicas` say that the file is; with these, it may also be a name
    /// that is no place by itself. Of a metalink, or the like, what it describes is opened.
    ///
    /// # Errors
    /// Those of [`sapwood_source::open`]; `NotRoot`, `Truncated` or `Corrupt` if it is no sound ROOT file.
    pub fn open(url: &str, options: OpenOptions, interrupt: Interrupt<'_>) -> Result<File> {
        let (deadline, counters) = (options.deadline, Arc::clone(&options.counters));
        let begin = Instant::now();
        let advise = |error: Error| {
            let doctor = format!("'sapwood doctor {}' shows which step takes the time", redact(url));
            let error = counters.explain(error);
            match error.kind() {
                ErrorKind::Timeout => error.url(redact(url)).hint(doctor),
                _ => error,
            }
        };
        let dataset = Named::of(url, &options).transpose().map_err(|error| error.url(redact(url)))?;
        if let Some(dataset) = &dataset
            && let Some(file) = dataset.open(&options, interrupt).map_err(advise)?
        {
            return Ok(file);
        }
        let opened =
            wait(&pool::runtime()?, opening::open(url, &options, Trace::new(begin)), deadline, interrupt)
                .map_err(advise)
                .map_err(|error| match (error.kind(), &dataset) {
                    (ErrorKind::NotFound, Some(_)) => error.hint("there is no file there, and no dataset"),
                    _ => error,
                })?;
        File::from_reached(opened, begin, counters, Some((url.to_owned(), options)), deadline, interrupt)
    }

    /// Opens the file that this one calls `name`, with the same options; what reading it costs is counted here.
    pub(crate) fn open_beside(
        &self,
        name: &str,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let Some((origin, options)) = &self.0.origin else {
            let message = format!("the baskets lie in {name}, and nothing says where that is");
            return Err(Error::unsupported(message).hint("open the file by its path or URL"));
        };
        // So it lies beside each of the others; documents say nothing of it.
        let others = options.replicas.urls.iter().filter(|url| !is_document(url));
        let urls = others.map(|url| beside(url, name)).collect::<Result<_>>()?;
        let replicas = ReplicaOptions { urls, documents: Vec::new(), sources: options.replicas.sources };
        File::open(&beside(origin, name)?, OpenOptions { deadline, replicas, ..options.clone() }, interrupt)
    }

    /// A version of a dataset, as a file with its tree.
    pub(crate) fn of_view(
        dataset: View,
        trace: Trace,
        origin: (String, OpenOptions),
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let (deadline, counters) = (origin.1.deadline, Arc::clone(&origin.1.counters));
        let (bytes, header) = dataset.file()?;
        let size = bytes.len() as u64;
        let header = FileHeader { compression: stored()?.number(), ..header.clone() };
        let mut known = Segments::default();
        known.insert(0, bytes.clone());
        let source = Arc::new(TracedSource::within(dataset.source(), trace.clone()));
        let fetcher = Fetcher::new(source, counters).with_budget(pool::budget()?).with_known(known.clone());
        let (keys, _) = Keys::open(&fetcher, &mut known, size, deadline, interrupt)?;
        let streamers = OnceLock::from(Arc::new(dataset.streamers()));
        let (compiler, dataset) = (OnceLock::new(), Some(Arc::new(dataset)));
        let origin = Some(origin);
        Ok(File(Arc::new(Inner {
            fetcher,
            header,
            known,
            keys,
            streamers,
            compiler,
            trace,
            origin,
            dataset,
        })))
    }

    /// How many files it is where files are written: of a dataset, one for each segment.
    pub(crate) fn parts(&self) -> usize {
        self.0.dataset.as_ref().map_or(1, |dataset| dataset.snapshot.segments.len().max(1))
    }

    /// One of these. What reading it costs is counted here.
    pub(crate) fn part(&self, index: usize, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<File> {
        match (&self.0.dataset, &self.0.origin) {
            (Some(dataset), Some((url, options))) if self.parts() > 1 => {
                let origin = (url.clone(), OpenOptions { deadline, ..options.clone() });
                File::of_view(dataset.part(index), self.trace(), origin, interrupt)
            }
            _ => Ok(self.clone()),
        }
    }

    /// Where the records lie that its keys name, but for that of the tree of a dataset.
    pub(crate) fn records(&self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<File> {
        let beside = match &self.0.dataset {
            Some(dataset) => dataset.beside(deadline, interrupt)?.files().next().cloned(),
            None => None,
        };
        Ok(beside.unwrap_or_else(|| self.clone()))
    }

    /// The descriptions of its classes as they are stored: each record with the version of ROOT that wrote it.
    pub(crate) fn descriptions(
        &self,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<(Record, u32)>> {
        let Some(dataset) = &self.0.dataset else {
            let record = self.0.parse(deadline, interrupt, |tfile, known| tfile.streamers_record(known))?;
            return Ok(record.into_iter().map(|record| (record, self.header().version)).collect());
        };
        let mut records = dataset.descriptions().map_err(|error| error.url(self.url()))?;
        for file in dataset.beside(deadline, interrupt)?.files() {
            records.extend(file.descriptions(deadline, &mut *interrupt)?);
        }
        Ok(records)
    }

    /// Opens what any other source holds.
    ///
    /// # Errors
    /// Those of the source; `NotRoot`, `Truncated` or `Corrupt` if it is no sound ROOT file.
    pub fn from_source(
        source: Arc<dyn Source>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let counters = Arc::<Counters>::default();
        let source = Arc::new(CountingSource::new(source, Arc::clone(&counters)));
        let opened = OpenedSource { source, known: Segments::default() };
        let begin = Instant::now();
        File::from_reached(
            Reached::alone(opened, begin, Trace::new(begin)),
            begin,
            counters,
            None,
            deadline,
            interrupt,
        )
    }

    /// Opens what lies in memory. That it is read costs nothing; what becomes of it is added to `counters`.
    pub(crate) fn in_memory(
        source: MemorySource,
        counters: &Arc<Counters>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let (opened, begin) =
            (OpenedSource { source: Arc::new(source), known: Segments::default() }, Instant::now());
        let (reached, counters) = (Reached::alone(opened, begin, Trace::new(begin)), Arc::clone(counters));
        File::from_reached(reached, begin, counters, None, deadline, interrupt)
    }

    fn from_reached(
        reached: Reached,
        begin: Instant,
        counters: Arc<Counters>,
        origin: Option<(String, OpenOptions)>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let Reached { source, mut known, trace } = reached;
        let (url, size) = (source.identity().url.clone(), source.identity().size);
        let recorded = record::opened(&source, begin, &known, &counters);
        trace.record_as(recorded);
        let fetcher = Fetcher::new(source, counters).with_budget(pool::budget()?);
        let fetcher = fetcher.with_recording(recorded);
        let (keys, header) =
            Keys::open(&fetcher, &mut known, size, deadline, interrupt).map_err(|error| error.url(&url))?;
        let fetcher = fetcher.with_known(known.clone());
        record::known(recorded, &known);
        let (streamers, compiler) = (OnceLock::new(), OnceLock::new());
        let dataset = None;
        Ok(File(Arc::new(Inner {
            fetcher,
            header,
            known,
            keys,
            streamers,
            compiler,
            trace,
            origin,
            dataset,
        })))
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// Size in bytes; of a dataset, that of its baskets, as far as it is known where they lie.
    pub fn size(&self) -> u64 {
        match &self.0.dataset {
            Some(dataset) => dataset.known_bytes(),
            None => self.0.fetcher.source().identity().size,
        }
    }

    /// The path of the tree, if this is a dataset.
    pub fn dataset_tree(&self) -> Option<&str> {
        self.0.dataset.as_ref().map(|dataset| dataset.snapshot.tree.as_str())
    }

    /// The entries of the tree at a path, if it is that of a dataset.
    pub(crate) fn dataset_entries(&self, path: &str) -> Option<u64> {
        let dataset = self.0.dataset.as_ref().filter(|dataset| dataset.snapshot.tree == path)?;
        Some(dataset.snapshot.segments.iter().map(|segment| segment.entries).sum())
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        &self.0.header
    }

    /// What reading the file has cost so far.
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.fetcher.counters()
    }

    /// Every range that was asked for since opening began; can be looked at when the file is closed, too.
    pub fn trace(&self) -> Trace {
        self.0.trace.clone()
    }

    /// All keys of the file, each directory before what it holds.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if a directory is broken.
    pub fn keys(&self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Vec<KeyEntry>> {
        let mut keys = self.0.parse(deadline, interrupt, |tfile, known| tfile.list(known))?;
        if let Some(dataset) = &self.0.dataset {
            let known: HashSet<String> = keys.iter().map(|entry| entry.path.clone()).collect();
            let beside = dataset.beside(deadline, interrupt)?.keys().into_iter();
            keys.extend(beside.filter(|entry| !known.contains(&entry.path)));
        }
        Ok(keys)
    }

    /// The keys of the root directory.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if the directory is broken.
    pub fn root_keys(&self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Vec<KeyEntry>> {
        if self.0.dataset.is_some() {
            let keys = self.keys(deadline, interrupt)?.into_iter();
            return Ok(keys.filter(|entry| entry.path == entry.key.name).collect());
        }
        self.0.parse(deadline, interrupt, |tfile, _| {
            let keys = tfile.root.keys.iter().cloned();
            Ok(Step::Done(keys.map(|key| KeyEntry { path: key.name.clone(), key }).collect()))
        })
    }

    /// The tree of that name at the end of the file, while it is not known yet whether the list of keys, which lies
    /// elsewhere, names another: see [`Tree::settled`]. None if nothing needs to be assumed, or nothing can be.
    pub fn likely_tree(&self, name: &str) -> Option<Tree> {
        if self.0.keys.are_known() {
            return None;
        }
        let (key, record) = TFile::likely_tree(&self.0.known, self.size(), Some(name))?;
        Tree::assumed(self.clone(), name, &key, &record)
    }

    /// The descriptions of the classes in the file; read once.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if they are broken.
    pub fn streamers(&self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Arc<StreamerInfos>> {
        if let Some(streamers) = self.0.streamers.get() {
            return Ok(Arc::clone(streamers));
        }
        let streamers = self.0.parse(deadline, interrupt, |tfile, known| tfile.streamers(known))?;
        Ok(Arc::clone(self.0.streamers.get_or_init(|| Arc::new(streamers))))
    }

    /// The tree at a path, such as `Events` or `dir/Events`; of the highest cycle, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is no tree; those of the source; `Truncated`
    /// or `Corrupt` if the record of the tree is broken.
    pub fn tree(
        &self,
        path: &str,
        cycle: Option<u16>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Tree> {
        if let Some((file, cycle)) = self.beside(path, cycle, deadline, interrupt)? {
            return file.tree(path, cycle, deadline, interrupt);
        }
        let found = self.find(path, cycle, deadline, interrupt)?;
        check_class(&found.key, &found.streamers).map_err(|error| error.url(self.url()))?;
        self.tree_of(&found)
    }

    /// The tree or the object at a path; of the highest cycle, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is a directory, an RNTuple, or of a class that
    /// cannot be read; those of the source; `Truncated` or `Corrupt` if its record is broken.
    pub fn item(
        &self,
        path: &str,
        cycle: Option<u16>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Item> {
        if let Some((file, cycle)) = self.beside(path, cycle, deadline, interrupt)? {
            return file.item(path, cycle, deadline, interrupt);
        }
        let found = self.find(path, cycle, deadline, interrupt)?;
        let class = found.key.class_name.as_str();
        if is_tree(class, &found.streamers) || RNTUPLES.contains(&class) || found.key.is_directory() {
            check_class(&found.key, &found.streamers).map_err(|error| error.url(self.url()))?;
            return self.tree_of(&found).map(Item::Tree);
        }
        let compiler = self.0.compiler.get_or_init(|| Compiler::with_identities((*found.streamers).clone()));
        let object = Object::read(&found.key, &found.record, compiler);
        object.map(Item::Object).map_err(|error| error.url(self.url()))
    }

    /// Of a dataset, the file with what came beside its entries at a path, and the cycle that is meant there; none if
    /// it is the tree of the dataset, or nothing.
    pub(crate) fn beside(
        &self,
        path: &str,
        cycle: Option<u16>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<(File, Option<u16>)>> {
        match &self.0.dataset {
            Some(dataset) if dataset.snapshot.tree != path => {
                dataset.beside(deadline, interrupt)?.holder(path, cycle, deadline, interrupt)
            }
            _ => Ok(None),
        }
    }

    /// The key at a path with its record and the class descriptions, which are asked for in one turnaround.
    pub(crate) fn find(
        &self,
        path: &str,
        cycle: Option<u16>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Found> {
        let path = match cycle {
            Some(cycle) => format!("{path};{cycle}"),
            None => path.to_owned(),
        };
        let (key, record, streamers) = self.0.parse(deadline, interrupt, |tfile, known| {
            let key = match tfile.find(known, &path)? {
                Step::Done(key) => key,
                Step::Need(ranges) => return Ok(Step::Need(ranges)),
            };
            let streamers = match self.0.streamers.get() {
                Some(streamers) => Step::Done(Arc::clone(streamers)),
                None => match tfile.streamers(known)? {
                    Step::Done(streamers) => Step::Done(Arc::new(streamers)),
                    Step::Need(ranges) => Step::Need(ranges),
                },
            };
            Ok(both(tfile.record(known, &key)?, streamers, key))
        })?;
        let streamers = Arc::clone(self.0.streamers.get_or_init(|| streamers));
        Ok(Found { path, key, record, streamers })
    }

    pub(crate) fn tree_of(&self, found: &Found) -> Result<Tree> {
        let Found { path, key, record, streamers } = found;
        if let Some(dataset) = &self.0.dataset {
            return Tree::of_dataset(self.clone(), path, record.offset, dataset);
        }
        Tree::new(self.clone(), path, key, record, streamers)
            .map_err(|error| record.locate(&key.name, &error).url(self.url()))
    }
}

/// What a path leads to.
#[derive(Debug)]
pub enum Item {
    /// A tree.
    Tree(Tree),
    /// Any other object.
    Object(Object),
}

/// A key, and what is needed to read its object.
pub(crate) struct Found {
    path: String,
    pub(crate) key: Key,
    pub(crate) record: Record,
    pub(crate) streamers: Arc<StreamerInfos>,
}

impl Inner {
    pub(crate) fn url(&self) -> &str {
        &self.fetcher.source().identity().url
    }

    /// Runs a parser that asks for bytes.
    pub(crate) fn parse<T>(
        &self,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
        mut step: impl FnMut(&TFile, &Segments) -> Result<Step<T>>,
    ) -> Result<T> {
        let told = |error| self.fetcher.counters().explain(error).url(self.url());
        let found = self.keys.get(&self.fetcher, deadline, interrupt).map_err(told)?;
        let (tfile, known) = &*found;
        let mut known = known.clone();
        let parse = self.fetcher.satisfy(&mut known, deadline, |known| step(tfile, known));
        wait(&pool::runtime()?, parse, deadline, interrupt).map_err(told)
    }
}

fn both<A, B, C>(first: Step<A>, second: Step<B>, third: C) -> Step<(C, A, B)> {
    match (first, second) {
        (Step::Done(first), Step::Done(second)) => Step::Done((third, first, second)),
        (Step::Need(mut ranges), Step::Need(more)) => {
            ranges.extend(more);
            Step::Need(ranges)
        }
        (Step::Need(ranges), Step::Done(_)) | (Step::Done(_), Step::Need(ranges)) => Step::Need(ranges),
    }
}

pub(crate) fn is_tree(class: &str, streamers: &StreamerInfos) -> bool {
    TREES.contains(&class) || streamers.derives_from(class, "TTree")
}

fn check_class(key: &Key, streamers: &StreamerInfos) -> Result<()> {
    let class = key.class_name.as_str();
    if is_tree(class, streamers) {
        return Ok(());
    }
    let message = format!("'{}' is a {class}, not a tree", key.name);
    let error = Error::new(ErrorKind::Unsupported, message).at(key.offset);
    Err(if RNTUPLES.contains(&class) { error.hint("RNTuple is not read yet") } else { error })
}
