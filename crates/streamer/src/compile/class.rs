//! Compiles a class: the record that is built, and the steps that turn each of its versions into it.

use super::code;
use super::descriptions::layout_of;
use super::known;
use super::member::ElementMeaning;
use super::session::Session;
use crate::node::{ClassField, ClassLayout, CompiledClass, LayoutStep, RunMember, Size};
use crate::{MemberSelection, Node, StoredNumber};
use sapwood_core::{Error, ErrorKind, Form, Primitive, Result};
use sapwood_tfile::{StreamerElement, StreamerInfo};
use std::collections::HashMap;
use std::sync::Arc;

/// More columns than this are not real: descriptions that multiply each other could request any number.
const MOST_COLUMNS: usize = 1 << 16;
/// Nested classes and arrays deeper than this are not real, and do not fit on the stack.
const DEEPEST: usize = 100;
/// Most bytes of reasons for unreadable members; longer reports are not useful.
pub(crate) const LONGEST_REPORT: usize = 1 << 18;
/// A member of a newer version that takes more than this gets no default in older objects.
const LARGEST_DEFAULT: usize = 1 << 16;

/// The state of a class while it is compiled.
#[derive(Default)]
struct Draft {
    name: String,
    fields: Vec<ClassField>,
    /// The first field of each name.
    places: HashMap<String, usize>,
    /// The size of all fields.
    size: Size,
    registers: Vec<String>,
    /// The last register of each name.
    counters: HashMap<String, usize>,
    /// The first field and register of each base.
    bases: Vec<(Arc<CompiledClass>, usize, usize)>,
    skipped: Vec<(String, String)>,
    /// Bytes of all reasons in `skipped`.
    reported: usize,
    /// The layout is the one that the fields are taken from.
    is_first: bool,
    steps: Vec<LayoutStep>,
    /// Fields that the layout sets.
    set: Vec<bool>,
    unsupported: Option<String>,
}

impl Session<'_> {
    pub(super) fn compile_class(&mut self, name: &str, wanted: &MemberSelection) -> Result<CompiledClass> {
        let mut infos = self.descriptions.infos.versions(name).to_vec();
        if infos.is_empty() {
            infos.extend(known::description(name));
        }
        // The newest version determines the record.
        if let Some(newest) = (0..infos.len()).max_by_key(|index| infos[*index].version) {
            infos.swap(0, newest);
        }
        let mut draft = Draft { name: name.to_owned(), is_first: true, size: Size::NONE, ..Draft::default() };
        let mut layouts = Vec::with_capacity(infos.len());
        for info in &infos {
            layouts.push(self.layout(info, wanted, &mut draft)?);
            draft.is_first = false;
        }
        Ok(CompiledClass {
            name: name.to_owned(),
            fields: draft.fields,
            layouts,
            has_checksum: self.descriptions.infos.has_checksum_after_version(name),
            registers: draft.registers,
            skipped: draft.skipped,
            size: draft.size.within(1),
        })
    }

    fn layout(
        &mut self,
        info: &StreamerInfo,
        wanted: &MemberSelection,
        draft: &mut Draft,
    ) -> Result<ClassLayout> {
        draft.steps = Vec::new();
        draft.set = vec![false; draft.fields.len()];
        draft.unsupported = None;
        for element in &info.elements {
            self.element(info, element, wanted, draft)?;
            draft.check(&info.name)?;
        }
        let mut steps = draft.defaults();
        self.charge(steps.len())?;
        steps.append(&mut draft.steps);
        Ok(ClassLayout {
            version: info.version,
            checksum: info.checksum,
            needed: steps.iter().rposition(LayoutStep::is_wanted).map_or(0, |last| last + 1),
            smallest: steps.iter().map(LayoutStep::smallest).fold(0, usize::saturating_add),
            steps,
            unsupported: draft.unsupported.take(),
        })
    }

    fn element(
        &mut self,
        info: &StreamerInfo,
        element: &StreamerElement,
        wanted: &MemberSelection,
        draft: &mut Draft,
    ) -> Result<()> {
        let of_member = if element.is_base() { None } else { wanted.member(&element.name) };
        match self.compile_element(info, element, of_member.as_ref(), wanted)? {
            ElementMeaning::Nothing => {}
            ElementMeaning::Base(name) => return self.base(element, &name, wanted, draft),
            ElementMeaning::Forwarding(name) => {
                let bases: Vec<StreamerElement> = self
                    .versions(&name, "")
                    .first()
                    .map(|info| info.elements.iter().filter(|one| one.is_base()).cloned().collect())
                    .unwrap_or_default();
                self.deeper(&name, |session| {
                    let mut bases = bases.iter().filter(|base| base.name != name);
                    bases.try_for_each(|base| session.element(info, base, wanted, draft))
                })?;
            }
            ElementMeaning::Skip(Node::TObject)
                if self.descriptions.with_identities && info.name == "TObjString" =>
            {
                // Version, fUniqueID, fBits (root-io-spec Buffer §7).
                draft.skip(Node::Number(StoredNumber::Plain(Primitive::U16)));
                draft.member("fUniqueID", "", Node::Number(StoredNumber::Plain(Primitive::U32)));
                draft.skip(Node::Bits);
            }
            ElementMeaning::Skip(node) => draft.skip(node),
            ElementMeaning::Opaque(node, why) => {
                if of_member.is_some() || element.is_base() {
                    draft.report(element.name.clone(), why);
                }
                draft.skip(node);
            }
            ElementMeaning::Counter(number) => {
                let node = Node::Number(number);
                let index = of_member.and_then(|_| draft.field(&element.name, &element.title, &node));
                let field = index.and_then(|index| draft.fields.get(index));
                if field.is_some_and(|field| !builds_the_same(&field.node, &node)) {
                    draft.unsupported = Some(format!("the member {} has changed its type", element.name));
                }
                let register = draft.register(&element.name);
                draft.steps.push(LayoutStep::Counter { index, number, register });
            }
            ElementMeaning::Field(name, node) => {
                if draft.is_first {
                    let inner = node.skipped().into_iter();
                    inner.for_each(|(path, why)| draft.report(format!("{name}.{path}"), why));
                }
                // Other versions are compared with the first.
                self.charge(1 + node.size().weight / 16)?;
                draft.member(&name, &element.title, node);
            }
        }
        Ok(())
    }

    /// A base class with a header of its own, whose members become members of the record.
    fn base(
        &mut self,
        element: &StreamerElement,
        name: &str,
        wanted: &MemberSelection,
        draft: &mut Draft,
    ) -> Result<()> {
        let bases = draft.bases.len();
        self.charge(1 + bases)?;
        let place = draft.bases.iter().find(|(class, ..)| class.name == name).cloned();
        let (class, first, register) = match place {
            Some(place) => place,
            None if draft.is_first => {
                let class = self.class(name, wanted)?;
                let place = (Arc::clone(&class), draft.fields.len(), draft.registers.len());
                for field in &class.fields {
                    draft.add(&field.name, &field.title, field.node.clone());
                }
                draft.add_registers(&class);
                class.skipped.iter().for_each(|(path, why)| draft.report(path.clone(), why.clone()));
                draft.bases.push(place.clone());
                place
            }
            // The newest version has no such base: it is skipped.
            None => {
                let class = self.class(name, &MemberSelection::nothing())?;
                let place = (Arc::clone(&class), draft.fields.len(), draft.registers.len());
                draft.add_registers(&class);
                place
            }
        };
        let is_new = draft.bases.len() > bases;
        for set in draft.set.iter_mut().skip(first).take(class.fields.len()) {
            if std::mem::replace(set, true) && !is_new {
                draft.unsupported = Some(format!("it has the base class {name} twice"));
            }
        }
        let described = self.descriptions.infos.base_of(element);
        let layout = described.map_or(0, |info| layout_of(&class, info));
        // The streamer of `TNamed` writes one object after the other.
        let is_framed = element.type_code == code::TNAMED;
        draft.steps.push(LayoutStep::Base { class, layout, first, register, is_framed });
        Ok(())
    }
}

impl Draft {
    /// Fails if a class grows beyond what can be real.
    fn check(&self, name: &str) -> Result<()> {
        if self.size.weight > MOST_COLUMNS {
            let message = format!("the class {name} has too many members, those of its members among them");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        if self.size.depth > DEEPEST {
            return Err(Error::corrupt(format!("what the class {name} holds is more than {DEEPEST} deep")));
        }
        Ok(())
    }

    fn report(&mut self, path: String, why: String) {
        let length = path.len() + why.len();
        if self.is_first && self.reported + length <= LONGEST_REPORT {
            self.reported += length;
            self.skipped.push((path, why));
        }
    }

    /// The counts of a base class are kept next to those of the class.
    fn add_registers(&mut self, class: &CompiledClass) {
        for name in &class.registers {
            self.add_register(name);
        }
    }

    fn add_register(&mut self, name: &str) -> usize {
        let register = self.registers.len();
        self.registers.push(name.to_owned());
        self.counters.insert(name.to_owned(), register);
        register
    }

    /// Adds a field; if its name is taken, the name of the class is put in front.
    fn add(&mut self, name: &str, title: &str, node: Node) -> usize {
        let taken = self.places.contains_key(name);
        let name = if taken { format!("{}::{name}", self.name) } else { name.to_owned() };
        let index = self.fields.len();
        self.places.entry(name.clone()).or_insert(index);
        let field = ClassField { name, title: title.to_owned(), node };
        self.size = self.size.and(field.size());
        self.fields.push(field);
        self.set.push(true);
        index
    }

    /// The field for a member; `None` if the record has none.
    fn field(&mut self, name: &str, title: &str, node: &Node) -> Option<usize> {
        if self.is_first {
            return Some(self.add(name, title, node.clone()));
        }
        let index = *self.places.get(name)?;
        if std::mem::replace(self.set.get_mut(index)?, true) {
            self.unsupported = Some(format!("it has two members {name}"));
        }
        Some(index)
    }

    fn register(&mut self, name: &str) -> usize {
        let known = self.counters.get(name).copied().filter(|_| !self.is_first);
        known.unwrap_or_else(|| self.add_register(name))
    }

    /// The register with the count of a member: the nearest counter.
    pub(super) fn register_of(&self, name: &str) -> Option<usize> {
        self.counters.get(name).copied()
    }

    fn member(&mut self, name: &str, title: &str, mut node: Node) {
        if let Some(counter) = counter_of(&mut node) {
            match self.register_of(&counter.0) {
                Some(register) => *counter.1 = register,
                None => {
                    self.unsupported = Some(format!("nothing counts the member {name}"));
                    return;
                }
            }
        }
        let Some(index) = self.field(name, title, &node) else { return self.skip(node) };
        let Some(target) = self.fields.get(index).map(|field| &field.node) else { return };
        let forms = match builds_the_same(&node, target) {
            true => (Form::Empty, Form::Empty),
            false => (node.form(), target.form()),
        };
        match forms {
            (Form::Primitive(one), Form::Primitive(to)) if one != to => match node {
                Node::Number(from) => self.steps.push(LayoutStep::Convert { index, from, to }),
                _ => self.unsupported = Some(format!("the member {name} has changed its type")),
            },
            (one, other) if one != other => {
                self.unsupported = Some(format!("the member {name} has changed its type"));
            }
            _ => match node.numbers() {
                Some((number, values)) => {
                    let bytes = values.saturating_mul(number.size_on_file());
                    self.run(bytes, Some((number, index)));
                }
                None => self.steps.push(LayoutStep::Field { index, node }),
            },
        }
    }

    fn skip(&mut self, node: Node) {
        match node.numbers() {
            Some((number, values)) => self.run(values.saturating_mul(number.size_on_file()), None),
            None => self.steps.push(LayoutStep::Skip(node)),
        }
    }

    /// Adds numbers: they join the preceding run.
    fn run(&mut self, size: usize, wanted: Option<(StoredNumber, usize)>) {
        if !matches!(self.steps.last(), Some(LayoutStep::Run { .. })) {
            self.steps.push(LayoutStep::Run { bytes: 0, pieces: Vec::new() });
        }
        if let Some(LayoutStep::Run { bytes, pieces }) = self.steps.last_mut() {
            let offset = *bytes;
            *bytes = bytes.saturating_add(size);
            pieces.extend(wanted.map(|(number, index)| RunMember { offset, bytes: size, number, index }));
        }
    }

    /// Adds defaults for the fields that this layout does not have.
    fn defaults(&mut self) -> Vec<LayoutStep> {
        let missing = self.set.iter().enumerate().filter(|(_, set)| !**set).map(|(index, _)| index);
        let mut steps = Vec::new();
        for index in missing {
            let Some(field) = self.fields.get(index) else { continue };
            if field.node.size().default > LARGEST_DEFAULT {
                self.unsupported = Some(format!("it has no member {}", field.name));
            }
            steps.push(LayoutStep::Default { index });
        }
        steps
    }
}

/// True if it is obvious, without comparing forms, that both build the same.
fn builds_the_same(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Number(one), Node::Number(other)) => one.primitive() == other.primitive(),
        (Node::Object(one), Node::Object(other)) => Arc::ptr_eq(one, other),
        (Node::Fixed { size: one, content }, Node::Fixed { size: other, content: to }) => {
            one == other && builds_the_same(content, to)
        }
        (Node::List(one), Node::List(other)) | (Node::Framed(one), Node::Framed(other)) => {
            builds_the_same(one, other)
        }
        (Node::Collection(one), Node::Collection(other)) => builds_the_same(&one.item, &other.item),
        _ => false,
    }
}

/// The name of the counter and the place of its register, in a member that another counts.
fn counter_of(node: &mut Node) -> Option<(String, &mut usize)> {
    match node {
        Node::Counted { register, counter, .. } => Some((counter.clone(), register)),
        Node::Framed(content) => counter_of(content),
        Node::Fixed { content, .. } => counter_of(content),
        _ => None,
    }
}
