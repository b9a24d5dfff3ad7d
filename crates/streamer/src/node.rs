//! The decoding program: a tree of nodes, each of which describes how values are stored and what is built of
//! them.

mod structure;

use crate::{MemberSelection, StoredNumber};
use sapwood_core::Primitive;
use std::borrow::Cow;
use std::sync::Arc;
pub use structure::StructureMember;

/// One step of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// One number.
    Number(StoredNumber),
    /// `TObject::fBits`: 32 bits, and 16 more if the object is referenced (root-io-spec ElementTypes §2.3).
    Bits,
    /// A counted string: one byte of length, or 255 and four bytes of length (Conventions §5.1).
    Text,
    /// A counted string, or no bytes at all for the empty one (TLeaf §9).
    TextOrNothing,
    /// A string with four bytes of length (ElementTypes §2.2).
    LongText,
    /// `size` items one after the other.
    Fixed {
        /// Items.
        size: usize,
        /// Each item.
        content: Box<Node>,
    },
    /// Four bytes of count, then that many items (Collections §3).
    List(Box<Node>),
    /// One flag byte, then items to the end of the entry; nothing more if the flag is 0 (ElementTypes §4).
    FlaggedToEnd(Box<Node>),
    /// Items to the end of the entry: the column of a member of a split collection (ReadingEntries §3.2).
    ToEnd(Box<Node>),
    /// As many items as an earlier member counts; after a flag byte, if `flag` (ElementTypes §4).
    Counted {
        /// The register with the count.
        register: usize,
        /// The member that counts.
        counter: String,
        /// True for a counted pointer to numbers.
        flag: bool,
        /// Each item.
        content: Box<Node>,
    },
    /// A counted member of all objects of an entry, one object after the other: another column holds the
    /// counts (ReadingEntries §4.2).
    CountedEach(Box<Node>),
    /// Byte count and version, then the content (Collections §2). In a column there is one frame for all.
    Framed(Box<Node>),
    /// As `Framed`, or no bytes at all, which stands for no items (ReadingEntries §3.2 and §3.6).
    FramedOrNothing(Box<Node>),
    /// Fields one after the other.
    Record(Vec<(String, Node)>),
    /// Fields one after the other, without names.
    Tuple(Vec<Node>),
    /// An STL collection as a member: framed, object-wise or member-wise (Collections §2 to §4).
    Collection(Arc<Collection>),
    /// An STL collection as an object: a count and the items, or framed as a member is (ElementTypes §7.2).
    Unframed(Arc<Collection>),
    /// An object behind its version header (Buffer §3).
    Object(Arc<CompiledClass>),
    /// An object without a header of its own, of the layout with this index (ReadingEntries §3.3).
    Members(Arc<CompiledClass>, usize),
    /// The members of objects to the end of the entry, each as a column: of the layout with this index, in
    /// which each object takes this many bytes.
    Columns(Arc<CompiledClass>, usize, usize),
    /// A pointer: null, an object that is stored here, or a reference (Buffer §6).
    Pointer(MemberSelection),
    /// A pointer or, in files of ROOT before 5.15/09, an object of this class: an item of a counted array of
    /// pointers (ElementTypes §7).
    PointerOrObject(String, MemberSelection),
    /// An object of a class that contains objects of its own class: compiled when one occurs.
    Later(String, MemberSelection),
    /// ROOT's own containers of pointers (StreamerInfo §4 and §5, Containers §1).
    Pointers(Pointers, Box<Node>),
    /// `TClonesArray` (Collections §12).
    Clones(MemberSelection),
    /// The bare base `TObject`, which is not built (Buffer §7).
    TObject,
    /// `TRef`: the number of the object referred to (References §3).
    Ref,
    /// `TRefArray` (References §4).
    RefArray,
    /// `TMatrixTSym`: the class of its base, followed by the elements from the diagonal on; the index of the
    /// number of rows (Matrix §2).
    Symmetric(Arc<CompiledClass>, StoredNumber, usize),
    /// The name of a class, with a length byte in front and a zero behind, then an object.
    Named(Box<Node>),
    /// No bytes, nothing built.
    Nothing,
    /// A class or type that cannot be read, only skipped.
    Opaque(String),
    /// Items of a class that the file does not describe: readable as long as there are none.
    Missing(String),
}

/// Why an object of a class without a description cannot be read.
pub(crate) fn undescribed(class: &str) -> String {
    format!("the file does not describe the class {class}")
}

/// A ROOT container of pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointers {
    /// `TObjArray`: a lower bound follows the count.
    Array,
    /// `TList`: an option follows each item.
    List,
    /// `TMap`, or a class that only derives from `TCollection`.
    Plain,
}

/// An STL collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// An item in object-wise storage.
    pub(crate) item: Node,
    /// The class whose members are the columns in member-wise storage; a `pair` for maps.
    pub(crate) class: Option<Arc<CompiledClass>>,
    /// The member is a pointer to a collection, which only old files store differently (Collections §11.3).
    pub(crate) is_pointer: bool,
}

/// A class: the record that is built, and how each of its versions is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledClass {
    pub(crate) name: String,
    /// The built fields, including members of bases.
    pub(crate) fields: Vec<ClassField>,
    /// The fields are taken from the first one.
    pub(crate) layouts: Vec<ClassLayout>,
    /// A checksum follows a version of 0 or less (Buffer §4).
    pub(crate) has_checksum: bool,
    /// Members that are kept because they count others, those of bases first.
    pub(crate) registers: Vec<String>,
    /// Members that cannot be read, by path, and why.
    pub(crate) skipped: Vec<(String, String)>,
    pub(crate) size: Size,
}

/// The size of what a node builds or a class holds. Sums saturate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Columns, including their names and comments.
    pub(crate) weight: usize,
    /// Levels of nested objects and arrays, as far as the descriptions determine them.
    pub(crate) depth: usize,
    /// Bytes of one default item, at least one for each object.
    pub(crate) default: usize,
}

impl Size {
    /// Nothing yet.
    pub(crate) const NONE: Size = Size { weight: 0, depth: 0, default: 1 };
    /// A single column.
    const ONE: Size = Size { weight: 1, depth: 1, default: 8 };

    /// The size of this next to another.
    pub(crate) fn and(self, other: Size) -> Size {
        Size {
            weight: self.weight.saturating_add(other.weight),
            depth: self.depth.max(other.depth),
            default: self.default.saturating_add(other.default),
        }
    }

    /// The size of `items` of this within something else.
    pub(crate) fn within(self, items: usize) -> Size {
        Size {
            weight: self.weight.saturating_add(1),
            depth: self.depth.saturating_add(1),
            default: self.default.saturating_mul(items),
        }
    }
}

impl Collection {
    /// The class of the items; `pair` for maps. `None` if they are no objects, or their members are never columns.
    pub fn items_class(&self) -> Option<&CompiledClass> {
        self.class.as_deref()
    }
}

impl ClassField {
    pub(crate) fn size(&self) -> Size {
        let size = self.node.size();
        // Names and comments are copied with the form.
        let words = (self.name.len() + self.title.len()) / 64;
        Size { weight: size.weight.saturating_add(words), ..size }
    }
}

/// A field of the record that a class builds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassField {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) node: Node,
}

/// How one version of a class is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassLayout {
    pub(crate) version: i32,
    pub(crate) checksum: u32,
    pub(crate) steps: Vec<LayoutStep>,
    /// This many steps build everything that is wanted: where the end is known, the others can be skipped.
    pub(crate) needed: usize,
    /// The fewest bytes of one object's members in columns.
    pub(crate) smallest: usize,
    /// Why objects of this version cannot become the record.
    pub(crate) unsupported: Option<String>,
}

/// A part of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LayoutStep {
    /// Members of fixed size, of which some are wanted.
    Run { bytes: usize, pieces: Vec<RunMember> },
    /// One member.
    Field { index: usize, node: Node },
    /// One integer, which counts others.
    Counter { index: Option<usize>, number: StoredNumber, register: usize },
    /// A base class, whose fields begin at `first`. If it `is_framed`, it has a header even in columns.
    Base { class: Arc<CompiledClass>, layout: usize, first: usize, register: usize, is_framed: bool },
    /// A member that is not wanted or not readable.
    Skip(Node),
    /// A number that has another type in the record.
    Convert { index: usize, from: StoredNumber, to: Primitive },
    /// A field that this version does not have.
    Default { index: usize },
}

/// A wanted member of a run: numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunMember {
    /// Its offset in the run.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) number: StoredNumber,
    pub(crate) index: usize,
}

impl Node {
    /// `content`, wrapped in fixed arrays of the sizes `dims`, the outermost first.
    pub fn fixed(dims: &[usize], content: Node) -> Node {
        dims.iter().rev().fold(content, |content, &size| Node::Fixed { size, content: Box::new(content) })
    }

    /// Byte count and version, then `content`.
    pub fn framed(content: Node) -> Node {
        Node::Framed(Box::new(content))
    }

    /// The fields of a `TRefArray`.
    pub(crate) fn ref_array() -> [(&'static str, Node); 3] {
        let number = Node::Number(StoredNumber::Plain(Primitive::I32));
        [("fName", Node::Text), ("fSize", number.clone()), ("refs", Node::List(Box::new(number)))]
    }

    /// The number type and count, if this is a fixed number of numbers.
    pub fn numbers(&self) -> Option<(StoredNumber, usize)> {
        match self {
            Node::Number(number) => Some((*number, 1)),
            Node::Fixed { size, content } => {
                let (number, values) = content.numbers()?;
                Some((number, values.checked_mul(*size)?))
            }
            _ => None,
        }
    }

    /// The number type and count, if this is a collection of numbers or of fixed arrays of them.
    pub fn vector_of_numbers(&self) -> Option<(StoredNumber, usize)> {
        match self {
            Node::Collection(collection) => collection.item.numbers(),
            _ => None,
        }
    }

    /// The items, if this builds lists of variable length.
    pub(crate) fn items(&self) -> Option<Cow<'_, Node>> {
        Some(match self {
            Node::List(content)
            | Node::FlaggedToEnd(content)
            | Node::ToEnd(content)
            | Node::Counted { content, .. }
            | Node::CountedEach(content)
            | Node::Pointers(_, content) => Cow::Borrowed(content),
            Node::Collection(collection) | Node::Unframed(collection) => Cow::Borrowed(&collection.item),
            Node::Columns(class, ..) => Cow::Owned(Node::Object(Arc::clone(class))),
            Node::Clones(wanted) => Cow::Owned(Node::Later(String::new(), wanted.clone())),
            _ => return None,
        })
    }

    /// The fewest bytes that one item can take; bounds every count that a file announces.
    pub(crate) fn smallest(&self) -> usize {
        match self {
            Node::Number(number) => number.size_on_file(),
            Node::Bits
            | Node::LongText
            | Node::List(_)
            | Node::Pointer(_)
            | Node::PointerOrObject(..)
            | Node::Unframed(_) => 4,
            Node::Text | Node::FlaggedToEnd(_) => 1,
            Node::TextOrNothing
            | Node::ToEnd(_)
            | Node::CountedEach(_)
            | Node::FramedOrNothing(_)
            | Node::Nothing
            | Node::Columns(..)
            | Node::Members(..) => 0,
            Node::Counted { flag, .. } => usize::from(*flag),
            Node::Fixed { size, content } => size.saturating_mul(content.smallest()),
            Node::Named(content) => 2usize.saturating_add(content.smallest()),
            Node::Framed(content) => 6usize.saturating_add(content.smallest()),
            Node::Record(fields) => {
                fields.iter().map(|(_, node)| node.smallest()).fold(0, usize::saturating_add)
            }
            Node::Tuple(nodes) => nodes.iter().map(Node::smallest).fold(0, usize::saturating_add),
            Node::Object(_) | Node::Later(..) | Node::Symmetric(..) => 2,
            Node::Collection(_) | Node::Pointers(..) | Node::Clones(_) | Node::RefArray => 6,
            Node::TObject | Node::Ref => 10,
            Node::Opaque(_) | Node::Missing(_) => 4,
        }
    }

    /// True if this contains only numbers and texts, in any arrays and lists, and no pointers.
    pub fn is_plain(&self) -> bool {
        match self {
            Node::Number(_) | Node::Text | Node::TextOrNothing | Node::LongText | Node::Bits => true,
            Node::Collection(collection) | Node::Unframed(collection) => {
                collection.class.is_none() && collection.item.is_plain()
            }
            Node::Fixed { content, .. }
            | Node::Framed(content)
            | Node::FramedOrNothing(content)
            | Node::List(content)
            | Node::FlaggedToEnd(content)
            | Node::ToEnd(content)
            | Node::CountedEach(content)
            | Node::Counted { content, .. } => content.is_plain(),
            _ => false,
        }
    }

    /// True if the form depends on the data, not only on the file's descriptions.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Node::Pointer(_)
            | Node::PointerOrObject(..)
            | Node::Later(..)
            | Node::Clones(_)
            | Node::Pointers(..) => true,
            Node::Fixed { content, .. }
            | Node::Framed(content)
            | Node::FramedOrNothing(content)
            | Node::Named(content) => content.is_open(),
            Node::Record(fields) => fields.iter().any(|(_, node)| node.is_open()),
            Node::Tuple(nodes) => nodes.iter().any(Node::is_open),
            Node::Object(class) | Node::Members(class, _) => {
                class.fields.iter().any(|field| field.node.is_open())
            }
            other => other.items().is_some_and(|content| content.is_open()),
        }
    }

    /// The class of the contained objects, however deep in collections.
    pub(crate) fn class(&self) -> Option<&Arc<CompiledClass>> {
        match self {
            Node::Object(class) | Node::Members(class, _) | Node::Columns(class, ..) => Some(class),
            Node::Fixed { content, .. }
            | Node::Framed(content)
            | Node::FramedOrNothing(content)
            | Node::Named(content)
            | Node::List(content)
            | Node::FlaggedToEnd(content)
            | Node::ToEnd(content)
            | Node::CountedEach(content)
            | Node::Counted { content, .. } => content.class(),
            Node::Collection(collection) | Node::Unframed(collection) => {
                collection.item.class().or(collection.class.as_ref())
            }
            _ => None,
        }
    }

    /// The size of what this builds.
    pub(crate) fn size(&self) -> Size {
        let all = |sizes: &mut dyn Iterator<Item = Size>| sizes.fold(Size::NONE, Size::and).within(1);
        match self {
            Node::Record(fields) => all(&mut fields.iter().map(|(_, node)| node.size())),
            Node::Tuple(nodes) => all(&mut nodes.iter().map(Node::size)),
            Node::Object(class) | Node::Members(class, _) => class.size,
            Node::Fixed { size, content } => content.size().within(*size),
            Node::Framed(content) | Node::FramedOrNothing(content) | Node::Named(content) => content.size(),
            Node::Later(name, _) | Node::PointerOrObject(name, _) => {
                Size { weight: 1 + name.len() / 64, ..Size::ONE }
            }
            other => match other.items() {
                Some(content) => Size { default: 8, ..content.size().within(1) },
                None => Size::ONE,
            },
        }
    }
}

impl ClassLayout {
    /// Bytes of one object's members in columns, if all objects have as many.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        let sizes = self.steps.iter().map(|step| match step {
            LayoutStep::Run { bytes, .. } => Some(*bytes),
            LayoutStep::Counter { number, .. } => Some(number.size_on_file()),
            LayoutStep::Convert { from, .. } => Some(from.size_on_file()),
            LayoutStep::Default { .. } => Some(0),
            LayoutStep::Base { class, layout, .. } => class.layouts.get(*layout)?.fixed_size(),
            LayoutStep::Field { .. } | LayoutStep::Skip(_) => None,
        });
        sizes.sum()
    }
}

impl LayoutStep {
    /// The fewest bytes that one object's part of a column takes.
    pub(crate) fn smallest(&self) -> usize {
        match self {
            LayoutStep::Run { bytes, .. } => *bytes,
            // One frame stands for the whole column.
            LayoutStep::Field { node: Node::Framed(content), .. } => content.smallest(),
            LayoutStep::Field { node: Node::Collection(_), .. } => 4,
            LayoutStep::Field { node, .. } => node.smallest(),
            LayoutStep::Skip(Node::TObject) => 10,
            LayoutStep::Skip(Node::Text) => 1,
            LayoutStep::Skip(node) => node.numbers().map_or(0, |_| node.smallest()),
            LayoutStep::Counter { number, .. } => number.size_on_file(),
            LayoutStep::Convert { from, .. } => from.size_on_file(),
            LayoutStep::Base { class, layout, .. } => {
                class.layouts.get(*layout).map_or(0, |layout| layout.smallest)
            }
            LayoutStep::Default { .. } => 0,
        }
    }

    /// True if it builds something.
    pub(crate) fn is_wanted(&self) -> bool {
        match self {
            LayoutStep::Run { pieces, .. } => !pieces.is_empty(),
            LayoutStep::Base { class, .. } => !class.fields.is_empty(),
            LayoutStep::Counter { index, .. } => index.is_some(),
            LayoutStep::Skip(_) => false,
            LayoutStep::Field { .. } | LayoutStep::Convert { .. } | LayoutStep::Default { .. } => true,
        }
    }
}

impl CompiledClass {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the class or its bases have members.
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The layout that a version or a checksum selects. With a single description, it is always that one
    /// (SchemaEvolution §4).
    #[inline]
    pub(crate) fn layout(&self, version: i16, checksum: Option<u32>) -> Option<&ClassLayout> {
        let is_it = |layout: &&ClassLayout| match checksum {
            Some(checksum) => layout.checksum == checksum,
            None => layout.version == i32::from(version),
        };
        match self.layouts.as_slice() {
            [only] => Some(only),
            several => several.iter().find(is_it),
        }
    }
}
