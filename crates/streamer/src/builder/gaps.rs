//! What is missing from a column: members that cannot be read, and objects of undescribed classes that only
//! the data name.

use super::Builder;
use crate::compile::LONGEST_REPORT;
use crate::node::{CompiledClass, Node, undescribed};

/// Path and reason of what is missing.
struct Gaps {
    found: Vec<(String, String)>,
    length: usize,
}

impl Node {
    /// Path and reason of members that are omitted from what this builds, as far as descriptions determine
    /// them.
    pub(crate) fn skipped(&self) -> Vec<(String, String)> {
        if let Some(class) = self.class() {
            return class.skipped.clone();
        }
        let inside = |name: &str, node: &Node| {
            let skipped = node.skipped().into_iter();
            skipped.map(|(path, why)| (joined(name, &path), why)).collect::<Vec<_>>()
        };
        match self {
            Node::Tuple(nodes) => {
                let nodes = nodes.iter().enumerate();
                nodes.flat_map(|(index, node)| inside(&index.to_string(), node)).collect()
            }
            Node::Record(named) => named.iter().flat_map(|(name, node)| inside(name, node)).collect(),
            Node::Fixed { content, .. }
            | Node::Framed(content)
            | Node::FramedOrNothing(content)
            | Node::Named(content) => content.skipped(),
            other => other.items().map_or_else(Vec::new, |content| content.skipped()),
        }
    }

    /// Adds to `known` the path and reason of everything in `built` that was skipped because of the class of
    /// an object behind a pointer or in a container: the object itself, or members of it.
    pub(crate) fn gaps(&self, built: &Builder, known: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut gaps = Gaps { found: known, length: 0 };
        gaps.look(self, built, "");
        gaps.found
    }
}

impl Gaps {
    fn look(&mut self, node: &Node, built: &Builder, path: &str) {
        match (node, built) {
            (Node::Pointer(_) | Node::PointerOrObject(..) | Node::Later(..), Builder::Any(any)) => {
                for one in &any.alternatives {
                    if let Node::Opaque(class) = &one.node {
                        let path = if path.is_empty() { class } else { path };
                        self.add(path.to_owned(), undescribed(class));
                    }
                    for (inner, why) in one.node.skipped() {
                        self.add(joined(path, &inner), why);
                    }
                    self.look(&one.node, &one.builder, path);
                }
            }
            (Node::Framed(content) | Node::FramedOrNothing(content) | Node::Named(content), built) => {
                self.look(content, built, path);
            }
            (Node::Fixed { content, .. }, Builder::Fixed { content: built, .. }) => {
                self.look(content, built, path);
            }
            (Node::Object(class) | Node::Members(class, _), Builder::Record { fields, .. }) => {
                self.members(class, fields, path);
            }
            (Node::Record(named), Builder::Record { fields, .. }) => {
                for ((name, node), field) in named.iter().zip(fields) {
                    self.look(node, field, &joined(path, name));
                }
            }
            (Node::Tuple(nodes), Builder::Record { fields, .. }) => {
                for (index, (node, field)) in nodes.iter().zip(fields).enumerate() {
                    self.look(node, field, &joined(path, &index.to_string()));
                }
            }
            (node, Builder::List { content: built, .. }) => {
                if let Some(content) = node.items() {
                    self.look(&content, built, path);
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, class: &CompiledClass, fields: &[Builder], path: &str) {
        for (field, built) in class.fields.iter().zip(fields) {
            self.look(&field.node, built, &joined(path, &field.name));
        }
    }

    fn add(&mut self, path: String, why: String) {
        let length = path.len() + why.len();
        let gap = (path, why);
        if self.length + length <= LONGEST_REPORT && !self.found.contains(&gap) {
            self.length += length;
            self.found.push(gap);
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
