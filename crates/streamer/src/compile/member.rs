//! Compiles a member of a class, from its element (root-io-spec ElementTypes).

use super::code::{self, number};
use super::known;
use super::session::{ClassUse, Session};
use crate::{MemberSelection, Node, StoredNumber, node};
use sapwood_core::{Error, Result};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo};

/// What an element stands for.
pub(super) enum ElementMeaning {
    /// No bytes.
    Nothing,
    /// A base class of this name, with a header of its own.
    Base(String),
    /// A base class that writes only its own bases.
    Forwarding(String),
    /// A field of this name.
    Field(String, Node),
    /// A field that counts others.
    Counter(StoredNumber),
    /// Bytes that are not built.
    Skip(Node),
    /// Bytes that cannot be read, and why.
    Opaque(Node, String),
}

impl Session<'_> {
    /// Compiles a member of `info`; `wanted` selects its parts, `None` means that it is only skipped.
    /// `of_class` is the selection for the class, which bases share.
    pub(super) fn compile_element(
        &mut self,
        info: &StreamerInfo,
        element: &StreamerElement,
        wanted: Option<&MemberSelection>,
        of_class: &MemberSelection,
    ) -> Result<ElementMeaning> {
        if element.type_code == code::NOTHING {
            return Ok(ElementMeaning::Nothing);
        }
        if let ElementKind::Base { .. } = element.kind {
            return self.compile_base(element, of_class);
        }
        let wanted = if element.is_base() { Some(of_class) } else { wanted };
        if self.is_counter(info, element)
            && let Some(number) = number(element)
        {
            return Ok(ElementMeaning::Counter(number));
        }
        let node = self.node_of_element(info, element, wanted)?;
        Ok(match (unreadable(&node), wanted) {
            (Some(class), _) => {
                let why = node::undescribed(class);
                ElementMeaning::Opaque(node, why)
            }
            (None, Some(_)) => ElementMeaning::Field(element.name.clone(), node),
            (None, None) => ElementMeaning::Skip(node),
        })
    }

    fn is_counter(&self, info: &StreamerInfo, element: &StreamerElement) -> bool {
        element.kind == ElementKind::BasicType
            && (element.type_code == code::COUNTER
                || matches!(element.type_code, 3 | 13)
                    && self
                        .descriptions
                        .counters
                        .get(&info.name)
                        .is_some_and(|names| names.contains(&element.name)))
    }

    fn compile_base(
        &mut self,
        element: &StreamerElement,
        wanted: &MemberSelection,
    ) -> Result<ElementMeaning> {
        let name = element.name.as_str();
        if element.type_code == code::TOBJECT || name == "TObject" {
            return Ok(ElementMeaning::Skip(Node::TObject));
        }
        if known::only_forwards(name) && !self.versions(name, "").is_empty() {
            return Ok(ElementMeaning::Forwarding(name.to_owned()));
        }
        if let Some(node) = known::node(name, wanted) {
            return Ok(match node {
                Node::Nothing => ElementMeaning::Nothing,
                node => match wanted.member(known::field_of_base(name)) {
                    Some(_) => ElementMeaning::Field(known::field_of_base(name).to_owned(), node),
                    None => ElementMeaning::Skip(node),
                },
            });
        }
        let described = self.versions(name, "").first().map(|info| info.name.clone());
        match described {
            Some(described) => Ok(ElementMeaning::Base(described)),
            None if known::description(name).is_some() => Ok(ElementMeaning::Base(name.to_owned())),
            None => {
                let why = format!("the file does not describe the base class {name}");
                Ok(ElementMeaning::Opaque(Node::Opaque(name.to_owned()), why))
            }
        }
    }

    /// The bytes of a member that is not a base.
    pub(super) fn node_of_element(
        &mut self,
        info: &StreamerInfo,
        element: &StreamerElement,
        wanted: Option<&MemberSelection>,
    ) -> Result<Node> {
        let dims: Vec<usize> = element.array_dims.iter().map(|size| *size as usize).collect();
        let opaque = || Node::Opaque(element.type_name.clone());
        let array = |node| Node::fixed(&dims, node);
        Ok(match (&element.kind, element.type_code) {
            (ElementKind::BasicType, code::CHAR_STAR) => Node::LongText,
            (ElementKind::BasicType, code::BITS) => Node::Bits,
            (ElementKind::BasicType, _) => match number(element) {
                Some(number) => array(Node::Number(number)),
                None => opaque(),
            },
            (ElementKind::BasicPointer(count), _) => match number(element) {
                Some(number) => counted(&count.name, true, array(Node::Number(number))),
                None => opaque(),
            },
            (ElementKind::String, code::TSTRING) => Node::Text,
            // An array of strings has a frame, a single one has none (ElementTypes §7.2).
            (ElementKind::String | ElementKind::StlString, _) => Node::framed(array(Node::Text)),
            (ElementKind::Stl { .. }, code::STL_STRING) => Node::framed(Node::Text),
            (ElementKind::Stl { content_type, .. }, _) => match wanted {
                Some(_) if element.name == "This" => {
                    self.this(&info.name, element, &MemberSelection::all())?
                }
                Some(wanted) => {
                    array(self.collection(&element.type_name, *content_type, &info.name, wanted)?)
                }
                None => Node::framed(Node::Nothing),
            },
            (ElementKind::Object | ElementKind::ObjectAny, code) => {
                // ROOT 3 described arrays of pointers like this, and stored the objects.
                let class = element.type_name.trim_end_matches('*');
                let item = array(self.object(class, &info.name, wanted)?);
                match code {
                    code::ARRAY_OF_TOBJECTS | code::ARRAY_OF_TNAMEDS => Node::framed(item),
                    _ => item,
                }
            }
            // Pointers that are never null are stored as what they point to (ElementTypes §7).
            (
                ElementKind::ObjectPointer | ElementKind::ObjectAnyPointer,
                code::OBJECT_INLINE | code::ANY_INLINE,
            ) => array(self.object(element.type_name.trim_end_matches('*'), &info.name, wanted)?),
            (ElementKind::ObjectPointer | ElementKind::ObjectAnyPointer, _) => {
                array(Node::Pointer(wanted.cloned().unwrap_or_else(MemberSelection::nothing)))
            }
            (ElementKind::Loop(count), _) => {
                let class = element.type_name.trim_end_matches('*');
                let item = if element.type_name.contains("**") {
                    let wanted = wanted.cloned().unwrap_or_else(MemberSelection::nothing);
                    Node::PointerOrObject(class.to_owned(), wanted)
                } else {
                    self.object(class, &info.name, wanted)?
                };
                Node::framed(array(counted(&count.name, false, item)))
            }
            (ElementKind::Base { .. } | ElementKind::Artificial, _) => opaque(),
        })
    }

    /// An object by value, or the node that skips it.
    fn object(&mut self, class: &str, holder: &str, wanted: Option<&MemberSelection>) -> Result<Node> {
        match wanted {
            Some(wanted) => self.class_node(class, holder, wanted, ClassUse::Inside),
            None => Ok(match known::node(class, &MemberSelection::nothing()) {
                Some(node) => node,
                None => Node::Later(class.to_owned(), MemberSelection::nothing()),
            }),
        }
    }

    /// The member of a split object or collection.
    pub(crate) fn split_member<'i>(
        &mut self,
        info: &'i StreamerInfo,
        index: usize,
        wanted: &MemberSelection,
    ) -> Result<(&'i StreamerElement, Node)> {
        let element = info.elements.get(index);
        let element =
            element.ok_or_else(|| Error::corrupt(format!("{} has no member {index}", info.name)))?;
        let member = match self.compile_element(info, element, Some(wanted), wanted)? {
            ElementMeaning::Field(_, node) | ElementMeaning::Skip(node) | ElementMeaning::Opaque(node, _) => {
                node
            }
            ElementMeaning::Counter(number) => Node::Number(number),
            ElementMeaning::Nothing => Node::Nothing,
            ElementMeaning::Base(name) | ElementMeaning::Forwarding(name) => {
                self.class_node(&name, "", wanted, ClassUse::Inside)?
            }
        };
        Ok((element, member))
    }
}

/// A member that is counted in another branch extends to the end of the entry, if the entry is one object.
pub(crate) fn to_end(node: Node) -> Node {
    match node {
        Node::Counted { flag: true, content, .. } => Node::FlaggedToEnd(content),
        Node::Counted { flag: false, content, .. } => Node::ToEnd(content),
        Node::Framed(content) => Node::framed(to_end(*content)),
        other => other,
    }
}

/// The member that counts the items of another.
pub(crate) fn counter(node: &Node) -> Option<&str> {
    match node {
        Node::Counted { counter: name, .. } => Some(name),
        Node::Framed(content) | Node::Fixed { content, .. } => counter(content),
        _ => None,
    }
}

fn counted(counter: &str, flag: bool, content: Node) -> Node {
    Node::Counted { register: 0, counter: counter.to_owned(), flag, content: Box::new(content) }
}

/// The class that makes a member unreadable.
fn unreadable(node: &Node) -> Option<&str> {
    match node {
        Node::Opaque(class) | Node::Missing(class) => Some(class),
        Node::Fixed { content, .. }
        | Node::Framed(content)
        | Node::Counted { content, .. }
        | Node::List(content) => unreadable(content),
        Node::Tuple(nodes) => nodes.iter().find_map(unreadable),
        Node::Collection(collection) => unreadable(&collection.item),
        _ => None,
    }
}
