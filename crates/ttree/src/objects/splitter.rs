//! Which branches `TTree::Branch` makes for an object at a split level, and which bytes of the object each of them holds.

use super::elements::{can_split, full_name, is_absent, is_clones, is_kept_whole, is_of_root};
use crate::write::{BranchShape, Element, LeafShape};
use sapwood_streamer::parts::{ClassHeader, Part, movable_content};
use sapwood_streamer::{Compiler, Node};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo};
use std::collections::HashMap;

/// `TBranchElement::fType` (TBranchElement §3).
const BASE: i32 = 1;
const OBJECT: i32 = 2;
pub(super) const CLONES: i32 = 3;
pub(super) const COLLECTION: i32 = 4;
/// A member of an item of a `TClonesArray`, and of another collection.
const CLONES_MEMBER: i32 = 31;
const ITEM_MEMBER: i32 = 41;
/// `fID` of a top-level branch: unsplit or of a collection, and of a split object.
pub(super) const WHOLE: i32 = -1;
pub(super) const SPLIT: i32 = -2;
/// ROOT's number for an unlimited split level.
const ALL_LEVELS: i32 = 99;
/// Type codes from which on entries have offsets: those of arrays; also `char*` and `fBits`.
const FIRST_ARRAY: i32 = 20;
const WITHOUT_SIZE: [i32; 2] = [7, BITS];
/// Type codes of integers that count others, or may.
const COUNTER: i32 = 6;
const INT: i32 = 3;
/// Type codes of the members of `TObject`.
const UNSIGNED: i32 = 13;
const BITS: i32 = 15;
/// Type codes of `Double32_t` and `Float16_t`.
const DOUBLE32: i32 = 9;
const FLOAT16: i32 = 19;

/// The classes of the items of each `TClonesArray` in an object, by the name of the member; that of one that is itself the
/// object has no name.
pub type ItemClasses = HashMap<String, String>;

/// Why an object stays as it is.
pub(super) type Reason = String;

/// Makes the branches of one object.
pub(super) struct Splitter<'a> {
    compiler: &'a Compiler,
    items: &'a ItemClasses,
    pub(super) shapes: Vec<BranchShape>,
    /// Elements of classes that may still be visited.
    left: usize,
}

/// Most elements of classes in one object: base classes without members can multiply each other without end.
const MOST_ELEMENTS: usize = 100_000;

impl<'a> Splitter<'a> {
    pub(super) fn new(compiler: &'a Compiler, items: &'a ItemClasses) -> Self {
        Splitter { compiler, items, shapes: Vec::new(), left: MOST_ELEMENTS }
    }

    /// The elements of a class of which objects have bytes, with their indices.
    fn elements(&mut self, info: &'a StreamerInfo) -> Result<Vec<(usize, &'a StreamerElement)>, Reason> {
        let elements: Vec<_> =
            info.elements.iter().enumerate().filter(|(_, element)| !is_absent(element)).collect();
        let left = self.left.checked_sub(elements.len());
        self.left = left.ok_or("its classes have too many members and bases")?;
        Ok(elements)
    }

    /// Adds a branch; `above` is the index of its parent, `counter` that of the branch which counts the items that it is a
    /// member of.
    pub(super) fn add(
        &mut self,
        name: &str,
        element: Element,
        above: Option<usize>,
        counter: Option<usize>,
    ) -> usize {
        let place = self.shapes.len();
        let bare = name.split('[').next().unwrap_or_default();
        let title = match (element.kind, counter) {
            (COLLECTION | CLONES, _) => format!("{name}_"),
            (_, Some(counter)) => {
                let member = bare.rsplit('.').next().unwrap_or_default();
                let counts = self.shapes.get(counter).map_or("", |shape| shape.name.as_str());
                format!("{member}[{counts}_]")
            }
            _ => name.to_owned(),
        };
        let leaf_name =
            if matches!(element.kind, COLLECTION | CLONES) { title.clone() } else { bare.to_owned() };
        let has_leaf = !matches!(element.kind, BASE | OBJECT);
        let is_fixed = counter.is_none()
            && element.kind == 0
            && (1..FIRST_ARRAY).contains(&element.streamer_type)
            && !WITHOUT_SIZE.contains(&element.streamer_type);
        let leaf = has_leaf.then(|| LeafShape {
            class: "TLeafElement",
            letter: None,
            name: leaf_name,
            title: title.clone(),
            len: Some(1),
            len_type: 0,
            unsigned: false,
            counter,
        });
        self.shapes.push(BranchShape {
            name: name.to_owned(),
            title,
            compression: -1,
            basket_size: 0,
            above,
            has_entries: has_leaf && element.id != SPLIT,
            is_fixed,
            uses_map: false,
            offset: 0,
            element: Some(element),
            object_class: None,
            counter,
            counter_of_items: None,
            leaf,
        });
        place
    }

    /// An object that is not split.
    pub(super) fn whole(&mut self, name: &str, element: Element, node: Node) -> Part {
        let place = self.add(name, element, None, None);
        self.value(place, node, None)
    }

    /// A `TClonesArray` that is not split: its branch names the class in each entry.
    pub(super) fn whole_clones(&mut self, name: &str, element: Element, node: Node) -> Part {
        let class = element.class_name.clone();
        let place = self.add(name, element, None, None);
        if let Some(shape) = self.shapes.get_mut(place) {
            (shape.element, shape.title) = (None, name.to_owned());
            shape.leaf = Some(LeafShape {
                class: "TLeafObject",
                letter: None,
                name: name.to_owned(),
                title: class.clone(),
                len: Some(1),
                len_type: 4,
                unsigned: false,
                counter: None,
            });
            shape.object_class = Some(class);
        }
        self.value(place, node, None)
    }

    /// The items of a split `TClonesArray`, whose branch is at `place`.
    pub(super) fn clones(
        &mut self,
        name: &str,
        (items_are_named, place): (bool, usize),
        info: &'a StreamerInfo,
        level: i32,
    ) -> Result<Part, Reason> {
        let parts = self.members(name, &info.name, info, level, place, Some(place))?;
        Ok(Part::Clones { is_named: items_are_named, place, header: self.header(info), parts })
    }

    /// The members of a split top-level object.
    pub(super) fn top_members(
        &mut self,
        name: &str,
        info: &'a StreamerInfo,
        level: i32,
    ) -> Result<Vec<Part>, Reason> {
        let mut parts = Vec::new();
        for (index, element) in self.elements(info)? {
            let own = full_name(element);
            let branch = match name.split_once('.') {
                Some((_, "")) => format!("{name}{own}"),
                // Dots in the name of a tree's branch stand for folders.
                Some(_) if element.is_base() => name.to_owned(),
                Some(_) => format!("{name}.{own}"),
                None => own,
            };
            let member = Member { info, index, element, parent: &info.name };
            parts.push(self.branch(&branch, member, level - 1, 0)?);
        }
        Ok(parts)
    }

    /// The members of a class under the branch `above`; `items` is the index of the branch that counts the objects, if they
    /// are in a collection.
    fn members(
        &mut self,
        prefix: &str,
        parent: &str,
        info: &'a StreamerInfo,
        level: i32,
        above: usize,
        items: Option<usize>,
    ) -> Result<Vec<Part>, Reason> {
        // ROOT stores it where such an object is split, unless that is at the top of the tree.
        if info.elements.iter().any(|element| element.name == "TObject" && is_absent(element)) {
            return Err(format!("the class {} is stored without its TObject", info.name));
        }
        let mut parts = Vec::new();
        for (index, element) in self.elements(info)? {
            let name = match prefix {
                "" => full_name(element),
                prefix => format!("{prefix}.{}", full_name(element)),
            };
            let member = Member { info, index, element, parent };
            if is_clones(element) {
                return Err("it holds a TClonesArray in another object".to_owned());
            }
            let part = match (&element.kind, items) {
                (ElementKind::Base { .. }, _) => match self.base(&member)? {
                    None => self.leaf(&name, &member, 0, above, items)?,
                    // The members become columns beside the others; a base without members has no branch.
                    Some((base, has_members)) if items.is_some() || !has_members => Part::Members {
                        header: self.header(base),
                        without_header: !is_of_root(element),
                        parts: self.members(prefix, parent, base, level, above, items)?,
                    },
                    Some(_) => {
                        let place = self.shapes.len();
                        let inner = if prefix.is_empty() { &name } else { prefix };
                        let part = self.branch(inner, member, level, above)?;
                        if let Some(shape) = self.shapes.get_mut(place) {
                            (shape.name, shape.title) = (name.clone(), name);
                        }
                        part
                    }
                },
                (ElementKind::Object | ElementKind::ObjectAny, _) if level > 1 => {
                    match self.class_of(&member)? {
                        Some(class) => Part::Members {
                            header: self.header(class),
                            without_header: false,
                            parts: self.members(&name, parent, class, level - 1, above, items)?,
                        },
                        None => self.leaf(&name, &member, 0, above, items)?,
                    }
                }
                (ElementKind::Stl { .. }, None) => self.branch(&name, member, level - 1, above)?,
                _ => self.leaf(&name, &member, 0, above, items)?,
            };
            parts.push(part);
        }
        Ok(parts)
    }

    /// The branch of a member of an object that is in no collection, with its sub-branches.
    fn branch(
        &mut self,
        name: &str,
        member: Member<'a, '_>,
        level: i32,
        above: usize,
    ) -> Result<Part, Reason> {
        let element = |kind: i32, clones_name: &str| {
            let clones_name = clones_name.to_owned();
            Element { kind, clones_name, ..member.element(level) }
        };
        match &member.element.kind {
            ElementKind::Base { .. } => {
                let base = self.base(&member)?.filter(|(_, has_members)| level > 0 && *has_members);
                let Some((base, _)) = base else { return self.leaf(name, &member, 0, above, None) };
                let header = self.header(base);
                let place = self.add(name, element(BASE, ""), Some(above), None);
                let parts = match name == base.name {
                    true => self.members("", &member.info.name, base, level, place, None)?,
                    false => self.members(name, &base.name, base, level, place, None)?,
                };
                Ok(Part::Members { header, without_header: !is_of_root(member.element), parts })
            }
            ElementKind::Stl { .. } if level > 0 => {
                let node = self.node(&member)?;
                let Some(items) = self.items_of(&node).filter(|_| !is_kept_whole(member.element)) else {
                    return self.leaf(name, &member, 0, above, None);
                };
                let place = self.add(name, element(COLLECTION, &items.name), Some(above), None);
                self.items(name, place, items, level)
            }
            _ if level > 0 && is_clones(member.element) => {
                let info = self.items.get(&member.element.name).and_then(|class| self.described(class));
                let info = info.ok_or("nothing describes what is in a TClonesArray")?;
                let item = self.compiler.whole(&info.name, Some(info), &[]);
                movable_content(&item.map_err(|error| error.message().to_owned())?.node)?;
                let place = self.add(name, element(CLONES, &info.name), Some(above), None);
                if let Some(shape) = self.shapes.get_mut(place) {
                    shape.is_fixed = true;
                }
                self.clones(name, (false, place), info, level)
            }
            ElementKind::Object | ElementKind::ObjectAny if level > 0 && !is_of_root(member.element) => {
                let Some(class) = self.class_of(&member)? else {
                    return self.leaf(name, &member, 0, above, None);
                };
                let place = self.add(name, element(OBJECT, ""), Some(above), None);
                let header = self.header(class);
                let parts = self.members(name, &class.name, class, level, place, None)?;
                Ok(Part::Members { header, without_header: false, parts })
            }
            ElementKind::BasicType | ElementKind::BasicPointer(_) => {
                self.leaf(name, &member, level, above, None)
            }
            ElementKind::Object if is_of_root(member.element) => self.leaf(name, &member, level, above, None),
            _ => self.leaf(name, &member, 0, above, None),
        }
    }

    /// A branch with the values of a member.
    fn leaf(
        &mut self,
        name: &str,
        member: &Member<'a, '_>,
        level: i32,
        above: usize,
        items: Option<usize>,
    ) -> Result<Part, Reason> {
        let node = self.node(member)?;
        let collection = items.and_then(|items| self.shapes.get(items)?.element.as_ref());
        let kind = collection.map_or(0, |element| match element.kind {
            CLONES => CLONES_MEMBER,
            _ => ITEM_MEMBER,
        });
        let content = if let Node::Counted { content, .. } = &node { content } else { &node };
        let numbers = content.numbers().map(|(number, _)| number.primitive());
        let counter = self.counter(name, &member.element.kind)?;
        let element = Element { kind, ..member.element(level) };
        let place = self.add(name, element, Some(above), items);
        if let Some((counter, count)) = counter {
            self.counted(place, name, (counter, count));
        }
        let leaf = self.shapes.get_mut(place).and_then(|shape| shape.leaf.as_mut());
        if let (Some(leaf), Some(primitive)) = (leaf, numbers) {
            leaf.len = Some(member.element.array_length.max(1) as usize);
            leaf.len_type = match member.element.type_code % FIRST_ARRAY {
                COUNTER if member.element.type_code == COUNTER => 0,
                DOUBLE32 => 4,
                FLOAT16 => 2,
                _ => primitive.size(),
            };
            leaf.unsigned = primitive.is_unsigned();
        }
        Ok(self.value(place, node, counter.map(|(counter, _)| counter)))
    }

    /// The branch that counts the items of a member, and the name of the member that it holds.
    fn counter<'e>(&self, name: &str, kind: &'e ElementKind) -> Result<Option<(usize, &'e str)>, Reason> {
        let count = match kind {
            ElementKind::BasicPointer(count) => count.name.as_str(),
            ElementKind::Loop(_) => return Err("it holds objects that another member counts".to_owned()),
            _ => return Ok(None),
        };
        let holder = name.rsplit_once('.').map_or("", |(holder, _)| holder);
        let counts = |shape: &BranchShape| {
            let (above, own) = shape.name.rsplit_once('.').unwrap_or(("", &shape.name));
            let code = shape.element.as_ref().map(|element| element.streamer_type);
            (above, own) == (holder, count) && matches!(code, Some(COUNTER | INT))
        };
        let place = self.shapes.iter().rposition(counts);
        let place = place.ok_or_else(|| format!("no branch has the number of items of '{name}'"))?;
        Ok(Some((place, count)))
    }

    /// Says in a branch that another counts its items.
    fn counted(&mut self, place: usize, name: &str, (counter, count): (usize, &str)) {
        let Some(shape) = self.shapes.get_mut(place) else { return };
        let title = format!("{name}[{count}]");
        if shape.counter.is_some() {
            shape.counter_of_items = Some(counter);
        } else {
            (shape.counter, shape.title) = (Some(counter), title.clone());
        }
        let is_of_items = shape.counter_of_items.is_some();
        if let Some(leaf) = &mut shape.leaf {
            if !is_of_items {
                (leaf.counter, leaf.title) = (Some(counter), title.clone());
            }
            // ROOT looks for a leaf that has only the name of the member.
            if name.contains('.') {
                leaf.name = title;
            }
        }
    }

    /// The value that a branch holds.
    fn value(&mut self, place: usize, node: Node, counter: Option<usize>) -> Part {
        if let Some(shape) = self.shapes.get_mut(place) {
            shape.uses_map = !node.is_plain();
        }
        Part::Value { place, node, counter }
    }

    /// The items of a split collection, whose branch is at `place`.
    pub(super) fn items(
        &mut self,
        name: &str,
        place: usize,
        info: &'a StreamerInfo,
        level: i32,
    ) -> Result<Part, Reason> {
        let parts = self.members(name, &info.name, info, level, place, Some(place))?;
        Ok(Part::Items { place, header: self.header(info), parts })
    }

    fn header(&self, info: &StreamerInfo) -> ClassHeader {
        self.compiler.class_header(info)
    }

    fn node(&self, member: &Member<'a, '_>) -> Result<Node, Reason> {
        let node = self.compiler.element_node(member.info, member.index);
        node.map_err(|error| error.message().to_owned())
    }

    /// The class of the items of a collection that can be split.
    pub(super) fn items_of(&self, node: &Node) -> Option<&'a StreamerInfo> {
        let Node::Collection(collection) = node else { return None };
        let class = collection.items_class()?;
        self.described(class.name()).filter(|_| class.has_fields() && can_split(class.name()))
    }

    /// The description of a base class, and whether it has members; `None` if it stays whole.
    fn base(&self, member: &Member<'a, '_>) -> Result<Option<(&'a StreamerInfo, bool)>, Reason> {
        Ok(match self.node(member)? {
            Node::Object(class) => self.described(class.name()).map(|info| (info, class.has_fields())),
            Node::TObject => Some((self.tobject()?, true)),
            _ => None,
        })
    }

    /// The description of `TObject`.
    fn tobject(&self) -> Result<&'a StreamerInfo, Reason> {
        let members = |info: &&StreamerInfo| {
            let codes = info.elements.iter().map(|element| element.type_code);
            codes.eq([UNSIGNED, BITS])
        };
        let info = self.described("TObject").filter(members);
        info.ok_or_else(|| "the file does not describe the class TObject".to_owned())
    }

    /// The class of a member that is an object; `None` if it stays whole.
    fn class_of(&self, member: &Member<'a, '_>) -> Result<Option<&'a StreamerInfo>, Reason> {
        Ok(match self.node(member)? {
            Node::Object(class)
                if !is_kept_whole(member.element) && class.has_fields() && can_split(class.name()) =>
            {
                self.described(class.name())
            }
            Node::TObject => Some(self.tobject()?),
            _ => None,
        })
    }

    /// The only description of a class.
    pub(super) fn described(&self, class: &str) -> Option<&'a StreamerInfo> {
        match self.compiler.streamers().versions(class) {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// An element of a class, and the class that its branch names as its parent.
#[derive(Debug, Clone, Copy)]
struct Member<'a, 'p> {
    info: &'a StreamerInfo,
    index: usize,
    element: &'a StreamerElement,
    parent: &'p str,
}

impl Member<'_, '_> {
    fn element(&self, level: i32) -> Element {
        Element {
            class_name: self.info.name.clone(),
            parent_name: self.parent.to_owned(),
            clones_name: String::new(),
            checksum: self.info.checksum,
            version: i16::try_from(self.info.version).unwrap_or_default(),
            id: i32::try_from(self.index).unwrap_or(i32::MAX),
            kind: 0,
            streamer_type: self.element.type_code,
            split_level: level.clamp(0, ALL_LEVELS),
        }
    }
}
