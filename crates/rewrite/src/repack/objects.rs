//! Objects that are not trees: copied as bytes, or added if they are histograms in several inputs.

use super::inputs::Inputs;
use super::options::RepackReport;
use super::output::OutputFile;
use bytes::Bytes;
use sapwood_codec::with_encoder;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_fetch::{Ahead, Job};
use sapwood_root::{File, KeyEntry};
use sapwood_streamer::{add_histogram, is_summable};
use sapwood_table::pool::read_ahead;
use sapwood_tfile::write::NewKey;
use sapwood_tfile::{Key, Record};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Size of the objects that are fetched together.
const OBJECTS: u64 = 8 << 20;

/// A histogram to which those of other inputs are added.
struct HistogramSum<'a> {
    entry: &'a KeyEntry,
    key: Bytes,
    /// The histogram itself, uncompressed.
    payload: Vec<u8>,
    /// Number of inputs in the sum.
    added: usize,
    /// Why an input could not be added.
    refused: Option<String>,
}

/// Copies objects that are not trees, each from the first input that has it. Histograms are summed over all inputs.
///
/// # Errors
/// Errors of reading the inputs, and of the sink; `Corrupt` for broken records.
pub fn copy_objects(
    objects: &[(KeyEntry, Vec<usize>)],
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    let mut of_input: Vec<Vec<&KeyEntry>> = vec![Vec::new(); inputs.len()];
    let mut sums_of: Vec<Vec<&str>> = vec![Vec::new(); inputs.len()];
    for (entry, sources) in objects {
        if let Some(first) = sources.first().and_then(|first| of_input.get_mut(*first)) {
            first.push(entry);
        }
        let several = sources.get(1..).filter(|others| !others.is_empty());
        match several {
            Some(others) if is_summable(&entry.key.class_name) => {
                for &other in others {
                    sums_of.get_mut(other).into_iter().for_each(|sums| sums.push(&entry.path));
                }
            }
            Some(_) => {
                let (path, class, count) = (&entry.path, &entry.key.class_name, sources.len());
                report.notes.push(format!("'{path}' ({class}) is in {count} files; only the first was kept"));
            }
            None => {}
        }
    }
    let summed: HashSet<&str> = sums_of.iter().flatten().copied().collect();
    let mut sums: HashMap<&str, HistogramSum<'_>> = HashMap::new();
    for (index, entries) in of_input.iter().enumerate() {
        let wanted = sums_of.get(index).map(Vec::as_slice).unwrap_or_default();
        if entries.is_empty() && wanted.is_empty() {
            continue;
        }
        let file = inputs.get(index, call)?;
        if !wanted.is_empty() {
            add_all(&file, wanted, &mut sums, call)?;
        }
        each_record(&file, entries, call, |entry, record| {
            let (key, payload) = parts(entry, &record)?;
            if summed.contains(entry.path.as_str()) {
                let payload = Record::decode(&entry.key, &record)?.payload.to_vec();
                sums.insert(&entry.path, HistogramSum { entry, key, payload, added: 1, refused: None });
                return Ok(());
            }
            report.objects += 1;
            put(entry, &key, payload, output)
        })?;
    }
    let mut sums: Vec<HistogramSum<'_>> = sums.into_values().collect();
    sums.sort_by_key(|sum| (sum.entry.key.offset, &sum.entry.path));
    for sum in sums {
        if let Some(why) = &sum.refused {
            let path = &sum.entry.path;
            report.notes.push(format!("'{path}' is not the sum over all files: {why}"));
        }
        report.sums += u64::from(sum.added > 1);
        let mut payload = Vec::new();
        let compression = output.file.compression();
        let smaller = with_encoder(|encoder| encoder.compress(&sum.payload, compression, &mut payload))?;
        let payload = if smaller { payload } else { sum.payload };
        put(sum.entry, &sum.key, payload.into(), output)?;
    }
    Ok(())
}

/// Copies the process ids, numbered as in the new file.
///
/// # Errors
/// Errors of reading the inputs, and of the sink; `Corrupt` for broken records.
pub fn copy_process_ids(
    process_ids: &[(usize, KeyEntry)],
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    call: &mut Call<'_>,
) -> Result<()> {
    for (number, (input, entry)) in process_ids.iter().enumerate() {
        let file = inputs.get(*input, call)?;
        each_record(&file, &[entry], call, |entry, record| {
            let (_, payload) = parts(entry, &record)?;
            let (class, title) = (&entry.key.class_name, &entry.key.title);
            let key = NewKey::new(class, &format!("ProcessID{number}"), title, output.file.wide());
            let top = output.file.top();
            output.file.record(top, &key, payload, entry.key.object_len as usize)?;
            output.flush()
        })?;
    }
    Ok(())
}

/// Adds the histograms of an input to the sums.
fn add_all(
    file: &File,
    paths: &[&str],
    sums: &mut HashMap<&str, HistogramSum<'_>>,
    call: &mut Call<'_>,
) -> Result<()> {
    let keys = file.keys(&mut call.step())?;
    let mut newest: HashMap<&str, &KeyEntry> = HashMap::new();
    for entry in &keys {
        let found = newest.entry(&entry.path).or_insert(entry);
        if entry.key.cycle > found.key.cycle {
            *found = entry;
        }
    }
    let entries: Vec<&KeyEntry> = paths.iter().filter_map(|path| newest.get(path).copied()).collect();
    each_record(file, &entries, call, |entry, record| {
        let Some(sum) = sums.get_mut(entry.path.as_str()) else { return Ok(()) };
        let class = &sum.entry.key.class_name;
        let refused = if *class == entry.key.class_name {
            let other = Record::decode(&entry.key, &record)?;
            add_histogram(class, &mut sum.payload, sum.entry.key.key_len, &other)?
        } else {
            Some(format!("it is a {class} in one file and a {} in another", entry.key.class_name))
        };
        match refused {
            None => sum.added += 1,
            Some(why) => sum.refused = Some(why),
        }
        Ok(())
    })
}

/// Fetches the records of some keys, and calls `work` with each.
fn each_record<'e>(
    file: &File,
    entries: &[&'e KeyEntry],
    call: &mut Call<'_>,
    mut work: impl FnMut(&'e KeyEntry, Bytes) -> Result<()>,
) -> Result<()> {
    let file = file.records(&mut call.step())?;
    let mut jobs: Vec<Job<Range<usize>>> = Vec::new();
    let mut bytes = u64::MAX;
    for (index, entry) in entries.iter().enumerate() {
        let range = ByteRange::new(entry.key.offset, u64::from(entry.key.nbytes))?;
        if bytes.saturating_add(range.len) > OBJECTS {
            jobs.push(Job { wanted: Vec::new(), tag: index..index });
            bytes = 0;
        }
        bytes += range.len;
        if let Some(job) = jobs.last_mut() {
            job.wanted.push((0, range));
            job.tag.end = index + 1;
        }
    }
    let ahead = Ahead { jobs: 2, bytes: 2 * OBJECTS };
    let fetcher = file.fetcher().clone();
    let mut ahead = read_ahead(jobs, move |_| fetcher.clone(), ahead)?;
    while let Some(answer) = ahead.next(&mut call.step()) {
        let (range, records) = answer?;
        for (entry, record) in entries.get(range).unwrap_or_default().iter().zip(records) {
            work(entry, record).map_err(|error| error.url(file.url()))?;
        }
    }
    Ok(())
}

/// The key and the payload of a record.
fn parts(entry: &KeyEntry, record: &Bytes) -> Result<(Bytes, Bytes)> {
    let own = Key::parse_at(record, entry.key.offset)?;
    if (own.nbytes, own.key_len) != (entry.key.nbytes, entry.key.key_len) {
        let message = format!("the key of '{}' disagrees with the record that it names", entry.path);
        return Err(Error::corrupt(message).at(entry.key.offset));
    }
    let key_len = own.key_len as usize;
    Ok((record.slice(..key_len), record.slice(key_len..)))
}

/// Writes an object with its old key.
fn put(entry: &KeyEntry, key: &[u8], payload: Bytes, output: &mut OutputFile) -> Result<()> {
    // The name of an object may contain slashes, so its directory is the path before the name.
    let parent = entry.path.strip_suffix(&entry.key.name).unwrap_or("");
    let directory = output.directory(parent, None)?;
    output.file.copied_and_listed(directory, key, payload, 0)?;
    output.flush()
}
