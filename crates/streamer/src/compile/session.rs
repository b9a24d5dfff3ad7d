//! One compilation: from the names of classes to nodes.

use super::descriptions::Descriptions;
use super::known;
use super::names::Names;
use crate::node::CompiledClass;
use crate::{CppType, MemberSelection, Node};
use sapwood_core::{Error, ErrorKind, Form, Primitive, Result};
use sapwood_tfile::StreamerInfo;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Most nested names and what they stand for, two for each class: deeper is not real, and does not fit on the
/// stack.
const DEEPEST: usize = 200;
/// A compilation that takes less is free: callers may repeat it any number of times.
const SMALL: usize = 10_000;

/// One compilation, with the classes that are being compiled.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(super) descriptions: &'a Descriptions,
    open: Vec<(String, MemberSelection)>,
    /// Nested names, and what they stand for, that are being compiled.
    depth: usize,
    /// Work that it may do, and what is left of it.
    budget: usize,
    left: usize,
}

/// How a class is used where it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassUse {
    /// As a part of the object.
    Inside,
    /// In a collection, which can be empty.
    Item,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let used = (self.budget - self.left).saturating_sub(SMALL);
        let less = |budget: usize| Some(budget.saturating_sub(used));
        let _ = self.descriptions.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(descriptions: &'a Descriptions) -> Self {
        let budget = SMALL.saturating_add(descriptions.budget.load(Ordering::Relaxed));
        Session { descriptions, open: Vec::new(), depth: 0, budget, left: budget }
    }

    /// Accounts for work: descriptions that multiply each other could request any amount.
    pub(super) fn charge(&mut self, work: usize) -> Result<()> {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                let message = "the descriptions of classes multiply each other beyond what can be real";
                Err(Error::new(ErrorKind::Limit, message))
            }
        }
    }

    /// Resolves a name, one level deeper.
    pub(super) fn deeper<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.charge(1 + name.len() / 16)?;
        if self.depth >= DEEPEST {
            return Err(Error::corrupt(format!("types are parts of each other more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let answer = look(self);
        self.depth -= 1;
        answer
    }

    /// The description of a class, by its name in any spelling.
    pub(super) fn versions(&self, name: &str, holder: &str) -> &[StreamerInfo] {
        let infos = &self.descriptions.infos;
        let exact = infos.versions(name);
        if !exact.is_empty() {
            return exact;
        }
        let names = self.descriptions.names.get_or_init(|| Names::new(infos));
        names.find(name, holder).map_or(&[], |name| infos.versions(name))
    }

    /// An object of a class that is known exactly.
    pub(crate) fn class_node(
        &mut self,
        name: &str,
        holder: &str,
        wanted: &MemberSelection,
        place: ClassUse,
    ) -> Result<Node> {
        self.deeper(name, |session| session.node_of_class(name, holder, wanted, place))
    }

    fn node_of_class(
        &mut self,
        name: &str,
        holder: &str,
        wanted: &MemberSelection,
        place: ClassUse,
    ) -> Result<Node> {
        let name = name.trim().trim_start_matches("const ").trim();
        if let Some(node) = known::node(name, wanted) {
            return Ok(node);
        }
        if known::is_opaque(name) {
            return Ok(Node::Opaque(name.to_owned()));
        }
        if let Some(node) = self.collection_of_name(name, holder, wanted)? {
            return Ok(node);
        }
        if let Some(element) = name.strip_prefix("TMatrixTSym<").and_then(|name| name.strip_suffix('>')) {
            return self.symmetric(name, element);
        }
        let described = self.versions(name, holder).first();
        // A class that is a collection, instead of holding one (Collections §11.2).
        if let Some(info) = described
            && let [element] = info.elements.as_slice()
            && element.name == "This"
        {
            let (info, element) = (info.name.clone(), element.clone());
            return self.this(&info, &element, wanted);
        }
        let name = match described {
            Some(info) => info.name.clone(),
            None if known::description(name).is_some() => name.to_owned(),
            None => return Ok(Node::Opaque(name.to_owned())),
        };
        if self.open.iter().any(|(open, of_open)| *open == name && of_open == wanted) {
            return match place {
                ClassUse::Item => Ok(Node::Later(name, wanted.clone())),
                ClassUse::Inside => Err(Error::corrupt(format!("the class {name} is a part of itself"))),
            };
        }
        Ok(Node::Object(self.class(&name, wanted)?))
    }

    /// A symmetric matrix: its class is not described, and the description of its base covers its beginning.
    fn symmetric(&mut self, name: &str, element: &str) -> Result<Node> {
        let base =
            self.versions(&format!("TMatrixTBase<{element}>"), "").first().map(|info| info.name.clone());
        let (Some(base), CppType::Number(number)) = (base, CppType::parse(element)) else {
            return Ok(Node::Opaque(name.to_owned()));
        };
        let class = self.class(&base, &MemberSelection::all())?;
        let rows = class.fields.iter().position(|field| field.name == "fNrows");
        let is_count = |field: &Node| field.form() == Form::Primitive(Primitive::I32);
        match rows.filter(|rows| is_count(&class.fields[*rows].node)) {
            Some(rows) => Ok(Node::Symmetric(class, number, rows)),
            None => Ok(Node::Opaque(name.to_owned())),
        }
    }

    /// The compiled class.
    pub(super) fn class(&mut self, name: &str, wanted: &MemberSelection) -> Result<Arc<CompiledClass>> {
        let key = (name.to_owned(), wanted.clone());
        let lock = |known: &'a Descriptions| known.classes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(class) = lock(self.descriptions).get(&key) {
            return Ok(Arc::clone(class));
        }
        if self.open.contains(&key) {
            return Err(Error::corrupt(format!("the class {name} is a part of itself")));
        }
        self.open.push(key.clone());
        let class = self.deeper(name, |session| session.compile_class(name, wanted));
        self.open.pop();
        let class = Arc::new(class?);
        lock(self.descriptions).insert(key, Arc::clone(&class));
        Ok(class)
    }
}
