//! Objects at another split level: the bytes of their branches in an input become those of other branches.

use super::baskets::{
    BasketEncoding, ClusterBorders, CodecTimes, OutputBasket, encode_basket, parse_entries,
};
use super::entry_ranges::EntryRanges;
use super::input::InputTree;
use super::output_branch::OutputBranch;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_streamer::StreamInput;
use sapwood_streamer::parts::{Joiner, ObjectCutter, PartBytes, class_of_clones};
use sapwood_table::pool::wait;
use sapwood_ttree::{BranchKind, Entries, ObjectBranches, References, clones_members, is_whole_clones};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::Range;

/// `fID` of a split object (root-io-spec TBranchElement §4).
const SPLIT: i32 = -2;
/// `fType` of a split `TClonesArray`.
const CLONES: i32 = 3;

/// An object of the new tree whose split level changes.
#[derive(Debug)]
pub(super) struct OutputObject {
    /// The path of its top-level branch.
    pub path: String,
    /// Its branches in the new tree.
    pub branches: ObjectBranches,
    /// The index of the first of them in the new tree.
    pub first: usize,
    /// The baskets of the open input whose entries are not converted yet, by branch: the first entry of each, and its
    /// entries.
    waiting: Vec<VecDeque<(u64, Entries)>>,
    /// The next entry of the open input.
    next: u64,
}

/// The same object in an input.
#[derive(Debug)]
pub(super) struct InputObject {
    /// Its branches.
    branches: ObjectBranches,
    /// Their indices in the input.
    pub places: Vec<usize>,
}

/// The objects of an input whose split level changes to `level`. The notes say why others keep their branches.
pub(super) fn objects(
    input: &InputTree,
    wanted: &[bool],
    level: i32,
    notes: &mut Vec<String>,
) -> Vec<OutputObject> {
    let mut found = Vec::new();
    let names: HashSet<&str> = input.branches().map(|branch| branch.name.as_str()).collect();
    for (top, branch) in input.record().branches.iter().enumerate() {
        let is_object = matches!(branch.kind, BranchKind::Element(_) | BranchKind::Object { .. });
        // ROOT splits classes without members, too: into nothing.
        let is_empty = branch.split_level > 0 && branch.children.is_empty();
        let is_empty =
            is_empty && matches!(&branch.kind, BranchKind::Element(element) if element.id == SPLIT);
        if branch.parent.is_some() || !is_object || is_empty || wanted.get(top) != Some(&true) {
            continue;
        }
        let changed = InputObject::new(input, top).and_then(|own| {
            let branches = input.object(top, level)?;
            if own.branches.is_like(&branches) {
                return Ok(None);
            }
            if own.places.iter().any(|place| wanted.get(*place) != Some(&true)) {
                return Err("only some of its branches are written".to_owned());
            }
            let old: HashSet<&str> = own.branches.names().collect();
            if let Some(name) = branches.names().find(|name| names.contains(name) && !old.contains(name)) {
                return Err(format!("there is another branch '{name}'"));
            }
            Ok(Some(branches))
        });
        match changed {
            Ok(None) => {}
            Ok(Some(branches)) => {
                found.push(OutputObject {
                    path: branch.path.clone(),
                    branches,
                    first: 0,
                    waiting: Vec::new(),
                    next: 0,
                });
            }
            Err(why) => notes.push(format!("'{}' keeps its split level: {why}", branch.path)),
        }
    }
    // Two objects may have members of one name.
    let mut own = HashSet::new();
    found.retain(|object| {
        let is_free = object.branches.names().all(|name| own.insert(name.to_owned()));
        if !is_free {
            let why = "another object has members of the same names";
            notes.push(format!("'{}' keeps its split level: {why}", object.path));
        }
        is_free
    });
    found
}

impl InputObject {
    /// The object of a top-level branch.
    ///
    /// # Errors
    /// Why it cannot be converted.
    pub(super) fn new(input: &InputTree, top: usize) -> std::result::Result<InputObject, String> {
        let level = input.record().branches.get(top).map_or(0, |branch| match branch.children.as_slice() {
            [] => 0,
            _ => branch.split_level,
        });
        let branches = input.object(top, level)?;
        let places = branches.find(input.record(), top);
        let places = places.ok_or("its branches are not those of its split level")?;
        Ok(InputObject { branches, places })
    }

    /// The object whose top-level branch has a path.
    ///
    /// # Errors
    /// Why it cannot be converted.
    pub(super) fn at(input: &InputTree, path: &str) -> std::result::Result<InputObject, String> {
        let top = input.place(path).ok_or("there is no such branch in this file")?;
        InputObject::new(input, top)
    }

    /// True if its entries may name process ids by number.
    pub(super) fn names_process_ids(&self) -> bool {
        self.branches.names_process_ids()
    }

    /// Its branches that have entries.
    pub(super) fn with_entries(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.places.iter().enumerate();
        places.filter(|(place, _)| self.branches.has_entries(*place)).map(|(_, branch)| *branch)
    }
}

impl OutputObject {
    /// Begins an input that has the object, whose entries it counts from `first`.
    pub(super) fn begin(&mut self, own: &InputObject, first: u64) {
        self.waiting = own.places.iter().map(|_| VecDeque::new()).collect();
        self.next = first;
    }

    /// Adds the entries of a basket of one of the input's branches.
    pub(super) fn add(
        &mut self,
        own: &InputObject,
        branch: usize,
        first: u64,
        entries: Entries,
    ) -> Result<()> {
        let place = own.places.iter().position(|place| *place == branch);
        let waiting = place.and_then(|place| self.waiting.get_mut(place));
        waiting.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))?.push_back((first, entries));
        Ok(())
    }

    /// Converts the entries that all branches of the input have. Full baskets go to `ready`, with the place of their branch
    /// among those of the object.
    pub(super) fn convert(
        &mut self,
        own: &InputObject,
        input: &InputTree,
        outputs: &mut [OutputBranch],
        (chosen, borders, times): (&EntryRanges, &ClusterBorders, &CodecTimes),
        ready: &mut Vec<(usize, OutputBasket)>,
    ) -> Result<()> {
        // What a `TClonesArray` holds can change from entry to entry.
        let check = |whole: &[u8]| match own.branches.has_clones() {
            true => own.branches.check(input.compiler(), whole),
            false => Ok(()),
        };
        let (places, entries) = self.cut(own, input, chosen, check)?;
        for (place, (bytes, output)) in places.into_iter().zip(outputs).enumerate() {
            if entries == 0 || !self.branches.has_entries(place) {
                continue;
            }
            output.count(bytes.maximum);
            for cut in output.add(&converted(bytes)?, entries, borders)? {
                let (base, compression) = (output.base(), output.compression);
                ready.push((place, encode_basket(cut, base, compression, BasketEncoding::Root, times)?));
            }
        }
        Ok(())
    }

    /// The bytes of the new branches for the entries that all branches of the input have, and the number of these entries.
    /// Each whole object is given to `check`.
    fn cut(
        &mut self,
        own: &InputObject,
        input: &InputTree,
        chosen: &EntryRanges,
        check: impl Fn(&[u8]) -> Result<()>,
    ) -> Result<(Vec<PartBytes>, usize)> {
        let compiler = input.compiler();
        let OutputObject { branches, waiting, next, .. } = self;
        let mut joiner = Joiner::new(compiler, own.branches.parts());
        let mut cut = ObjectCutter::new(compiler, branches.parts(), branches.len());
        let (mut whole, mut entries) = (Vec::new(), 0_usize);
        while let Some(range) = common(own, waiting, *next, chosen) {
            for entry in range.clone() {
                let parts: Vec<&[u8]> = waiting.iter().map(|baskets| bytes_of(baskets, entry)).collect();
                whole.clear();
                joiner.join(&parts, &mut whole)?;
                check(&whole)?;
                cut.add(StreamInput::new(&whole, 0..whole.len(), 0)?)?;
                entries += 1;
            }
            *next = range.end;
        }
        Ok((cut.finish(), entries))
    }
}

/// Converts the first entries of objects, and keeps the objects with which this works: a class may have a streamer of its
/// own, which the descriptions do not show. The notes say why others keep their branches.
pub(super) fn convertible(
    objects: Vec<OutputObject>,
    input: &mut InputTree,
    notes: &mut Vec<String>,
    call: &mut Call<'_>,
) -> Result<Vec<OutputObject>> {
    let own: Vec<_> = objects.iter().filter_map(|object| InputObject::at(input, &object.path).ok()).collect();
    let branches: Vec<usize> = own.iter().flat_map(InputObject::with_entries).collect();
    let mut baskets = first_baskets(input, &branches, call)?.into_iter().peekable();
    let mut found = Vec::with_capacity(objects.len());
    for (mut object, own) in objects.into_iter().zip(&own) {
        let mut tried = Ok(());
        object.begin(own, own.with_entries().next().map_or(0, |branch| input.extent(branch).0));
        for branch in own.with_entries() {
            let Some((_, first, entries)) = baskets.next_if(|(of, ..)| *of == branch) else { continue };
            tried = tried.and_then(|()| object.add(own, branch, first, entries?));
        }
        let all = EntryRanges::new(None, input.record().entries);
        let check = |whole: &[u8]| own.branches.check(input.compiler(), whole);
        match tried.and_then(|()| object.cut(own, input, &all, check)) {
            Ok(_) => found.push(object),
            Err(error) => notes.push(format!("'{}' keeps its split level: {}", object.path, error.message())),
        }
    }
    Ok(found)
}

/// A `TClonesArray` in an object: where it is.
struct ClonesPlace {
    /// The top-level branch of the object.
    top: usize,
    /// The branch that holds it.
    branch: usize,
    /// The name of the member; none if it is itself the object.
    member: String,
    /// The class of its items, if the branch says so.
    items: Option<String>,
}

/// Finds out what the items of each `TClonesArray` are, which only entries say where it is not split. One without entries
/// keeps its branch.
pub(super) fn find_items(input: &mut InputTree, call: &mut Call<'_>) -> Result<()> {
    let mut unknown = Vec::new();
    for place in clones_places(input) {
        match place.items {
            Some(class) => input.set_items(place.top, place.member, class),
            None => unknown.push(place),
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let branches: BTreeSet<usize> = unknown.iter().map(|place| place.branch).collect();
    let branches: Vec<usize> = branches.into_iter().collect();
    for (branch, _, entries) in first_baskets(input, &branches, call)? {
        let Ok(entries) = entries else { continue };
        for place in unknown.iter().filter(|place| place.branch == branch) {
            if let Ok(class) = class_in(input, place, entries.entry(0)) {
                input.set_items(place.top, place.member.clone(), class);
            }
        }
    }
    Ok(())
}

/// Each `TClonesArray` that is an object of the tree, or a member of one.
fn clones_places(input: &InputTree) -> Vec<ClonesPlace> {
    let mut found = Vec::new();
    for (top, branch) in input.record().branches.iter().enumerate().filter(|(_, one)| one.parent.is_none()) {
        if is_whole_clones(branch) {
            found.push(ClonesPlace { top, branch: top, member: String::new(), items: None });
        }
        for (index, member) in clones_members(branch, input.compiler()) {
            let of_member = branch.children.iter().find_map(|child| {
                let BranchKind::Element(element) = &input.branch(*child)?.kind else { return None };
                (element.id == index).then_some((*child, element))
            });
            let (branch, items) = match of_member {
                Some((child, element)) if element.element_type == CLONES => {
                    (child, Some(element.clones_name.clone()))
                }
                Some((child, _)) => (child, None),
                None => (top, None),
            };
            found.push(ClonesPlace { top, branch, member, items });
        }
    }
    found
}

/// The class of the items of a `TClonesArray`, as an entry says.
fn class_in(input: &InputTree, place: &ClonesPlace, entry: &[u8]) -> Result<String> {
    if place.member.is_empty() || place.branch != place.top {
        return class_of_clones(entry, place.member.is_empty());
    }
    // At level 1, each member has its own bytes.
    let branches = input.object(place.top, 1).map_err(Error::unsupported)?;
    let is_member = |name: &str| name.rsplit('.').next() == Some(&place.member);
    let own = branches.names().position(is_member);
    let mut cut = ObjectCutter::new(input.compiler(), branches.parts(), branches.len());
    cut.add(StreamInput::new(entry, 0..entry.len(), 0)?)?;
    let bytes = own.and_then(|own| cut.finish().into_iter().nth(own));
    class_of_clones(&bytes.unwrap_or_default().data, false)
}

/// A branch, the first entry of its first basket, and its entries.
type FirstBasket = (usize, u64, Result<Entries>);

/// The first baskets of some branches, as far as they are in the file and not too large together.
fn first_baskets(input: &mut InputTree, branches: &[usize], call: &mut Call<'_>) -> Result<Vec<FirstBasket>> {
    input.find_baskets(branches.iter().copied(), &mut call.step())?;
    let mut bytes = 0;
    let mut baskets = Vec::new();
    for &branch in branches {
        let is_here = input.branch(branch).is_some_and(|branch| branch.file_name.is_empty());
        if let Some(basket) = input.baskets(branch).first().filter(|_| is_here) {
            bytes += basket.len;
            baskets.extend((bytes <= MOST_TRIED).then_some((branch, basket)));
        }
    }
    let ranges = baskets.iter().filter(|(_, basket)| basket.embedded.is_none());
    let ranges =
        ranges.map(|(_, basket)| ByteRange { start: basket.offset, len: basket.len }).collect::<Vec<_>>();
    let fetcher = input.file.fetcher().clone();
    let mut fetched = wait(fetcher.fetch(&ranges, call.deadline()), call)?.into_iter();
    let parsed = baskets.into_iter().map(|(branch, basket)| {
        let bytes = basket.embedded.clone().or_else(|| fetched.next());
        let entries = bytes
            .ok_or_else(|| Error::corrupt("a basket was not fetched"))
            .and_then(|bytes| parse_entries(basket, &bytes, &References::None, &CodecTimes::default()));
        (branch, basket.first_entry, entries)
    });
    Ok(parsed.collect())
}

/// Most bytes of baskets whose entries are converted in advance.
const MOST_TRIED: u64 = 64 << 20;

/// The next selected entries, from `next` on, that all branches of the input have; `None` if baskets are missing.
fn common(
    own: &InputObject,
    waiting: &mut [VecDeque<(u64, Entries)>],
    next: u64,
    chosen: &EntryRanges,
) -> Option<Range<u64>> {
    let range = chosen.within(next..u64::MAX).next()?;
    let mut end = range.end;
    for (place, baskets) in waiting.iter_mut().enumerate() {
        if !own.branches.has_entries(place) {
            continue;
        }
        let ends = |(first, entries): &(u64, Entries)| first + entries.len() as u64;
        while baskets.front().is_some_and(|basket| ends(basket) <= range.start) {
            baskets.pop_front();
        }
        let basket = baskets.front().filter(|(first, _)| *first <= range.start)?;
        end = end.min(ends(basket));
    }
    Some(range.start..end)
}

/// The bytes of an entry in the first basket; none if there is no basket.
fn bytes_of(baskets: &VecDeque<(u64, Entries)>, entry: u64) -> &[u8] {
    let at = |first: u64| usize::try_from(entry - first).unwrap_or(usize::MAX - 1);
    baskets.front().map_or(&[], |(first, entries)| entries.entry(at(*first)))
}

/// The entries of a new branch.
fn converted(bytes: PartBytes) -> Result<Entries> {
    let origins = bytes.starts.iter().take(bytes.starts.len().saturating_sub(1)).copied().collect();
    Entries::new(bytes.data, bytes.starts, origins, &References::None)
}
