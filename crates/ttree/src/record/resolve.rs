//! From references to indices: the order of branches, their paths, the leaves and branches that count.

use super::parser::{Node, Parser};
use super::positions::BranchOutline;
use crate::meta::{Branch, BranchKind, LeafKind};
use std::collections::HashMap;

/// For each leaf, by its position: the indices of its branch, and of the leaf in that.
type LeafIndices = HashMap<usize, (usize, usize)>;

/// What a record's references lead to.
pub(super) struct Resolved {
    /// All branches, depth first, with leaves, paths and indices filled in.
    pub(super) branches: Vec<Branch>,
    /// Where the members of each stand, if the walk noted it.
    pub(super) outlines: Vec<BranchOutline>,
    /// Those of `fBranchRef`, which come last.
    pub(super) hidden: Vec<Branch>,
}

/// Branches depth first, each once.
struct Order {
    /// By the index of a node: that in `branches`.
    index_of: Vec<Option<usize>>,
    /// The index of each node, and that of its parent in this order.
    branches: Vec<(usize, Option<usize>)>,
}

impl Order {
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
    /// The branches below `roots`, then those below the branch of `fBranchRef`.
    pub(super) fn resolve(mut self, roots: &[usize], reference: Option<usize>) -> Resolved {
        let mut order = Order { index_of: vec![None; self.nodes.len()], branches: Vec::new() };
        order.extend(&self.nodes, roots);
        let listed = order.branches.len();
        order.extend(&self.nodes, reference.as_slice());
        let Order { index_of, branches: order } = order;
        let leaf_indices = self.leaf_indices(&order);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        let mut branches: Vec<Branch> = Vec::with_capacity(order.len());
        let mut outlines = Vec::new();
        for (index, &(node, parent)) in order.iter().enumerate() {
            let Some(mut node) = nodes.get_mut(node).and_then(Option::take) else { continue };
            let outline = node.outline.take().map(|mut outline| {
                outline.maxima.extend(node.leaves.iter().filter_map(|at| self.leaves.get(at)?.maximum));
                *outline
            });
            let mut branch = self
                .resolved(node, &leaf_indices, |at| index_of.get(*self.node_of.get(&at)?).copied().flatten());
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
        Resolved { branches, outlines, hidden }
    }

    fn leaf_indices(&self, order: &[(usize, Option<usize>)]) -> LeafIndices {
        let mut indices = LeafIndices::new();
        for (branch, (node, _)) in order.iter().enumerate() {
            let leaves = self.nodes.get(*node).into_iter().flat_map(|node| &node.leaves);
            for (index, at) in leaves.filter(|at| self.leaves.contains_key(at)).enumerate() {
                indices.entry(*at).or_insert((branch, index));
            }
        }
        indices
    }

    /// The branch of a node, with its leaves and counts resolved.
    fn resolved(
        &self,
        node: Node,
        leaf_indices: &LeafIndices,
        branch_at: impl Fn(usize) -> Option<usize>,
    ) -> Branch {
        let Node { mut branch, leaves, counts, .. } = node;
        for at in leaves {
            let Some(record) = self.leaves.get(&at) else {
                branch.broken.get_or_insert_with(|| "a leaf of the branch is not in the record".to_owned());
                continue;
            };
            let mut leaf = record.leaf.clone();
            leaf.count = record.count.and_then(|count| leaf_indices.get(&count).copied());
            // What a TLeafElement holds, its branch and that one's count branch say.
            let needs_count = record.count.is_some() && !matches!(leaf.kind, LeafKind::Element { .. });
            if needs_count && leaf.count.is_none() {
                let missing = format!("the leaf that counts '{}' is not in the record", leaf.name);
                branch.broken.get_or_insert(missing);
            }
            branch.leaves.push(leaf);
        }
        if let BranchKind::Element(element) = &mut branch.kind {
            let [first, second] = counts;
            element.branch_count = first.and_then(&branch_at);
            element.branch_count2 = second.and_then(&branch_at);
        }
        branch
    }
}

/// Appends `#2`, `#3`, … to paths that occurred before.
fn number_repeated_paths(branches: &mut [Branch]) {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(branches.len());
    for branch in branches {
        let times = seen.entry(branch.path.clone()).and_modify(|times| *times += 1).or_insert(1);
        if *times > 1 {
            branch.path = format!("{}#{times}", branch.path);
        }
    }
}
