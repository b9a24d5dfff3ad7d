//! A recorded job as steps: what each thread did, in order, and which steps it waited for.

use sapwood_core::ByteRange;
use sapwood_source::CostModel;
use sapwood_source::record::{ProcessId, RecordedChunk, RecordedEvent, Recording};
use std::collections::{BTreeMap, HashMap};

/// A job, process by process.
#[derive(Debug, Clone, Default)]
pub struct RecordedJob {
    /// The processes, the first one first.
    pub processes: Vec<RecordedProcess>,
    /// Bytes of the recording that could not be read.
    pub unreadable_bytes: u64,
}

/// One process of a job. All times are in microseconds since it began to record.
#[derive(Debug, Clone, Default)]
pub struct RecordedProcess {
    /// Its process ID.
    pub number: u32,
    /// How much later than the first process it started to record.
    pub begin: u64,
    /// Name of the program.
    pub program: String,
    /// When the last event happened.
    pub end: u64,
    /// The files, by number.
    pub files: BTreeMap<u64, RecordedFile>,
    /// The reads, by number.
    pub reads: BTreeMap<u64, RecordedRead>,
    /// The steps of each thread, in order.
    pub steps: Vec<RecordedStep>,
    /// The requests to sources, in order.
    pub requests: Vec<RecordedRequest>,
    /// Events that were not recorded.
    pub lost: u64,
    /// The files that it wrote.
    pub writes: Vec<RecordedWrite>,
    /// What its threads spent, if that was recorded.
    pub spent: Option<SpentTime>,
}

/// A new file.
#[derive(Debug, Clone)]
pub struct RecordedWrite {
    /// The URL, without secrets.
    pub url: String,
    /// Size in bytes.
    pub size: u64,
    /// Entries of its trees.
    pub entries: u64,
    /// Microseconds that its writer took.
    pub took: u64,
}

/// What the threads of a process spent, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct SpentTime {
    /// CPU time.
    pub cpu: u64,
    /// Decompression.
    pub decompress: u64,
    /// Decoding of decompressed bytes.
    pub decode: u64,
    /// Compression.
    pub compress: u64,
    /// Waiting until new bytes are written.
    pub write: u64,
}

/// A file.
#[derive(Debug, Clone)]
pub struct RecordedFile {
    /// The URL, without secrets.
    pub url: String,
    /// Size in bytes.
    pub size: u64,
    /// The server; empty if there is none.
    pub server: String,
    /// The cost model of its source.
    pub cost_model: CostModel,
    /// Bytes that came with opening.
    pub opening_bytes: u64,
    /// Requests while opening.
    pub opening_requests: u64,
    /// Round trips while opening.
    pub opening_round_trips: u64,
    /// Microseconds that opening took.
    pub opening_time: u64,
    /// Bytes that are in memory once its structure is known.
    pub known: Vec<ByteRange>,
}

/// A read of a tree.
#[derive(Debug, Clone)]
pub struct RecordedRead {
    /// `read`, `scan`, `entries` or `lazy`.
    pub kind: String,
    /// The file that the tree is in.
    pub file: u64,
    /// Path of the tree.
    pub tree: String,
    /// The columns.
    pub columns: Vec<String>,
    /// The planned ranges.
    pub ranges: Vec<EntryRange>,
}

/// An entry range of a read.
#[derive(Debug, Clone)]
pub struct EntryRange {
    /// The entries.
    pub entries: std::ops::Range<u64>,
    /// First entries of its clusters, and the entry after the last.
    pub clusters: Vec<u64>,
    /// The chunks that it needs.
    pub chunks: Vec<RecordedChunk>,
}

/// A request to a source.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The file.
    pub file: u64,
    /// When it was sent.
    pub asked: u64,
    /// When it was answered or failed; `None` if it was cancelled, or the recording ends before.
    pub answered: Option<u64>,
    /// Number of ranges.
    pub ranges: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// The server that answered; empty if there is none.
    pub server: String,
    /// The kind of the error; empty for none.
    pub error: String,
}

/// One operation of a thread.
#[derive(Debug, Clone)]
pub struct RecordedStep {
    /// The thread.
    pub thread: u64,
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// How long it waited for bytes.
    pub waited: u64,
    /// The operation.
    pub action: Action,
    /// The last step of another thread that ended before this one began, while this thread was idle.
    pub after: Option<usize>,
}

/// The operation of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens a file.
    Open(u64),
    /// Reads parts of the structure of a file.
    Structure(u64, Vec<ByteRange>),
    /// Begins a read: the first bytes are requested.
    Begin(u64),
    /// Takes the next range of a read.
    Next(u64),
    /// Ends a read.
    End(u64),
    /// Starts a fetch of a lazy reader, given by its index in the steps.
    Fetch(Vec<RecordedChunk>),
    /// Touches columns of a lazy reader: waits for some of its fetches.
    Touch(Vec<usize>),
}

impl RecordedJob {
    /// Derives the steps from the recording.
    pub fn new(recording: &Recording) -> RecordedJob {
        let first = recording.processes.keys().map(|id| id.begin).min().unwrap_or_default();
        let processes = recording.processes.iter().map(|(id, events)| process(*id, first, events)).collect();
        RecordedJob { processes, unreadable_bytes: recording.unreadable_bytes }
    }
}

/// The state of a process while its events are processed.
struct ProcessBuilder<'e> {
    process: RecordedProcess,
    names: HashMap<u64, &'e str>,
    /// Steps of reads that have begun, by thread.
    open: HashMap<(u64, u64), OpenStep>,
    /// Fetches by read.
    fetches: HashMap<u64, Vec<LazyFetch<'e>>>,
    asked: HashMap<(u64, u64), usize>,
    threads: HashMap<u64, u64>,
}

/// A fetch of a lazy reader: window, columns, and the step.
type LazyFetch<'e> = (u64, &'e [u64], usize);

/// A step that has begun.
struct OpenStep {
    at: u64,
    action: Action,
}

fn process(id: ProcessId, first: u64, events: &[(u64, RecordedEvent)]) -> RecordedProcess {
    let begin = id.begin.saturating_sub(first);
    let process = RecordedProcess { number: id.number, begin, ..RecordedProcess::default() };
    let mut builder = ProcessBuilder {
        process,
        names: HashMap::new(),
        open: HashMap::new(),
        fetches: HashMap::new(),
        asked: HashMap::new(),
        threads: HashMap::new(),
    };
    for (time, event) in events {
        builder.process.end = builder.process.end.max(*time);
        builder.add(*time, event);
    }
    builder.finish()
}

impl<'e> ProcessBuilder<'e> {
    fn add(&mut self, time: u64, event: &'e RecordedEvent) {
        match event {
            RecordedEvent::Process { program, .. } => self.process.program.clone_from(program),
            RecordedEvent::Name { name, text } => drop(self.names.insert(*name, text)),
            RecordedEvent::Wrote { url, size, entries, took, .. } => {
                let (url, size, entries, took) = (url.clone(), *size, *entries, *took);
                self.process.writes.push(RecordedWrite { url, size, entries, took });
            }
            RecordedEvent::Spent { cpu, decompress, decode, compress, write } => {
                let [cpu, decompress, decode, compress, write] =
                    [cpu, decompress, decode, compress, write].map(|time| *time);
                self.process.spent = Some(SpentTime { cpu, decompress, decode, compress, write });
            }
            RecordedEvent::Lost { events } => self.process.lost = self.process.lost.saturating_add(*events),
            RecordedEvent::Opened { file, thread, took, .. } => {
                self.process.files.insert(*file, RecordedFile::new(event));
                self.step(*thread, time.saturating_sub(*took), time, 0, Action::Open(*file));
            }
            RecordedEvent::Known { file, known } => {
                if let Some(file) = self.process.files.get_mut(file) {
                    file.known.clone_from(known);
                }
            }
            RecordedEvent::Asked { .. } | RecordedEvent::Answered { .. } => self.request(time, event),
            RecordedEvent::Structure { file, thread, took, ranges, .. } => {
                let action = Action::Structure(*file, ranges.clone());
                self.step(*thread, time.saturating_sub(*took), time, *took, action);
            }
            RecordedEvent::Read { read, thread, kind, file, tree, columns } => {
                let name = |name| self.names.get(name).copied().unwrap_or("?").to_owned();
                let columns = columns.iter().map(name).collect();
                let (kind, tree, ranges) = (kind.clone(), tree.clone(), Vec::new());
                self.process.reads.insert(*read, RecordedRead { kind, file: *file, tree, columns, ranges });
                self.threads.insert(*read, *thread);
                self.step(*thread, time, time, 0, Action::Begin(*read));
            }
            RecordedEvent::Range { read, start, stop, clusters, chunks } => {
                let (entries, clusters) = (*start..*stop, clusters.clone());
                if let Some(read) = self.process.reads.get_mut(read) {
                    read.ranges.push(EntryRange { entries, clusters, chunks: chunks.clone() });
                }
            }
            RecordedEvent::Next { read, thread } => {
                self.threads.insert(*read, *thread);
                let begun = OpenStep { at: time, action: Action::Next(*read) };
                self.open.insert((*read, *thread), begun);
            }
            RecordedEvent::Touch { read, thread, .. } => {
                let begun = OpenStep { at: time, action: self.touch(event) };
                self.open.insert((*read, *thread), begun);
            }
            RecordedEvent::Delivered { read, thread, waited, .. }
            | RecordedEvent::Touched { read, thread, waited, .. } => {
                self.ended(*read, *thread, time, *waited, event);
            }
            RecordedEvent::Ended { read } => {
                let thread = self.threads.get(read).copied().unwrap_or_default();
                self.step(thread, time, time, 0, Action::End(*read));
            }
            RecordedEvent::Fetch { read, thread, window, columns, chunks, .. } => {
                let place = self.process.steps.len();
                self.step(*thread, time, time, 0, Action::Fetch(chunks.clone()));
                self.fetches.entry(*read).or_default().push((*window, columns, place));
                // Touched columns that were missing are fetched at the same time.
                if let Some(OpenStep { action: Action::Touch(needs), .. }) =
                    self.open.get_mut(&(*read, *thread))
                {
                    needs.push(place);
                }
            }
        }
    }

    /// The fetches that a touch may have to wait for: those that requested its columns.
    fn touch(&self, event: &RecordedEvent) -> Action {
        let RecordedEvent::Touch { read, window, columns, .. } = event else {
            return Action::Touch(Vec::new());
        };
        let fetches = self.fetches.get(read).into_iter().flatten();
        let needed = fetches
            .filter(|(of, fetched, _)| of == window && columns.iter().any(|column| fetched.contains(column)));
        Action::Touch(needed.map(|(_, _, place)| *place).collect())
    }

    fn ended(&mut self, read: u64, thread: u64, time: u64, waited: u64, event: &RecordedEvent) {
        let Some(OpenStep { at, action }) = self.open.remove(&(read, thread)) else { return };
        let action = match (action, event) {
            (Action::Touch(needs), RecordedEvent::Touched { .. }) => {
                // It waited for its own fetches only if it waited at all.
                Action::Touch(if waited > 0 { needs } else { Vec::new() })
            }
            (action, _) => action,
        };
        self.step(thread, at, time, waited, action);
    }

    fn step(&mut self, thread: u64, begin: u64, end: u64, waited: u64, action: Action) {
        let waited = waited.min(end - begin.min(end));
        self.process.steps.push(RecordedStep { thread, begin, end, waited, action, after: None });
    }

    fn request(&mut self, time: u64, event: &RecordedEvent) {
        match event {
            RecordedEvent::Asked { file, request, ranges } => {
                self.asked.insert((*file, *request), self.process.requests.len());
                let bytes = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.len));
                let (server, error) = (String::new(), String::new());
                let ranges = ranges.len() as u64;
                let answered = None;
                self.process.requests.push(RecordedRequest {
                    file: *file,
                    asked: time,
                    answered,
                    ranges,
                    bytes,
                    server,
                    error,
                });
            }
            RecordedEvent::Answered { file, request, server, error } => {
                let place = self.asked.remove(&(*file, *request));
                if let Some(request) = place.and_then(|place| self.process.requests.get_mut(place)) {
                    request.answered = Some(time);
                    (request.server, request.error) = (server.clone(), error.clone());
                }
            }
            _ => {}
        }
    }

    /// Steps that had not ended end with the recording; then steps that depend on others are linked to them.
    fn finish(mut self) -> RecordedProcess {
        let end = self.process.end;
        for ((_, thread), OpenStep { at, action }) in std::mem::take(&mut self.open) {
            self.step(thread, at, end, end, action);
        }
        let steps = &mut self.process.steps;
        let mut ends: Vec<(u64, usize)> = steps.iter().enumerate().map(|(i, step)| (step.end, i)).collect();
        ends.sort_unstable();
        let mut before: HashMap<u64, u64> = HashMap::new();
        for &(_, index) in &ends {
            let Some(RecordedStep { thread, begin, end, .. }) = steps.get(index).cloned() else { continue };
            let idle_since = before.insert(thread, end);
            let until = ends.partition_point(|(end, _)| *end <= begin);
            let others = ends.get(..until).unwrap_or_default().iter().rev();
            let after = others
                .take_while(|(end, _)| idle_since.is_none_or(|since| *end > since))
                .map(|(_, other)| *other)
                .find(|other| steps.get(*other).is_some_and(|step| step.thread != thread));
            if let Some(step) = steps.get_mut(index) {
                step.after = after;
            }
        }
        self.process
    }
}

impl RecordedFile {
    fn new(event: &RecordedEvent) -> RecordedFile {
        let mut file = RecordedFile {
            url: String::new(),
            size: 0,
            server: String::new(),
            cost_model: CostModel::LOCAL,
            opening_bytes: 0,
            opening_requests: 0,
            opening_round_trips: 0,
            opening_time: 0,
            known: Vec::new(),
        };
        if let RecordedEvent::Opened {
            took,
            url,
            size,
            server,
            requests,
            round_trips,
            cost_model,
            known,
            ..
        } = event
        {
            (file.url, file.size, file.server) = (url.clone(), *size, server.clone());
            (file.opening_requests, file.opening_round_trips) = (*requests, *round_trips);
            file.opening_bytes = known.iter().fold(0_u64, |sum, range| sum.saturating_add(range.len));
            (file.opening_time, file.known) = (*took, known.clone());
            if let [gap, largest_request, ranges, concurrency, immediate, ..] = **cost_model {
                let words = |count| usize::try_from(count).unwrap_or(usize::MAX);
                let (ranges_per_request, concurrency) = (words(ranges), words(concurrency));
                let immediate = immediate != 0;
                file.cost_model = CostModel {
                    gap,
                    largest_request,
                    ranges_per_request,
                    concurrency,
                    immediate,
                    tied: false,
                    deals_out: false,
                };
            }
        }
        file
    }
}
