//! The records that a file refers to: those of its header, directories, objects, trees and their baskets.

use super::checked_ntuple::CheckedNtuple;
use super::checked_tree::CheckedTree;
use super::report::{FindingList, FindingLocation, TreeReport, VerifyFinding};
use super::structure::check_branches;
use sapwood_core::{ByteRange, Call, Error, ErrorKind, ParseStep, Result, Segments};
use sapwood_root::{File, ReadOptions, file_table};
use sapwood_root::{RNTUPLES, is_tree};
use sapwood_streamer::Compiler;
use sapwood_table::pool;
use sapwood_tfile::{Key, KeyEntry, PartialListing, Record, StreamerInfos, TFile};
use std::collections::HashSet;

/// Most bytes, of those read to make the index, to keep so that they are not read again.
const MOST_HELD: usize = 32 << 20;

/// A record that must be at an offset of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexItem {
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) kind: ItemKind,
}

/// What the record must be. Numbers are indices in the [`FileIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// The root directory, the list of free segments, or the streamer information.
    Bookkeeping(&'static str),
    /// The key list of a directory.
    KeyList(u32),
    /// The record of a key.
    Object(u32),
    /// A basket.
    Basket { tree: u32, branch: u32, basket: u32 },
    /// A page of an RNTuple, which is a part of a record.
    Page { ntuple: u32, page: u32 },
}

/// All records that a file refers to.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    pub(super) entries: Vec<KeyEntry>,
    pub(super) key_lists: Vec<String>,
    pub(super) trees: Vec<CheckedTree>,
    pub(super) ntuples: Vec<CheckedNtuple>,
    /// Offsets of the records of trees, including trees that cannot be read.
    pub(super) tree_records: HashSet<u64>,
    /// The items in the file, by offset.
    pub(super) items: Vec<IndexItem>,
    /// Baskets in other files, by the file names in the branches.
    pub(super) elsewhere: Vec<(String, Vec<IndexItem>)>,
    /// Free segments, by offset.
    pub(super) free: Vec<ByteRange>,
    /// Compiles the classes of objects.
    pub(super) compiler: Option<Compiler>,
    /// Objects whose content is not checked: name and reason.
    pub(super) not_decoded: Vec<(String, String)>,
    /// The bytes of the file that were read.
    pub(super) known: Segments,
    /// True if nothing else is in use: all directories, trees and RNTuples were read.
    pub(super) is_complete: bool,
}

impl FileIndex {
    /// True if there is a tree at this path, damaged or not.
    pub(super) fn has_tree(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| is_named(entry, path))
    }
}

/// Makes the index of a file.
pub(super) struct IndexBuilder<'f> {
    file: &'f File,
    tfile: TFile,
    known: Segments,
}

impl<'f> IndexBuilder<'f> {
    pub(super) fn new(file: &'f File, call: &mut Call<'_>) -> Result<IndexBuilder<'f>> {
        let found = file.root().tfile(call)?;
        let (tfile, known) = &*found;
        Ok(IndexBuilder { file, tfile: tfile.clone(), known: known.clone() })
    }

    fn parse<T>(
        &mut self,
        call: &mut Call<'_>,
        mut step: impl FnMut(&TFile, &Segments) -> Result<ParseStep<T>>,
    ) -> Result<T> {
        let tfile = &self.tfile;
        let fetcher = &self.file.fetcher();
        let parse = fetcher.satisfy(&mut self.known, call.deadline(), |known| step(tfile, known));
        pool::wait(parse, call)
    }

    /// Makes the index. Damage becomes a finding; errors are those of the source.
    pub(super) fn index(
        mut self,
        trees: Option<&[String]>,
        findings: &mut FindingList,
        call: &mut Call<'_>,
    ) -> Result<FileIndex> {
        let mut index = FileIndex { is_complete: true, ..FileIndex::default() };
        let listing = damage(self.parse(call, TFile::list_partial))?.unwrap_or_else(|error| {
            findings.add(VerifyFinding::damage(None, FindingLocation::of("/"), &error));
            index.is_complete = false;
            PartialListing::default()
        });
        let streamers = damage(self.parse(call, TFile::streamers))?;
        let streamers = streamers.unwrap_or_else(|error| {
            let range = self.of_header("the streamer information");
            findings.add(VerifyFinding::damage(range, FindingLocation::of("StreamerInfo"), &error));
            StreamerInfos::default()
        });
        if trees.is_none() {
            self.bookkeeping(&mut index, &listing, findings, call)?;
        }
        index.compiler = Some(Compiler::with_identities(streamers.clone()));
        let mut elsewhere: Vec<(String, Vec<IndexItem>)> = Vec::new();
        let mut left = self.tfile.size;
        for entry in listing.entries {
            let chosen = trees.is_none_or(|trees| trees.iter().any(|tree| is_named(&entry, tree)));
            let class = entry.key.class_name.as_str();
            let holds_tree = is_tree(class, &streamers);
            if !chosen {
                continue;
            }
            let name = format!("{};{}", entry.path, entry.key.cycle);
            if let Err(error) = self.tfile.record_range(&entry.key) {
                let range = ByteRange { start: entry.key.offset, len: u64::from(entry.key.nbytes) };
                findings.add(VerifyFinding::damage(Some(range), FindingLocation::of(name), &error));
                continue;
            }
            if RNTUPLES.contains(&class) {
                let (path, cycle) = (&entry.path, Some(entry.key.cycle));
                match damage(self.file.tree(path, cycle, call))? {
                    Ok(tree) => {
                        let mut ntuple = CheckedNtuple::new(&entry, tree);
                        read_unlisted(&mut ntuple, findings, call)?;
                        let number = u32::try_from(index.ntuples.len()).unwrap_or(u32::MAX);
                        let pages = (0..).zip(ntuple.pages()).map(|(page, range)| IndexItem {
                            offset: range.start,
                            len: range.len,
                            kind: ItemKind::Page { ntuple: number, page },
                        });
                        index.items.extend(pages);
                        index.ntuples.push(ntuple);
                    }
                    Err(error) => {
                        index.is_complete = false;
                        self.unread(&entry, name, &error, &mut index, findings);
                    }
                }
            } else if holds_tree && index.tree_records.insert(entry.key.offset) {
                // Records of a sound file do not overlap, so together they are smaller than the file.
                let Some(rest) = left.checked_sub(u64::from(entry.key.nbytes)) else {
                    let error = Error::corrupt("the records of the trees overlap");
                    findings.add(VerifyFinding::damage(
                        self.tfile.record_range(&entry.key).ok(),
                        FindingLocation::of(name),
                        &error,
                    ));
                    continue;
                };
                left = rest;
                match self.tree(&entry, &streamers, call)? {
                    Ok(tree) => {
                        let number = u32::try_from(index.trees.len()).unwrap_or(u32::MAX);
                        baskets(&tree, number, &mut index.items, &mut elsewhere);
                        index.trees.push(tree);
                        check_branches(index.trees.last_mut(), findings);
                    }
                    Err(error) => {
                        index.is_complete = false;
                        self.unread(&entry, name, &error, &mut index, findings);
                    }
                }
            }
            let number = u32::try_from(index.entries.len()).unwrap_or(u32::MAX);
            let (offset, len) = (entry.key.offset, u64::from(entry.key.nbytes));
            index.items.push(IndexItem { offset, len, kind: ItemKind::Object(number) });
            index.entries.push(entry);
        }
        index.items.sort_by_key(|item| item.offset);
        for (_, items) in &mut elsewhere {
            items.sort_by_key(|item| item.offset);
        }
        index.elsewhere = elsewhere;
        index.known =
            if self.known.byte_count() <= MOST_HELD { self.known } else { self.file.root().known().clone() };
        Ok(index)
    }

    /// Notes a tree that could not be opened.
    fn unread(
        &self,
        entry: &KeyEntry,
        name: String,
        error: &Error,
        index: &mut FileIndex,
        findings: &mut FindingList,
    ) {
        if error.kind() == ErrorKind::Unsupported {
            index.not_decoded.push((name, error.message().to_owned()));
            return;
        }
        let range = self.tfile.record_range(&entry.key).ok();
        findings.add(VerifyFinding::damage(range, FindingLocation::of(name), error));
    }

    /// Adds the records named by the header and the directories, and the free segments.
    fn bookkeeping(
        &mut self,
        index: &mut FileIndex,
        listing: &PartialListing,
        findings: &mut FindingList,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let header = self.tfile.header.clone();
        if header.end > self.tfile.size {
            let message =
                format!("the file ends at byte {}, but its header says {}", self.tfile.size, header.end);
            let range = ByteRange { start: self.tfile.size, len: header.end - self.tfile.size };
            let error = Error::new(ErrorKind::Truncated, message);
            findings.add(VerifyFinding::damage(Some(range), FindingLocation::default(), &error));
        }
        index.is_complete &= listing.broken.is_empty();
        for (path, error) in &listing.broken {
            let range = error.offset().map(|start| ByteRange { start, len: 0 });
            findings.add(VerifyFinding::damage(range, FindingLocation::of(format!("{path}/")), error));
        }
        for (number, (path, range)) in listing.key_lists.iter().enumerate() {
            let kind = ItemKind::KeyList(u32::try_from(number).unwrap_or(u32::MAX));
            index.items.push(IndexItem { offset: range.start, len: range.len, kind });
            index.key_lists.push(path.clone());
        }
        let free = damage(self.parse(call, TFile::free_segments))?;
        index.free = free.unwrap_or_else(|error| {
            let range = self.of_header("the list of free segments");
            findings.add(VerifyFinding::damage(
                range,
                FindingLocation::of("the list of free segments"),
                &error,
            ));
            Vec::new()
        });
        index.free.sort_by_key(|range| range.start);
        for name in ["the list of free segments", "the streamer information"] {
            if let Some(range) = self.of_header(name) {
                let kind = ItemKind::Bookkeeping(name);
                index.items.push(IndexItem { offset: range.start, len: range.len, kind });
            }
        }
        Ok(())
    }

    /// The range of a record named by the header, if it is inside the file.
    fn of_header(&self, name: &str) -> Option<ByteRange> {
        let header = &self.tfile.header;
        let (start, len) = match name {
            "the streamer information" => (header.seek_info, u64::from(header.nbytes_info)),
            _ => (header.seek_free, u64::from(header.nbytes_free)),
        };
        let range = ByteRange::new(start, len).ok()?;
        (start > header.begin && len > 0 && range.end() <= self.tfile.size).then_some(range)
    }

    /// A tree, or the reason why its record cannot be parsed.
    fn tree(
        &mut self,
        entry: &KeyEntry,
        streamers: &StreamerInfos,
        call: &mut Call<'_>,
    ) -> Result<Result<CheckedTree>> {
        let key: &Key = &entry.key;
        let record = match damage(self.parse(call, |tfile, known| tfile.record(known, key)))? {
            Ok(record) => record,
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.parsed(entry, &record, streamers).map_err(|error| record.locate(&entry.path, &error)))
    }

    fn parsed(&self, entry: &KeyEntry, record: &Record, streamers: &StreamerInfos) -> Result<CheckedTree> {
        let class = entry.key.class_name.as_str();
        // No bound, so that baskets beyond the end of the file are reported one by one, not with their whole branch.
        let (payload, len, size) = (&record.payload, record.key_len, u64::MAX);
        let meta = sapwood_ttree::TTree::parse(class, payload, len, size, streamers)?;
        let baskets: usize = meta.stored_branches().map(|branch| branch.baskets.len()).sum();
        let report = TreeReport {
            path: entry.path.clone(),
            cycle: entry.key.cycle,
            entries: meta.entries,
            branches: meta.branches.len(),
            baskets: baskets as u64,
            ..TreeReport::default()
        };
        let table = file_table(self.file.root(), &entry.path, meta, streamers);
        Ok(CheckedTree { table, record: record.offset, report })
    }
}

/// Reads the fields of an RNTuple whose pages cannot be checked one by one, cluster by cluster.
fn read_unlisted(ntuple: &mut CheckedNtuple, findings: &mut FindingList, call: &mut Call<'_>) -> Result<()> {
    let starts = ntuple.tree.cluster_starts().to_vec();
    for field in std::mem::take(&mut ntuple.unlisted) {
        let name = ntuple.field(field).to_owned();
        for (start, end) in starts.iter().zip(starts.iter().skip(1)) {
            let entries = *start..*end;
            let read = ntuple.tree.read(&[field], entries.clone(), &ReadOptions::default(), call);
            let Err(error) = damage(read)? else { continue };
            if error.kind() == ErrorKind::Unsupported {
                ntuple.report.not_decoded.push((name.clone(), error.message().to_owned()));
                break;
            }
            let range = error.offset().map(|start| ByteRange { start, len: 0 });
            let location =
                FindingLocation { branch: Some(name.clone()), ..FindingLocation::of(ntuple.name()) };
            let mut finding = VerifyFinding::damage(range, location, &error);
            finding.entries = Some(entries.clone());
            findings.add(finding);
            ntuple.report.lost.entry(name.clone()).or_default().push(entries);
        }
    }
    Ok(())
}

/// Adds the baskets of a tree.
fn baskets(
    tree: &CheckedTree,
    number: u32,
    items: &mut Vec<IndexItem>,
    elsewhere: &mut Vec<(String, Vec<IndexItem>)>,
) {
    for (branch, described) in tree.table.tree().stored_branches().enumerate() {
        let of_file = match described.file_name.as_str() {
            "" => &mut *items,
            name => {
                let position = elsewhere.iter().position(|(known, _)| known == name);
                let position = position.unwrap_or_else(|| {
                    elsewhere.push((name.to_owned(), Vec::new()));
                    elsewhere.len() - 1
                });
                elsewhere.get_mut(position).map_or(&mut *items, |(_, items)| items)
            }
        };
        let baskets = described.baskets.iter().enumerate();
        for (basket, found) in baskets.filter(|(_, found)| found.embedded.is_none()) {
            let (offset, len) = (found.offset, found.len);
            let [branch, basket] = [branch, basket].map(|place| u32::try_from(place).unwrap_or(u32::MAX));
            of_file.push(IndexItem { offset, len, kind: ItemKind::Basket { tree: number, branch, basket } });
        }
    }
}

/// True if a path names an entry, with or without its cycle.
fn is_named(entry: &KeyEntry, path: &str) -> bool {
    path == entry.path || path == format!("{};{}", entry.path, entry.key.cycle)
}

/// Separates damage of the file, which is a finding, from errors of the source, which end the verification.
pub(super) fn damage<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) if is_damage(error.kind()) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

fn is_damage(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Corrupt
            | ErrorKind::Truncated
            | ErrorKind::Checksum
            | ErrorKind::Unsupported
            | ErrorKind::NotRoot
            | ErrorKind::Limit
    )
}
