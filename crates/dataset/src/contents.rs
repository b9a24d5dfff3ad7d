//! A dataset as the contents of a file: its tree is in stripes, everything else in auxiliary files.

use super::options::default_compression;
use super::storage::StripeBaskets;
use super::view::DatasetView;
use sapwood_core::{Call, Result, Segments};
use sapwood_root::{
    File, FileContents, KeyEntry, KeyRecord, OpenOptions, RootFile, VirtualFile, VirtualTree,
};
use sapwood_source::{Trace, TracedSource};
use sapwood_tfile::{FileHeader, Record};
use sapwood_ttree::TreeTable;
use std::any::Any;
use std::sync::Arc;

/// A version of a dataset, read as a file.
#[derive(Debug)]
pub(crate) struct DatasetContents {
    view: Arc<DatasetView>,
}

/// Opens a version of a dataset as a file with its tree.
pub(crate) fn file_of(
    view: DatasetView,
    trace: Trace,
    origin: (String, OpenOptions),
    call: &mut Call<'_>,
) -> Result<File> {
    let (root, contents) = root_of(view, trace, origin, call)?;
    Ok(File::with_contents(root, contents))
}

/// The dataset behind a file; `None` for ROOT files.
pub fn view_of(file: &File) -> Option<&Arc<DatasetView>> {
    file.contents().as_any().downcast_ref::<DatasetContents>().map(|contents| &contents.view)
}

fn root_of(
    view: DatasetView,
    trace: Trace,
    origin: (String, OpenOptions),
    call: &mut Call<'_>,
) -> Result<(RootFile, Arc<dyn FileContents>)> {
    let (bytes, header) = view.file()?;
    let mut known = Segments::default();
    known.insert(0, bytes.clone());
    let file = VirtualFile {
        source: Arc::new(TracedSource::within(view.source(), trace.clone())),
        known,
        size: bytes.len() as u64,
        header: FileHeader { compression: default_compression()?.number(), ..header.clone() },
        streamers: view.streamers(),
    };
    let root = RootFile::from_virtual(file, trace, origin, call)?;
    let contents = DatasetContents { view: Arc::new(view) };
    Ok((root, Arc::new(contents)))
}

impl FileContents for DatasetContents {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn size(&self, _: &RootFile) -> u64 {
        self.view.known_bytes()
    }

    fn virtual_tree(&self) -> Option<&str> {
        Some(&self.view.snapshot.tree)
    }

    fn virtual_entries(&self) -> Option<u64> {
        Some(self.view.snapshot.segments.iter().map(|segment| segment.entries).sum())
    }

    /// One for each segment.
    fn part_count(&self) -> usize {
        self.view.snapshot.segments.len().max(1)
    }

    fn part(
        &self,
        file: &RootFile,
        index: usize,
        call: &mut Call<'_>,
    ) -> Result<Option<(RootFile, Arc<dyn FileContents>)>> {
        let Some((url, options)) = file.origin().filter(|_| self.part_count() > 1) else { return Ok(None) };
        let options = options.until(call.deadline());
        root_of(self.view.part(index), file.trace(), (url.clone(), options), call).map(Some)
    }

    fn records(&self, file: &RootFile, call: &mut Call<'_>) -> Result<RootFile> {
        let first = self.view.auxiliary(call)?.files().next().map(|auxiliary| auxiliary.root().clone());
        Ok(first.unwrap_or_else(|| file.clone()))
    }

    fn descriptions(&self, file: &RootFile, call: &mut Call<'_>) -> Result<Vec<(Record, u32)>> {
        let mut records = self.view.descriptions().map_err(|error| error.url(file.url()))?;
        for auxiliary in self.view.auxiliary(call)?.files() {
            records.extend(auxiliary.descriptions(call)?);
        }
        Ok(records)
    }

    fn further_keys(&self, call: &mut Call<'_>) -> Result<Vec<KeyEntry>> {
        Ok(self.view.auxiliary(call)?.keys())
    }

    /// The auxiliary file that holds a path; `None` for the tree of the dataset.
    fn holder(
        &self,
        path: &str,
        cycle: Option<u16>,
        call: &mut Call<'_>,
    ) -> Result<Option<(RootFile, Option<u16>)>> {
        if self.view.snapshot.tree == path {
            return Ok(None);
        }
        let holder = self.view.auxiliary(call)?.holder(path, cycle, call)?;
        Ok(holder.map(|(file, cycle)| (file.root().clone(), cycle)))
    }

    fn table(&self, file: &RootFile, found: &KeyRecord) -> Result<TreeTable> {
        let (tree, origins) = self.view.tree()?;
        let compiler_of = origins.iter().map(|origin| origin.schema).collect();
        let storage = StripeBaskets::new(Arc::clone(&self.view), file.fetcher().clone(), origins);
        let table = TreeTable::new(&found.path, tree, Box::new(storage), self.view.compilers(), compiler_of);
        table.branch_types(); // Readers may ask for them at any time.
        Ok(table)
    }

    fn tree_record(&self, file: &RootFile, call: &mut Call<'_>) -> Result<VirtualTree> {
        let (record, origins, cluster_starts) = self.view.record(call)?;
        let storage = StripeBaskets::new(Arc::clone(&self.view), file.fetcher().clone(), origins);
        Ok((record, cluster_starts, Box::new(storage)))
    }
}
