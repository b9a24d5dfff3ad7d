//! Resolves references to indices: the order of branches, their paths, count leaves and count branches.

use super::parser::{LeafRecord, Node, Parser};
use super::positions::BranchOutline;
use crate::meta::{Branch, BranchKind, Leaf, LeafKind};
use std::collections::HashMap;

/// The branches of a record, with all references resolved.
pub(super) struct ResolvedBranches {
    /// All branches, depth first, with leaves, paths and indices filled in.
    pub(super) branches: Vec<Branch>,
    /// The positions of the members of each, for an outline.
    pub(super) outlines: Vec<BranchOutline>,
    /// The branches of `fBranchRef`, which come last.
    pub(super) hidden: Vec<Branch>,
}

/// `fEntryOffsetLen` of branches that need a table of offsets, as ROOT sets it at first.
const OFFSET_LEN: i32 = 1000;

/// True for leaves whose entries differ in size, so that baskets have tables of offsets.
fn differs_in_size(leaf: &Leaf) -> bool {
    match leaf.kind {
        LeafKind::Text => true,
        LeafKind::Element { .. } => false,
        _ => leaf.count.is_some(),
    }
}

/// Branches depth first, each once.
struct BranchOrder {
    /// By index of a node: its index in `branches`.
    index_of: Vec<Option<usize>>,
    /// The index of each node, and that of its parent in this order.
    branches: Vec<(usize, Option<usize>)>,
}

impl BranchOrder {
    fn extend(&mut self, nodes: &[Node], roots: &[usize]) {
        let mut ahead: Vec<(usize, Option<usize>)> = roots.iter().rev().map(|&root| (root, None)).collect();
        while let Some((node, parent)) = ahead.pop() {
            let index = self.branches.len();
            if let (Some(known), Some(unmet @ None)) = (nodes.get(node), self.index_of.get_mut(node)) {
                *unmet = Some(index);
                self.branches.push((node, parent));
                ahead.extend(known.children.iter().rev().map(|&child| (child, Some(index))));
            }
        }
    }
}

impl Parser<'_> {
    /// The branches under `roots`, then those under the branch of `fBranchRef`.
    pub(super) fn resolve(mut self, roots: &[usize], reference: Option<usize>) -> ResolvedBranches {
        let mut order = BranchOrder { index_of: vec![None; self.nodes.len()], branches: Vec::new() };
        order.extend(&self.nodes, roots);
        let listed = order.branches.len();
        order.extend(&self.nodes, reference.as_slice());
        let BranchOrder { index_of, branches: order } = order;
        let owners = self.leaf_owners(&order);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        let mut branches: Vec<Branch> = Vec::with_capacity(order.len());
        let mut outlines = Vec::new();
        for (index, &(node, parent)) in order.iter().enumerate() {
            let Some(mut node) = nodes.get_mut(node).and_then(Option::take) else { continue };
            let mut outline = node.outline.take().map(|mut outline| {
                let leaves = node.leaves.iter().filter_map(|&leaf| self.leaves.get(leaf)?.as_ref());
                outline.maxima.extend(leaves.flat_map(|leaf| leaf.maxima.iter().copied()));
                *outline
            });
            if let BranchKind::Element(element) = &mut node.branch.kind {
                let counts = node.counts.map(|node| index_of.get(node?).copied().flatten());
                [element.branch_count, element.branch_count2] = counts;
            }
            let mut branch = self.with_leaves(node, &owners, &branches);
            branch.hides_offsets &= branch.leaves.iter().any(differs_in_size);
            if branch.hides_offsets {
                branch.entry_offset_len = OFFSET_LEN;
                if let Some(outline) = &mut outline {
                    outline.offset_len = Some(OFFSET_LEN);
                }
            }
            if branch.broken.is_some() && outline.is_none() {
                branch.baskets = Vec::new().into();
            }
            outlines.extend(outline);
            branch.path = match parent.and_then(|parent| branches.get_mut(parent)) {
                Some(above) => {
                    above.children.push(index);
                    format!("{}/{}", above.path, branch.name)
                }
                None => branch.name.clone(),
            };
            branch.parent = parent;
            branches.push(branch);
        }
        let hidden = branches.split_off(listed.min(branches.len()));
        number_repeated_paths(&mut branches);
        ResolvedBranches { branches, outlines, hidden }
    }

    /// For each leaf: the indices of the first branch that has it, and of the leaf in that branch.
    fn leaf_owners(&self, order: &[(usize, Option<usize>)]) -> Vec<Option<(usize, usize)>> {
        let mut owners = vec![None; self.leaves.len()];
        for (branch, (node, _)) in order.iter().enumerate() {
            let leaves = self.nodes.get(*node).into_iter().flat_map(|node| &node.leaves);
            let leaves = leaves.filter(|&&leaf| self.leaves.get(leaf).is_some_and(Option::is_some));
            for (index, &leaf) in leaves.enumerate() {
                if let Some(unowned @ None) = owners.get_mut(leaf) {
                    *unowned = Some((branch, index));
                }
            }
        }
        owners
    }

    /// The branch of a node, with its leaves. Leaves that it shares are copied from the branches `before`.
    fn with_leaves(&mut self, node: Node, owners: &[Option<(usize, usize)>], before: &[Branch]) -> Branch {
        let owner = |leaf: usize| owners.get(leaf).copied().flatten();
        let Node { mut branch, leaves, .. } = node;
        for index in leaves {
            let Some(record) = self.leaves.get_mut(index).and_then(Option::take) else {
                let shared = owner(index).and_then(|(branch, leaf)| before.get(branch)?.leaves.get(leaf));
                match shared {
                    Some(leaf) => branch.leaves.push(leaf.clone()),
                    None => {
                        let missing = || "a leaf of the branch is not in the record".to_owned();
                        branch.broken.get_or_insert_with(missing);
                    }
                }
                continue;
            };
            let LeafRecord { mut leaf, count, .. } = record;
            leaf.count = count.and_then(owner);
            // The branch of a TLeafElement states its type and its count branch.
            if count.is_some() && leaf.count.is_none() && !matches!(leaf.kind, LeafKind::Element { .. }) {
                let missing = format!("the leaf that counts '{}' is not in the record", leaf.name);
                branch.broken.get_or_insert(missing);
            }
            branch.leaves.push(leaf);
        }
        branch
    }
}

/// Appends `#2`, `#3`, … to paths that occurred before.
fn number_repeated_paths(branches: &mut [Branch]) {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(branches.len());
    let mut repeated = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let times = seen.entry(&branch.path).and_modify(|times| *times += 1).or_insert(1);
        if *times > 1 {
            repeated.push((index, *times));
        }
    }
    for (index, times) in repeated {
        if let Some(branch) = branches.get_mut(index) {
            branch.path = format!("{}#{times}", branch.path);
        }
    }
}
