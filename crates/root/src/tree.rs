//! A tree of an open file, in either format: what it holds, and the ways to read it.

use crate::contents::tree_table;
use crate::file::File;
use crate::ntuple;
use sapwood_core::{Call, Column, Error, ErrorKind, Form, Result};
use sapwood_rntuple::{AttributeSet, RNTuple};
use sapwood_table::{
    CachedTable, Chunk, ColumnSchema, CutOptions, CutScan, EntryRead, EntryStatistics, Lazy, LazyOptions,
    PassingEntries, Query, Scan, Selection, Table, member_form, names, spelled_form,
};
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::{BranchKind, TreeTable};
use std::any::Any;
use std::collections::HashSet;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// A TTree or an RNTuple. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tree(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    table: Arc<dyn Table>,
    /// The same with a cache of decoded columns, if there is one.
    cached: Option<Arc<CachedTable>>,
    /// Offset of its record, or of an RNTuple's anchor.
    record: u64,
    /// Offset of its key, if the list of keys has not confirmed it yet.
    assumed: Option<u64>,
}

/// Options of reading.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Number of computing threads. Default: the environment variable `SAPWOOD_THREADS`, else all processors.
    pub threads: Option<usize>,
}

/// The type of a member of the objects in a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberInfo {
    /// The C++ type, with `[]` for each list around it: `float[]`.
    pub typename: String,
    /// The shape and type of its column.
    pub form: Form,
    /// Unreadable parts: path and reason.
    pub skipped: Vec<(String, String)>,
}

impl Tree {
    /// A tree that the list of keys has not confirmed yet; `None` if it is broken, or needs class descriptions.
    pub(crate) fn assumed(file: File, path: &str, key: &Key, record: &Record) -> Option<Tree> {
        let table = tree_table(file.root(), path, key, record, &StreamerInfos::default()).ok()?;
        let plain = table.tree().branches.iter().all(|branch| matches!(branch.kind, BranchKind::Plain));
        plain.then(|| Tree::new(file, record.offset, Arc::new(table), Some(key.offset)))
    }

    /// A table of a file, with the offset of its record, and of its key if that was assumed.
    pub(crate) fn new(file: File, record: u64, table: Arc<dyn Table>, assumed: Option<u64>) -> Tree {
        let shelf = file.root().columns().cloned();
        let cached = shelf.map(|shelf| CachedTable::new(Arc::clone(&table), shelf, record.to_string()));
        Tree(Arc::new(Inner { file, table, cached: cached.map(Arc::new), record, assumed }))
    }

    /// Offset of the key that was assumed to name the tree.
    pub(crate) fn assumed_at(&self) -> Option<u64> {
        self.0.assumed
    }

    /// The file it is in.
    pub fn file(&self) -> &File {
        &self.0.file
    }

    /// The tree as a table of columns, as it is in its file.
    pub fn table(&self) -> Arc<dyn Table> {
        Arc::clone(&self.0.table)
    }

    /// The tree as a table of columns, some of which may be in the cache of decoded columns.
    pub fn cached_table(&self) -> Arc<dyn Table> {
        match &self.0.cached {
            Some(cached) => Arc::clone(cached) as Arc<dyn Table>,
            None => self.table(),
        }
    }

    fn borrowed(&self) -> &dyn Table {
        &*self.0.table
    }

    /// The same, with the methods that only one format has; `None` if it is in another.
    pub fn as_format<T: Table>(&self) -> Option<&T> {
        (self.borrowed() as &dyn Any).downcast_ref()
    }

    /// The same, with the methods that only a TTree has.
    ///
    /// # Errors
    /// `Unsupported` if it is in another format.
    pub fn ttree(&self) -> Result<&TreeTable> {
        self.as_format().ok_or_else(|| {
            let message =
                format!("'{}' is a {}; this works only with a TTree", self.path(), self.class_name());
            Error::unsupported(message).url(self.file().url())
        })
    }

    /// The names of its attribute sets, which only RNTuples have.
    pub fn attribute_sets(&self) -> impl Iterator<Item = &str> {
        self.sets().iter().map(AttributeSet::name)
    }

    /// An attribute set: an RNTuple whose entries describe ranges of entries of this one.
    ///
    /// # Errors
    /// `Missing` if there is none of this name; `Unsupported` if its schema is not known; those of the source;
    /// `Truncated`, `Checksum` or `Corrupt` if its metadata are broken.
    pub fn attribute_set(&self, name: &str, call: &mut Call<'_>) -> Result<Tree> {
        let missing = || {
            let message = format!("'{}' has no attribute set '{name}'", self.path());
            Error::new(ErrorKind::Missing, message).url(self.file().url())
        };
        let set = self.sets().iter().find(|set| set.name() == name).ok_or_else(missing)?;
        let table = ntuple::open_attributes(self.file().root(), self.path(), set, call)?;
        Ok(Tree::new(self.file().clone(), set.offset()?, Arc::new(table), None))
    }

    fn sets(&self) -> &[AttributeSet] {
        self.as_format().map_or(&[], RNTuple::attribute_sets)
    }

    /// Its path in the file, as requested.
    pub fn path(&self) -> &str {
        self.borrowed().path()
    }

    /// The name that its writer gave it.
    pub fn name(&self) -> &str {
        self.borrowed().label().name
    }

    /// The title or description that its writer gave it.
    pub fn title(&self) -> &str {
        self.borrowed().label().title
    }

    /// Its class, such as `TTree`, `TNtuple` or `ROOT::RNTuple`.
    pub fn class_name(&self) -> &str {
        self.borrowed().label().class_name
    }

    /// The first entry of each cluster, in order, then the number of entries; empty if none are recorded.
    pub fn cluster_starts(&self) -> &[u64] {
        self.borrowed().cluster_starts()
    }

    /// Number of columns: branches of a TTree, top-level fields of an RNTuple.
    pub fn column_count(&self) -> usize {
        self.borrowed().column_count()
    }

    /// The schema of a column; `None` beyond the last.
    pub fn schema(&self, column: usize) -> Option<ColumnSchema<'_>> {
        self.borrowed().schema(column)
    }

    /// How a column is compressed, as ROOT codes it: 100 · algorithm + level.
    pub fn compression(&self, column: usize) -> i64 {
        let own = self.borrowed().compression(column).map(i64::from);
        own.unwrap_or_else(|| self.file().header().compression.into())
    }

    /// The parts of a column's objects that cannot be read: path and reason.
    pub fn skipped(&self, column: usize) -> Vec<(String, String)> {
        self.borrowed().form(&Selection::whole(column)).map(|(_, skipped)| skipped).unwrap_or_default()
    }

    /// Finds out where the [chunks](Tree::chunks) of some columns are, as far as that is not known.
    ///
    /// # Errors
    /// Those of [`Table::locate`].
    pub fn locate(&self, columns: &[usize], call: &mut Call<'_>) -> Result<()> {
        let selections: Vec<Selection> = columns.iter().copied().map(Selection::whole).collect();
        self.borrowed().locate(&selections, call)
    }

    /// All chunks of the columns that can be read, each once; an RNTuple's are known but for those of pages in several
    /// parts; these, and those of a TTree in a dataset, once they are [located](Tree::locate).
    pub fn chunks(&self, columns: impl IntoIterator<Item = usize>) -> Vec<Chunk> {
        let mut seen = HashSet::new();
        let plan = |column| self.borrowed().plan(&Selection::whole(column), &(0..self.entries())).ok();
        let chunks = columns.into_iter().filter_map(plan).flat_map(|plan| plan.chunks().to_vec());
        chunks.filter(|chunk| seen.insert(chunk.id())).collect()
    }

    /// Whether reading has to wait for another machine.
    pub fn is_distant(&self) -> bool {
        !self.file().fetcher().source().cost_model().immediate
    }

    /// Offset of its record, or of an RNTuple's anchor.
    pub fn record_offset(&self) -> u64 {
        self.0.record
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.borrowed().entries()
    }

    /// Stored statistics of a column's values, stripe by stripe; empty for a file.
    ///
    /// # Errors
    /// Those of [`Table::statistics`].
    pub fn known_values(&self, column: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        self.borrowed().statistics(column, call)
    }

    /// The product of a dataset that a column belongs to.
    pub fn product(&self, column: usize) -> Option<&str> {
        self.schema(column)?.group
    }

    /// The index of a column by its path or, if unique, by its branch's name.
    pub fn find_branch(&self, name: &str) -> Option<usize> {
        let columns = 0..self.column_count();
        let by_path = { columns }.find(|column| self.branch_path(*column) == name);
        by_path.or_else(|| {
            let branches = self.ttree().ok()?.branches().iter().enumerate();
            let mut named = branches.filter(|(_, branch)| branch.name == name);
            let (index, _) = named.next()?;
            named.next().is_none().then_some(index)
        })
    }

    /// The type of the member `path` of the objects in a branch.
    ///
    /// # Errors
    /// `Usage` for an index beyond the tree; `Unsupported` for a branch that cannot be read; `Missing` for a
    /// member that does not exist, with the names of those that do.
    pub fn member(&self, branch: usize, path: &str) -> Result<MemberInfo> {
        let names = names(path);
        let selection = Selection::of_members(branch, slice::from_ref(&names));
        let found = self.borrowed().form(&selection).and_then(|(form, skipped)| {
            let form = member_form(&form, &names)?;
            Ok(MemberInfo { typename: spelled_form(&form), form, skipped })
        });
        found.map_err(|error| error.branch(self.branch_path(branch)).url(self.file().url()))
    }

    /// The path of a column; empty beyond the last.
    pub fn branch_path(&self, column: usize) -> &str {
        self.schema(column).map_or("", |schema| schema.name)
    }

    /// The entries `entries` of branches, or of members of the objects in them; plain numbers are indices of
    /// columns.
    ///
    /// A branch with fewer entries than the tree gives a shorter column. The baskets of a branch are read once, however
    /// many of its members are requested.
    ///
    /// # Errors
    /// `Usage` for an entry range or index beyond the tree; `Missing` for a member that does not exist;
    /// `Unsupported` for a branch that cannot be read; those of the source and of [decoding](sapwood_ttree::decode), with
    /// branch, offset and URL.
    pub fn read<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        entries: Range<u64>,
        options: &ReadOptions,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        sapwood_table::read(&self.cached_table(), queries, entries, options.threads, call)
    }

    /// The entries of branches, range by range; the next range is read in the background.
    ///
    /// # Errors
    /// As [`Tree::read`].
    pub fn scan<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        ranges: Vec<Range<u64>>,
        options: &ReadOptions,
        call: &mut Call<'_>,
    ) -> Result<Scan> {
        Scan::new(self.cached_table(), queries, ranges, options.threads, call)
    }

    /// Ranges of entries for [`Tree::scan`]: whole clusters of the columns, joined if they are small.
    ///
    /// # Errors
    /// As [`sapwood_table::steps`].
    pub fn steps<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        entries: Range<u64>,
        call: &mut Call<'_>,
    ) -> Result<Vec<Range<u64>>> {
        sapwood_table::steps(self.borrowed(), queries, entries, call)
    }

    /// Some entries of branches, or of members of the objects in them, in the order of `entries`, which may repeat. Only
    /// baskets that hold one of the entries are fetched and decompressed.
    ///
    /// `within` is the range that would have been read without the list: the counter `skipped_bytes` adds up its baskets
    /// that were skipped.
    ///
    /// # Errors
    /// As [`Tree::read`]; `Usage` for an entry that is not `within`, or beyond the end of a branch.
    pub fn read_entries<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        entries: &[u64],
        within: Range<u64>,
        options: &ReadOptions,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        self.start_entries(queries, entries, within, options, call)?.finish(call)
    }

    /// As [`Tree::read_entries`], but returns as soon as the bytes of a distant source are requested.
    ///
    /// # Errors
    /// As [`Tree::read_entries`]; those of fetching and decoding are returned by [`EntryRead::finish`].
    pub fn start_entries<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        entries: &[u64],
        within: Range<u64>,
        options: &ReadOptions,
        call: &mut Call<'_>,
    ) -> Result<EntryRead> {
        EntryRead::start(self.cached_table(), queries, entries, within, options.threads, call)
    }

    /// The entries of a range that pass a cut, of branches or of members of the objects in them.
    ///
    /// The branches of `needed` are read first. The closure gets their columns, and returns for each entry whether it
    /// passes. For the other branches, only baskets that hold a passing entry are fetched and decompressed, if that saves
    /// more than another round trip costs.
    ///
    /// ```no_run
    /// # use sapwood_core::{Call, Column, Deadline, Result};
    /// # use sapwood_root::File;
    /// # use sapwood_root::OpenOptions;
    /// # use sapwood_table::CutOptions;
    /// # fn main() -> Result<()> {
    /// let mut never = || false;
    /// let mut call = Call::new(Deadline::default(), &mut never);
    /// # let file = File::open_root("https://example.org/data.root", OpenOptions::default(), &mut call)?;
    /// # let tree = file.tree("Events", None, &mut call)?;
    /// let (met, run) = (tree.find_branch("MET_pt").unwrap_or_default(), tree.find_branch("run").unwrap_or_default());
    /// let high = |columns: &[Column]| {
    ///     Ok(columns[0].buffers[0].view::<f32>().iter().map(|met| *met > 300.0).collect())
    /// };
    /// let passing = tree.read_where(&[run], 0..tree.entries(), &[met], high, CutOptions::default(), &mut call)?;
    /// println!("{:?} {:?}", passing.entries, passing.columns);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Tree::read`], and those of the closure; `Usage` if it does not return a value for each entry.
    pub fn read_where<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        entries: Range<u64>,
        needed: &[Q],
        cut: impl FnMut(&[Column]) -> Result<Vec<bool>>,
        options: CutOptions,
        call: &mut Call<'_>,
    ) -> Result<PassingEntries> {
        sapwood_table::read_where(self.cached_table(), queries, entries, needed, cut, options, call)
    }

    /// As [`Tree::read_where`], range by range. With a distant source, the baskets for the passing entries of a range are in
    /// flight while the cut of the next range is evaluated.
    ///
    /// # Errors
    /// As [`Tree::read`].
    pub fn scan_where<Q: Into<Query> + Clone, F: FnMut(&[Column]) -> Result<Vec<bool>>>(
        &self,
        queries: &[Q],
        ranges: Vec<Range<u64>>,
        needed: &[Q],
        cut: F,
        options: CutOptions,
        call: &mut Call<'_>,
    ) -> Result<CutScan<F>> {
        CutScan::new(self.cached_table(), queries, ranges, needed, cut, options, call)
    }

    /// A reader of `queries` that fetches columns when they are touched, and learns to prefetch them.
    ///
    /// ```no_run
    /// # use sapwood_root::{File, LazyOptions};
    /// # use sapwood_core::{Call, Deadline, Result};
    /// # use sapwood_root::OpenOptions;
    /// # fn main() -> Result<()> {
    /// let mut never = || false;
    /// let mut call = Call::new(Deadline::default(), &mut never);
    /// # let file = File::open_root("https://example.org/data.root", OpenOptions::default(), &mut call)?;
    /// # let tree = file.tree("Events", None, &mut call)?;
    /// let all: Vec<usize> = (0..tree.column_count()).collect();
    /// let lazy = tree.lazy(&all, LazyOptions::default(), &mut call)?;
    /// for window in 0..lazy.windows().len() {
    ///     let column = lazy.column(3, window, &mut call)?;
    ///     lazy.release(window);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Usage` for entries beyond the tree; those of opening other files with baskets of the tree.
    pub fn lazy<Q: Into<Query> + Clone>(
        &self,
        queries: &[Q],
        options: LazyOptions,
        call: &mut Call<'_>,
    ) -> Result<Lazy> {
        let begin = Some(self.file().trace().begin());
        Lazy::new(self.cached_table(), queries, LazyOptions { begin, ..options }, call)
    }
}
