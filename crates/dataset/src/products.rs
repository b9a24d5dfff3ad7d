//! Groups the branches of a tree into products.

use sapwood_core::{Error, Result};
use sapwood_rewrite::repack::input::InputTree;
use std::collections::HashMap;

/// Branches that are read, added and replaced together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchGroup {
    /// The common beginning of its branches' names.
    pub name: String,
    /// Indices of the branches in the tree, depth first.
    pub branches: Vec<usize>,
}

/// The properties of a branch that determine its product.
#[derive(Debug)]
struct BranchNode<'a> {
    name: &'a str,
    /// Its top-level branch, possibly itself.
    top: usize,
    /// Its counter branches.
    needs: &'a [usize],
}

/// Groups the branches of a tree into products. Sub-branches join their top-level branch, and branches join their
/// counters. Top-level branches belong together if their names agree up to the first dot or, without a dot, up to the
/// first underscore (`Jet_pt` and `Jet_eta`).
///
/// # Errors
/// `Unsupported` for trees with a table of references, which all branches share.
pub(crate) fn products(input: &InputTree) -> Result<Vec<BranchGroup>> {
    let described = input.record().branches.len();
    if input.branches().skip(described).any(|branch| !branch.baskets.is_empty()) {
        return Err(Error::unsupported(
            "the tree has a table of references, which cannot be split by product",
        )
        .url(input.file.url()));
    }
    let branches = || input.record().branches.iter().enumerate();
    let counters =
        branches().map(|(place, branch)| branch.counters().filter(|&other| other != place).collect());
    let counters: Vec<Vec<usize>> = counters.collect();
    let mut nodes: Vec<BranchNode<'_>> = Vec::with_capacity(described);
    for ((place, branch), needs) in branches().zip(&counters) {
        let top = branch.parent.and_then(|parent| nodes.get(parent)).map_or(place, |parent| parent.top);
        nodes.push(BranchNode { name: &branch.name, top, needs });
    }
    Ok(group(&nodes))
}

fn group(nodes: &[BranchNode<'_>]) -> Vec<BranchGroup> {
    // Each branch points to an earlier one of its product, or to itself.
    let mut first: Vec<usize> = (0..nodes.len()).collect();
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    for (place, member) in nodes.iter().enumerate() {
        let base = if member.top == place { base(member.name) } else { "" };
        let same = if base.is_empty() { member.top } else { *of_name.entry(base).or_insert(place) };
        for other in member.needs.iter().copied().chain([same]) {
            join(&mut first, place, other);
        }
    }
    let counts: Vec<usize> = nodes.iter().flat_map(|member| member.needs).copied().collect();
    let mut of_first: HashMap<usize, usize> = HashMap::new();
    let mut products: Vec<Vec<usize>> = Vec::new();
    for place in 0..nodes.len() {
        let slot = *of_first.entry(root(&first, place)).or_insert(products.len());
        if slot == products.len() {
            products.push(Vec::new());
        }
        products.get_mut(slot).into_iter().for_each(|product| product.push(place));
    }
    let named =
        products.into_iter().map(|branches| BranchGroup { name: name(nodes, &branches, &counts), branches });
    named.collect()
}

/// The beginning of a name that all branches of a product share.
fn base(name: &str) -> &str {
    let end = name.find('.').or_else(|| name.find('_')).filter(|&end| end > 0);
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// The name of a product: the most frequent one of its top-level branches; names of counters count only if there are no
/// others.
fn name(nodes: &[BranchNode<'_>], branches: &[usize], counts: &[usize]) -> String {
    let mut votes: Vec<(&str, usize, bool)> = Vec::new();
    for &place in branches {
        let Some(member) = nodes.get(place).filter(|member| member.top == place) else { continue };
        let base = base(member.name);
        let counting = counts.contains(&place);
        match votes.iter_mut().find(|(name, ..)| *name == base) {
            Some((_, count, only)) => {
                *count += 1;
                *only &= counting;
            }
            None => votes.push((base, 1, counting)),
        }
    }
    let best = votes.iter().rev().max_by_key(|(_, count, counting)| (!counting, *count));
    best.map_or_else(String::new, |(name, ..)| (*name).to_owned())
}

fn root(first: &[usize], mut place: usize) -> usize {
    while let Some(&next) = first.get(place).filter(|next| **next != place) {
        place = next;
    }
    place
}

fn join(first: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(first, a), root(first, b));
    if let Some(slot) = first.get_mut(a.max(b)) {
        *slot = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(nodes: &[BranchNode<'_>]) -> Vec<(String, Vec<usize>)> {
        group(nodes).into_iter().map(|product| (product.name, product.branches)).collect()
    }

    fn top<'a>(name: &'a str, place: usize, needs: &'a [usize]) -> BranchNode<'a> {
        BranchNode { name, top: place, needs }
    }

    #[test]
    fn a_collection_joins_its_counter() {
        let nodes = [
            top("run", 0, &[]),
            top("nJet", 1, &[]),
            top("Jet_pt", 2, &[1]),
            top("Jet_eta", 3, &[1]),
            top("nSV", 4, &[]),
            top("SV_x", 5, &[4]),
            top("HLT_a", 6, &[]),
            top("HLT_b", 7, &[]),
        ];
        let products: Vec<(String, Vec<usize>)> =
            [("run", vec![0]), ("Jet", vec![1, 2, 3]), ("SV", vec![4, 5]), ("HLT", vec![6, 7])]
                .map(|(name, branches)| (name.to_owned(), branches))
                .into();
        assert_eq!(names(&nodes), products);
    }

    #[test]
    fn a_split_branch_joins_its_sub_branches() {
        let nodes = [
            top("recoJets_slimmed__RECO.", 0, &[]),
            BranchNode { name: "recoJets_slimmed__RECO.obj", top: 0, needs: &[] },
            BranchNode { name: "recoJets_slimmed__RECO.obj.pt", top: 0, needs: &[1] },
            top("recoJets_other__RECO.", 3, &[]),
            top("JetsAuxDyn.pt", 4, &[]),
            top("JetsAuxDyn.eta", 5, &[]),
        ];
        let found: Vec<_> =
            names(&nodes).into_iter().map(|(name, branches)| (name, branches.len())).collect();
        let expected = [("recoJets_slimmed__RECO", 3), ("recoJets_other__RECO", 1), ("JetsAuxDyn", 2)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
    }
}
