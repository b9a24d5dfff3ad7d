//! The specification of the branches of a new tree, and the columns that they accept.

use sapwood_codec::Compression;
use sapwood_core::{Error, Form, Primitive, Result};
use std::sync::Arc;

/// The specification of a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSpec {
    /// `fName`.
    pub name: String,
    /// `fTitle`; by default that of ROOT: the list of leaves, or the name.
    pub title: Option<String>,
    /// Its type.
    pub storage: Storage,
    /// How its baskets are compressed.
    pub compression: Compression,
    /// Bytes of entries, before compression, after which a basket is full.
    pub basket_size: u32,
}

/// How the entries of a branch are stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Storage {
    /// One number per entry, or a fixed array of them: a leaf such as `x/F` or `x[2][3]/F`.
    Numbers {
        /// The type of a number.
        primitive: Primitive,
        /// The dimensions of the array, the outermost first; none for one number.
        dims: Vec<usize>,
    },
    /// As many numbers (or fixed arrays) per entry as another branch counts: a leaf such as `x[n]/F`.
    Counted {
        /// The type of a number.
        primitive: Primitive,
        /// The dimensions of each item.
        dims: Vec<usize>,
        /// The index of the count branch in the tree; it must come first.
        counter: usize,
    },
    /// A string in a leaf such as `x/C`.
    Text,
    /// A `std::string`.
    StdString,
    /// A `std::vector` of these.
    Vector(VectorItem),
    /// Split objects, followed by the branches of their members as given by [`split`](fn@super::split).
    Object(Arc<Class>),
    /// `std::vector`s of split objects; this branch holds their number.
    Objects(Arc<Class>),
    /// A member of split objects.
    Member {
        /// The index of the branch of the objects.
        of: usize,
        /// The indices of the enclosing members, then that of the member in its class.
        path: Vec<usize>,
    },
}

/// What a `std::vector` holds.
#[derive(Debug, Clone, PartialEq)]
pub enum VectorItem {
    /// Numbers.
    Number(Primitive),
    /// `std::string`s.
    String,
    /// `std::vector`s.
    Vector(Box<VectorItem>),
}

/// A class whose objects are split into a branch for each member.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name in C++.
    pub name: String,
    /// Its members, in their order.
    pub members: Vec<ClassMember>,
}

/// A member of a [`Class`].
#[derive(Debug, Clone, PartialEq)]
pub struct ClassMember {
    /// Its name in C++.
    pub name: String,
    /// What it holds: `Numbers`, `Vector`s of numbers, or `Object`; if the class is not itself in a vector,
    /// also `StdString`, any `Vector`, and `Objects`. Without a dictionary of the class, ROOT 6.40 crashes on
    /// `std::string`s in a growing vector, and draws wrong values for nested vectors.
    pub storage: Storage,
}

impl Storage {
    /// The form of the columns that such a branch accepts.
    ///
    /// ```
    /// use sapwood_core::{Form, Primitive};
    /// use sapwood_ttree::write::{VectorItem, Storage};
    /// let nested = Storage::Vector(VectorItem::Vector(Box::new(VectorItem::Number(Primitive::F32))));
    /// assert_eq!(nested.form(), Form::list(Form::list(Form::Primitive(Primitive::F32))));
    /// ```
    pub fn form(&self) -> Form {
        match self {
            Storage::Numbers { primitive, dims } => Form::fixed(dims, Form::Primitive(*primitive)),
            Storage::Counted { primitive, dims, .. } => {
                Form::list(Form::fixed(dims, Form::Primitive(*primitive)))
            }
            Storage::Text | Storage::StdString => Form::String,
            Storage::Vector(item) => Form::list(item.form()),
            Storage::Object(_) | Storage::Objects(_) | Storage::Member { .. } => Form::Empty,
        }
    }

    /// The name of its type in C++, as ROOT spells it.
    pub(super) fn type_name(&self) -> String {
        match self {
            Storage::Numbers { primitive, .. } | Storage::Counted { primitive, .. } => {
                cpp_name(*primitive).to_owned()
            }
            Storage::Text | Storage::StdString => "string".to_owned(),
            Storage::Vector(item) => vector_of(&item.type_name()),
            Storage::Object(class) => class.name.clone(),
            Storage::Objects(class) => vector_of(&class.name),
            Storage::Member { .. } => String::new(),
        }
    }
}

/// Bytes of a fixed array of numbers.
pub(super) fn item_size(primitive: Primitive, dims: &[usize]) -> usize {
    dims.iter().fold(primitive.size(), |size, dim| size.saturating_mul(*dim))
}

impl VectorItem {
    fn form(&self) -> Form {
        match self {
            VectorItem::Number(primitive) => Form::Primitive(*primitive),
            VectorItem::String => Form::String,
            VectorItem::Vector(item) => Form::list(item.form()),
        }
    }

    fn type_name(&self) -> String {
        match self {
            VectorItem::Number(primitive) => cpp_name(*primitive).to_owned(),
            VectorItem::String => "string".to_owned(),
            VectorItem::Vector(item) => vector_of(&item.type_name()),
        }
    }
}

/// `vector<T>` in ROOT's spelling, which keeps closing brackets apart.
fn vector_of(name: &str) -> String {
    let space = if name.ends_with('>') { " " } else { "" };
    format!("vector<{name}{space}>")
}

/// The name of a type in ROOT's names of collections.
pub(super) fn cpp_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "bool",
        Primitive::I8 => "char",
        Primitive::U8 => "unsigned char",
        Primitive::I16 => "short",
        Primitive::U16 => "unsigned short",
        Primitive::I32 => "int",
        Primitive::U32 => "unsigned int",
        Primitive::I64 => "Long64_t",
        Primitive::U64 => "ULong64_t",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
    }
}

/// Checks that the branches can be written as one tree.
pub(super) fn check(branches: &[BranchSpec]) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    for (place, branch) in branches.iter().enumerate() {
        let fault = |message: &str| Err(Error::usage(message.to_owned()).branch(&branch.name));
        if branch.name.is_empty() {
            return Err(Error::usage("a branch needs a name"));
        }
        if !names.insert(branch.name.as_str()) {
            return fault("there are two branches of this name");
        }
        match &branch.storage {
            Storage::Numbers { primitive, dims } | Storage::Counted { primitive, dims, .. }
                if item_size(*primitive, dims) == 0 || item_size(*primitive, dims) > MAX_ENTRY =>
            {
                return fault("its fixed arrays are empty or larger than 1 GB");
            }
            Storage::Counted { counter, .. } => {
                let counts = branches.get(*counter).filter(|_| *counter < place).map(|found| &found.storage);
                let Some(Storage::Numbers { primitive, dims }) = counts else {
                    return fault("the branch that counts its items must come before it");
                };
                if !dims.is_empty() || !matches!(primitive, Primitive::I32 | Primitive::U32) {
                    return fault("the branch that counts its items must hold one 32-bit integer per entry");
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Most bytes of one entry: ROOT's buffers hold less than 1 GB (root-io-spec Buffer §2).
pub(super) const MAX_ENTRY: usize = 0x3fff_ff00;
