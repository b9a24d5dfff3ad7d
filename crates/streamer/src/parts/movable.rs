//! What can be moved from one buffer to another.

use crate::Node;
use crate::node::{CompiledClass, LayoutStep};

/// Why values cannot be cut from an object, or put into one: they hold references by position, are counted by another
/// member, or nothing describes them. `None` if they can.
pub fn immovable(node: &Node) -> Option<String> {
    match node {
        Node::Number(_) | Node::Text | Node::LongText | Node::Nothing => None,
        Node::Fixed { content, .. } | Node::Framed(content) | Node::List(content) => immovable(content),
        Node::Collection(collection) | Node::Unframed(collection) => immovable(&collection.item)
            .or_else(|| collection.class.as_ref().and_then(|class| of_class(class))),
        Node::Tuple(nodes) => nodes.iter().find_map(immovable),
        Node::Object(class) | Node::Members(class, _) => of_class(class),
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

fn of_class(class: &CompiledClass) -> Option<String> {
    if class.layouts.len() != 1 {
        return Some(format!("the file describes several versions of {}", class.name));
    }
    class.layouts.iter().flat_map(|layout| &layout.steps).find_map(|step| match step {
        LayoutStep::Field { node, .. } | LayoutStep::Skip(node) => immovable(node),
        LayoutStep::Base { class, .. } => of_class(class),
        LayoutStep::Run { .. }
        | LayoutStep::Counter { .. }
        | LayoutStep::Convert { .. }
        | LayoutStep::Default { .. } => None,
    })
}
