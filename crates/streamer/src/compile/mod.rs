//! From class descriptions to programs.

mod class;
mod collection;
mod known;
mod member;
mod names;
mod select;

use crate::node::{self, Class};
use crate::{CppType, Node, Number, Program};
use names::Names;
use sapwood_core::{Error, ErrorKind, Form, Primitive, Result};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
pub use select::Selection;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Turns the class descriptions of a file into programs. Cheap to clone; compiled classes are shared.
///
/// All methods that take `paths` compile only the members with these paths, such as `obj.pt_`, and what is
/// necessary to find them; with no path, everything.
///
/// # Errors
/// All methods fail with `Unsupported` if what is asked for cannot be read at all, `Corrupt` if descriptions
/// contradict themselves, `Missing` if there is no member at a path, `Limit` if a class has absurdly many members.
#[derive(Debug, Clone)]
pub struct Compiler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    infos: StreamerInfos,
    /// Members that count others, by class.
    counters: HashMap<String, HashSet<String>>,
    /// What enums are stored as, by their names; nothing for a name that stands for different types.
    enums: HashMap<String, Option<Number>>,
    /// Whether a `TObjString` is built with the identity of its `TObject`.
    with_identities: bool,
    names: OnceLock<Names>,
    classes: Mutex<HashMap<(String, Selection), Arc<Class>>>,
    /// Work that may still be done, beyond what small compilations take.
    budget: AtomicUsize,
}

/// One compilation: the classes that it is in the middle of.
#[derive(Debug)]
struct Session<'a> {
    inner: &'a Inner,
    open: Vec<(String, Selection)>,
    /// Names within names, and what they stand for, that it is in the middle of.
    depth: usize,
    /// Work that it may do, and what of it is left.
    budget: usize,
    left: usize,
}

/// How a class stands where it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As a part of the object.
    Inside,
    /// In a collection, which can be empty.
    Item,
}

impl Compiler {
    /// A compiler for the classes that a file describes.
    pub fn new(infos: StreamerInfos) -> Self {
        let mut counters: HashMap<String, HashSet<String>> = HashMap::new();
        for element in infos.iter().flat_map(|info| &info.elements) {
            if let ElementKind::BasicPointer(count) | ElementKind::Loop(count) = &element.kind {
                counters.entry(count.class_name.clone()).or_default().insert(count.name.clone());
            }
        }
        let enums = enums(&infos);
        let (names, classes) = (OnceLock::new(), Mutex::default());
        let elements: usize = infos.iter().map(|info| info.elements.len() + 1).sum();
        let budget = AtomicUsize::new(WORK.saturating_add(elements.saturating_mul(WORK_PER_ELEMENT)));
        Compiler(Arc::new(Inner { infos, counters, enums, with_identities: false, names, classes, budget }))
    }

    /// A compiler whose programs give each `TObjString` a field `fUniqueID`: labels of axes keep the number of
    /// their bin there (root-io-spec TAxis). Otherwise nothing is built of a `TObject`.
    pub fn with_identities(infos: StreamerInfos) -> Self {
        let Compiler(mut inner) = Compiler::new(infos);
        if let Some(inner) = Arc::get_mut(&mut inner) {
            inner.with_identities = true;
        }
        Compiler(inner)
    }

    /// The descriptions.
    pub fn streamers(&self) -> &StreamerInfos {
        &self.0.infos
    }

    /// An object as a record of its own: with its version header, or as its class's streamer writes it.
    pub fn object(&self, class: &str, paths: &[String]) -> Result<Program> {
        let wanted = Selection::of(paths);
        let node = self.session().class_node(class, "", &wanted, Place::Inside)?;
        self.program(node, CppType::parse(class).to_string(), &wanted)
    }

    /// An object behind the name of its class: what a `TBranchObject` holds.
    pub fn named_object(&self, class: &str, paths: &[String]) -> Result<Program> {
        let wanted = Selection::of(paths);
        let node = self.session().class_node(class, "", &wanted, Place::Inside)?;
        self.program(Node::Named(Box::new(node)), CppType::parse(class).to_string(), &wanted)
    }

    /// The type of a member as people write it; `column` stands before the dimensions of arrays.
    pub fn type_name(member: &StreamerElement, column: &str) -> String {
        shown(member, column)
    }

    /// What an unsplit branch holds of a class: a collection or a class of ROOT's own as it is always streamed,
    /// the members of any other class without a header (root-io-spec ReadingEntries §3.3), by `info`.
    pub fn whole(&self, class: &str, info: Option<&StreamerInfo>, paths: &[String]) -> Result<Program> {
        let wanted = Selection::of(paths);
        let mut session = self.session();
        let node = match (session.class_node(class, "", &wanted, Place::Inside)?, info) {
            (Node::Object(class), Some(info)) => Node::Members(Arc::clone(&class), layout_of(&class, info)),
            (Node::Object(class), None) => Node::Members(class, 0),
            (Node::Unframed(collection), _) => Node::Collection(collection),
            (node, _) => node,
        };
        self.program(node, CppType::parse(class).to_string(), &wanted)
    }

    /// One member of a split object, by its index in the description. A fixed array of counted arrays has a
    /// [`counter`](Program::counter).
    pub fn member(&self, info: &StreamerInfo, index: usize, paths: &[String]) -> Result<Program> {
        let wanted = Selection::of(paths);
        let (element, node) = self.session().split_member(info, index, &wanted)?;
        let node = member::to_end(node);
        let counter = member::counter(&node).map(str::to_owned);
        let program = self.program(node, shown(element, ""), &wanted)?;
        Ok(Program { counter, ..program })
    }

    /// The values of one member of all objects of an entry: what a branch of a split collection holds
    /// (ReadingEntries §3.2). Where each object counts for itself, the program has a [`counter`](Program::counter).
    pub fn column(&self, info: &StreamerInfo, index: usize, paths: &[String]) -> Result<Program> {
        let wanted = Selection::of(paths);
        let (element, node) = self.session().split_member(info, index, &wanted)?;
        let counter = member::counter(&node).map(str::to_owned);
        let node = match node {
            node if counter.is_some() => Node::CountedEach(Box::new(node)),
            // A base has no header in columns, and its members are columns (Collections §4.2).
            Node::Object(class) if element.is_base() => base_columns(class, element, &self.0.infos)?,
            // One frame stands for all, and none if there is no object (ReadingEntries §5.3).
            Node::Framed(content) => Node::FramedOrNothing(Box::new(Node::ToEnd(content))),
            node @ Node::Columns(..) => node,
            node => Node::ToEnd(Box::new(node)),
        };
        let program = self.program(node, shown(element, "[]"), &wanted)?;
        Ok(Program { counter, ..program })
    }

    /// What an object of a class looks like as a record of its own.
    pub(crate) fn class_node(&self, class: &str, wanted: &Selection) -> Result<Node> {
        self.session().class_node(class, "", wanted, Place::Inside)
    }

    fn session(&self) -> Session<'_> {
        let budget = SMALL.saturating_add(self.0.budget.load(Ordering::Relaxed));
        Session { inner: &self.0, open: Vec::new(), depth: 0, budget, left: budget }
    }

    fn program(&self, node: Node, type_name: String, wanted: &Selection) -> Result<Program> {
        if let Some(class) = opaque(&node) {
            return Err(Error::unsupported(node::undescribed(class)));
        }
        let form = node.form();
        find_missing(&form, wanted, "")?;
        let skipped = node.skipped();
        Ok(Program { node, form, type_name, skipped, counter: None, compiler: Some(self.clone()) })
    }
}

/// The names that members of integer types have which are no numbers: those of enums.
fn enums(infos: &StreamerInfos) -> HashMap<String, Option<Number>> {
    let mut enums: HashMap<String, Option<Number>> = HashMap::new();
    for element in infos.iter().flat_map(|info| &info.elements) {
        let is_number = |name: &str| matches!(CppType::parse(name), CppType::Number(..));
        if element.kind == ElementKind::BasicType
            && !is_number(&element.type_name)
            && let Some((number, _)) = member::number(element)
        {
            let known = enums.entry(element.type_name.clone()).or_insert(Some(number));
            *known = known.filter(|known| *known == number);
        }
    }
    enums
}

/// The layout that a description has among those of its class.
fn layout_of(class: &Class, info: &StreamerInfo) -> usize {
    let is_it = |layout: &&node::Layout| layout.version == info.version && layout.checksum == info.checksum;
    class.layouts.iter().position(|layout| is_it(&layout)).unwrap_or(0)
}

/// The columns of a base class. How many objects there are follows from their size, if that is fixed.
fn base_columns(class: Arc<Class>, element: &StreamerElement, infos: &StreamerInfos) -> Result<Node> {
    let layout = infos.base_of(element).map_or(0, |info| layout_of(&class, info));
    match class.layouts.get(layout).and_then(node::Layout::fixed_size) {
        Some(size) if size > 0 => Ok(Node::Columns(class, layout, size)),
        _ => Err(Error::unsupported(format!("objects of {} differ in size", class.name))),
    }
}

/// What cannot be read, if that is all there is.
fn opaque(node: &Node) -> Option<&str> {
    match node {
        Node::Opaque(class) => Some(class),
        Node::Fixed { content, .. }
        | Node::Framed(content)
        | Node::FramedOrNothing(content)
        | Node::Named(content)
        | Node::List(content)
        | Node::ToEnd(content)
        | Node::CountedEach(content) => opaque(content),
        _ => None,
    }
}

/// Fails if a wanted member is not in the form.
fn find_missing(form: &Form, wanted: &Selection, path: &str) -> Result<()> {
    match form {
        Form::List(content) | Form::Fixed { content, .. } | Form::Option(content) => {
            find_missing(content, wanted, path)
        }
        Form::Record { class, fields } => {
            for (name, wanted) in wanted.names() {
                let path = format!("{path}{name}");
                match fields.iter().find(|field| field.name == name) {
                    Some(field) => find_missing(&field.form, wanted, &format!("{path}."))?,
                    None => {
                        let what = if class.is_empty() { "the object" } else { class };
                        let message = format!("{what} has no readable member '{path}'");
                        return Err(Error::new(ErrorKind::Missing, message));
                    }
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The type of a member as people write it; `column` stands before the dimensions of arrays.
fn shown(element: &StreamerElement, column: &str) -> String {
    let dims: String = element.array_dims.iter().map(|size| format!("[{size}]")).collect();
    let name = match &element.kind {
        ElementKind::Base { .. } => element.name.clone(),
        ElementKind::BasicType if element.type_code == 7 => "char*".to_owned(),
        ElementKind::BasicType => member::number(element)
            .map_or_else(|| CppType::parse(&element.type_name).to_string(), |(_, name)| name.to_owned()),
        ElementKind::BasicPointer(_) => {
            let number = member::number(element).map_or("", |(_, name)| name);
            format!("{number}[]")
        }
        ElementKind::StlString => "std::string".to_owned(),
        ElementKind::ObjectPointer | ElementKind::ObjectAnyPointer => element.type_name.clone(),
        _ => CppType::parse(&element.type_name).to_string(),
    };
    format!("{name}{column}{dims}")
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let used = (self.budget - self.left).saturating_sub(SMALL);
        let less = |budget: usize| Some(budget.saturating_sub(used));
        let _ = self.inner.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

impl Session<'_> {
    /// Accounts for some work: descriptions that multiply each other could ask for any amount.
    fn charge(&mut self, work: usize) -> Result<()> {
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

    /// Looks into what a name stands for, one level deeper.
    fn deeper<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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
    fn versions(&self, name: &str, holder: &str) -> &[StreamerInfo] {
        let infos = &self.inner.infos;
        let exact = infos.versions(name);
        if !exact.is_empty() {
            return exact;
        }
        let names = self.inner.names.get_or_init(|| Names::new(infos));
        names.find(name, holder).map_or(&[], |name| infos.versions(name))
    }

    /// What an object of a class looks like where its class is not in doubt.
    fn class_node(&mut self, name: &str, holder: &str, wanted: &Selection, place: Place) -> Result<Node> {
        self.deeper(name, |session| session.node_of_class(name, holder, wanted, place))
    }

    fn node_of_class(&mut self, name: &str, holder: &str, wanted: &Selection, place: Place) -> Result<Node> {
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
                Place::Item => Ok(Node::Later(name, wanted.clone())),
                Place::Inside => Err(Error::corrupt(format!("the class {name} is a part of itself"))),
            };
        }
        Ok(Node::Object(self.class(&name, wanted)?))
    }

    /// A symmetric matrix: no description is of its class, that of its base tells how it begins.
    fn symmetric(&mut self, name: &str, element: &str) -> Result<Node> {
        let base =
            self.versions(&format!("TMatrixTBase<{element}>"), "").first().map(|info| info.name.clone());
        let (Some(base), CppType::Number(number, _)) = (base, CppType::parse(element)) else {
            return Ok(Node::Opaque(name.to_owned()));
        };
        let class = self.class(&base, &Selection::all())?;
        let rows = class.fields.iter().position(|field| field.name == "fNrows");
        let is_count = |field: &Node| field.form() == Form::Primitive(Primitive::I32);
        match rows.filter(|rows| is_count(&class.fields[*rows].node)) {
            Some(rows) => Ok(Node::Symmetric(class, number, rows)),
            None => Ok(Node::Opaque(name.to_owned())),
        }
    }

    /// The compiled class.
    fn class(&mut self, name: &str, wanted: &Selection) -> Result<Arc<Class>> {
        let key = (name.to_owned(), wanted.clone());
        let lock = || self.inner.classes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(class) = lock().get(&key) {
            return Ok(Arc::clone(class));
        }
        if self.open.contains(&key) {
            return Err(Error::corrupt(format!("the class {name} is a part of itself")));
        }
        self.open.push(key.clone());
        let class = self.deeper(name, |session| session.compile_class(name, wanted));
        self.open.pop();
        let class = Arc::new(class?);
        self.inner.classes.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&class));
        Ok(class)
    }
}

/// Names within names and what they stand for, two for each class: no more are real, nor does the stack hold more.
const DEEPEST: usize = 200;
/// Work that all compilations together may take, and more of it for each element of a description.
const WORK: usize = 1 << 19;
const WORK_PER_ELEMENT: usize = 32;
/// A compilation that takes less is free: there is no telling how often people ask.
const SMALL: usize = 10_000;
