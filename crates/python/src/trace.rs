//! Records jobs, and replays them.

use crate::arguments::seconds;
use crate::detached::detached;
use crate::error::exception;
use crate::options::{PyOpenOptions, open_options};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sapwood::replay::{self, LinkModel, Policy, RecordedJob, ReplayTarget};
use sapwood::{Error, ErrorKind};
use sapwood_source::record::{self, Recording};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The most time that opening a file, or one step of reading, takes by default in a replay.
const DEADLINE: Duration = Duration::from_secs(3600);
/// How often a replay checks for interrupts.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Starts to record to a file.
#[pyfunction]
pub(crate) fn trace_start(path: PathBuf, program: &str) -> PyResult<()> {
    record::start(&path, program).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

/// Writes what was recorded, and stops.
#[pyfunction]
pub(crate) fn trace_stop(py: Python<'_>) -> PyResult<()> {
    py.detach(record::stop).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Writes what was recorded so far.
#[pyfunction]
pub(crate) fn trace_flush(py: Python<'_>) -> PyResult<()> {
    py.detach(record::flush).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// True if this process records.
#[pyfunction]
pub(crate) fn trace_is_on() -> bool {
    record::is_on()
}

/// The summary of a recording, as JSON.
#[pyfunction]
pub(crate) fn trace_summary(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    detached(py, None, |_| Ok(replay::summary(&job(&path)?).to_string()))
}

/// A link: round trip in seconds, bytes per second, seconds for each request, concurrent requests.
type LinkFigures = (f64, u64, f64, Option<usize>);

/// The cost of a job with a policy, as JSON: over the links to servers, "" for all others, and to further
/// replicas of each file; or, without links, from these URLs, where opening, and each step of reading, takes at
/// most `deadline` seconds (by default, an hour).
#[pyfunction]
#[pyo3(signature = (path, policy, links, urls, replicas, *, deadline=None, options=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn replay_job(
    py: Python<'_>,
    path: PathBuf,
    policy: String,
    links: Option<HashMap<String, LinkFigures>>,
    urls: HashMap<String, String>,
    replicas: Vec<LinkFigures>,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyOpenOptions>>,
) -> PyResult<String> {
    let target = match links {
        None => {
            let options = Box::new(open_options(None, options)?.source);
            let deadline = deadline.map_or(Ok(DEADLINE), |time| seconds("deadline", time))?;
            ReplayTarget::Real { urls, options, deadline }
        }
        Some(links) => {
            let links = links.into_iter().map(|(server, figures)| Ok((server, link(figures)?)));
            let mut servers: HashMap<String, LinkModel> = links.collect::<PyResult<_>>()?;
            let others = servers.remove("").unwrap_or_default();
            let replicas = replicas.into_iter().map(link).collect::<PyResult<_>>()?;
            ReplayTarget::Model { servers, others, replicas }
        }
    };
    detached(py, None, move |call| {
        let (job, policy, cancelled) = (job(&path)?, Policy::parse(&policy)?, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (done, result) = sync_channel(1);
            let cancelled = &cancelled;
            // The receiver waits until the cost is there.
            scope.spawn(move || _ = done.send(replay::replay(&job, &target, &policy, cancelled)));
            loop {
                match result.recv_timeout(HEARTBEAT) {
                    Ok(cost) => return cost.map(|cost| replay::cost_json(&cost).to_string()),
                    Err(RecvTimeoutError::Timeout) => {
                        if call.is_interrupted() {
                            cancelled.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::new(ErrorKind::Io, "the replay failed"));
                    }
                }
            }
        })
    })
}

fn job(path: &Path) -> sapwood::Result<RecordedJob> {
    Recording::read(path).map(|recording| RecordedJob::new(&recording))
}

fn link((round_trip, bandwidth, request_cost, concurrency): LinkFigures) -> PyResult<LinkModel> {
    let time = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| exception(&Error::usage(format!("a time of {seconds} seconds is invalid"))))
    };
    let (round_trip, request_cost) = (time(round_trip)?, time(request_cost)?);
    Ok(LinkModel { round_trip, bandwidth, request_cost, concurrency: concurrency.unwrap_or(usize::MAX) })
}
