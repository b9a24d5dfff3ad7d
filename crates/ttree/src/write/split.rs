//! Split objects: their branches, and the members of each `TBranchElement` (root-io-spec Splitting §1-3,
//! TBranchElement §3-6).

use super::class;
use super::element::Element;
use super::schema::{BranchSpec, Class, Storage, item_size};
use sapwood_core::{Error, Form, Primitive, Result};

/// The checksum of `std::string`, and the version of its class.
const STRING: (u32, i16) = (0x6e6f_1604, 2);
/// The version of the class of any collection.
const COLLECTION_VERSION: i16 = 6;
/// ROOT's number for an unlimited split level.
const ALL_LEVELS: i32 = 99;

/// The branches of a column of `Object` or `Objects`, by name and storage, if the first one has the index
/// `place` in its tree. Names are those of ROOT, with a dot at the end of an object's name, so that those of
/// its members are unique.
///
/// ```
/// use sapwood_core::Primitive::F32;
/// use sapwood_ttree::write::{Class, ClassMember, Storage, split};
/// use std::sync::Arc;
/// let member = |name: &str| ClassMember {
///     name: name.to_owned(),
///     storage: Storage::Numbers { primitive: F32, dims: vec![] },
/// };
/// let class = Arc::new(Class { name: "Jet".to_owned(), members: vec![member("pt"), member("eta")] });
/// let names = |storage| split("jets", &storage, 0).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
/// assert_eq!(names(Storage::Objects(class.clone())), ["jets", "jets.pt", "jets.eta"]);
/// assert_eq!(names(Storage::Object(class)), ["jets.", "jets.pt", "jets.eta"]);
/// ```
pub fn split(column: &str, storage: &Storage, place: usize) -> Vec<(String, Storage)> {
    let dot = if matches!(storage, Storage::Object(_)) { "." } else { "" };
    let mut branches = Branches { first: place, found: vec![(format!("{column}{dot}"), storage.clone())] };
    match storage {
        Storage::Object(class) => branches.members(column, class, place, &[], true),
        Storage::Objects(class) => branches.members(column, class, place, &[], false),
        _ => {}
    }
    branches.found
}

struct Branches {
    first: usize,
    found: Vec<(String, Storage)>,
}

impl Branches {
    /// Adds the branches of the members of a class, which is at `path` in the class of the branch `of`. `top`
    /// if that branch is of the whole object: only there do members that are objects have their own branch
    /// (Splitting §3.2).
    fn members(&mut self, prefix: &str, class: &Class, of: usize, path: &[usize], top: bool) {
        for (number, member) in class.members.iter().enumerate() {
            let mut name = format!("{prefix}.{}", member.name);
            let path: Vec<usize> = path.iter().copied().chain([number]).collect();
            match &member.storage {
                Storage::Object(inner) if !top => self.members(&name, inner, of, &path, false),
                Storage::Object(inner) | Storage::Objects(inner) => {
                    let place = self.add(&name, of, path);
                    self.members(&name, inner, place, &[], false);
                }
                storage => {
                    if let Storage::Numbers { dims, .. } = storage {
                        dims.iter().for_each(|dim| name += &format!("[{dim}]"));
                    }
                    self.add(&name, of, path);
                }
            }
        }
    }

    fn add(&mut self, name: &str, of: usize, path: Vec<usize>) -> usize {
        self.found.push((name.to_owned(), Storage::Member { of, path }));
        self.first + self.found.len() - 1
    }
}

/// Checks that split objects have all their branches, and that each class is defined once.
pub(super) fn check(branches: &[BranchSpec]) -> Result<()> {
    let mut classes: Vec<&Class> = Vec::new();
    let mut next = 0;
    for (place, branch) in branches.iter().enumerate() {
        let fault = |error: Error| error.branch(&branch.name);
        let class = match &branch.storage {
            Storage::Member { .. } if place < next => continue,
            Storage::Member { .. } => return Err(fault(Error::usage("the member has no object"))),
            Storage::Object(class) | Storage::Objects(class) => class,
            _ => continue,
        };
        class.check(matches!(branch.storage, Storage::Objects(_))).map_err(fault)?;
        class.classes(&mut classes);
        let wanted = split(branch.name.trim_end_matches('.'), &branch.storage, place);
        next = place + wanted.len();
        let given = branches.get(place..next).unwrap_or_default();
        let whole = given
            .iter()
            .zip(&wanted)
            .all(|(given, (name, storage))| given.name == *name && given.storage == *storage);
        if !whole || given.len() != wanted.len() {
            return Err(fault(Error::usage("the branches of its members do not follow it")));
        }
    }
    for (place, class) in classes.iter().enumerate() {
        if classes.iter().take(place).any(|other| other.name == class.name && other != class) {
            let message = format!("two classes of different members are called {}", class.name);
            return Err(Error::usage(message).hint("give the records other names"));
        }
    }
    Ok(())
}

/// A branch as a part of split objects, or any other branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct SplitBranch<'a> {
    /// Its content; for a member, of one object.
    pub(super) content: &'a Storage,
    /// The index of the branch that counts the objects, for a member of objects in a vector.
    pub(super) counter: Option<usize>,
    /// The index of its parent branch.
    pub(super) above: Option<usize>,
    /// The class that declares the member, and its index there.
    member: Option<(&'a Class, usize)>,
    offset: usize,
}

/// What a branch holds.
pub(super) fn split_branch(branches: &[BranchSpec], place: usize) -> SplitBranch<'_> {
    const NOTHING: &Storage = &Storage::Text;
    let content = branches.get(place).map_or(NOTHING, |branch| &branch.storage);
    let plain = SplitBranch { content, counter: None, above: None, member: None, offset: 0 };
    let Storage::Member { of, path } = content else { return plain };
    if *of >= place {
        return plain;
    }
    match split_branch(branches, *of).content {
        holder @ (Storage::Object(top) | Storage::Objects(top)) => {
            let Some((class, number, member)) = top.member(path) else { return plain };
            let counter = matches!(holder, Storage::Objects(_)).then_some(*of);
            let offset = counter.map_or(0, |_| top.offset_of_holder(path));
            let member_of = Some((class, number));
            SplitBranch { content: &member.storage, counter, above: Some(*of), member: member_of, offset }
        }
        _ => plain,
    }
}

impl SplitBranch<'_> {
    /// The offset in memory of the object that declares the member in the vector's item: `fOffset`.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// True if it has no entries of its own.
    pub(super) fn is_node(&self) -> bool {
        matches!(self.content, Storage::Object(_))
    }

    /// Size of an entry, if the branch has no offset table (root-io-spec ReadingEntries §1).
    pub(super) fn entry_size(&self) -> Option<usize> {
        match (self.content, self.counter, self.above) {
            (Storage::Numbers { primitive, dims }, None, None) => Some(item_size(*primitive, dims)),
            (Storage::Numbers { primitive, dims }, None, Some(_)) if dims.is_empty() => {
                Some(primitive.size())
            }
            _ => None,
        }
    }

    /// The form of its column; `Empty` for a split object, whose members have the data.
    pub(super) fn form(&self) -> Form {
        match self.content {
            Storage::Object(_) => Form::Empty,
            Storage::Objects(_) => Form::Primitive(Primitive::I32),
            storage if self.counter.is_some() => Form::list(storage.form()),
            storage => storage.form(),
        }
    }
}

impl Element {
    /// The element of a branch; `None` for a branch of leaves.
    pub(super) fn of(branches: &[BranchSpec], place: usize) -> Option<Element> {
        let part = split_branch(branches, place);
        let Some((class, number)) = part.member else { return Element::whole(part.content) };
        let member = class.members.get(number)?;
        let above = part.above.map(|above| split_branch(branches, above).content);
        let parent = match above {
            Some(Storage::Object(class) | Storage::Objects(class)) => class.name.clone(),
            _ => String::new(),
        };
        let (kind, clones_name) = match (part.content, part.counter) {
            (Storage::Objects(class), _) => (4, class.name.clone()),
            (Storage::Object(_), _) => (2, String::new()),
            (_, Some(_)) => (41, String::new()),
            (_, None) => (0, String::new()),
        };
        Some(Element {
            class_name: class.name.clone(),
            parent_name: parent,
            clones_name,
            checksum: class.checksum(),
            version: CLASS_VERSION,
            id: number as i32,
            kind,
            streamer_type: member.type_code(),
            split_level: split_level(branches, place),
        })
    }

    /// True if the branch has a leaf; a branch of a split member has none.
    pub(super) fn has_leaf(&self) -> bool {
        self.kind != 2
    }

    /// The element of a branch of whole objects.
    fn whole(storage: &Storage) -> Option<Element> {
        let (kind, (checksum, version), id, split_level) = match storage {
            Storage::StdString => (-1, STRING, -1, 0),
            Storage::Vector(_) => (0, (collection_checksum(storage), COLLECTION_VERSION), -1, ALL_LEVELS),
            Storage::Object(class) => (0, (class.checksum(), CLASS_VERSION), -2, ALL_LEVELS),
            Storage::Objects(_) => (4, (collection_checksum(storage), COLLECTION_VERSION), -1, ALL_LEVELS),
            _ => return None,
        };
        let clones_name = match storage {
            Storage::Objects(class) => class.name.clone(),
            _ => String::new(),
        };
        Some(Element {
            class_name: storage.type_name(),
            parent_name: String::new(),
            clones_name,
            checksum,
            version,
            id,
            kind,
            streamer_type: -1,
            split_level,
        })
    }
}

/// The version of a class without `ClassDef` in branches.
const CLASS_VERSION: i16 = 1;

/// The checksum of a collection, which is made from its name alone (root-io-spec StreamerInfo §11).
fn collection_checksum(storage: &Storage) -> u32 {
    class::text(0, &storage.type_name())
}

/// How far a branch could be split (Splitting §4.2): 0 for types that cannot be split, except for numbers
/// directly under the whole object.
fn split_level(branches: &[BranchSpec], place: usize) -> i32 {
    let part = split_branch(branches, place);
    let (Some(above), Some(Storage::Member { path, .. })) =
        (part.above, branches.get(place).map(|branch| &branch.storage))
    else {
        return ALL_LEVELS;
    };
    let level = || split_level(branches, above) - path.len() as i32;
    match part.content {
        Storage::Object(_) | Storage::Objects(_) => level(),
        Storage::Numbers { .. } if level() == ALL_LEVELS - 1 && part.counter.is_none() => level(),
        _ => 0,
    }
}
