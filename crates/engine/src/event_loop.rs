//! Loops over the events of many files: while the caller works, the next events are read, and the next files open.

use sapwood_core::{Call, Column, Deadline, Error, ErrorKind, Form, Number, Primitive, Result, redact};
use sapwood_root::{OpenOptions, ReadOptions, Tree};
use sapwood_table::{Background, Scan};
use std::collections::VecDeque;
use std::ops::{Index, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::vec;

/// How to loop over files.
#[derive(Debug, Clone)]
pub struct EventLoopOptions {
    /// How to open each file. Its counters add up the cost of all.
    pub open: OpenOptions,
    /// How to read.
    pub read: ReadOptions,
    /// So many files open, and read their first chunk, before their turn comes. Default: 3, enough for local files; for
    /// servers, as many as are read in the time that opening one takes.
    pub files_ahead: usize,
}

impl Default for EventLoopOptions {
    fn default() -> Self {
        EventLoopOptions { open: OpenOptions::default(), read: ReadOptions::default(), files_ahead: 3 }
    }
}

/// A loop over some columns of the trees of the same name in many files, chunk by chunk.
///
/// ```no_run
/// use sapwood::{Call, Deadline, EventLoop, EventLoopOptions};
/// # fn main() -> sapwood::Result<()> {
/// let files = ["first.root", "https://example.org/second.root"];
/// let mut never = || false;
/// let mut call = Call::new(Deadline::default(), &mut never);
/// let mut events = EventLoop::new(files, "Events", ["MET_pt", "Jet_pt"], EventLoopOptions::default());
/// let mut activity = 0.0;
/// while let Some(chunk) = events.next(&mut call)? {
///     let (met, jets) = (chunk.numbers::<f32>("MET_pt")?, chunk.lists::<f32>("Jet_pt")?);
///     for event in 0..chunk.len() {
///         if met[event] > 100.0 {
///             activity += jets[event].iter().sum::<f32>();
///         }
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct EventLoop {
    job: Arc<Job>,
    urls: vec::IntoIter<String>,
    /// The files that open ahead, in order, with their URLs.
    opening: VecDeque<(String, Background<Result<OpenTree>>)>,
    current: Option<OpenTree>,
}

impl EventLoop {
    /// A loop over columns, by their names, of the tree at the path `tree` in each file. Nothing is opened yet.
    pub fn new<U: Into<String>, C: Into<String>>(
        urls: impl IntoIterator<Item = U>,
        tree: &str,
        columns: impl IntoIterator<Item = C>,
        options: EventLoopOptions,
    ) -> EventLoop {
        let columns = columns.into_iter().map(Into::into).collect();
        let urls: Vec<String> = urls.into_iter().map(Into::into).collect();
        EventLoop {
            job: Arc::new(Job { tree: tree.to_owned(), columns, options }),
            urls: urls.into_iter(),
            opening: VecDeque::new(),
            current: None,
        }
    }

    /// The next events: one or more whole clusters of a file; `None` after the last. What is read ahead may take as long
    /// as this call.
    ///
    /// # Errors
    /// Those of [`open`](crate::open), [`Tree::read`] and [`File::tree`](crate::File::tree); `Missing` if a tree lacks one of
    /// the columns. An error ends its file: the next call goes on with the file after it.
    pub fn next(&mut self, call: &mut Call<'_>) -> Result<Option<EventChunk>> {
        loop {
            if let Some(tree) = &mut self.current {
                match tree.next(&self.job, call) {
                    Some(Ok(chunk)) if chunk.is_empty() => continue,
                    Some(Ok(chunk)) => return Ok(Some(chunk)),
                    Some(Err(error)) => {
                        self.current = None;
                        return Err(error);
                    }
                    None => self.current = None,
                }
            }
            self.open_ahead(call)?;
            let Some((url, opening)) = self.opening.pop_front() else { return Ok(None) };
            let opened = opening.finish(call).and_then(|opened| opened);
            self.current = Some(opened.map_err(|error| error.url(redact(&url)))?);
            self.open_ahead(call)?;
        }
    }

    /// Opens files in the background until the configured number are open, plus one if none is in use.
    fn open_ahead(&mut self, call: &Call<'_>) -> Result<()> {
        let wanted = self.job.options.files_ahead + usize::from(self.current.is_none());
        let patience = call.deadline().remaining();
        for url in self.urls.by_ref().take(wanted.saturating_sub(self.opening.len())) {
            let (job, place) = (Arc::clone(&self.job), url.clone());
            let opening = Background::begin(move |cancelled| {
                let mut interrupt = || cancelled.load(Ordering::Relaxed);
                job.open(&place, &mut Call::new(Deadline::after(patience), &mut interrupt))
            })?;
            self.opening.push_back((url, opening));
        }
        Ok(())
    }
}

/// What a loop does with each file.
#[derive(Debug)]
struct Job {
    tree: String,
    columns: Vec<String>,
    options: EventLoopOptions,
}

impl Job {
    /// Opens a file, and reads its first chunk.
    fn open(&self, url: &str, call: &mut Call<'_>) -> Result<OpenTree> {
        let file = crate::open(url, self.options.open.until(call.deadline()), call)?;
        let tree = file.tree(&self.tree, None, call)?;
        let column = |name: &String| {
            let missing = || {
                let message = format!("'{}' has no column '{name}'", self.tree);
                Error::new(ErrorKind::Missing, message).branch(name)
            };
            tree.find_branch(name).ok_or_else(missing)
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<usize>>>()?;
        let ranges = tree.steps(&columns, 0..tree.entries(), call)?;
        let mut scan = tree.scan(&columns, ranges.clone(), &self.options.read, call)?;
        let first = scan.next(call);
        Ok(OpenTree { tree, scan, ranges: ranges.into_iter(), first })
    }
}

/// A file of the loop, and what is left of it.
#[derive(Debug)]
struct OpenTree {
    tree: Tree,
    scan: Scan,
    ranges: vec::IntoIter<Range<u64>>,
    /// The columns of the first range, until they are taken.
    first: Option<Result<Vec<Column>>>,
}

impl OpenTree {
    fn next(&mut self, job: &Arc<Job>, call: &mut Call<'_>) -> Option<Result<EventChunk>> {
        let entries = self.ranges.next()?;
        let columns = self.first.take().or_else(|| self.scan.next(call))?;
        let (tree, job) = (self.tree.clone(), Arc::clone(job));
        Some(columns.map(|columns| EventChunk { tree, entries, columns, job }))
    }
}

/// Consecutive events of one file, with the columns of the loop as slices.
#[derive(Debug)]
pub struct EventChunk {
    tree: Tree,
    entries: Range<u64>,
    columns: Vec<Column>,
    job: Arc<Job>,
}

impl EventChunk {
    /// The tree that the events are in.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The numbers of the events in their tree.
    pub fn entries(&self) -> Range<u64> {
        self.entries.clone()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        usize::try_from(self.entries.end - self.entries.start).unwrap_or(usize::MAX)
    }

    /// True if there is no event.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A column as it was read.
    ///
    /// # Errors
    /// `Usage` if it is not a column of the loop.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let found = self.job.columns.iter().position(|column| column == name);
        found.and_then(|index| self.columns.get(index)).ok_or_else(|| {
            Error::usage(format!("'{name}' is not a column of this loop"))
                .hint("name it when you make the loop")
        })
    }

    /// A column of numbers: one for each event. Booleans are `u8`, 0 or 1.
    ///
    /// # Errors
    /// As [`EventChunk::column`]; `Usage` if its items are not `T`, or if it has fewer entries than its tree.
    pub fn numbers<T: Number>(&self, name: &str) -> Result<&[T]> {
        match self.whole(name)? {
            Column { form: Form::Primitive(primitive), buffers, .. } if T::is(*primitive) => {
                Ok(buffers.first().map_or(&[], |buffer| buffer.view()))
            }
            column => Err(self.other_type(name, column, "numbers", T::NAME)),
        }
    }

    /// A column of lists of numbers, or of arrays of them, whose items follow in C order; text is a list of `u8`.
    ///
    /// # Errors
    /// As [`EventChunk::numbers`]; `Corrupt` if there are fewer values than the lists have.
    pub fn lists<T: Number>(&self, name: &str) -> Result<Lists<'_, T>> {
        let column = self.whole(name)?;
        let (has_offsets, items) = match &column.form {
            Form::List(content) => (true, in_fixed_arrays(content)),
            Form::String => (true, Some((1, Primitive::U8))),
            form @ Form::Fixed { .. } => (false, in_fixed_arrays(form)),
            _ => (false, None),
        };
        let Some((stride, _)) = items.filter(|(_, primitive)| T::is(*primitive)) else {
            return Err(self.other_type(name, column, "lists", T::NAME));
        };
        let buffer = |index: usize| column.buffers.get(index);
        let offsets = if has_offsets { buffer(0).map(|offsets| offsets.view()) } else { None };
        let values = buffer(usize::from(has_offsets)).map_or(&[] as &[T], |values| values.view());
        let lists = Lists { offsets, stride, values, len: self.len() };
        if !lists.is_empty() && lists.get(lists.len - 1).is_none() {
            let message = format!("column '{name}' has fewer values than its lists");
            return Err(Error::corrupt(message).branch(name).url(self.tree.file().url()));
        }
        Ok(lists)
    }

    /// A column that has an item for each event.
    fn whole(&self, name: &str) -> Result<&Column> {
        let column = self.column(name)?;
        if column.length < self.len() {
            let message = format!("column '{name}' has fewer entries than its tree");
            return Err(Error::usage(message).branch(name).url(self.tree.file().url()));
        }
        Ok(column)
    }

    fn other_type(&self, name: &str, column: &Column, what: &str, wanted: &str) -> Error {
        Error::usage(format!(
            "column '{name}' does not hold {what} of {wanted}: it is {}",
            sapwood_table::spelled_form(&column.form)
        ))
        .hint("ask for the type that the column has, or take column()")
        .branch(name)
        .url(self.tree.file().url())
    }
}

/// The number of items in arrays of a fixed size, of any dimension, and their type; that of a number is 1.
fn in_fixed_arrays(form: &Form) -> Option<(usize, Primitive)> {
    match form {
        Form::Primitive(primitive) => Some((1, *primitive)),
        Form::Fixed { size, content } => {
            let (inner, primitive) = in_fixed_arrays(content)?;
            Some((size.checked_mul(inner)?, primitive))
        }
        _ => None,
    }
}

/// The lists of a column: one slice for each event.
#[derive(Debug, Clone, Copy)]
pub struct Lists<'a, T> {
    /// Where each list starts, and the end of the last; without, all have `stride` values.
    offsets: Option<&'a [i64]>,
    stride: usize,
    values: &'a [T],
    len: usize,
}

impl<'a, T> Lists<'a, T> {
    /// The number of lists.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no list.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The list of an event of the chunk; `None` beyond the last.
    #[inline]
    pub fn get(&self, event: usize) -> Option<&'a [T]> {
        if event >= self.len {
            return None;
        }
        let edge = |index: usize| match self.offsets {
            Some(offsets) => usize::try_from(*offsets.get(index)?).ok()?.checked_mul(self.stride),
            None => index.checked_mul(self.stride),
        };
        self.values.get(edge(event)?..edge(event + 1)?)
    }

    /// All lists, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let lists = Lists { ..*self };
        (0..lists.len).map_while(move |event| lists.get(event))
    }

    /// The items of all lists.
    pub fn values(&self) -> &'a [T] {
        self.values
    }
}

impl<T> Index<usize> for Lists<'_, T> {
    type Output = [T];

    /// The list of an event of the chunk. Panics beyond the last, as slices do.
    #[inline]
    fn index(&self, event: usize) -> &[T] {
        let list = self.get(event);
        assert!(list.is_some(), "there is no list {event} among {}", self.len);
        list.unwrap_or_default()
    }
}
