//! Logs of datasets in a database that Python accesses. Entries have the header of an object, with its
//! checksum, because databases may have none.

use crate::detached::detached;
use bytes::Bytes;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind, Result};
use sapwood_core::BoxFuture;
use sapwood_core::Deadline;
use sapwood_store::CreateOutcome;
use sapwood_stripe::{Log, ObjectKind, seal, unseal};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;

/// A `sapwood.catalog.DatabaseLog`.
#[derive(Debug)]
struct DatabaseLog {
    object: Arc<Py<PyAny>>,
    url: String,
}

/// A log for the core, from an object that has `url`, `newest`, `read` and `create`.
pub(crate) fn log_of(object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Log>> {
    let url = object.getattr("url")?.extract()?;
    Ok(Arc::new(DatabaseLog { object: Arc::new(object.clone().unbind()), url }))
}

/// Fills an empty log, and checks whether it keeps the contract of logs.
#[pyfunction]
pub(crate) fn check_log(py: Python<'_>, log: &Bound<'_, PyAny>, seconds: f64) -> PyResult<()> {
    let log = log_of(log)?;
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Deadline::LONGEST);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
    let runtime = runtime.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    detached(py, None, |_| runtime.block_on(sapwood_stripe::check_log(&log, Deadline::after(time))))
}

impl DatabaseLog {
    /// Calls the object, in a thread that may wait for it, until the deadline.
    async fn ask<T: Send + 'static>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Result<T> {
        let object = Arc::clone(&self.object);
        // `None` when Python ends: then no one waits for the answer.
        let task = spawn_blocking(move || {
            let answer = |py: Python<'_>| {
                work(object.bind(py)).map_err(|raised| error_of(&raised.into_value(py).into_bound(py)))
            };
            Python::try_attach(answer).unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "Python ends")))
        });
        let late =
            || Error::new(ErrorKind::Timeout, "the database that holds the log did not answer in time");
        let broken = |_| Error::new(ErrorKind::Server, "the thread that asks the database ended");
        let answered = timeout_at(deadline.instant().into(), task).await.map_err(|_| late())?;
        answered.map_err(broken)?.map_err(|error| error.url(self.url.clone()))
    }

    /// The content of a row.
    fn opened(&self, n: u64, row: Vec<u8>) -> Result<Bytes> {
        unseal(ObjectKind::Record, &row.into()).map_err(|error| {
            let message = format!("entry {n} of the log: {}", error.message());
            Error::new(error.kind(), message).url(self.url.clone())
        })
    }
}

impl Log for DatabaseLog {
    fn url(&self) -> &str {
        &self.url
    }

    fn hint(&self, deadline: Deadline) -> BoxFuture<'_, Result<Option<(u64, Bytes)>>> {
        Box::pin(async move {
            let newest =
                |log: &Bound<'_, PyAny>| log.call_method0("newest")?.extract::<Option<(u64, Vec<u8>)>>();
            let found = self.ask(deadline, newest).await?;
            found.map(|(n, row)| Ok((n, self.opened(n, row)?))).transpose()
        })
    }

    fn read(&self, n: u64, deadline: Deadline) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(async move {
            let read =
                move |log: &Bound<'_, PyAny>| log.call_method1("read", (n,))?.extract::<Option<Vec<u8>>>();
            self.ask(deadline, read).await?.map(|row| self.opened(n, row)).transpose()
        })
    }

    fn create(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<CreateOutcome>> {
        Box::pin(async move {
            let row = seal(ObjectKind::Record, &content);
            let create =
                move |log: &Bound<'_, PyAny>| log.call_method1("create", (n, &row[..]))?.extract::<bool>();
            match self.ask(deadline, create).await {
                Ok(true) => Ok(CreateOutcome::Done),
                Ok(false) => Ok(CreateOutcome::Exists),
                Err(error) if refused(error.kind()) => Err(error),
                Err(error) => Ok(CreateOutcome::Unclear(error)),
            }
        })
    }

    fn advise(&self, _: u64, _: Bytes, _: Deadline) -> BoxFuture<'_, Result<()>> {
        // A database knows its newest entry.
        Box::pin(async { Ok(()) })
    }
}

/// Whether certainly nothing was written. After all other errors, the answer may have been lost.
fn refused(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Permission | ErrorKind::Usage | ErrorKind::Unsupported | ErrorKind::Corrupt)
}

/// A Python exception, as an error of the core.
fn error_of(raised: &Bound<'_, PyAny>) -> Error {
    let text = raised.str().map_or_else(|_| "the log cannot be used".to_owned(), |text| text.to_string());
    let code = raised.getattr("code").and_then(|code| code.extract::<String>()).unwrap_or_default();
    let kind = ErrorKind::ALL.into_iter().find(|kind| kind.code() == code);
    Error::new(kind.unwrap_or(ErrorKind::Server), text)
}
