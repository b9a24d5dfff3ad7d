//! What the record of a tree says about a branch and its leaf, apart from its baskets.

use super::element::Element;
use super::schema::{BranchSpec, Storage};
use super::split::{SplitBranch, split_branch};
use sapwood_core::Primitive;

/// A branch, as its record describes it.
#[derive(Debug, Clone)]
pub(crate) struct BranchShape {
    pub(crate) name: String,
    pub(crate) title: String,
    /// `fCompress`.
    pub(crate) compression: i32,
    pub(crate) basket_size: u32,
    /// The index of its parent branch.
    pub(crate) above: Option<usize>,
    /// False if it has only sub-branches.
    pub(crate) has_entries: bool,
    /// True if all entries have the same size, so that baskets need no offsets.
    pub(crate) is_fixed: bool,
    /// True if its entries hold objects, which readers register in a map that they must empty for each entry.
    pub(crate) uses_map: bool,
    /// `fOffset`.
    pub(crate) offset: usize,
    /// What is only in a `TBranchElement`.
    pub(crate) element: Option<Element>,
    /// The class of the object in a `TBranchObject`.
    pub(crate) object_class: Option<String>,
    /// The index of the branch that counts the objects, for a member of objects in a collection; for another member, that
    /// which counts its items.
    pub(crate) counter: Option<usize>,
    /// The index of the branch that counts the items of each object, for a member of objects in a collection.
    pub(crate) counter_of_items: Option<usize>,
    pub(crate) leaf: Option<LeafShape>,
}

/// The leaf of a branch.
#[derive(Debug, Clone)]
pub(crate) struct LeafShape {
    /// Its class, and its letter in a list of leaves.
    pub(crate) class: &'static str,
    pub(crate) letter: Option<char>,
    pub(crate) name: String,
    pub(crate) title: String,
    /// `fLen`; `None` for the length of the longest string.
    pub(crate) len: Option<usize>,
    /// `fLenType`.
    pub(crate) len_type: usize,
    pub(crate) unsigned: bool,
    /// The index of the branch whose leaf counts the items.
    pub(crate) counter: Option<usize>,
}

impl BranchShape {
    /// The branch with this index among those that are specified.
    pub(super) fn of(specs: &[BranchSpec], place: usize) -> Option<BranchShape> {
        let spec = specs.get(place)?;
        let part = split_branch(specs, place);
        let element = Element::of(specs, place);
        let names = LeafNames::of(specs, place, &part);
        let title = match (&spec.title, leaf_class(part)) {
            (Some(title), _) => title.clone(),
            (None, (_, Some(letter))) => format!("{}/{letter}", names.leaf_title),
            (None, _) => names.leaf_title.clone(),
        };
        let has_leaf = element.as_ref().is_none_or(Element::has_leaf);
        Some(BranchShape {
            name: spec.name.clone(),
            title,
            compression: spec.compression.number(),
            basket_size: spec.basket_size,
            above: part.above,
            has_entries: !part.is_node(),
            is_fixed: part.entry_size().is_some(),
            uses_map: false,
            offset: part.offset(),
            element,
            object_class: None,
            counter: part.counter,
            counter_of_items: None,
            leaf: has_leaf.then(|| LeafShape::of(part, names)),
        })
    }
}

impl LeafShape {
    fn of(part: SplitBranch<'_>, names: LeafNames) -> LeafShape {
        let (class, letter) = leaf_class(part);
        let (len, len_type, unsigned) = match part.content {
            Storage::Numbers { primitive, dims } | Storage::Counted { primitive, dims, .. } => {
                (Some(dims.iter().product()), primitive.size(), primitive.is_unsigned())
            }
            Storage::Text => (None, 1, false),
            _ => (Some(1), 0, false),
        };
        let counter = match part.content {
            Storage::Counted { counter, .. } => Some(*counter),
            _ => part.counter,
        };
        let (name, title) = (names.leaf, names.leaf_title);
        LeafShape { class, letter, name, title, len, len_type, unsigned, counter }
    }
}

/// The name of a leaf, and its title, which is also that of a branch of objects.
struct LeafNames {
    leaf: String,
    leaf_title: String,
}

impl LeafNames {
    fn of(specs: &[BranchSpec], place: usize, part: &SplitBranch<'_>) -> LeafNames {
        let name_of = |place: usize| specs.get(place).map_or("", |spec| spec.name.as_str());
        let name = name_of(place);
        let bare = name.split('[').next().unwrap_or_default();
        let (leaf, leaf_title) = match (part.content, part.counter, part.above) {
            // Splitting §3.3.
            (Storage::Objects(_), ..) => (format!("{name}_"), format!("{name}_")),
            (_, Some(counter), _) => {
                let member = bare.rsplit('.').next().unwrap_or_default();
                (bare.to_owned(), format!("{member}[{}_]", name_of(counter)))
            }
            (_, None, Some(_)) => (bare.to_owned(), name.to_owned()),
            (storage, None, None) => (name.to_owned(), with_dimensions(name, storage, name_of)),
        };
        LeafNames { leaf, leaf_title }
    }
}

/// The leaf's name with its dimensions: `x`, `x[3]`, `x[n][2]`.
fn with_dimensions<'a>(name: &str, storage: &Storage, name_of: impl Fn(usize) -> &'a str) -> String {
    let mut title = name.to_owned();
    if let Storage::Counted { counter, .. } = storage {
        title += &format!("[{}]", name_of(*counter));
    }
    if let Storage::Numbers { dims, .. } | Storage::Counted { dims, .. } = storage {
        dims.iter().for_each(|dim| title += &format!("[{dim}]"));
    }
    title
}

/// The class of the leaf, and its letter in a list of leaves.
fn leaf_class(part: SplitBranch<'_>) -> (&'static str, Option<char>) {
    let (Storage::Numbers { primitive, .. } | Storage::Counted { primitive, .. }, None) =
        (part.content, part.above)
    else {
        return match part.content {
            Storage::Text => ("TLeafC", Some('C')),
            _ => ("TLeafElement", None),
        };
    };
    let (class, letter) = match primitive {
        Primitive::Bool => ("TLeafO", 'O'),
        Primitive::I8 => ("TLeafB", 'B'),
        Primitive::U8 => ("TLeafB", 'b'),
        Primitive::I16 => ("TLeafS", 'S'),
        Primitive::U16 => ("TLeafS", 's'),
        Primitive::I32 => ("TLeafI", 'I'),
        Primitive::U32 => ("TLeafI", 'i'),
        Primitive::I64 => ("TLeafL", 'L'),
        Primitive::U64 => ("TLeafL", 'l'),
        Primitive::F32 => ("TLeafF", 'F'),
        Primitive::F64 => ("TLeafD", 'D'),
    };
    (class, Some(letter))
}
