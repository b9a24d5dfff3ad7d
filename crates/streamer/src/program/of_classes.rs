//! Compiles programs from class descriptions.

use super::Program;
use crate::compile::{ClassUse, Compiler, counter, layout_of, number, to_end};
use crate::node::{self, CompiledClass};
use crate::{CppType, MemberSelection, Node, StoredNumber};
use sapwood_core::{Error, ErrorKind, Form, Result};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
use std::sync::Arc;

impl Compiler {
    /// An object as a record of its own: with its version header, or as its class's streamer writes it.
    pub fn object(&self, class: &str, paths: &[String]) -> Result<Program> {
        let wanted = MemberSelection::of(paths);
        let node = self.class_node(class, &wanted)?;
        self.program(node, CppType::parse(class).to_string(), &wanted)
    }

    /// An object behind the name of its class: the content of a `TBranchObject`.
    pub fn named_object(&self, class: &str, paths: &[String]) -> Result<Program> {
        let wanted = MemberSelection::of(paths);
        let node = self.class_node(class, &wanted)?;
        self.program(Node::Named(Box::new(node)), CppType::parse(class).to_string(), &wanted)
    }

    /// The type of a member as shown to people; `column` stands before the dimensions of arrays.
    pub fn type_name(member: &StreamerElement, column: &str) -> String {
        shown(member, column)
    }

    /// An unsplit branch of a class: a collection or a class of ROOT as it is always streamed, or the members
    /// of any other class without a header (root-io-spec ReadingEntries §3.3), described by `info`.
    pub fn whole(&self, class: &str, info: Option<&StreamerInfo>, paths: &[String]) -> Result<Program> {
        let wanted = MemberSelection::of(paths);
        let mut session = self.session();
        let node = match (session.class_node(class, "", &wanted, ClassUse::Inside)?, info) {
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
        let wanted = MemberSelection::of(paths);
        let (element, node) = self.session().split_member(info, index, &wanted)?;
        let node = to_end(node);
        let counter = counter(&node).map(str::to_owned);
        let program = self.program(node, shown(element, ""), &wanted)?;
        Ok(Program { counter, ..program })
    }

    /// The values of one member of all objects of an entry: a branch of a split collection (ReadingEntries
    /// §3.2). Where each object has its own count, the program has a [`counter`](Program::counter).
    pub fn column(&self, info: &StreamerInfo, index: usize, paths: &[String]) -> Result<Program> {
        let wanted = MemberSelection::of(paths);
        let (element, node) = self.session().split_member(info, index, &wanted)?;
        let counter = counter(&node).map(str::to_owned);
        let node = match node {
            node if counter.is_some() => Node::CountedEach(Box::new(node)),
            // A base has no header in columns, and its members are columns (Collections §4.2).
            Node::Object(class) if element.is_base() => base_columns(class, element, self.streamers())?,
            // One frame stands for all, and none if there is no object (ReadingEntries §5.3).
            Node::Framed(content) => Node::FramedOrNothing(Box::new(Node::ToEnd(content))),
            node @ Node::Columns(..) => node,
            node => Node::ToEnd(Box::new(node)),
        };
        let program = self.program(node, shown(element, "[]"), &wanted)?;
        Ok(Program { counter, ..program })
    }

    fn program(&self, node: Node, type_name: String, wanted: &MemberSelection) -> Result<Program> {
        if let Some(class) = opaque(&node) {
            return Err(Error::unsupported(node::undescribed(class)));
        }
        let form = node.form();
        find_missing(&form, wanted, "")?;
        let skipped = node.skipped();
        Ok(Program { node, form, type_name, skipped, counter: None, compiler: Some(self.clone()) })
    }
}

/// The columns of a base class. The number of objects follows from their size, if that is fixed.
fn base_columns(class: Arc<CompiledClass>, element: &StreamerElement, infos: &StreamerInfos) -> Result<Node> {
    let layout = infos.base_of(element).map_or(0, |info| layout_of(&class, info));
    match class.layouts.get(layout).and_then(node::ClassLayout::fixed_size) {
        Some(size) if size > 0 => Ok(Node::Columns(class, layout, size)),
        _ => Err(Error::unsupported(format!("objects of {} differ in size", class.name))),
    }
}

/// The class that cannot be read, if the node is nothing else.
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
fn find_missing(form: &Form, wanted: &MemberSelection, path: &str) -> Result<()> {
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

/// The type of a member as shown to people; `column` stands before the dimensions of arrays.
fn shown(element: &StreamerElement, column: &str) -> String {
    let dims: String = element.array_dims.iter().map(|size| format!("[{size}]")).collect();
    let name = match &element.kind {
        ElementKind::Base { .. } => element.name.clone(),
        ElementKind::BasicType if element.type_code == 7 => "char*".to_owned(),
        ElementKind::BasicType => number(element).map_or_else(
            || CppType::parse(&element.type_name).to_string(),
            |number| number.type_name().to_owned(),
        ),
        ElementKind::BasicPointer(_) => {
            let number = number(element).map_or("", StoredNumber::type_name);
            format!("{number}[]")
        }
        ElementKind::StlString => "std::string".to_owned(),
        ElementKind::ObjectPointer | ElementKind::ObjectAnyPointer => element.type_name.clone(),
        _ => CppType::parse(&element.type_name).to_string(),
    };
    format!("{name}{column}{dims}")
}
