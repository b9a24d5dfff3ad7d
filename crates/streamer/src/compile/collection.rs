//! Compiles STL collections, whose layout follows from their names (root-io-spec Collections §7 to §11).

use super::session::{ClassUse, Session};
use crate::cpp_type::{ContainerKind, Template};
use crate::node::{Collection, CompiledClass};
use crate::{CppType, MemberSelection, Node, StoredNumber, basic};
use sapwood_core::{Primitive, Result};
use sapwood_tfile::StreamerElement;
use std::sync::Arc;

/// `TStreamerSTL::fCtype` of classes, and of pointers to them.
const CLASSES: [i32; 2] = [61, 63];
/// Type names nested deeper than this come from a damaged file.
const DEEPEST: usize = 32;

impl Session<'_> {
    /// The collection as an object, if the type name is that of a collection.
    pub(super) fn collection_of_name(
        &mut self,
        name: &str,
        holder: &str,
        wanted: &MemberSelection,
    ) -> Result<Option<Node>> {
        let name = name.trim_end_matches('*').trim();
        match Template::parse(name).and_then(|template| template.container()) {
            Some(_) => Ok(Some(match self.collection(name, CLASSES[0], holder, wanted)? {
                Node::Collection(collection) => Node::Unframed(collection),
                other => other,
            })),
            None => Ok(None),
        }
    }

    /// A collection as a member.
    pub(super) fn collection(
        &mut self,
        name: &str,
        content_type: i32,
        holder: &str,
        wanted: &MemberSelection,
    ) -> Result<Node> {
        let is_pointer = name.trim_end().ends_with('*');
        let name = name.trim_end_matches('*').trim();
        if CppType::parse(name) == CppType::StdString {
            return Ok(Node::framed(Node::Text));
        }
        let Some(template) = Template::parse(name) else { return Ok(Node::Opaque(name.to_owned())) };
        let Some(kind) = template.container() else { return Ok(Node::Opaque(name.to_owned())) };
        let Some(item) = self.item_of(&template, kind, content_type, holder, wanted, DEEPEST)? else {
            return Ok(Node::Opaque(name.to_owned()));
        };
        let class = match (kind, &item) {
            (ContainerKind::Pairs, Node::Tuple(both)) => self.pair(&template, holder, wanted, both)?,
            (_, Node::Object(class)) => Some(Arc::clone(class)),
            // The class is still being compiled: its depth in member-wise storage is unknown.
            _ => None,
        };
        Ok(Node::Collection(Arc::new(Collection { item, class, is_pointer })))
    }

    /// The class `pair`, whose members are the columns of a map; its bytes become a tuple.
    fn pair(
        &mut self,
        template: &Template<'_>,
        holder: &str,
        wanted: &MemberSelection,
        both: &[Node],
    ) -> Result<Option<Arc<CompiledClass>>> {
        // The columns of a class that is still being compiled are unknown.
        if both.iter().any(|node| matches!(node, Node::Later(..))) {
            return Ok(None);
        }
        let [key, value] = [template.arguments.first(), template.arguments.get(1)];
        let (Some(key), Some(value)) = (key, value) else { return Ok(None) };
        let space = if value.ends_with('>') { " " } else { "" };
        let name = format!("pair<{key},{value}{space}>");
        let whole = with_both(wanted);
        match self.class_node(&name, holder, &whole, ClassUse::Item)? {
            Node::Object(class) if fits(&class, both) => Ok(Some(class)),
            _ => Ok(None),
        }
    }

    /// The items of a collection, one after the other; `None` if that cannot be known.
    fn item_of(
        &mut self,
        template: &Template<'_>,
        kind: ContainerKind,
        content_type: i32,
        holder: &str,
        wanted: &MemberSelection,
        depth: usize,
    ) -> Result<Option<Node>> {
        let argument = |index: usize| template.arguments.get(index).copied().unwrap_or_default();
        match kind {
            ContainerKind::Bits => Ok(Some(Node::Number(StoredNumber::Plain(Primitive::Bool)))),
            ContainerKind::Items => self.item(argument(0), content_type, holder, wanted, depth),
            ContainerKind::Pairs => {
                let whole = with_both(wanted);
                let of = |name| whole.member(name).unwrap_or_else(MemberSelection::all);
                let key = self.item(argument(0), CLASSES[0], holder, &of("first"), depth)?;
                let value = self.item(argument(1), CLASSES[0], holder, &of("second"), depth)?;
                Ok(key.zip(value).map(|(key, value)| Node::Tuple(vec![key, value])))
            }
        }
    }

    /// An item inside a collection: nested collections have no frame of their own.
    fn item(
        &mut self,
        name: &str,
        content_type: i32,
        holder: &str,
        wanted: &MemberSelection,
        depth: usize,
    ) -> Result<Option<Node>> {
        let name = name.trim().trim_start_matches("const ").trim();
        if let Some(pointee) = name.strip_suffix('*') {
            return Ok(Some(match CppType::parse(pointee) {
                // Stored as the string (Collections §7.2); of `TString`, ROOT 3 did the same.
                CppType::StdString => Node::Text,
                CppType::RootString if self.is_of_root_3(holder) => Node::Text,
                _ => Node::Pointer(wanted.clone()),
            }));
        }
        match CppType::parse(name) {
            CppType::Number(number) => return Ok(Some(Node::Number(number))),
            CppType::StdString | CppType::RootString => return Ok(Some(Node::Text)),
            _ => {}
        }
        if let Some(template) = Template::parse(name)
            && let Some(kind) = template.container()
        {
            if depth == 0 {
                return Ok(None);
            }
            let item = self.deeper(name, |session| {
                session.item_of(&template, kind, CLASSES[0], holder, wanted, depth - 1)
            })?;
            return Ok(item.map(|item| Node::List(Box::new(item))));
        }
        match self.class_node(name, holder, wanted, ClassUse::Item)? {
            // A name that describes an integer elsewhere in the file is an enum.
            Node::Opaque(name) if self.descriptions.enums.contains_key(&name) => {
                let number = self.descriptions.enums.get(&name).copied().flatten();
                Ok(Some(number.map_or(Node::Missing(name), Node::Number)))
            }
            // A plain name that is no class is an enum: fCtype gives its width (Collections §7.1).
            Node::Opaque(_) if !CLASSES.contains(&content_type) => {
                Ok(Some(Node::Number(StoredNumber::Plain(basic(content_type).unwrap_or(Primitive::I32)))))
            }
            Node::Opaque(class) => Ok(Some(Node::Missing(class))),
            node => Ok(Some(node)),
        }
    }

    /// True if a class was described by ROOT 3 or older.
    fn is_of_root_3(&self, class: &str) -> bool {
        self.versions(class, "").first().is_some_and(|info| info.format <= 3)
    }

    /// A class that is a collection: the title of its one element names the items (Collections §11.2).
    pub(super) fn this(
        &mut self,
        class: &str,
        element: &StreamerElement,
        wanted: &MemberSelection,
    ) -> Result<Node> {
        let items = element.title.strip_prefix('<').and_then(|title| {
            let mut depth = 1usize;
            let end = title.find(|character| {
                match character {
                    '<' => depth += 1,
                    '>' => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            title.get(..end)
        });
        match items {
            Some(items) => self.collection(&format!("vector<{items} >"), CLASSES[0], class, wanted),
            None => Ok(Node::Opaque(class.to_owned())),
        }
    }
}

/// True if the class `pair` builds the same as the items of the map.
fn fits(class: &CompiledClass, both: &[Node]) -> bool {
    let forms = class.fields.iter().map(|field| field.node.form());
    class.fields.len() == both.len() && forms.eq(both.iter().map(Node::form))
}

/// Both members of a pair are always read.
fn with_both(wanted: &MemberSelection) -> MemberSelection {
    match (wanted.member("first"), wanted.member("second")) {
        (Some(_), Some(_)) => wanted.clone(),
        _ => MemberSelection::all(),
    }
}
