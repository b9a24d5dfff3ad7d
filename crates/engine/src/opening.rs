//! Opening a file as its options say: read as it is reached, or in blocks that are kept.

use crate::reach::{Reached, reach};
use sapwood_core::{Deadline, Result};
use sapwood_fetch::blocks::{self, Reopen};
use sapwood_source::{BoxFuture, OpenOptions, Opened, Trace};
use std::sync::Arc;

/// Opens a file at `url`, and where else the options say that it is; what its sources are asked is added to `trace`.
pub(crate) async fn open(url: &str, options: &OpenOptions, trace: Trace) -> Result<Reached> {
    let Some(wish) = &options.blocks else { return reach(url, options, trace).await };
    let anew = Anew { url: url.to_owned(), options: options.clone(), trace: trace.clone() };
    let (name, counters) = (blocks::name_of(url), Arc::clone(&options.counters));
    let Opened { source, known } =
        blocks::open(wish, &name, Arc::new(anew), counters, options.deadline).await?;
    Ok(Reached { source, known, trace })
}

/// Opens the same file again.
#[derive(Debug)]
struct Anew {
    url: String,
    options: OpenOptions,
    trace: Trace,
}

impl Reopen for Anew {
    fn open<'a>(&'a self, tail: bool, deadline: Deadline) -> BoxFuture<'a, Result<Opened>> {
        Box::pin(async move {
            let tail = if tail { self.options.tail } else { 0 };
            let options = OpenOptions { deadline, tail, ..self.options.clone() };
            let Reached { source, known, .. } = reach(&self.url, &options, self.trace.clone()).await?;
            Ok(Opened { source, known })
        })
    }
}
