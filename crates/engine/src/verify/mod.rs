//! Verifies files: reads every byte once, in file order, and decodes everything in it.
//!
//! ```text
//! index: header, directories, trees ─▶ windows of bytes ─▶ walk: records ─▶ checks on all threads ─▶ findings
//! ```
//! Damage never ends a verification: it becomes a finding, and the next record is checked. Memory is bounded by a few
//! windows, the largest record, and the records of the trees.

mod attempts;
mod basket;
mod checked_ntuple;
mod checked_tree;
mod counts;
mod index;
mod jobs;
mod options;
mod pass;
mod progress;
mod record;
mod report;
mod structure;
mod walk;

pub use options::VerifyOptions;
pub use progress::VerifyProgress;
pub use report::{FindingLocation, Severity, TreeReport, VerifyFinding, VerifyReport};

use attempts::{LostEntries, LostItem, VerifyTally};
use index::{FileIndex, IndexBuilder, IndexItem, damage};
use pass::Pass;
use progress::ProgressWatch;
use report::merge;
use sapwood_core::{ByteRange, Call, Deadline, Error, ErrorKind, Result};
use sapwood_fetch::Fetcher;
use sapwood_root::{File, OpenOptions, open_source};
use sapwood_source::Trace;
use sapwood_table::pool;
use sapwood_tfile::FileHeader;
use std::time::Instant;

/// Verifies a file: every byte of it, or only some trees.
///
/// Damage is a finding, not an error, even in a file that cannot be opened. If the source fails halfway, the report has
/// the findings up to there, and [the reason](VerifyReport::error).
///
/// # Errors
/// Those of reaching the file; `Usage` for a dataset; `Missing` if a chosen tree is not there; `Cancelled`.
pub fn verify(
    url: &str,
    open: OpenOptions,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(VerifyProgress),
    call: &mut Call<'_>,
) -> Result<VerifyReport> {
    let open = open.until(options.step(call).deadline());
    let opened = crate::open(url, open.clone(), &mut options.step(call)).and_then(|file| {
        if file.dataset_tree().is_some() {
            let error = Error::usage("this is a dataset, not a file").url(file.url());
            return Err(error.hint("'sapwood stripe verify' checks datasets"));
        }
        // The keys of a distant file may still be in flight.
        file.root().tfile(&mut options.step(call))?;
        Ok(file)
    });
    match damage(opened)? {
        Ok(file) => verify_open(&file, options, progress, call),
        Err(error) if options.trees.is_some() => Err(error),
        Err(error) => unopened(url, &open, error, options, progress, call),
    }
}

/// [`verify`] for an open file.
///
/// # Errors
/// `Missing` if a chosen tree is not there; `Cancelled`; those of the source while the structure is read.
pub fn verify_open(
    file: &File,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(VerifyProgress),
    call: &mut Call<'_>,
) -> Result<VerifyReport> {
    let mut tally = VerifyTally::new(options.most_findings);
    let trees = options.trees.as_deref();
    let structure = IndexBuilder::new(file, &mut options.step(call))?;
    let mut index = structure.index(trees, &mut tally.findings, call)?;
    if let Some(missing) = trees.and_then(|trees| trees.iter().find(|tree| !index.has_tree(tree))) {
        return Err(Error::new(ErrorKind::Missing, format!("there is no tree '{missing}'")).url(file.url()));
    }
    let size = file.size();
    let mut pass = Pass {
        index: &index,
        items: &index.items,
        fetcher: file.fetcher().clone().with_known(index.known.clone()),
        size,
        options,
    };
    let items = pass.in_file(&mut tally);
    pass.items = &items;
    check_free(&index, &items, &mut tally);
    let chosen: u64 = items.iter().map(|item| item.len).sum();
    let total = if trees.is_some() { chosen } else { size };
    let mut watch = ProgressWatch { total, done: 0, progress, call };
    let ended = run(file, &pass, &mut tally, &mut watch);
    pass.settle(&mut tally);
    let error = match ended {
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        Err(error) => Some(error),
        Ok(()) => None,
    };
    for LostEntries { item, entries } in std::mem::take(&mut tally.lost) {
        match item {
            LostItem::Branch(tree, branch) => {
                let Some(tree) = index.trees.get_mut(tree as usize) else { continue };
                let branch = tree.branch_path(branch as usize).to_owned();
                tree.report.lost.entry(branch).or_default().push(entries);
            }
            LostItem::Field(ntuple, field) => {
                let Some(ntuple) = index.ntuples.get_mut(ntuple as usize) else { continue };
                let field = ntuple.field(field).to_owned();
                ntuple.report.lost.entry(field).or_default().push(entries);
            }
        }
    }
    Ok(report(file.url(), size, index, tally, file.counters().fetched_bytes.get(), error))
}

/// Nothing in use may be in a free segment: the next writer would overwrite it.
fn check_free(index: &FileIndex, items: &[IndexItem], tally: &mut VerifyTally) {
    for free in &index.free {
        let from = items.partition_point(|item| item.offset < free.start);
        let inside = items.iter().skip(from).take_while(|item| item.offset < free.end()).count();
        let reaching = items.get(..from).and_then(<[IndexItem]>::last);
        let reaching = reaching.is_some_and(|item| item.offset.saturating_add(item.len) > free.start);
        let count = inside + usize::from(reaching);
        if count > 0 {
            let message = format!("{count} records in use are in a segment that the file lists as free");
            let place = FindingLocation::of("the list of free segments");
            tally.findings.add(VerifyFinding::damage(Some(*free), place, &Error::corrupt(message)));
        }
    }
}

/// Checks the file, the baskets inside the records of its trees, and those in other files.
fn run(
    file: &File,
    pass: &Pass<'_>,
    tally: &mut VerifyTally,
    watch: &mut ProgressWatch<'_, '_, '_>,
) -> Result<()> {
    let (header, trees) = (file.header(), pass.options.trees.is_some());
    if trees {
        pass.chosen(tally, watch)?;
    } else {
        pass.whole(header.begin, header.end, tally, watch)?;
        if pass.size > header.end {
            let range = ByteRange { start: header.end, len: pass.size - header.end };
            let message = format!("{} bytes follow the end of the file given in its header", range.len);
            tally.findings.add(VerifyFinding::note(Some(range), FindingLocation::default(), message));
        }
    }
    pass.embedded(tally, watch)?;
    for (name, items) in &pass.index.elsewhere {
        let here = |fetcher, size| Pass { items, fetcher, size, ..*pass };
        let opened = file.root().open_beside(name, &mut pass.options.step(watch.call));
        let other = match opened {
            Ok(other) => other,
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                let message = format!(
                    "{} baskets are in {name}, which cannot be opened: {}",
                    items.len(),
                    error.message()
                );
                let error = Error::new(error.kind(), message);
                here(pass.fetcher.clone(), 0).all_lost(&error, tally);
                continue;
            }
        };
        let mut here = here(other.fetcher().clone(), other.size());
        let items = here.in_file(tally);
        here.items = &items;
        here.chosen(tally, watch)?;
    }
    Ok(())
}

/// Checks the records of a file that cannot be opened, as far as each leads to the next.
fn unopened(
    url: &str,
    open: &OpenOptions,
    why: Error,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(VerifyProgress),
    call: &mut Call<'_>,
) -> Result<VerifyReport> {
    let mut tally = VerifyTally::new(options.most_findings);
    let hint = why.hint_text().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let message = format!("the file cannot be opened, so nothing in it can be read: {}{hint}", why.message());
    let range = why.offset().map(|start| ByteRange { start, len: 0 });
    tally.findings.add(VerifyFinding::damage(
        range,
        FindingLocation::default(),
        &Error::new(why.kind(), message),
    ));
    let open = open.until(options.step(call).deadline());
    let reach = open_source(url, &open, Trace::new(Instant::now()));
    let reached = pool::wait(reach, &mut options.step(call))?;
    let (identity, index) = (reached.source.identity().clone(), FileIndex::default());
    let fetcher = Fetcher::new(reached.source, open.source.counters.clone()).with_budget(pool::budget()?);
    let first = ByteRange { start: 0, len: identity.size.min(1024) };
    let first =
        pool::wait(fetcher.fetch(&[first], Deadline::after(options.longest)), &mut options.step(call))?;
    let header = FileHeader::parse(first.first().map_or(&[], |bytes| bytes));
    let mut error = None;
    if let Ok(header) = header {
        let pass = Pass { index: &index, items: &[], fetcher, size: identity.size, options };
        let mut watch = ProgressWatch { total: identity.size, done: 0, progress, call };
        error = pass.whole(header.begin, header.end, &mut tally, &mut watch).err();
    }
    if error.as_ref().is_some_and(|error| error.kind() == ErrorKind::Cancelled) {
        return Err(error.unwrap_or(why));
    }
    let fetched = open.source.counters.fetched_bytes.get();
    Ok(report(&identity.url, identity.size, index, tally, fetched, error))
}

fn report(
    url: &str,
    size: u64,
    index: FileIndex,
    tally: VerifyTally,
    fetched_bytes: u64,
    error: Option<Error>,
) -> VerifyReport {
    let mut trees: Vec<TreeReport> = index.trees.into_iter().map(|tree| tree.report).collect();
    trees.extend(index.ntuples.into_iter().map(|ntuple| ntuple.report));
    trees.iter_mut().flat_map(|tree| tree.lost.values_mut()).for_each(merge);
    let mut not_decoded = index.not_decoded;
    not_decoded.extend(tally.not_decoded);
    VerifyReport {
        url: url.to_owned(),
        size,
        checked_bytes: tally.checked_bytes,
        checksummed_bytes: tally.checksummed_bytes,
        fetched_bytes,
        records: tally.records,
        baskets: tally.baskets,
        findings: tally.findings.kept,
        damage_count: tally.findings.damage,
        note_count: tally.findings.notes,
        trees,
        not_decoded,
        error,
    }
}
