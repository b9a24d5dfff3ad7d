//! `TTree` and the classes derived from it (root-io-spec TTree).

use super::clusters::Clusters;
use super::objects::{count, friends, io_features, named_list, obj_array, skip_array, skip_attributes};
use super::parser::Parser;
use super::{Friend, Tree};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::{Cursor, ObjectHeader, ObjectSlot, StreamerInfos};

/// The newest class version of `TTree` that is known.
const NEWEST: i16 = 20;

/// Everything that the record says, before references are resolved.
struct Members {
    entries: u64,
    total_bytes: u64,
    zip_bytes: u64,
    clusters: Clusters,
    branches: Vec<usize>,
    aliases: Vec<(String, String)>,
    friends: Vec<Friend>,
}

/// Parses a tree's record; see [`Tree::parse`].
pub(super) fn parse(
    class_name: &str,
    payload: &Bytes,
    key_len: u32,
    file_size: u64,
    streamers: &StreamerInfos,
) -> Result<Tree> {
    let mut parser = Parser::new(payload, file_size, streamers);
    let mut cursor = Cursor::new(payload, key_len);
    let header = tree_header(&mut cursor, class_name)?;
    let named = cursor.tnamed()?;
    let members = match header.version {
        ..=0 => Err(cursor.corrupt(format!("a tree has class version {}", header.version))),
        1..=4 => first_layout(&mut parser, &mut cursor),
        version => members(&mut parser, version, &mut cursor),
    };
    let members = members.map_err(|error| {
        if header.version <= NEWEST {
            return error;
        }
        Error::unsupported(format!("class version {} of TTree is not known", header.version)).caused_by(error)
    })?;
    let branches = parser.resolve(&members.branches);
    let baskets: usize = branches.iter().map(|branch| branch.baskets.len()).sum();
    Ok(Tree {
        class_name: class_name.to_owned(),
        name: named.name,
        title: named.title,
        entries: members.entries,
        total_bytes: members.total_bytes,
        zip_bytes: members.zip_bytes,
        cluster_starts: members.clusters.starts(members.entries, baskets),
        aliases: members.aliases,
        friends: members.friends,
        branches,
    })
}

/// Reads the headers of the derived classes, if any, and that of `TTree`.
///
/// A derived class begins with its own header, then its base class's: `TTree` is the class whose first base
/// is `TNamed`, which in turn begins with `TObject`, the one class that never has a byte count.
fn tree_header(cursor: &mut Cursor<'_>, class_name: &str) -> Result<ObjectHeader> {
    let mut header = cursor.read_header()?;
    if class_name == "TTree" {
        return Ok(header);
    }
    for _ in 0..8 {
        let mut ahead = cursor.clone();
        let base = ahead.read_header()?;
        let below = ahead.read_header()?;
        if below.byte_count.is_none() && below.version == 1 {
            return Ok(header);
        }
        cursor.read_header()?;
        header = base;
    }
    Err(Error::unsupported(format!("the class {class_name} does not begin with TTree")))
}

/// The members of class version 5 and later (root-io-spec TTree §2, §13).
fn members(parser: &mut Parser<'_>, version: i16, cursor: &mut Cursor<'_>) -> Result<Members> {
    let long = version > 12;
    for len in [6, 4, 8] {
        skip_attributes(cursor, len)?;
    }
    let entries = count(cursor, !long)?;
    let total_bytes = count(cursor, !long)?;
    let zip_bytes = count(cursor, !long)?;
    cursor.skip(8)?; // fSavedBytes
    cursor.skip(if version > 17 { 8 } else { 0 })?; // fFlushedBytes
    cursor.skip(if has_weight(version, cursor) { 8 } else { 0 })?;
    cursor.skip(3 * 4)?; // fTimerInterval, fScanField, fUpdate
    cursor.skip(if version > 16 { 4 } else { 0 })?; // fDefaultEntryOffsetLen
    let ranges = if version > 18 { cursor.count(0)? } else { 0 };
    cursor.skip(if version > 13 { 8 } else { 0 })?; // fMaxEntries
    cursor.skip(if long { 3 * 8 } else { 3 * 4 })?; // fMaxEntryLoop, fMaxVirtualSize, fAutoSave
    let auto_flush = if version > 17 { cursor.i64()? } else { 0 };
    cursor.skip(if long { 8 } else { 4 })?; // fEstimate
    let mut clusters = Clusters { auto_flush, ..Clusters::default() };
    if version > 18 {
        let ends = cluster_array(cursor, ranges)?;
        let sizes = cluster_array(cursor, ranges)?;
        clusters.ranges = ends.into_iter().zip(sizes).collect();
    }
    if version > 19 {
        io_features(cursor)?;
    }
    let branches = parser.branch_array(cursor)?;
    // What follows is not needed to read entries: damage there does no harm.
    let aliases = if version > 9 { leaves(cursor).and_then(|()| named_list(cursor)).ok() } else { None };
    let friends = aliases.as_ref().and_then(|_| friends_after_aliases(version, cursor).ok());
    let (aliases, friends) = (aliases.unwrap_or_default(), friends.unwrap_or_default());
    Ok(Members { entries, total_bytes, zip_bytes, clusters, branches, aliases, friends })
}

/// `fIndexValues`, `fIndex`, `fTreeIndex`, `fFriends`.
fn friends_after_aliases(version: i16, cursor: &mut Cursor<'_>) -> Result<Vec<Friend>> {
    skip_array(cursor, 8)?;
    skip_array(cursor, 4)?;
    if version > 11
        && let ObjectSlot::Object { bounded: false, .. } = cursor.read_object_any()?
    {
        return Err(cursor.corrupt("an index has no byte count"));
    }
    friends(cursor)
}

/// True if `fWeight` is there. It came with class version 7 or 8; in these, it is found by what stands behind
/// the seven integers that follow it: `fBranches`, a `TObjArray` of version 3.
pub(crate) fn has_weight(version: i16, cursor: &Cursor<'_>) -> bool {
    match version {
        ..=6 => false,
        7 | 8 => !matches!(cursor.rest().get(7 * 4..), Some([0x40, _, _, _, 0, 3, ..])),
        _ => true,
    }
}

/// `fClusterRangeEnd` or `fClusterSize`: a byte tells whether the array is there.
fn cluster_array(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<i64>> {
    if cursor.u8()? == 0 {
        return Ok(Vec::new());
    }
    let bytes = cursor.bytes(count.saturating_mul(8))?;
    Ok(bytes.as_chunks().0.iter().map(|word| i64::from_be_bytes(*word)).collect())
}

/// `fLeaves`: references to leaves that the branches hold.
fn leaves(cursor: &mut Cursor<'_>) -> Result<()> {
    obj_array(cursor, |_, _, _| Ok(()))
}

/// The members up to class version 4, before ROOT described its classes in the file.
fn first_layout(parser: &mut Parser<'_>, cursor: &mut Cursor<'_>) -> Result<Members> {
    for len in [6, 4, 8] {
        skip_attributes(cursor, len)?;
    }
    cursor.skip(3 * 4)?; // fScanField, fMaxEntryLoop, fMaxVirtualSize
    let entries = count(cursor, true)?;
    let total_bytes = count(cursor, true)?;
    let zip_bytes = count(cursor, true)?;
    cursor.skip(2 * 4)?; // fAutoSave, fEstimate
    let branches = parser.branch_array(cursor)?;
    let (clusters, aliases, friends) = (Clusters::default(), Vec::new(), Vec::new());
    Ok(Members { entries, total_bytes, zip_bytes, clusters, branches, aliases, friends })
}
