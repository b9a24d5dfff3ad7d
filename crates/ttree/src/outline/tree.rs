//! Walking over `TTree` and the classes derived from it (root-io-spec TTree).

use super::branch::number;
use super::described::Described;
use super::{BranchOutline, Number, Slots, TreeOutline, TreePlaces, Walk, array};
use crate::meta::objects::{io_features, skip_array, skip_attributes};
use crate::meta::tree::has_weight;
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::{Marker, ObjectHeader, PointerTarget, StreamerInfos};
use std::collections::{HashMap, HashSet};

/// More levels of derived classes are not real.
const MAX_LEVELS: usize = 8;

/// Outlines a tree's record, which begins at `start` of the bytes; see [`TreeOutline::parse`].
pub(super) fn parse(
    class_name: &str,
    payload: &Bytes,
    start: usize,
    key_len: u32,
    file_size: u64,
    streamers: &StreamerInfos,
) -> Result<TreeOutline> {
    let mut walk = Walk {
        payload,
        file_size,
        streamers,
        nodes: Vec::new(),
        node_of: HashMap::new(),
        leaves: HashMap::new(),
        maxima: HashMap::new(),
    };
    let mut marker = Marker::new(payload, key_len);
    marker.cursor.seek(start)?;
    let derived = derived_headers(&mut marker, class_name)?;
    let header = marker.open()?;
    marker.cursor.tnamed()?;
    let (tree, roots) = match header.version {
        ..=0 => return Err(marker.cursor.corrupt(format!("a tree has class version {}", header.version))),
        version @ 1..=4 => walk.first_layout(&mut marker, version)?,
        version => walk.tree(&mut marker, version)?,
    };
    marker.close(&header, "TTree")?;
    let mut below = "TTree".to_owned();
    for (class, header) in derived.iter().rev() {
        match class.as_str() {
            "TNtuple" | "TNtupleD" => marker.cursor.skip(4)?, // fNvar
            class => {
                let info = streamers.select(class, header.version, None);
                let info =
                    info.ok_or_else(|| Error::unsupported(format!("the class {class} is not described")))?;
                Described { streamers }.members(&mut marker, info, Some(&below))?;
            }
        }
        marker.close(header, class)?;
        below.clone_from(class);
    }
    let outline = marker.finish(class_name)?;
    let branches = walk.resolve(&roots, &tree);
    Ok(TreeOutline {
        payload: payload.clone(),
        len: payload.len(),
        class_name: class_name.to_owned(),
        key_len,
        outline,
        tree,
        grafted: Vec::new(),
        branches,
    })
}

/// Enters the classes that are derived from `TTree`: their names and headers, the outermost first.
fn derived_headers(marker: &mut Marker<'_>, class_name: &str) -> Result<Vec<(String, ObjectHeader)>> {
    let mut derived = Vec::new();
    if class_name == "TTree" {
        return Ok(derived);
    }
    for level in 0..MAX_LEVELS {
        let mut ahead = marker.cursor.clone();
        ahead.read_header()?;
        let below = ahead.read_header()?;
        // TTree is the class whose first base is TNamed, which begins with TObject: that never has a byte count.
        let inner = ahead.read_header()?;
        if below.version == 1 && inner.byte_count.is_none() && inner.version == 1 && level > 0 {
            return Ok(derived);
        }
        let name = if level == 0 { class_name.to_owned() } else { String::new() };
        derived.push((name, marker.open()?));
    }
    Err(Error::unsupported(format!("the class {class_name} does not begin with TTree")))
}

impl<'a> Walk<'a> {
    /// The members of class version 5 and later (TTree §2, §13).
    fn tree(&mut self, marker: &mut Marker<'a>, version: i16) -> Result<(TreePlaces, Vec<usize>)> {
        let long = version > 12;
        let mut places = TreePlaces::default();
        for len in [6, 4, 8] {
            skip_attributes(&mut marker.cursor, len)?;
        }
        let width = if long { Number::I64 } else { Number::F64 };
        number(marker, Some(&mut places.entries), width)?;
        number(marker, Some(&mut places.total_bytes), width)?;
        number(marker, Some(&mut places.zip_bytes), width)?;
        places.saved_bytes = Some(width(marker.position()));
        marker.cursor.skip(8)?;
        if version > 17 {
            number(marker, Some(&mut places.flushed_bytes), Number::I64)?;
        }
        let weight = has_weight(version, &marker.cursor);
        marker.cursor.skip(if weight { 8 } else { 0 })?;
        marker.cursor.skip(3 * 4)?; // fTimerInterval, fScanField, fUpdate
        marker.cursor.skip(if version > 16 { 4 } else { 0 })?; // fDefaultEntryOffsetLen
        let ranges_at = marker.position();
        let ranges = if version > 18 { marker.cursor.count(0)? } else { 0 };
        marker.cursor.skip(if version > 13 { 8 } else { 0 })?; // fMaxEntries
        marker.cursor.skip(if long { 3 * 8 } else { 3 * 4 })?; // fMaxEntryLoop, fMaxVirtualSize, fAutoSave
        if version > 17 {
            places.auto_flush = Some(Number::I64(marker.position()));
            marker.cursor.skip(8)?;
        }
        marker.cursor.skip(if long { 8 } else { 4 })?; // fEstimate
        if version > 18 {
            let begin = marker.position();
            for _ in 0..2 {
                if marker.cursor.u8()? != 0 {
                    marker.cursor.skip(ranges.saturating_mul(8))?;
                }
            }
            places.clusters = Some((ranges_at, begin..marker.position()));
        }
        if version > 19 {
            io_features(&mut marker.cursor)?;
        }
        let (slots, roots) = self.branches(marker)?;
        places.branches = slots;
        self.after_branches(marker, version, &mut places)?;
        Ok((places, roots))
    }

    /// What follows `fBranches`.
    fn after_branches(
        &mut self,
        marker: &mut Marker<'a>,
        version: i16,
        places: &mut TreePlaces,
    ) -> Result<()> {
        let described = Described { streamers: self.streamers };
        places.leaves = leaves(marker)?;
        for member in members_after_leaves(self.streamers, version) {
            match member.as_str() {
                "fIndexValues" => skip_array(&mut marker.cursor, 8)?,
                "fIndex" => skip_array(&mut marker.cursor, 4)?,
                "fTreeIndex" => places.index = Some(described.pointer(marker)?),
                "fAliases" | "fFriends" | "fUserInfo" => described.pointer(marker).map(drop)?,
                "fBranchRef" => places.branch_ref = Some(self.branch_pointer(marker)?.0),
                other => return Err(Error::unsupported(format!("the member {other} of TTree is not known"))),
            }
        }
        Ok(())
    }

    /// The members up to class version 4, before ROOT described its classes in the file.
    fn first_layout(&mut self, marker: &mut Marker<'a>, version: i16) -> Result<(TreePlaces, Vec<usize>)> {
        let mut places = TreePlaces::default();
        for len in [6, 4, 8] {
            skip_attributes(&mut marker.cursor, len)?;
        }
        marker.cursor.skip(3 * 4)?; // fScanField, fMaxEntryLoop, fMaxVirtualSize
        number(marker, Some(&mut places.entries), Number::F64)?;
        number(marker, Some(&mut places.total_bytes), Number::F64)?;
        number(marker, Some(&mut places.zip_bytes), Number::F64)?;
        marker.cursor.skip(2 * 4)?; // fAutoSave, fEstimate
        let (slots, roots) = self.branches(marker)?;
        places.branches = slots;
        places.leaves = leaves(marker)?;
        if version > 1 {
            skip_array(&mut marker.cursor, 8)?; // fIndexValues
        }
        if version > 2 {
            skip_array(&mut marker.cursor, 4)?; // fIndex
        }
        if version > 3 {
            Described { streamers: self.streamers }.list(marker, "TList")?; // of descriptions
        }
        Ok((places, roots))
    }

    /// All branches, depth first, with what refers to them turned into places.
    fn resolve(mut self, roots: &[usize], tree: &TreePlaces) -> Vec<BranchOutline> {
        let reference = tree.branch_ref.and_then(|slot| self.node_of.get(&slot.at).copied());
        let order = self.order(roots, reference);
        let place_of: HashMap<usize, usize> =
            order.iter().enumerate().map(|(i, &(node, _))| (node, i)).collect();
        let branch_of_leaf: HashMap<usize, usize> = order
            .iter()
            .enumerate()
            .flat_map(|(i, (node, _))| {
                self.nodes.get(*node).into_iter().flat_map(move |n| n.leaves.iter().map(move |&at| (at, i)))
            })
            .collect();
        let mut branches = Vec::with_capacity(order.len());
        for (place, &(node, parent)) in order.iter().enumerate() {
            let Some(node) = self.nodes.get_mut(node).map(std::mem::take) else { continue };
            let counted = node.leaves.iter().filter_map(|leaf| *self.leaves.get(leaf)?);
            let mut needs: Vec<usize> =
                counted.filter_map(|leaf| branch_of_leaf.get(&leaf).copied()).collect();
            let counts = node.counts.iter().filter_map(|at| self.node_of.get(at));
            needs.extend(counts.filter_map(|node| place_of.get(node).copied()));
            needs.retain(|&other| other != place);
            let leaves = node.leaves.iter().filter_map(|leaf| self.maxima.get(leaf).copied());
            let maxima = node.maximum.into_iter().chain(leaves).collect();
            let children = node.children.iter().filter_map(|child| place_of.get(child).copied());
            branches.push(BranchOutline {
                name: node.name,
                class_name: node.class_name,
                children: children.collect(),
                parent,
                needs,
                compression: node.compression,
                basket_size: node.basket_size,
                entry_offset_len: node.entry_offset_len,
                entries: node.entries,
                baskets: node.baskets,
                file_name: node.file_name,
                leaf_count: node.leaves.len(),
                maxima,
                places: node.places,
            });
        }
        branches
    }

    /// Branches depth first, each once, with the place of its parent in this order.
    fn order(&self, roots: &[usize], reference: Option<usize>) -> Vec<(usize, Option<usize>)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut met = HashSet::new();
        let mut ahead: Vec<(usize, Option<usize>)> =
            roots.iter().chain(&reference).rev().map(|&root| (root, None)).collect();
        while let Some((node, parent)) = ahead.pop() {
            if let (Some(known), true) = (self.nodes.get(node), met.insert(node)) {
                let place = order.len();
                order.push((node, parent));
                ahead.extend(known.children.iter().rev().map(|&child| (child, Some(place))));
            }
        }
        order
    }
}

/// `fLeaves`: references to leaves that the branches hold.
fn leaves(marker: &mut Marker<'_>) -> Result<Slots> {
    array(marker, |marker, slot, class| match slot.target {
        PointerTarget::Object { .. } => Err(Error::unsupported(format!(
            "a {class} of no branch, {} bytes into the record",
            marker.position()
        ))),
        _ => Ok(()),
    })
}

/// The members behind `fLeaves`, as the file describes them, or as they came to be (TTree §2, §13).
fn members_after_leaves(streamers: &StreamerInfos, version: i16) -> Vec<String> {
    const SINCE: [(&str, i16); 7] = [
        ("fAliases", 10),
        ("fIndexValues", 5),
        ("fIndex", 5),
        ("fTreeIndex", 12),
        ("fFriends", 6),
        ("fUserInfo", 11),
        ("fBranchRef", 15),
    ];
    match streamers.get("TTree", i32::from(version)) {
        Some(info) => {
            let after = info.elements.iter().skip_while(|element| element.name != "fLeaves").skip(1);
            after.map(|element| element.name.clone()).collect()
        }
        None => {
            SINCE.iter().filter(|(_, since)| version >= *since).map(|(name, _)| (*name).to_owned()).collect()
        }
    }
}
