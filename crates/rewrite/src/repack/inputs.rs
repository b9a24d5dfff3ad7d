//! The inputs: a few stay open, and those that come next are opened while one is worked on.

use super::options::{Input, InputFile};
use sapwood_core::{Call, Deadline, Error, Result};
use sapwood_root::File;
use std::collections::HashMap;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// So many inputs stay open.
const MOST_OPEN: usize = 16;
/// So many far ones are opened ahead.
const AHEAD: usize = 4;

/// The inputs, of which a few stay open. A dataset is several, one after the other: its segments.
#[derive(Debug)]
pub struct Inputs<'a> {
    given: &'a [Input],
    /// For each input, which of the given ones it is, and which part of it; of those that were not met, the first.
    parts: Vec<(usize, usize)>,
    /// Given ones.
    open: HashMap<usize, File>,
    coming: HashMap<usize, JoinHandle<Result<File>>>,
    /// The given one, and the part, that were asked for last.
    held: Option<(usize, File)>,
    last: Option<(usize, File)>,
}

impl<'a> Inputs<'a> {
    /// None of them is open yet.
    pub fn new(given: &'a [Input]) -> Inputs<'a> {
        let parts = (0..given.len()).map(|input| (input, 0)).collect();
        Inputs { given, parts, open: HashMap::new(), coming: HashMap::new(), held: None, last: None }
    }

    /// How many there are, as far as they were met.
    #[expect(clippy::len_without_is_empty, reason = "a job has an input")]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Which of the given ones an input is, or is a part of.
    pub fn given(&self, index: usize) -> usize {
        self.parts.get(index).map_or(index, |(given, _)| *given)
    }

    /// Meets one: from now on, those behind it have their numbers.
    pub fn meet(&mut self, index: usize, call: &mut Call<'_>) -> Result<File> {
        let given = self.given(index);
        if self.parts.get(index).is_some_and(|(_, part)| *part == 0) {
            let parts = self.whole(given, call)?.part_count();
            self.parts.splice(index..=index, (0..parts).map(|part| (given, part)));
        }
        self.get(index, call)
    }

    /// One of them, opened.
    pub fn get(&mut self, index: usize, call: &mut Call<'_>) -> Result<File> {
        if let Some((_, file)) = self.last.as_ref().filter(|(last, _)| *last == index) {
            return Ok(file.clone());
        }
        let Some(&(given, part)) = self.parts.get(index) else { return Err(no_such_input()) };
        let whole = self.whole(given, call)?;
        let file = whole.part(part, &mut call.step())?;
        self.last = Some((index, file.clone()));
        Ok(file)
    }

    /// A given one, opened.
    fn whole(&mut self, given: usize, call: &mut Call<'_>) -> Result<File> {
        let held = self.held.as_ref().filter(|(held, _)| *held == given).map(|(_, file)| file);
        if let Some(file) = self.open.get(&given).or(held) {
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
            self.held = Some((given, file.clone()));
        }
        Ok(file)
    }

    /// Begins to open those that come after one, if they lie on other machines.
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
                // Where there is no thread to be had, it is opened in its turn.
                if let Ok(coming) = named.spawn(move || opened(&input)) {
                    self.coming.insert(next, coming);
                }
            }
        }
    }
}

fn no_such_input() -> Error {
    Error::usage("there is no such input")
}

/// A file whose keys and descriptions are known.
fn opened(input: &InputFile) -> Result<File> {
    let mut never = || false;
    let mut call = Call::new(Deadline::default(), &mut never);
    let file = input.open(&mut call)?;
    file.streamers(&mut call)?;
    Ok(file)
}

/// Waits for a thread; its own deadlines bound that.
fn joined(coming: JoinHandle<Result<File>>, call: &mut Call<'_>) -> Result<File> {
    while !coming.is_finished() {
        call.check()?;
        thread::park_timeout(Duration::from_millis(5));
    }
    let broken = || Error::corrupt("a thread that opens a file ended without a result");
    coming.join().map_err(|_| broken())?
}
