//! An open ROOT file: header, keys, records, class descriptions, and the cost of reading them so far.

use crate::keys::Keys;
use crate::opening;
use crate::reach::ReachedSource;
use crate::sibling::sibling_url;
use crate::{OpenOptions, ReplicaOptions};
use sapwood_core::{Call, Counters, Error, ErrorKind, ParseStep, Result, Segments, redact};
use sapwood_fetch::Fetcher;
use sapwood_fetch::blocks::ColumnShelf;
use sapwood_source::{CountingSource, MemorySource, OpenedSource, Source, Trace, is_document, record};
use sapwood_streamer::Compiler;
use sapwood_table::pool;
use sapwood_tfile::{FileHeader, Key, Record, StreamerInfos, TFile};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use sapwood_tfile::KeyEntry;

/// An open ROOT file, or a virtual one. Cheap to clone; all clones share one connection and its counters.
#[derive(Debug, Clone)]
pub struct RootFile(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    fetcher: Fetcher,
    header: FileHeader,
    /// The parts that were read on opening.
    known: Segments,
    keys: Keys,
    streamers: OnceLock<Arc<StreamerInfos>>,
    compiler: OnceLock<Compiler>,
    trace: Trace,
    /// The path or URL and the options that it was opened with, if any.
    origin: Option<(String, OpenOptions)>,
    columns: OnceLock<Option<Arc<ColumnShelf>>>,
}

/// A key, with everything needed to decode its object.
#[derive(Debug)]
pub struct KeyRecord {
    /// The requested path, with the cycle if one was given.
    pub path: String,
    /// The key.
    pub key: Key,
    /// Its record.
    pub record: Record,
    /// The class descriptions of the file.
    pub streamers: Arc<StreamerInfos>,
}

/// The parts of a file that is not stored as one.
#[derive(Debug)]
pub struct VirtualFile {
    /// The source of its bytes.
    pub source: Arc<dyn Source>,
    /// Known bytes: at least its header and its list of keys.
    pub known: Segments,
    /// Size of the part that is known, from its beginning.
    pub size: u64,
    /// Its header.
    pub header: FileHeader,
    /// The class descriptions.
    pub streamers: StreamerInfos,
}

impl RootFile {
    /// Opens the ROOT file at a path or URL, or at the locations in `options.replicas`; with these, `url` may also be a
    /// logical name. For a metalink or a similar document, opens the file that it describes. The deadline of the options
    /// applies.
    ///
    /// # Errors
    /// Those of [`sapwood_source::open`]; `NotRoot`, `Truncated` or `Corrupt` if it is not a valid ROOT file.
    pub fn open(url: &str, options: OpenOptions, call: &mut Call<'_>) -> Result<RootFile> {
        let counters = Arc::clone(&options.source.counters);
        let begin = Instant::now();
        let opened = pool::wait(opening::open(url, &options, Trace::new(begin)), call)
            .map_err(|error| explained(error, url, &counters))?;
        RootFile::from_reached(opened, begin, counters, Some((url.to_owned(), options)), call)
    }

    /// Opens the file that this one calls `name`, with the same options; the cost of reading it is counted here.
    ///
    /// # Errors
    /// Those of [`RootFile::open`]; `Unsupported` if the location of this file is unknown.
    pub fn open_beside(&self, name: &str, call: &mut Call<'_>) -> Result<RootFile> {
        let Some((origin, options)) = &self.0.origin else {
            let message = format!("the baskets are in {name}, whose location is unknown");
            return Err(Error::unsupported(message).hint("open the file by its path or URL"));
        };
        // The other file is assumed to be next to each replica; documents do not list it.
        let others = options.replicas.urls.iter().filter(|url| !is_document(url));
        let urls = others.map(|url| sibling_url(url, name)).collect::<Result<_>>()?;
        let replicas = ReplicaOptions { urls, documents: Vec::new(), ..options.replicas.clone() };
        let options = OpenOptions { replicas, ..options.until(call.deadline()) };
        RootFile::open(&sibling_url(origin, name)?, options, call)
    }

    /// Opens a virtual file; the cost of reading it is added to the counters of the options.
    ///
    /// # Errors
    /// Those of reading the list of its keys.
    pub fn from_virtual(
        file: VirtualFile,
        trace: Trace,
        origin: (String, OpenOptions),
        call: &mut Call<'_>,
    ) -> Result<RootFile> {
        let VirtualFile { source, mut known, size, header, streamers } = file;
        let counters = Arc::clone(&origin.1.source.counters);
        let fetcher = Fetcher::new(source, counters).with_budget(pool::budget()?).with_known(known.clone());
        let (keys, _) = Keys::open(&fetcher, &mut known, size, call)?;
        let streamers = OnceLock::from(Arc::new(streamers));
        // What is in a virtual file has no version.
        let (compiler, origin, columns) = (OnceLock::new(), Some(origin), OnceLock::from(None));
        let inner = Inner { fetcher, header, known, keys, streamers, compiler, trace, origin, columns };
        Ok(RootFile(Arc::new(inner)))
    }

    /// The path or URL and the options that it was opened with; `None` for a file from a source or from memory.
    pub fn origin(&self) -> Option<&(String, OpenOptions)> {
        self.0.origin.as_ref()
    }

    /// The cache of its decoded columns, if there is one.
    pub(crate) fn columns(&self) -> Option<&Arc<ColumnShelf>> {
        let open = || {
            let (url, options) = self.origin()?;
            opening::column_shelf(url, options, &**self.fetcher().source(), self.header().uuid).map(Arc::new)
        };
        self.0.columns.get_or_init(open).as_ref()
    }

    /// The parts that were read on opening.
    pub fn known(&self) -> &Segments {
        &self.0.known
    }

    /// Its fetcher.
    pub fn fetcher(&self) -> &Fetcher {
        &self.0.fetcher
    }

    /// The class descriptions in its own records: each record with the version of ROOT that wrote it.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if they are broken.
    pub fn own_descriptions(&self, call: &mut Call<'_>) -> Result<Vec<(Record, u32)>> {
        let record = self.parse(call, |tfile, known| tfile.streamers_record(known))?;
        Ok(record.into_iter().map(|record| (record, self.header().version)).collect())
    }

    /// Opens a ROOT file from any source.
    ///
    /// # Errors
    /// Those of the source; `NotRoot`, `Truncated` or `Corrupt` if it is not a valid ROOT file.
    pub fn from_source(source: Arc<dyn Source>, call: &mut Call<'_>) -> Result<RootFile> {
        let counters = Arc::<Counters>::default();
        let source = Arc::new(CountingSource::new(source, Arc::clone(&counters)));
        RootFile::from_opened(source, counters, call)
    }

    /// Opens a ROOT file in memory. Reading it costs nothing; decoding is added to `counters`.
    ///
    /// # Errors
    /// `NotRoot`, `Truncated` or `Corrupt` if it is not a valid ROOT file.
    pub fn in_memory(
        source: MemorySource,
        counters: &Arc<Counters>,
        call: &mut Call<'_>,
    ) -> Result<RootFile> {
        RootFile::from_opened(Arc::new(source), Arc::clone(counters), call)
    }

    /// Opens a ROOT file from a source that has nothing to reopen it by.
    fn from_opened(
        source: Arc<dyn Source>,
        counters: Arc<Counters>,
        call: &mut Call<'_>,
    ) -> Result<RootFile> {
        let (opened, begin) = (OpenedSource { source, known: Segments::default() }, Instant::now());
        let reached = ReachedSource::alone(opened, begin, Trace::new(begin));
        RootFile::from_reached(reached, begin, counters, None, call)
    }

    fn from_reached(
        reached: ReachedSource,
        begin: Instant,
        counters: Arc<Counters>,
        origin: Option<(String, OpenOptions)>,
        call: &mut Call<'_>,
    ) -> Result<RootFile> {
        let ReachedSource { source, mut known, trace } = reached;
        let (url, size) = (source.identity().url.clone(), source.identity().size);
        let recorded = record::opened(&source, begin, &known, &counters);
        trace.record_as(recorded);
        let fetcher = Fetcher::new(source, counters).with_budget(pool::budget()?);
        let fetcher = fetcher.with_recording(recorded);
        let (keys, header) = Keys::open(&fetcher, &mut known, size, call).map_err(|error| error.url(&url))?;
        let fetcher = fetcher.with_known(known.clone());
        record::known(recorded, &known);
        let (streamers, compiler, columns) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let inner = Inner { fetcher, header, known, keys, streamers, compiler, trace, origin, columns };
        Ok(RootFile(Arc::new(inner)))
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        &self.0.fetcher.source().identity().url
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.0.fetcher.source().identity().size
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        &self.0.header
    }

    /// The cost of reading the file so far.
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.fetcher.counters()
    }

    /// Every range requested since opening began; remains valid after the file is closed.
    pub fn trace(&self) -> Trace {
        self.0.trace.clone()
    }

    /// All keys of the file, each directory before its contents.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if a directory is broken.
    pub fn keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        self.parse(call, |tfile, known| tfile.list(known))
    }

    /// The keys of the root directory.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if the directory is broken.
    pub fn root_keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        self.parse(call, |tfile, _| {
            let keys = tfile.root.keys.iter().cloned();
            Ok(ParseStep::Done(keys.map(|key| KeyEntry { path: key.name.clone(), key }).collect()))
        })
    }

    /// Key and record of the tree of this name at the end of the file, as long as the list of keys is unknown.
    pub(crate) fn likely_tree_record(&self, name: &str) -> Option<(Key, Record)> {
        if self.0.keys.are_known() {
            return None;
        }
        TFile::likely_tree(&self.0.known, self.size(), Some(name))
    }

    /// The class descriptions of the file; read once.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if they are broken.
    pub fn streamers(&self, call: &mut Call<'_>) -> Result<Arc<StreamerInfos>> {
        if let Some(streamers) = self.0.streamers.get() {
            return Ok(Arc::clone(streamers));
        }
        let streamers = self.parse(call, |tfile, known| tfile.streamers(known))?;
        Ok(Arc::clone(self.0.streamers.get_or_init(|| Arc::new(streamers))))
    }

    /// The compiler of its classes for objects that refer to each other.
    pub(crate) fn compiler(&self, streamers: &StreamerInfos) -> &Compiler {
        self.0.compiler.get_or_init(|| Compiler::with_identities(streamers.clone()))
    }

    /// The key of a tree or an object at a path, with its record and the class descriptions, fetched in one round trip; of
    /// the highest cycle, unless one is given.
    ///
    /// # Errors
    /// `Missing` if there is no such key; `Unsupported` if it is a directory; those of the source; `Truncated` or `Corrupt`
    /// if its record is broken.
    pub fn find(&self, path: &str, cycle: Option<u16>, call: &mut Call<'_>) -> Result<KeyRecord> {
        let path = match cycle {
            Some(cycle) => format!("{path};{cycle}"),
            None => path.to_owned(),
        };
        let (key, record, streamers) = self.parse(call, |tfile, known| {
            let key = match tfile.find(known, &path)? {
                ParseStep::Done(key) => key,
                ParseStep::Need(ranges) => return Ok(ParseStep::Need(ranges)),
            };
            if key.is_directory() {
                let message = format!("'{}' is a directory, not a tree or an object", key.name);
                return Err(Error::unsupported(message).at(key.offset));
            }
            let streamers = match self.0.streamers.get() {
                Some(streamers) => ParseStep::Done(Arc::clone(streamers)),
                None => tfile.streamers(known)?.map(Arc::new),
            };
            Ok(both(tfile.record(known, &key)?, streamers, key))
        })?;
        let streamers = Arc::clone(self.0.streamers.get_or_init(|| streamers));
        Ok(KeyRecord { path, key, record, streamers })
    }

    /// Its header and directory, and the parts known so far.
    ///
    /// # Errors
    /// Those of the source; `Truncated` or `Corrupt` if the directory is broken.
    pub fn tfile(&self, call: &mut Call<'_>) -> Result<Arc<(TFile, Segments)>> {
        self.0.keys.get(&self.0.fetcher, call)
    }

    /// Runs a parser, fetching the bytes that it asks for.
    ///
    /// # Errors
    /// Those of the parser and of the source.
    pub fn parse<T>(
        &self,
        call: &mut Call<'_>,
        mut step: impl FnMut(&TFile, &Segments) -> Result<ParseStep<T>>,
    ) -> Result<T> {
        let fetcher = &self.0.fetcher;
        let explain = |error| fetcher.counters().explain(error).url(self.url());
        let found = self.tfile(call).map_err(explain)?;
        let (tfile, known) = &*found;
        let mut known = known.clone();
        let parse = fetcher.satisfy(&mut known, call.deadline(), |known| step(tfile, known));
        pool::wait(parse, call).map_err(explain)
    }
}

/// Adds to an error of opening `url` which sources failed before, and a hint for timeouts.
pub fn explained(error: Error, url: &str, counters: &Counters) -> Error {
    let error = counters.explain(error);
    match error.kind() {
        ErrorKind::Timeout => {
            let url = redact(url);
            let hint = format!("'sapwood doctor {url}' shows which step takes the time");
            error.url(url).hint(hint)
        }
        _ => error,
    }
}

fn both<A, B, C>(first: ParseStep<A>, second: ParseStep<B>, third: C) -> ParseStep<(C, A, B)> {
    match (first, second) {
        (ParseStep::Done(first), ParseStep::Done(second)) => ParseStep::Done((third, first, second)),
        (ParseStep::Need(mut ranges), ParseStep::Need(more)) => {
            ranges.extend(more);
            ParseStep::Need(ranges)
        }
        (ParseStep::Need(ranges), ParseStep::Done(_)) | (ParseStep::Done(_), ParseStep::Need(ranges)) => {
            ParseStep::Need(ranges)
        }
    }
}
