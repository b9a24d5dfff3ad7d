//! From references to indices: the order of branches, their paths, the leaves and branches that count.

use super::parser::{Node, Parser};
use super::{Branch, BranchKind, LeafKind};
use std::collections::{HashMap, HashSet};

/// Where each leaf lies that references name: branch and place in it.
type LeafPlaces = HashMap<u64, (usize, usize)>;

impl Parser<'_> {
    /// All branches below `roots`, depth first, with leaves, paths and indices filled in.
    pub(super) fn resolve(mut self, roots: &[usize]) -> Vec<Branch> {
        let order = self.order(roots);
        let index_of: HashMap<usize, usize> =
            order.iter().enumerate().map(|(i, &(node, _))| (node, i)).collect();
        let places = self.leaf_places(&order);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        let mut branches: Vec<Branch> = Vec::with_capacity(order.len());
        for (index, &(node, parent)) in order.iter().enumerate() {
            let Some(node) = nodes.get_mut(node).and_then(Option::take) else { continue };
            let mut branch = self.resolved(node, &places, |id| index_of.get(self.node_of.get(&id)?).copied());
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
        number_repeated_paths(&mut branches);
        branches
    }

    /// Branches depth first, each once, with the index of its parent in this order.
    fn order(&self, roots: &[usize]) -> Vec<(usize, Option<usize>)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut met = HashSet::new();
        let mut ahead: Vec<(usize, Option<usize>)> = roots.iter().rev().map(|&root| (root, None)).collect();
        while let Some((node, parent)) = ahead.pop() {
            if let (Some(known), true) = (self.nodes.get(node), met.insert(node)) {
                let index = order.len();
                order.push((node, parent));
                ahead.extend(known.children.iter().rev().map(|&child| (child, Some(index))));
            }
        }
        order
    }

    fn leaf_places(&self, order: &[(usize, Option<usize>)]) -> LeafPlaces {
        let mut places = LeafPlaces::new();
        for (index, (node, _)) in order.iter().enumerate() {
            let ids = self.nodes.get(*node).into_iter().flat_map(|node| &node.leaves);
            for (place, id) in ids.filter(|id| self.leaves.contains_key(id)).enumerate() {
                places.entry(*id).or_insert((index, place));
            }
        }
        places
    }

    /// The branch of a node, with its leaves and counts resolved.
    fn resolved(&self, node: Node, places: &LeafPlaces, branch_at: impl Fn(u64) -> Option<usize>) -> Branch {
        let Node { mut branch, leaves, counts, .. } = node;
        for id in leaves {
            let Some(record) = self.leaves.get(&id) else {
                branch.broken.get_or_insert_with(|| "a leaf of the branch is not in the record".to_owned());
                continue;
            };
            let mut leaf = record.leaf.clone();
            leaf.count = record.count.and_then(|count| places.get(&count).copied());
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
        if branch.broken.is_some() {
            branch.baskets = Vec::new().into();
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
