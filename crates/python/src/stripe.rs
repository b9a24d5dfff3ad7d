//! Datasets of stripes: writing, changing, checking.

use crate::arguments::{compression, entry_ranges};
use crate::database_log::log_of;
use crate::detached::detached;
use crate::error::exception;
use crate::fields::fields;
use crate::options::{PyOpenOptions, open_options};
use crate::repack::input;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::dataset::{AddOptions, DatasetLocation, InputSelection, WriteOptions, WriteReport};
use sapwood::repack::Input;
use sapwood::{Call, Deadline, Result};
use sapwood_stripe::{
    Change, ChecksumOptions, Dataset, EventId, GcOptions, LayoutOptions, LumiMask, Provenance, Receipt,
    Retention,
};
use std::collections::BTreeMap;
use std::future::Future;

/// Name and version of the writing tool.
const TOOL: &str = concat!("sapwood ", env!("CARGO_PKG_VERSION"));

/// The location of a dataset, and how it is accessed.
#[pyclass(frozen, name = "Stripes", module = "sapwood._core")]
pub(crate) struct DatasetHandle {
    place: DatasetLocation,
    deadline: Option<f64>,
}

/// How a dataset is written.
#[pyclass(name = "WriteOptions", module = "sapwood._core", frozen)]
pub(crate) struct PyWriteOptions(WriteOptions);

#[pymethods]
impl PyWriteOptions {
    #[new]
    #[pyo3(signature = (
        *, compression=None, stripe_size=None, batch=None, group=true, pad=0, statistics=true, threads=None, who=None,
        job=None, parameters=BTreeMap::new(), base=None, branches=None, entries=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        compression: Option<i32>,
        stripe_size: Option<u64>,
        batch: Option<u64>,
        group: bool,
        pad: u64,
        statistics: bool,
        threads: Option<usize>,
        who: Option<String>,
        job: Option<(String, u32)>,
        parameters: BTreeMap<String, String>,
        base: Option<String>,
        branches: Option<Vec<String>>,
        entries: Option<Vec<Vec<(u64, u64)>>>,
    ) -> PyResult<PyWriteOptions> {
        let default = LayoutOptions::default();
        let target = stripe_size.unwrap_or(default.target);
        Ok(PyWriteOptions(WriteOptions {
            compression: self::compression(compression)?,
            layout: LayoutOptions { target, batch, group, pad_quantum: pad, ..default },
            without_statistics: !statistics,
            threads,
            who,
            job,
            parameters,
            base,
            chosen: InputSelection { branches, entries: entries.map(entry_ranges) },
        }))
    }
}

#[pymethods]
impl DatasetHandle {
    /// The dataset at a path or URL; nothing is read yet.
    #[new]
    #[pyo3(signature = (url, deadline=None, options=None, log=None))]
    fn new(
        url: &str,
        deadline: Option<f64>,
        options: Option<&Bound<'_, PyOpenOptions>>,
        log: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DatasetHandle> {
        let options = open_options(deadline, options)?;
        let log = log.map(log_of).transpose()?;
        let place = DatasetLocation::new(url, &options.source, log).map_err(|error| exception(&error))?;
        Ok(DatasetHandle { place, deadline })
    }

    /// The URL, without secrets.
    #[getter]
    fn url(&self) -> &str {
        self.place.url()
    }

    /// The number of a version: from `v3`, `latest` or a tag.
    fn version(&self, py: Python<'_>, version: &str) -> PyResult<u64> {
        self.run(py, |place, call| Ok(place.open(version, call)?.version()))
    }

    /// The identity of the existing dataset; with a tree, of one that is to be created with its log
    /// elsewhere.
    #[pyo3(signature = (tree=None))]
    fn identity(&self, py: Python<'_>, tree: Option<&str>) -> PyResult<Option<String>> {
        self.run(py, |place, call| {
            let ((store, _), deadline) = (place.parts(), call.deadline());
            let name = async {
                match tree {
                    Some(tree) => Dataset::name_for(&*store, tree, TOOL, deadline).await.map(Some),
                    None => Dataset::name(&*store, deadline).await,
                }
            };
            Ok(place.wait(name, call)?.map(|name| name.to_string()))
        })
    }

    /// Adds another store in which objects may lie; returns the new version.
    fn add_base(&self, py: Python<'_>, url: String, who: Option<String>) -> PyResult<u64> {
        self.change(py, Change::AddBase { url }, who)
    }

    /// Creates a dataset from the trees of some files, or appends them.
    #[pyo3(signature = (tree, inputs, options))]
    fn create<'py>(
        &self,
        py: Python<'py>,
        tree: &str,
        inputs: Vec<Bound<'py, PyAny>>,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = &options.get().0;
        let inputs = self.inputs(&inputs)?;
        let written =
            self.run(py, |place, call| sapwood::dataset::create(place, tree, &inputs, options, call))?;
        written_dict(py, &written)
    }

    /// Appends the entries of some files.
    fn append<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyAny>>,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = &options.get().0;
        let inputs = self.inputs(&inputs)?;
        let written =
            self.latest(py, |dataset, call| sapwood::dataset::append(dataset, &inputs, options, call))?;
        written_dict(py, &written)
    }

    /// Stores the entries of some files without committing them: returns what was written, and the receipt
    /// (JSON).
    fn write_receipt<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyAny>>,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<(Bound<'py, PyDict>, String)> {
        let options = &options.get().0;
        let inputs = self.inputs(&inputs)?;
        let (written, receipt) = self.latest(py, |dataset, call| {
            let (receipt, written) = sapwood::dataset::write_receipt(dataset, &inputs, options, call)?;
            Ok((written, receipt.to_json()?))
        })?;
        Ok((written_dict(py, &written)?, receipt))
    }

    /// Commits what workers stored, from their receipts.
    fn commit_receipts<'py>(
        &self,
        py: Python<'py>,
        receipts: Vec<String>,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = &options.get().0;
        let written = self.latest(py, |dataset, call| {
            let receipts =
                receipts.iter().map(|text| Receipt::from_json(text)).collect::<Result<Vec<_>>>()?;
            sapwood::dataset::commit_receipts(dataset, &receipts, options, call)
        })?;
        written_dict(py, &written)
    }

    /// Rewrites small segments as larger ones: all products, or some.
    fn consolidate<'py>(
        &self,
        py: Python<'py>,
        products: Option<Vec<String>>,
        dry_run: bool,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = &options.get().0;
        let done = self.latest(py, |dataset, call| {
            sapwood::dataset::consolidate(dataset, products.as_deref(), options, dry_run, call)
        })?;
        Ok(fields!(py, done, [version, segments, objects, read, written, notes]))
    }

    /// Adds or replaces products.
    fn add<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        tree: &str,
        products: Option<Vec<String>>,
        by_position: bool,
        options: &Bound<'py, PyWriteOptions>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = &options.get().0;
        let source = input(source, self.deadline)?;
        let written = self.latest(py, |dataset, call| {
            let what = AddOptions { products, by_position };
            sapwood::dataset::add(dataset, &source, tree, &what, options, call)
        })?;
        written_dict(py, &written)
    }

    /// Drops products; returns the new version.
    fn drop(&self, py: Python<'_>, products: Vec<String>, who: Option<String>) -> PyResult<u64> {
        self.change(py, Change::Drop { products }, who)
    }

    /// Makes an earlier version the newest; returns the new version.
    fn restore(&self, py: Python<'_>, version: u64, who: Option<String>) -> PyResult<u64> {
        self.change(py, Change::Restore { version }, who)
    }

    /// Tags a version.
    fn tag(&self, py: Python<'_>, name: &str, version: &str) -> PyResult<u64> {
        self.on(
            py,
            version,
            |dataset, deadline| async move { Ok(dataset.tag(name, deadline).await?.version) },
        )
    }

    /// Removes a tag.
    fn untag(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.on(py, "latest", |dataset, deadline| async move { dataset.untag(name, deadline).await })
    }

    /// Tags and their versions.
    fn tags(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        self.on(py, "latest", |dataset, deadline| async move {
            Ok(dataset.tags(deadline).await?.into_iter().map(|tag| (tag.name, tag.version)).collect())
        })
    }

    /// Expires versions; returns the oldest that is kept.
    fn expire(
        &self,
        py: Python<'_>,
        newest: Option<u64>,
        within: Option<f64>,
        dry_run: bool,
    ) -> PyResult<u64> {
        let within = within.map(|seconds| crate::arguments::seconds("within", seconds)).transpose()?;
        let keep = Retention { newest, within };
        self.on(
            py,
            "latest",
            |dataset, deadline| async move { dataset.expire(keep, dry_run, deadline).await },
        )
    }

    /// Deletes what no version needs: returns objects, their bytes, and how many are kept.
    fn gc(
        &self,
        py: Python<'_>,
        grace: Option<f64>,
        dry_run: bool,
        alone: bool,
    ) -> PyResult<(Vec<String>, u64, u64)> {
        let grace = grace.map(|seconds| crate::arguments::seconds("grace", seconds)).transpose()?;
        let options = GcOptions { grace: grace.unwrap_or(GcOptions::default().grace), dry_run, alone };
        self.on(py, "latest", |dataset, deadline| async move {
            let done = dataset.collect(options, deadline).await?;
            Ok((done.objects.into_iter().map(|object| object.key).collect(), done.bytes, done.kept))
        })
    }

    /// The entries whose luminosity blocks are in a mask (JSON): starts and ends of ranges.
    fn select(&self, py: Python<'_>, version: &str, mask: &str) -> PyResult<Vec<(u64, u64)>> {
        self.on(py, version, |dataset, deadline| async move {
            let ranges = dataset.select(&LumiMask::from_json(mask)?, deadline).await?;
            Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
        })
    }

    /// For each run, luminosity block and event number, its entries.
    fn find(&self, py: Python<'_>, version: &str, events: Vec<(u32, u32, u64)>) -> PyResult<Vec<Vec<u64>>> {
        let events: Vec<_> =
            events.into_iter().map(|(run, lumi, event)| EventId { run, lumi, event }).collect();
        let events = &events;
        self.on(py, version, |dataset, deadline| async move { dataset.find(events, deadline).await })
    }

    /// Verifies the checksums of a version: returns objects, bytes, and the damage.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn verify(
        &self,
        py: Python<'_>,
        version: &str,
        fraction: f64,
        seed: u64,
    ) -> PyResult<(u64, u64, u64, Vec<(String, Option<String>, (u64, u64), String)>)> {
        let options = ChecksumOptions { fraction, seed };
        self.on(py, version, |dataset, deadline| async move {
            let done = dataset.verify(options, deadline).await?;
            let wrong = done.wrong.into_iter();
            let wrong =
                wrong.map(|wrong| (wrong.object, wrong.product, wrong.entries, wrong.error.to_string()));
            Ok((done.objects, done.bytes, done.skipped, wrong.collect()))
        })
    }

    /// Copies the dataset to another location: returns objects, bytes, and how many existed already.
    fn copy(&self, py: Python<'_>, other: &DatasetHandle) -> PyResult<(u64, u64, u64)> {
        let (store, log) = other.place.parts();
        self.on(py, "latest", |dataset, deadline| async move {
            let done = dataset.copy_to(store, log, deadline).await?;
            Ok((done.objects, done.bytes, done.there))
        })
    }
}

impl DatasetHandle {
    fn inputs(&self, inputs: &[Bound<'_, PyAny>]) -> PyResult<Vec<Input>> {
        inputs.iter().map(|one| input(one, self.deadline)).collect()
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&DatasetLocation, &mut Call<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, self.deadline, |call| work(&self.place, call))
    }

    /// Runs work on the newest version.
    fn latest<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Dataset, &mut Call<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.run(py, |place, call| work(&place.open("latest", call)?, call))
    }

    /// Runs work on a version.
    fn on<T: Send, F: Future<Output = Result<T>>>(
        &self,
        py: Python<'_>,
        version: &str,
        work: impl FnOnce(Dataset, Deadline) -> F + Send,
    ) -> PyResult<T> {
        self.run(py, |place, call| {
            let dataset = place.open(version, call)?;
            place.wait(work(dataset, call.deadline()), call)
        })
    }

    fn change(&self, py: Python<'_>, change: Change, who: Option<String>) -> PyResult<u64> {
        let made = Provenance { who, tool: TOOL.to_owned(), ..Provenance::default() };
        self.on(py, "latest", |dataset, deadline| async move {
            Ok(dataset.commit(&change, made, deadline).await?.version)
        })
    }
}

fn written_dict<'py>(py: Python<'py>, written: &WriteReport) -> PyResult<Bound<'py, PyDict>> {
    let result = fields!(py, written, [entries, objects, bytes, already, notes]);
    result.set_item("version", written.dataset.version())?;
    Ok(result)
}
