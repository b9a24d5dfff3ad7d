//! What can be moved from one buffer to another.

use crate::Node;
use crate::node::{CompiledClass, LayoutStep};
use std::collections::HashSet;
use std::sync::Arc;

/// What is in values that can be moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovableContent {
    /// They name process ids by number, as references and objects that are referred to do.
    pub process_ids: bool,
    /// They hold a `TClonesArray`: only the values say of what, and that may have references by position.
    pub clones: bool,
}

/// What is in values.
///
/// # Errors
/// Why values cannot be cut from an object, or put into one: they hold references by position, or nothing
/// describes them.
pub fn movable_content(node: &Node) -> Result<MovableContent, String> {
    let mut search = Search::default();
    search.node(node).map_or(Ok(search.found), Err)
}

/// A search for what cannot be moved.
#[derive(Debug, Default)]
struct Search {
    /// The classes that were examined: bases can multiply each other without end.
    met: HashSet<*const CompiledClass>,
    found: MovableContent,
}

impl Search {
    /// Why values cannot be moved; `None` if they can.
    fn node(&mut self, node: &Node) -> Option<String> {
        match node {
            Node::Number(_) | Node::Text | Node::LongText | Node::Nothing => None,
            Node::Fixed { content, .. }
            | Node::Framed(content)
            | Node::List(content)
            | Node::Counted { content, .. } => self.node(content),
            Node::Collection(collection) | Node::Unframed(collection) => self
                .node(&collection.item)
                .or_else(|| collection.class.as_ref().and_then(|class| self.class(class))),
            Node::Tuple(nodes) => nodes.iter().find_map(|node| self.node(node)),
            Node::Object(class) | Node::Members(class, _) => self.class(class),
            Node::Pointer(_) | Node::PointerOrObject(..) | Node::Pointers(..) => {
                Some("it holds pointers".to_owned())
            }
            Node::Clones(_) => {
                self.found = MovableContent { process_ids: true, clones: true };
                None
            }
            Node::TObject | Node::Bits | Node::Ref | Node::RefArray => {
                self.found.process_ids = true;
                None
            }
            Node::Opaque(class) | Node::Missing(class) => Some(crate::node::undescribed(class)),
            _ => Some("its type cannot be moved".to_owned()),
        }
    }

    fn class(&mut self, class: &Arc<CompiledClass>) -> Option<String> {
        if !self.met.insert(Arc::as_ptr(class)) {
            return None;
        }
        if class.layouts.len() != 1 {
            return Some(format!("the file describes several versions of {}", class.name));
        }
        class.layouts.iter().flat_map(|layout| &layout.steps).find_map(|step| match step {
            LayoutStep::Field { node, .. } | LayoutStep::Skip(node) => self.node(node),
            LayoutStep::Base { class, .. } => self.class(class),
            LayoutStep::Run { .. }
            | LayoutStep::Counter { .. }
            | LayoutStep::Convert { .. }
            | LayoutStep::Default { .. } => None,
        })
    }
}
