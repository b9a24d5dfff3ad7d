//! Recording what a job does, and replaying it.

use crate::error::{detached, exception};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sapwood::Deadline;
use sapwood::replay::{self, Job, Line, Place, Policy};
use sapwood::{Error, ErrorKind};
use sapwood_source::record::{self, Recording};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often a replay asks whether it was interrupted.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Records to a file from now on.
#[pyfunction]
pub(crate) fn trace_start(path: PathBuf, program: &str) -> PyResult<()> {
    record::start(&path, program).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

/// Writes what was gathered, and records no more.
#[pyfunction]
pub(crate) fn trace_stop(py: Python<'_>) -> PyResult<()> {
    py.detach(record::stop).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Writes what was gathered.
#[pyfunction]
pub(crate) fn trace_flush(py: Python<'_>) -> PyResult<()> {
    py.detach(record::flush).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// True if this process records.
#[pyfunction]
pub(crate) fn trace_is_on() -> bool {
    record::is_on()
}

/// What a recording tells, as JSON.
#[pyfunction]
pub(crate) fn trace_summary(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    detached(py, Deadline::default(), |_| Ok(replay::summary(&job(&path)?).to_string()))
}

/// A line: round trip in seconds, bytes per second, seconds for each request, requests at the same time.
type Figures = (f64, u64, f64, Option<usize>);

/// What a job costs by a policy, as JSON: over the lines of servers, "" for all that are not named, and of further
/// places of each file; or, without lines, from these URLs.
#[pyfunction]
pub(crate) fn replay_job(
    py: Python<'_>,
    path: PathBuf,
    policy: String,
    lines: Option<HashMap<String, Figures>>,
    urls: HashMap<String, String>,
    replicas: Vec<Figures>,
) -> PyResult<String> {
    let place = match lines {
        None => Place::Real(urls),
        Some(lines) => {
            let lines = lines.into_iter().map(|(server, figures)| Ok((server, line(figures)?)));
            let mut servers: HashMap<String, Line> = lines.collect::<PyResult<_>>()?;
            let others = servers.remove("").unwrap_or_default();
            let replicas = replicas.into_iter().map(line).collect::<PyResult<_>>()?;
            Place::Model { servers, others, replicas }
        }
    };
    detached(py, Deadline::default(), move |call| {
        let (job, policy, cancelled) = (job(&path)?, Policy::parse(&policy)?, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (done, result) = sync_channel(1);
            let cancelled = &cancelled;
            // Who waits for the cost waits until it is there.
            scope.spawn(move || _ = done.send(replay::replay(&job, &place, &policy, cancelled)));
            loop {
                match result.recv_timeout(HEARTBEAT) {
                    Ok(cost) => return cost.map(|cost| replay::cost_json(&cost).to_string()),
                    Err(RecvTimeoutError::Timeout) => {
                        if call.is_interrupted() {
                            cancelled.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::new(ErrorKind::Io, "the replay broke down"));
                    }
                }
            }
        })
    })
}

fn job(path: &Path) -> sapwood::Result<Job> {
    Recording::read(path).map(|recording| Job::new(&recording))
}

fn line((round_trip, bandwidth, request_cost, concurrency): Figures) -> PyResult<Line> {
    let time = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| exception(&Error::usage(format!("a time of {seconds} seconds makes no sense"))))
    };
    let (round_trip, request_cost) = (time(round_trip)?, time(request_cost)?);
    Ok(Line { round_trip, bandwidth, request_cost, concurrency: concurrency.unwrap_or(usize::MAX) })
}
