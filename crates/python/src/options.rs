//! `OpenOptions` and its parts: typed options, whose unknown names PyO3 refuses with a `TypeError`.
//!
//! An option that is `None` keeps the default of the Rust type that holds it.

use crate::arguments::{deadline, seconds};
use pyo3::prelude::*;
use sapwood::{BlockOptions, CacheOptions, OpenOptions, PageCache, RetryPolicy, SourceOptions};
use sapwood_credentials::{Secret, StorageOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// How to reach object stores.
#[pyclass(name = "StorageOptions", module = "sapwood._core", frozen)]
pub(crate) struct PyStorageOptions(StorageOptions);

#[pymethods]
impl PyStorageOptions {
    #[new]
    #[pyo3(signature = (
        *, endpoint=None, region=None, anonymous=false, profile=None, path_style=None, account=None,
        access_key_id=None, secret_access_key=None, session_token=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        endpoint: Option<String>,
        region: Option<String>,
        anonymous: bool,
        profile: Option<String>,
        path_style: Option<bool>,
        account: Option<String>,
        access_key_id: Option<String>,
        secret_access_key: Option<String>,
        session_token: Option<String>,
    ) -> PyStorageOptions {
        PyStorageOptions(StorageOptions {
            endpoint,
            region,
            anonymous,
            profile,
            path_style,
            access_key_id,
            secret_access_key: secret_access_key.map(Secret::from),
            session_token: session_token.map(Secret::from),
            account,
        })
    }
}

/// How to repeat requests that fail for a reason that may pass.
#[pyclass(name = "RetryPolicy", module = "sapwood._core", frozen)]
pub(crate) struct PyRetryPolicy(RetryPolicy);

#[pymethods]
impl PyRetryPolicy {
    #[new]
    #[pyo3(signature = (*, tries=None, backoff=None, longest_pause=None, budget=None))]
    fn new(
        tries: Option<u32>,
        backoff: Option<f64>,
        longest_pause: Option<f64>,
        budget: Option<f64>,
    ) -> PyResult<PyRetryPolicy> {
        let default = RetryPolicy::default();
        let or = |name, value: Option<f64>, default| value.map_or(Ok(default), |value| seconds(name, value));
        Ok(PyRetryPolicy(RetryPolicy {
            tries: tries.unwrap_or(default.tries),
            backoff: or("backoff", backoff, default.backoff)?,
            longest_pause: or("longest_pause", longest_pause, default.longest_pause)?,
            budget: or("budget", budget, default.budget)?,
        }))
    }
}

/// How to download files lazily, in blocks that are kept on the local disk.
#[pyclass(name = "BlockOptions", module = "sapwood._core", frozen)]
pub(crate) struct PyBlockOptions(BlockOptions);

#[pymethods]
impl PyBlockOptions {
    #[new]
    #[pyo3(signature = (*, block_size=None, scratch_size=None, cache=None, cache_size=None, cache_max_age=None))]
    fn new(
        block_size: Option<u64>,
        scratch_size: Option<u64>,
        cache: Option<PathBuf>,
        cache_size: Option<u64>,
        cache_max_age: Option<f64>,
    ) -> PyResult<PyBlockOptions> {
        let default = BlockOptions::default();
        let mut cache = cache.map(CacheOptions::new);
        if let Some(cache) = &mut cache {
            cache.size = cache_size.unwrap_or(cache.size);
            cache.max_age = cache_max_age.map_or(Ok(cache.max_age), |age| seconds("cache_max_age", age))?;
        }
        Ok(PyBlockOptions(BlockOptions {
            block_size: block_size.unwrap_or(default.block_size),
            scratch_size: scratch_size.unwrap_or(default.scratch_size),
            cache,
        }))
    }
}

/// How to open files.
#[pyclass(name = "OpenOptions", module = "sapwood._core", frozen)]
pub(crate) struct PyOpenOptions(OpenOptions);

#[pymethods]
impl PyOpenOptions {
    #[new]
    #[pyo3(signature = (
        *, headers=Vec::new(), storage=None, storage_rules=Vec::new(), read_timeout=None, retry=None,
        replicas=Vec::new(), documents=Vec::new(), sources=None, probe_interval=None, lazy_download=None,
        column_cache=None, drop_pages=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        headers: Vec<(String, String)>,
        storage: Option<&Bound<'_, PyStorageOptions>>,
        storage_rules: Vec<(String, Bound<'_, PyStorageOptions>)>,
        read_timeout: Option<f64>,
        retry: Option<&Bound<'_, PyRetryPolicy>>,
        replicas: Vec<String>,
        documents: Vec<String>,
        sources: Option<usize>,
        probe_interval: Option<f64>,
        lazy_download: Option<&Bound<'_, PyBlockOptions>>,
        column_cache: Option<(PathBuf, Option<u64>)>,
        drop_pages: bool,
    ) -> PyResult<PyOpenOptions> {
        let mut options = OpenOptions::default();
        let source = &mut options.source;
        source.headers = headers;
        source.storage = storage.map(|storage| storage.get().0.clone()).unwrap_or_default();
        let rules = storage_rules.into_iter().map(|(prefix, storage)| (prefix, storage.get().0.clone()));
        source.storage_rules = rules.collect();
        if let Some(read_timeout) = read_timeout {
            source.read_timeout = seconds("read_timeout", read_timeout)?;
        }
        source.retry = retry.map_or(source.retry, |retry| retry.get().0);
        source.page_cache = if drop_pages { PageCache::Drop } else { PageCache::Keep };
        (options.replicas.urls, options.replicas.documents) = (replicas, documents);
        options.replicas.sources = sources.unwrap_or(options.replicas.sources);
        if let Some(probe_interval) = probe_interval {
            options.replicas.probe_interval = seconds("probe_interval", probe_interval)?;
        }
        options.lazy_download = lazy_download.map(|blocks| blocks.get().0.clone());
        options.column_cache = column_cache.map(|(directory, size)| {
            let cache = CacheOptions::new(directory);
            CacheOptions { size: size.unwrap_or(cache.size), ..cache }
        });
        Ok(PyOpenOptions(options))
    }
}

/// The options of one call, with its deadline and counters of its own.
pub(crate) fn open_options(
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyOpenOptions>>,
) -> PyResult<OpenOptions> {
    let options = options.map(|options| options.get().0.clone()).unwrap_or_default();
    let source =
        SourceOptions { deadline: self::deadline(deadline)?, counters: Arc::default(), ..options.source };
    Ok(OpenOptions { source, ..options })
}
