//! The branches of an object at a split level, as `TTree::Branch` makes them (root-io-spec Splitting §1-4), and which
//! bytes of the object each of them holds.

mod elements;
mod splitter;

pub use splitter::ItemClasses;

use crate::interpret::described;
use crate::write::{BranchShape, Element, LeafShape, shapes_record};
use crate::{Branch, BranchKind, TTree, TreeOutline};
use sapwood_core::Result;
use sapwood_streamer::parts::{MovableContent, Part, movable_content};
use sapwood_streamer::{Compiler, Node};
use sapwood_tfile::StreamerInfos;
use splitter::{CLONES, COLLECTION, Reason, SPLIT, Splitter, WHOLE};

/// The checksum and the version of `TClonesArray`.
const CLONES_CLASS: (u32, i32) = (0xb6c0_ca63, 4);

/// An object at a split level.
#[derive(Debug, Clone)]
pub struct ObjectBranches {
    /// Its branches: parents before their sub-branches.
    shapes: Vec<BranchShape>,
    parts: Vec<Part>,
    /// The whole object.
    whole: Node,
    content: MovableContent,
}

impl ObjectBranches {
    /// The branches at a split `level` of the object that a top-level branch (by its index) and its sub-branches hold;
    /// `items` are the classes that only the entries of an unsplit object name.
    ///
    /// # Errors
    /// Why the object cannot be split, or put together.
    pub fn new(
        tree: &TTree,
        branch: usize,
        compiler: &Compiler,
        items: &ItemClasses,
        level: i32,
    ) -> Result<ObjectBranches, Reason> {
        let unknown = || "it is not an object that ROOT splits".to_owned();
        let top = tree.branches.get(branch).ok_or_else(unknown)?;
        if let Some(items) = clones_class(top, items.get("").map(String::as_str)) {
            return ObjectBranches::of_clones(top, items, compiler, level);
        }
        if is_whole_clones(top) {
            return Err("no entry says what its items are".to_owned());
        }
        let BranchKind::Element(element) = &top.kind else { return Err(unknown()) };
        if !matches!((element.element_type, element.id), (0, WHOLE | SPLIT) | (COLLECTION, WHOLE)) {
            return Err(unknown());
        }
        let class = element.class_name.as_str();
        let info = described(element, compiler.streamers());
        let whole = compiler.whole(class, info, &[]).map_err(|error| error.message().to_owned())?.node;
        let content = movable_content(&whole)?;
        let mut splitter = Splitter::new(compiler, items);
        let object = whole.clone();
        let (header, name) = (
            Element {
                class_name: class.to_owned(),
                parent_name: String::new(),
                clones_name: String::new(),
                checksum: element.checksum,
                version: i16::try_from(element.class_version).unwrap_or_default(),
                id: WHOLE,
                kind: 0,
                streamer_type: -1,
                split_level: level,
            },
            top.name.as_str(),
        );
        let parts = match (&whole, info, level) {
            (Node::Collection(_), _, 1..) => match splitter.items_of(&whole) {
                Some(items) => {
                    let kind = COLLECTION;
                    let element = Element { kind, clones_name: items.name.clone(), ..header };
                    splitter.add(name, element, None, None);
                    vec![splitter.items(name, 0, items, level)?]
                }
                None => vec![splitter.whole(name, header, whole)],
            },
            (Node::Collection(_), ..) => vec![splitter.whole(name, header, whole)],
            (Node::Members(class, _), Some(info), 1..) if class.has_fields() => {
                splitter.add(name, Element { id: SPLIT, ..header }, None, None);
                splitter.top_members(name, info, level)?
            }
            _ => vec![splitter.whole(name, Element { split_level: 0, ..header }, whole)],
        };
        Ok(ObjectBranches { shapes: splitter.shapes, parts, whole: object, content })
    }

    /// The branches of a `TClonesArray`.
    fn of_clones(
        top: &Branch,
        items: &str,
        compiler: &Compiler,
        level: i32,
    ) -> Result<ObjectBranches, Reason> {
        let no_items = ItemClasses::new();
        let mut splitter = Splitter::new(compiler, &no_items);
        let info = splitter.described(items);
        let info = info.ok_or_else(|| format!("the file does not describe one version of {items}"))?;
        let item = compiler.whole(items, Some(info), &[]).map_err(|error| error.message().to_owned())?;
        let content = MovableContent { clones: true, ..movable_content(&item.node)? };
        let whole = compiler.named_object("TClonesArray", &[]).map_err(|error| error.message().to_owned())?;
        let (checksum, version) = match &top.kind {
            BranchKind::Element(element) => (element.checksum, element.class_version),
            _ => CLONES_CLASS,
        };
        let element = Element {
            class_name: "TClonesArray".to_owned(),
            parent_name: String::new(),
            clones_name: items.to_owned(),
            checksum,
            version: i16::try_from(version).unwrap_or_default(),
            id: 0,
            kind: CLONES,
            streamer_type: -1,
            split_level: level,
        };
        let (name, node) = (top.name.as_str(), whole.node);
        let part = if level > 0 {
            let place = splitter.add(name, element, None, None);
            splitter.clones(name, (true, place), info, level)?
        } else {
            splitter.whole_clones(name, element, node.clone())
        };
        Ok(ObjectBranches { shapes: splitter.shapes, parts: vec![part], whole: node, content })
    }

    /// Number of branches.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// True if there is no branch.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// True if its bytes may name process ids by number: it may be referred to, or refer to others.
    pub fn names_process_ids(&self) -> bool {
        self.content.process_ids
    }

    /// True if it holds a `TClonesArray`, so that every object must be checked.
    pub fn has_clones(&self) -> bool {
        self.content.clones
    }

    /// Reads the bytes of a whole object.
    ///
    /// # Errors
    /// If it is not as described.
    pub fn check(&self, compiler: &Compiler, object: &[u8]) -> Result<()> {
        compiler.check_object(&self.whole, object)
    }

    /// What the bytes of the object are; places are indices of branches.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The names of the branches.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shapes.iter().map(|shape| shape.name.as_str())
    }

    /// True if a branch has entries, and not only sub-branches.
    pub fn has_entries(&self, place: usize) -> bool {
        self.shapes.get(place).is_some_and(|shape| shape.has_entries)
    }

    /// True if all entries of a branch have the same size.
    pub fn is_fixed(&self, place: usize) -> bool {
        self.shapes.get(place).is_some_and(|shape| shape.is_fixed)
    }

    /// The indices of the branches of the tree that are these, from a top-level branch on; `None` if the tree has others.
    pub fn find(&self, tree: &TTree, branch: usize) -> Option<Vec<usize>> {
        let mut found = Vec::with_capacity(self.shapes.len());
        below(tree, branch, &mut found);
        let same = |(place, shape): (&usize, &BranchShape)| {
            tree.branches.get(*place).is_some_and(|branch| is_like(branch, shape))
        };
        (found.len() == self.shapes.len() && found.iter().zip(&self.shapes).all(same)).then_some(found)
    }

    /// True if an object that has these branches also has those `at` another split level. What records say of the level of
    /// an object with a single branch does not matter.
    pub fn is_like(&self, at: &ObjectBranches) -> bool {
        let level = |object: &ObjectBranches| {
            let top = object.shapes.first().filter(|_| object.shapes.len() > 1);
            top.and_then(|shape| Some(shape.element.as_ref()?.split_level))
        };
        self.names().eq(at.names()) && level(self) == level(at)
    }

    /// The record of a tree with the branches of some objects, and no entries.
    ///
    /// # Errors
    /// `Limit` if it is too long.
    pub fn outline<'o>(objects: impl Iterator<Item = &'o ObjectBranches>) -> Result<TreeOutline> {
        let mut shapes: Vec<BranchShape> = Vec::new();
        for object in objects {
            let first = shapes.len();
            let moved = |place: Option<usize>| place.map(|place| place + first);
            shapes.extend(object.shapes.iter().cloned().map(|shape| BranchShape {
                above: moved(shape.above),
                counter: moved(shape.counter),
                counter_of_items: moved(shape.counter_of_items),
                leaf: shape.leaf.map(|leaf| LeafShape { counter: moved(leaf.counter), ..leaf }),
                ..shape
            }));
        }
        let payload = shapes_record(shapes)?.into();
        TreeOutline::parse("TTree", &payload, 0, u64::MAX, &StreamerInfos::default())
            .map(|(_, outline)| outline)
    }
}

/// Adds a branch and those below it, parents first.
fn below(tree: &TTree, branch: usize, found: &mut Vec<usize>) {
    found.push(branch);
    let children = tree.branches.get(branch).map(|branch| branch.children.as_slice());
    for child in children.unwrap_or_default() {
        below(tree, *child, found);
    }
}

/// The class of the items of a branch that holds a `TClonesArray`.
fn clones_class<'b>(top: &'b Branch, items: Option<&'b str>) -> Option<&'b str> {
    match &top.kind {
        BranchKind::Element(element) if (element.element_type, element.id) == (CLONES, 0) => {
            Some(&element.clones_name)
        }
        _ => items.filter(|_| is_whole_clones(top)),
    }
}

/// The members of a top-level object that are each a `TClonesArray`: their indices in its class, and their names.
pub fn clones_members(branch: &Branch, compiler: &Compiler) -> Vec<(i32, String)> {
    let BranchKind::Element(element) = &branch.kind else { return Vec::new() };
    let info = described(element, compiler.streamers()).filter(|info| info.name == element.class_name);
    let elements = info.filter(|_| element.element_type == 0).into_iter().flat_map(|info| &info.elements);
    let members = elements.enumerate().filter(|(_, member)| elements::is_clones(member));
    members.filter_map(|(index, member)| Some((i32::try_from(index).ok()?, member.name.clone()))).collect()
}

/// True for a branch of a `TClonesArray` that is not split.
pub fn is_whole_clones(branch: &Branch) -> bool {
    matches!(&branch.kind, BranchKind::Object { class_name } if class_name == "TClonesArray")
}

fn is_like(branch: &Branch, shape: &BranchShape) -> bool {
    if let (BranchKind::Object { class_name }, Some(class)) = (&branch.kind, &shape.object_class) {
        return branch.name == shape.name && class_name == class;
    }
    let (BranchKind::Element(own), Some(other)) = (&branch.kind, &shape.element) else { return false };
    branch.name == shape.name
        && own.class_name == other.class_name
        && own.clones_name == other.clones_name
        && (own.id, own.element_type) == (other.id, other.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BranchElement;
    use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo};

    fn info(name: String, elements: Vec<StreamerElement>) -> StreamerInfo {
        StreamerInfo { name, version: 1, checksum: 1, format: 9, without_tobject: false, elements }
    }

    fn base(name: String) -> StreamerElement {
        StreamerElement::new(&name, ElementKind::Base { version: 1, checksum: 1 }, 0, "BASE")
    }

    #[test]
    fn bases_that_multiply_each_other_end_with_a_reason() {
        let both = |depth: usize| vec![base(format!("A{depth}")), base(format!("B{depth}"))];
        let levels = (0..40).flat_map(|depth| {
            let bases = if depth == 0 { Vec::new() } else { both(depth - 1) };
            [info(format!("A{depth}"), bases.clone()), info(format!("B{depth}"), bases)]
        });
        let mut members = vec![StreamerElement::new("x", ElementKind::BasicType, 3, "int")];
        members.splice(0..0, both(39));
        let middle = info("Middle".to_owned(), members);
        let top = info("Top".to_owned(), vec![base("Middle".to_owned())]);
        let compiler = Compiler::new(levels.chain([middle, top]).collect());
        let element = BranchElement {
            class_name: "Top".to_owned(),
            parent_name: String::new(),
            clones_name: String::new(),
            checksum: 1,
            class_version: 1,
            id: WHOLE,
            element_type: 0,
            streamer_type: -1,
            maximum: 0,
            branch_count: None,
            branch_count2: None,
        };
        let branch =
            Branch { name: "top.".to_owned(), kind: BranchKind::Element(element), ..Branch::default() };
        let tree = TTree {
            class_name: "TTree".to_owned(),
            name: String::new(),
            title: String::new(),
            entries: 0,
            total_bytes: 0,
            zip_bytes: 0,
            cluster_starts: Vec::new(),
            aliases: Vec::new(),
            friends: Vec::new(),
            branches: vec![branch],
            hidden: Vec::new(),
        };
        let why = ObjectBranches::new(&tree, 0, &compiler, &ItemClasses::new(), 99).unwrap_err();
        assert_eq!(why, "its classes have too many members and bases");
        assert_eq!(ObjectBranches::new(&tree, 0, &compiler, &ItemClasses::new(), 0).unwrap().len(), 1);
    }
}
