//! What can be moved from one buffer to another.

use crate::Node;
use crate::node::{CompiledClass, LayoutStep};
use std::collections::HashSet;
use std::sync::Arc;

/// Why values cannot be cut from an object, or put into one: they hold references by position, are counted by another
/// member, or nothing describes them. `None` if they can.
pub fn immovable(node: &Node) -> Option<String> {
    of_node(node, &mut HashSet::new())
}

/// `met` are the classes that were examined: bases can multiply each other without end.
fn of_node(node: &Node, met: &mut HashSet<*const CompiledClass>) -> Option<String> {
    match node {
        Node::Number(_) | Node::Text | Node::LongText | Node::Nothing => None,
        Node::Fixed { content, .. } | Node::Framed(content) | Node::List(content) => of_node(content, met),
        Node::Collection(collection) | Node::Unframed(collection) => of_node(&collection.item, met)
            .or_else(|| collection.class.as_ref().and_then(|class| of_class(class, met))),
        Node::Tuple(nodes) => nodes.iter().find_map(|node| of_node(node, met)),
        Node::Object(class) | Node::Members(class, _) => of_class(class, met),
        Node::Pointer(_) | Node::PointerOrObject(..) | Node::Pointers(..) | Node::Clones(_) => {
            Some("it holds pointers".to_owned())
        }
        Node::TObject | Node::Bits | Node::Ref | Node::RefArray => {
            Some("it holds objects that can be referred to".to_owned())
        }
        Node::Counted { .. } | Node::CountedEach(_) | Node::FlaggedToEnd(_) | Node::ToEnd(_) => {
            Some("it holds an array that another member counts".to_owned())
        }
        Node::Opaque(class) | Node::Missing(class) => Some(crate::node::undescribed(class)),
        _ => Some("its type cannot be moved".to_owned()),
    }
}

fn of_class(class: &Arc<CompiledClass>, met: &mut HashSet<*const CompiledClass>) -> Option<String> {
    if !met.insert(Arc::as_ptr(class)) {
        return None;
    }
    if class.layouts.len() != 1 {
        return Some(format!("the file describes several versions of {}", class.name));
    }
    class.layouts.iter().flat_map(|layout| &layout.steps).find_map(|step| match step {
        LayoutStep::Field { node, .. } | LayoutStep::Skip(node) => of_node(node, met),
        LayoutStep::Base { class, .. } => of_class(class, met),
        LayoutStep::Run { .. }
        | LayoutStep::Counter { .. }
        | LayoutStep::Convert { .. }
        | LayoutStep::Default { .. } => None,
    })
}
