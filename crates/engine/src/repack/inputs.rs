//! The inputs: a few stay open, and those that come next are opened while one is worked on.

use super::options::Input;
use crate::{File, Interrupt, OpenOptions};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::collections::HashMap;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// So many inputs stay open.
const MOST_OPEN: usize = 16;
/// So many far ones are opened ahead.
const AHEAD: usize = 4;

/// The inputs, of which a few stay open.
#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    inputs: &'a [Input],
    open: HashMap<usize, File>,
    coming: HashMap<usize, JoinHandle<Result<File>>>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(inputs: &'a [Input]) -> Inputs<'a> {
        Inputs { inputs, open: HashMap::new(), coming: HashMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// One of them, opened.
    pub(crate) fn get(&mut self, index: usize, interrupt: Interrupt<'_>) -> Result<File> {
        if let Some(file) = self.open.get(&index) {
            return Ok(file.clone());
        }
        let file = match (self.inputs.get(index), self.coming.remove(&index)) {
            (Some(_), Some(coming)) => joined(coming, interrupt)?,
            (Some(Input::Open(file)), None) => file.clone(),
            (Some(Input::At(url, options)), None) => File::open(url, soon(options), interrupt)?,
            (None, _) => return Err(Error::usage("there is no such input")),
        };
        if self.open.len() < MOST_OPEN {
            self.open.insert(index, file.clone());
        }
        Ok(file)
    }

    /// Begins to open those that come after one, if they lie on other machines.
    pub(crate) fn ahead(&mut self, index: usize) {
        for next in index + 1..(index + 1 + AHEAD).min(self.len()) {
            if self.open.contains_key(&next) || self.coming.contains_key(&next) {
                continue;
            }
            if let Some(Input::At(url, options)) = self.inputs.get(next)
                && url.contains("://")
                && !url.starts_with("file://")
            {
                let (url, options) = (url.clone(), soon(options));
                let named = thread::Builder::new().name("sapwood-open".to_owned());
                // Where there is no thread to be had, it is opened in its turn.
                if let Ok(coming) = named.spawn(move || opened(&url, options)) {
                    self.coming.insert(next, coming);
                }
            }
        }
    }
}

/// Options of which the deadline is that of one step.
fn soon(options: &OpenOptions) -> OpenOptions {
    OpenOptions { deadline: options.deadline.within(Deadline::DEFAULT), ..options.clone() }
}

/// A file whose keys and descriptions are known.
fn opened(url: &str, options: OpenOptions) -> Result<File> {
    let deadline = options.deadline;
    let file = File::open(url, options, &mut || false)?;
    file.streamers(deadline, &mut || false)?;
    Ok(file)
}

/// Waits for a thread; its own deadlines bound that.
fn joined(coming: JoinHandle<Result<File>>, interrupt: Interrupt<'_>) -> Result<File> {
    while !coming.is_finished() {
        if interrupt() {
            return Err(Error::new(ErrorKind::Cancelled, "the read was interrupted"));
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    let broken = || Error::corrupt("a thread that opens a file ended without a result");
    coming.join().map_err(|_| broken())?
}
