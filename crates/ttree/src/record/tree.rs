//! `TTree` and the classes derived from it (root-io-spec TTree).

use super::classes::DescribedClasses;
use super::clusters::Clusters;
use super::number::{io_features, number, skip_array, skip_attributes};
use super::parser::Parser;
use super::positions::{NumberPosition, PointerArray, TreeOutline, TreePositions};
use super::resolve::ResolvedBranches;
use crate::meta::{Friend, TTree};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::{Cursor, ObjectHeader, Pointer, StreamerInfos, Walker};

/// The newest known class version of `TTree`.
const NEWEST: i16 = 20;
/// More levels of derived classes come from a damaged file.
const MAX_LEVELS: usize = 8;

/// The members of the tree itself, before references are resolved.
#[derive(Default)]
struct TreeMembers {
    entries: u64,
    total_bytes: u64,
    zip_bytes: u64,
    clusters: Clusters,
    branches: Vec<usize>,
    aliases: Vec<(String, String)>,
    friends: Vec<Friend>,
    /// The branch of `fBranchRef`.
    reference: Option<usize>,
    at: TreePositions,
}

/// A record, and the context needed to read it.
struct TreePayload<'a> {
    class_name: &'a str,
    payload: &'a Bytes,
    /// Its start in the payload.
    start: usize,
    key_len: u32,
    file_size: u64,
    streamers: &'a StreamerInfos,
}

impl TTree {
    /// Parses the payload of a tree's record (decompressed).
    ///
    /// `key_len` is the length of the key before it: references inside the payload count from the key.
    /// `file_size` bounds every offset. `streamers` describe the few class versions whose layout is not built
    /// in.
    ///
    /// A branch that cannot be read is kept, with the reason in [`Branch::broken`](crate::Branch::broken);
    /// the others stay readable.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Unsupported`, with the offset inside the payload.
    pub fn parse(
        class_name: &str,
        payload: &Bytes,
        key_len: u32,
        file_size: u64,
        streamers: &StreamerInfos,
    ) -> Result<TTree> {
        let record = TreePayload { class_name, payload, start: 0, key_len, file_size, streamers };
        record.parse(Walker::new(payload, key_len)).map(|(tree, _)| tree)
    }
}

impl TreeOutline {
    /// Parses the payload of a tree's record with the positions of its members; the arguments are those of
    /// [`TTree::parse`]. A broken branch is an error here, except for one that lacks leaves: its baskets are
    /// kept.
    ///
    /// # Errors
    /// Those of [`TTree::parse`]; `Unsupported` if the record holds objects whose layout is not known.
    pub fn parse(
        class_name: &str,
        payload: &Bytes,
        key_len: u32,
        file_size: u64,
        streamers: &StreamerInfos,
    ) -> Result<(TTree, TreeOutline)> {
        let record = TreePayload { class_name, payload, start: 0, key_len, file_size, streamers };
        record.outlined()
    }

    /// The outline of a tree's record that starts at `start` in the payload, after this one.
    pub(crate) fn of_grafted(
        class_name: &str,
        payload: &Bytes,
        start: usize,
        key_len: u32,
        streamers: &StreamerInfos,
    ) -> Result<TreeOutline> {
        let record = TreePayload { class_name, payload, start, key_len, file_size: u64::MAX, streamers };
        record.outlined().map(|(_, outline)| outline)
    }
}

impl<'a> TreePayload<'a> {
    fn outlined(&self) -> Result<(TTree, TreeOutline)> {
        let (tree, outline) = self.parse(Walker::new(self.payload, self.key_len).outlining())?;
        Ok((tree, outline.ok_or_else(|| Error::corrupt("the record has no outline"))?))
    }

    fn parse(&self, mut walker: Walker<'a>) -> Result<(TTree, Option<TreeOutline>)> {
        let mut parser = Parser::new(self.payload, self.file_size, self.streamers);
        walker.cursor.seek(self.start)?;
        let derived = derived_headers(&mut walker, self.class_name)?;
        let header = walker.open()?;
        let named = walker.cursor.tnamed()?;
        let members = match header.version {
            ..=0 => Err(walker.cursor.corrupt(format!("a tree has class version {}", header.version))),
            1..=4 => first_layout(&mut parser, &mut walker, header.version),
            version => members(&mut parser, &mut walker, version),
        };
        let members = members.map_err(|error| {
            if header.version <= NEWEST {
                return error;
            }
            Error::unsupported(format!("unknown class version {} of TTree", header.version)).caused_by(error)
        })?;
        let outline = if walker.is_outlining() {
            walker.close(&header, "TTree")?;
            self.derived_members(&mut walker, &derived)?;
            walker.finish(self.class_name)?
        } else {
            None
        };
        let ResolvedBranches { branches, outlines, hidden } =
            parser.resolve(&members.branches, members.reference);
        let baskets: usize = branches.iter().map(|branch| branch.baskets.len()).sum();
        let tree = TTree {
            class_name: self.class_name.to_owned(),
            name: named.name,
            title: named.title,
            entries: members.entries,
            total_bytes: members.total_bytes,
            zip_bytes: members.zip_bytes,
            cluster_starts: members.clusters.starts(members.entries, baskets),
            aliases: members.aliases,
            friends: members.friends,
            branches,
            hidden,
        };
        let outline = outline.map(|outline| TreeOutline {
            payload: self.payload.clone(),
            len: self.payload.len(),
            class_name: self.class_name.to_owned(),
            key_len: self.key_len,
            outline,
            tree: members.at,
            grafted: Vec::new(),
            branches: outlines,
        });
        Ok((tree, outline))
    }

    /// Walks over the members of classes derived from `TTree`, the innermost first.
    fn derived_members(&self, walker: &mut Walker<'_>, derived: &[(&str, ObjectHeader)]) -> Result<()> {
        let mut below = "TTree";
        for (class, header) in derived.iter().rev() {
            match *class {
                "TNtuple" | "TNtupleD" => walker.cursor.skip(4)?, // fNvar
                class => {
                    let info = self.streamers.select(class, header.version, None);
                    let info = info
                        .ok_or_else(|| Error::unsupported(format!("the class {class} is not described")))?;
                    DescribedClasses::new(self.streamers).members(walker, info, Some(below))?;
                }
            }
            walker.close(header, class)?;
            below = class;
        }
        Ok(())
    }
}

/// Enters the classes derived from `TTree`; returns their names and headers, the outermost first.
///
/// A derived class starts with its own header, followed by that of its base class. `TTree` is the class whose
/// first base is `TNamed`, which starts with `TObject`, the only class that never has a byte count. A derived
/// class without members may lack a header.
fn derived_headers<'c>(walker: &mut Walker<'_>, class_name: &'c str) -> Result<Vec<(&'c str, ObjectHeader)>> {
    let mut derived = Vec::new();
    if class_name == "TTree" {
        return Ok(derived);
    }
    for level in 0..MAX_LEVELS {
        let mut ahead = walker.cursor.clone();
        ahead.read_header()?;
        ahead.read_header()?;
        let inner = ahead.read_header()?;
        if inner.byte_count.is_none() && inner.version == 1 {
            return Ok(derived);
        }
        derived.push((if level == 0 { class_name } else { "" }, walker.open()?));
    }
    Err(Error::unsupported(format!("the class {class_name} does not begin with TTree")))
}

/// The members of class version 5 and later (root-io-spec TTree §2, §13).
fn members<'a>(parser: &mut Parser<'a>, walker: &mut Walker<'a>, version: i16) -> Result<TreeMembers> {
    let long = version > 12;
    let mut members = TreeMembers::default();
    let at = &mut members.at;
    let cursor = &mut walker.cursor;
    for len in [6, 4, 8] {
        skip_attributes(cursor, len)?;
    }
    let width = if long { NumberPosition::I64 } else { NumberPosition::F64 };
    (members.entries, at.entries) = number(cursor, width)?;
    (members.total_bytes, at.total_bytes) = number(cursor, width)?;
    (members.zip_bytes, at.zip_bytes) = number(cursor, width)?;
    at.saved_bytes = Some(width(cursor.position()));
    cursor.skip(8)?;
    if version > 17 {
        (_, at.flushed_bytes) = number(cursor, NumberPosition::I64)?;
    }
    cursor.skip(if has_weight(version, cursor) { 8 } else { 0 })?;
    cursor.skip(3 * 4)?; // fTimerInterval, fScanField, fUpdate
    cursor.skip(if version > 16 { 4 } else { 0 })?; // fDefaultEntryOffsetLen
    let ranges_at = cursor.position();
    let ranges = if version > 18 { cursor.count(0)? } else { 0 };
    cursor.skip(if version > 13 { 8 } else { 0 })?; // fMaxEntries
    cursor.skip(if long { 3 * 8 } else { 3 * 4 })?; // fMaxEntryLoop, fMaxVirtualSize, fAutoSave
    if version > 17 {
        at.auto_flush = Some(NumberPosition::I64(cursor.position()));
        members.clusters.auto_flush = cursor.i64()?;
    }
    cursor.skip(if long { 8 } else { 4 })?; // fEstimate
    if version > 18 {
        let begin = cursor.position();
        let ends = cluster_array(cursor, ranges)?;
        let sizes = cluster_array(cursor, ranges)?;
        members.clusters.ranges = ends.into_iter().zip(sizes).collect();
        at.clusters = Some((ranges_at, begin..cursor.position()));
    }
    if version > 19 {
        io_features(cursor)?;
    }
    (at.branches, members.branches) = parser.branch_array(walker)?;
    match members_after_branches(parser, walker, version, &mut members) {
        Err(error) if walker.is_outlining() => Err(error),
        // The rest is not needed to read entries, so damage there is ignored.
        _ => Ok(members),
    }
}

/// The members after `fBranches`, in the order that the file describes, or by class version (TTree §2, §13).
fn members_after_branches<'a>(
    parser: &mut Parser<'a>,
    walker: &mut Walker<'a>,
    version: i16,
    members: &mut TreeMembers,
) -> Result<()> {
    const SINCE: [(&str, i16); 8] = [
        ("fLeaves", 0),
        ("fAliases", 10),
        ("fIndexValues", 5),
        ("fIndex", 5),
        ("fTreeIndex", 12),
        ("fFriends", 6),
        ("fUserInfo", 11),
        ("fBranchRef", 15),
    ];
    let info = parser.streamers.get("TTree", i32::from(version));
    let names = info.iter().flat_map(|info| &info.elements).map(|element| element.name.as_str());
    let described = names.skip_while(|name| *name != "fLeaves");
    let known = SINCE.iter().filter(|(_, since)| info.is_none() && version >= *since);
    for member in described.chain(known.map(|(name, _)| *name)) {
        match member {
            "fLeaves" => members.at.leaves = leaves(walker)?,
            "fIndexValues" => skip_array(&mut walker.cursor, 8)?,
            "fIndex" => skip_array(&mut walker.cursor, 4)?,
            "fTreeIndex" => members.at.index = Some(object(parser, walker)?),
            "fAliases" => members.aliases = named_list(parser, walker)?,
            "fFriends" => members.friends = friends(parser, walker)?,
            "fUserInfo" => object(parser, walker).map(drop)?,
            "fBranchRef" => {
                let (pointer, node) = parser.branch_pointer(walker)?;
                (members.at.branch_ref, members.reference) = (Some(pointer), node);
            }
            other => return Err(Error::unsupported(format!("unknown member {other} of TTree"))),
        }
    }
    Ok(())
}

/// `fLeaves`: references to the leaves of branches.
fn leaves(walker: &mut Walker<'_>) -> Result<PointerArray> {
    PointerArray::read(walker, |walker| {
        walker.pointer(|walker, pointer, class| {
            if pointer.framed && !walker.is_outlining() {
                return Ok(());
            }
            let at = walker.position();
            Err(Error::unsupported(format!("a {class} without a branch, {at} bytes into the record")))
        })
    })
}

/// Skips a pointer to an object of any class.
fn object(parser: &Parser<'_>, walker: &mut Walker<'_>) -> Result<Pointer> {
    walker.pointer(|walker, pointer, class| pass(parser, walker, pointer, class))
}

/// Skips the object of a pointer; for an outline, walks over it.
fn pass(parser: &Parser<'_>, walker: &mut Walker<'_>, pointer: &Pointer, class: &str) -> Result<()> {
    if walker.is_outlining() {
        return DescribedClasses::new(parser.streamers).object(walker, class);
    }
    if pointer.framed { Ok(()) } else { Err(walker.cursor.corrupt(format!("a {class} has no byte count"))) }
}

/// Reads a pointer to a `TList` of `TNamed`: names and titles.
fn named_list(parser: &Parser<'_>, walker: &mut Walker<'_>) -> Result<Vec<(String, String)>> {
    object_list(parser, walker, |cursor| cursor.tnamed().map(|named| (named.name, named.title)))
}

/// Reads a pointer to a `TList` of `TFriendElement` (root-io-spec Auxiliary §3).
fn friends(parser: &Parser<'_>, walker: &mut Walker<'_>) -> Result<Vec<Friend>> {
    object_list(parser, walker, |item| {
        let header = item.read_header()?;
        let named = item.tnamed()?;
        let tree = item.tstring()?;
        // fOwnFile is redundant: the name of the file is empty for the same file.
        if header.end.is_none() {
            item.skip(1)?;
        }
        item.finish(&header)?;
        Ok(Friend { name: named.name, file: named.title, tree })
    })
}

/// Reads a pointer to a `TList`, and each of its objects with `read`. For an outline, objects that `read`
/// cannot read are omitted, as long as their contents are known.
fn object_list<'a, T>(
    parser: &Parser<'_>,
    walker: &mut Walker<'a>,
    read: impl Fn(&mut Cursor<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut items = Vec::new();
    walker.pointer(|walker, list_pointer, class| {
        if !matches!(class, "TList" | "THashList" | "TSortedList") {
            return pass(parser, walker, list_pointer, class);
        }
        walker.list(class, |walker| {
            walker.pointer(|walker, pointer, class| {
                if walker.is_outlining() {
                    items.extend(read(&mut walker.cursor.clone()));
                    return pass(parser, walker, pointer, class);
                }
                items.push(read(&mut walker.cursor)?);
                Ok(())
            })
        })
    })?;
    Ok(items)
}

/// True if `fWeight` is present. It was added in class version 7 or 8; in these, it is detected by what
/// follows after seven integers: `fBranches`, a `TObjArray` of version 3.
fn has_weight(version: i16, cursor: &Cursor<'_>) -> bool {
    match version {
        ..=6 => false,
        7 | 8 => !matches!(cursor.rest().get(7 * 4..), Some([0x40, _, _, _, 0, 3, ..])),
        _ => true,
    }
}

/// `fClusterRangeEnd` or `fClusterSize`: a byte states whether the array is present.
fn cluster_array(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<i64>> {
    if cursor.u8()? == 0 {
        return Ok(Vec::new());
    }
    let bytes = cursor.bytes(count.saturating_mul(8))?;
    Ok(bytes.as_chunks().0.iter().map(|word| i64::from_be_bytes(*word)).collect())
}

/// The members up to class version 4, before ROOT stored class descriptions in files.
fn first_layout<'a>(parser: &mut Parser<'a>, walker: &mut Walker<'a>, version: i16) -> Result<TreeMembers> {
    let mut members = TreeMembers::default();
    let at = &mut members.at;
    let cursor = &mut walker.cursor;
    for len in [6, 4, 8] {
        skip_attributes(cursor, len)?;
    }
    cursor.skip(3 * 4)?; // fScanField, fMaxEntryLoop, fMaxVirtualSize
    (members.entries, at.entries) = number(cursor, NumberPosition::F64)?;
    (members.total_bytes, at.total_bytes) = number(cursor, NumberPosition::F64)?;
    (members.zip_bytes, at.zip_bytes) = number(cursor, NumberPosition::F64)?;
    cursor.skip(2 * 4)?; // fAutoSave, fEstimate
    (at.branches, members.branches) = parser.branch_array(walker)?;
    if !walker.is_outlining() {
        return Ok(members);
    }
    at.leaves = leaves(walker)?;
    if version > 1 {
        skip_array(&mut walker.cursor, 8)?; // fIndexValues
    }
    if version > 2 {
        skip_array(&mut walker.cursor, 4)?; // fIndex
    }
    if version > 3 {
        // Of descriptions.
        walker.list("TList", |walker| object(parser, walker))?;
    }
    Ok(members)
}
