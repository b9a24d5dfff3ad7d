//! The inputs: a few stay open, and the next ones are opened in the background.

use super::options::{Input, InputFile};
use sapwood_core::{Call, Deadline, Error, Result};
use sapwood_root::File;
use std::collections::HashMap;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Number of inputs that stay open.
const MOST_OPEN: usize = 16;
/// Number of remote inputs that are opened ahead.
const AHEAD: usize = 4;

/// The inputs of a repack. A given file is one input; a given dataset is one input for each of its segments.
#[derive(Debug)]
pub struct Inputs<'a> {
    given: &'a [Input],
    /// For each input, the index of the given file or dataset, and of the segment in it. A dataset that has not been
    /// opened yet counts as one input.
    parts: Vec<(usize, usize)>,
    /// Open files and datasets, by their index among the given ones.
    open: HashMap<usize, File>,
    /// Those being opened in the background.
    coming: HashMap<usize, JoinHandle<Result<File>>>,
    /// The given file that was used last, if `open` is full.
    latest_given: Option<(usize, File)>,
    /// The input that was used last.
    latest: Option<(usize, File)>,
}

impl<'a> Inputs<'a> {
    /// The inputs, none of which is open yet.
    pub fn new(given: &'a [Input]) -> Inputs<'a> {
        let parts = (0..given.len()).map(|input| (input, 0)).collect();
        let (open, coming) = (HashMap::new(), HashMap::new());
        Inputs { given, parts, open, coming, latest_given: None, latest: None }
    }

    /// Number of inputs known so far.
    #[expect(clippy::len_without_is_empty, reason = "a job has an input")]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// The index of the given file or dataset that an input belongs to.
    pub fn given(&self, index: usize) -> usize {
        self.parts.get(index).map_or(index, |(given, _)| *given)
    }

    /// Opens an input for the first time. The segments of a dataset are counted from now on, which shifts the indices
    /// of the inputs behind it.
    pub fn expand(&mut self, index: usize, call: &mut Call<'_>) -> Result<File> {
        let given = self.given(index);
        if self.parts.get(index).is_some_and(|(_, part)| *part == 0) {
            let parts = self.whole(given, call)?.part_count();
            self.parts.splice(index..=index, (0..parts).map(|part| (given, part)));
        }
        self.get(index, call)
    }

    /// An input, opened.
    pub fn get(&mut self, index: usize, call: &mut Call<'_>) -> Result<File> {
        if let Some((_, file)) = self.latest.as_ref().filter(|(latest, _)| *latest == index) {
            return Ok(file.clone());
        }
        let Some(&(given, part)) = self.parts.get(index) else { return Err(no_such_input()) };
        let whole = self.whole(given, call)?;
        let file = whole.part(part, &mut call.step())?;
        self.latest = Some((index, file.clone()));
        Ok(file)
    }

    /// A given file or dataset, opened.
    fn whole(&mut self, given: usize, call: &mut Call<'_>) -> Result<File> {
        let latest = self.latest_given.as_ref().filter(|(latest, _)| *latest == given).map(|(_, file)| file);
        if let Some(file) = self.open.get(&given).or(latest) {
            return Ok(file.clone());
        }
        let file = match (self.given.get(given), self.coming.remove(&given)) {
            (Some(_), Some(coming)) => joined(coming, call)?,
            (Some(Input::Open(file)), None) => file.clone(),
            (Some(Input::At(input)), None) => input.open(call)?,
            (None, _) => return Err(no_such_input()),
        };
        if self.open.len() < MOST_OPEN {
            self.open.insert(given, file.clone());
        } else {
            self.latest_given = Some((given, file.clone()));
        }
        Ok(file)
    }

    /// Starts opening the next inputs in the background, if they are remote.
    pub fn ahead(&mut self, index: usize) {
        let given = self.given(index);
        for next in given + 1..(given + 1 + AHEAD).min(self.given.len()) {
            if self.open.contains_key(&next) || self.coming.contains_key(&next) {
                continue;
            }
            if let Some(Input::At(input)) = self.given.get(next)
                && input.url.contains("://")
                && !input.url.starts_with("file://")
            {
                let input = input.clone();
                let named = thread::Builder::new().name("sapwood-open".to_owned());
                // Without a thread, the input is opened when it is needed.
                if let Ok(coming) = named.spawn(move || open_fully(&input)) {
                    self.coming.insert(next, coming);
                }
            }
        }
    }
}

fn no_such_input() -> Error {
    Error::usage("no such input")
}

/// Opens a file, and reads its keys and class descriptions.
fn open_fully(input: &InputFile) -> Result<File> {
    let mut never = || false;
    let mut call = Call::new(Deadline::default(), &mut never);
    let file = input.open(&mut call)?;
    file.streamers(&mut call)?;
    Ok(file)
}

/// Waits for a thread that opens a file; the deadline of that call bounds the wait.
fn joined(coming: JoinHandle<Result<File>>, call: &mut Call<'_>) -> Result<File> {
    while !coming.is_finished() {
        call.check()?;
        thread::park_timeout(Duration::from_millis(5));
    }
    let broken = || Error::corrupt("a thread ended while opening a file");
    coming.join().map_err(|_| broken())?
}
