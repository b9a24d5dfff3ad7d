//! Skips what is not wanted: by byte count where there is one, and in one step where the size is fixed.

use super::Runner;
use super::object_base::{object_base, reference};
use crate::builder::Builder;
use crate::input::PointerValue;
use crate::node::{self, Collection};
use crate::{Node, StreamInput};
use sapwood_core::{Error, Result};
use sapwood_tfile::IS_REFERENCED;

impl Runner<'_> {
    /// Skips the values of a member of `count` objects.
    pub(crate) fn skip(&mut self, node: &Node, count: usize, input: &mut StreamInput<'_>) -> Result<()> {
        if let Some((number, values)) = node.numbers() {
            let size = number.size_on_file().saturating_mul(values).saturating_mul(count);
            return input.take(size).map(drop);
        }
        if self.tags.is_some() {
            return self.walk(node, count, input);
        }
        match node {
            Node::Nothing => Ok(()),
            // One frame stands for the whole column.
            Node::Framed(_) | Node::Collection(_) => input.must_frame().map(drop),
            Node::FramedOrNothing(_) if input.is_at_end() => Ok(()),
            Node::FramedOrNothing(_) => input.must_frame().map(drop),
            _ if node.collection().is_some() => input.must_frame().map(drop),
            _ => {
                self.each(count, input, |runner, item, input| {
                    runner.scope.item = item;
                    runner.skip_one(node, input)
                })?;
                self.scope.item = 0;
                Ok(())
            }
        }
    }

    /// Reads a member of `count` objects for the tags in it.
    fn walk(&mut self, node: &Node, count: usize, input: &mut StreamInput<'_>) -> Result<()> {
        match node {
            Node::Opaque(class) | Node::Missing(class) => Err(Error::unsupported(node::undescribed(class))),
            Node::Nothing => Ok(()),
            Node::TObject => self.each(count, input, |_, _, input| object_base(input).map(drop)),
            _ => self.read_column(node, count, input, &mut Builder::new(node)),
        }
    }

    /// Skips one value of a column whose values share a frame; `head` is what stands once before them, and decides how
    /// they are stored.
    pub(crate) fn skip_in_frame(
        &mut self,
        node: &Node,
        head: &[u8],
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        match node {
            Node::Framed(content) => self.skip(content, 1, input),
            _ => match node.collection() {
                Some((collection, count)) => self.skip_collections(collection, head, count, input),
                None => Err(crate::builder::misfit()),
            },
        }
    }

    pub(super) fn skip_many(&mut self, node: &Node, count: usize, input: &mut StreamInput<'_>) -> Result<()> {
        if node.numbers().is_some() {
            return self.skip(node, count, input);
        }
        self.each(count, input, |runner, _, input| runner.skip_one(node, input))
    }

    fn skip_one(&mut self, node: &Node, input: &mut StreamInput<'_>) -> Result<()> {
        match node {
            Node::Text => input.text().map(drop),
            Node::TextOrNothing if input.is_at_end() => Ok(()),
            Node::TextOrNothing => input.text().map(drop),
            Node::LongText => {
                let len = input.count(1)?;
                input.take(len).map(drop)
            }
            Node::Bits => {
                if input.u32()? & IS_REFERENCED != 0 {
                    input.take(2)?;
                }
                Ok(())
            }
            Node::TObject => object_base(input).map(drop),
            Node::Ref => reference(input).map(drop),
            Node::Object(class) => {
                let outer = self.scope;
                self.scope = super::Scope::ONE;
                self.skip_object(class, input)?;
                self.scope = outer;
                Ok(())
            }
            Node::PointerOrObject(..) if input.holds_object() => input.must_frame().map(drop),
            Node::Pointer(_) | Node::PointerOrObject(..) => match self.slot(input)? {
                PointerValue::Object { class, body: None, .. } => Err(no_end(class)),
                _ => Ok(()),
            },
            Node::Pointers(..) | Node::Clones(_) | Node::RefArray => input.must_frame().map(drop),
            Node::Opaque(class) | Node::Missing(class) => match input.frame()? {
                Some(_) => Ok(()),
                None => Err(no_end(class)),
            },
            Node::Later(class, wanted) => match input.frame()? {
                Some(_) => Ok(()),
                None => {
                    let node = self.node_of(class, wanted)?;
                    let outer = self.enter(node.size().depth)?;
                    self.skip_one(&node, input)?;
                    self.leave(outer);
                    Ok(())
                }
            },
            Node::Fixed { size, content } => self.skip_many(content, *size, input),
            // Its byte count does not cover the elements (Buffer §2.4).
            Node::Symmetric(..) => {
                let mut out = Builder::new(node);
                self.read(node, input, &mut out)
            }
            Node::Unframed(collection) => {
                if input.frame()?.is_some() {
                    return Ok(());
                }
                let count = self.count(&collection.item, input)?;
                self.skip_many(&collection.item, count, input)
            }
            Node::List(content) => {
                let count = self.count(content, input)?;
                self.skip_many(content, count, input)
            }
            Node::Counted { register, flag, content, .. } => {
                let count = self.counted(*register, *flag, content, input)?;
                self.skip_many(content, count, input)
            }
            Node::Tuple(nodes) => nodes.iter().try_for_each(|node| self.skip_one(node, input)),
            Node::Record(fields) => fields.iter().try_for_each(|(_, node)| self.skip_one(node, input)),
            Node::FlaggedToEnd(_)
            | Node::ToEnd(_)
            | Node::CountedEach(_)
            | Node::Members(..)
            | Node::Columns(..)
            | Node::Named(_) => {
                input.take_rest();
                Ok(())
            }
            Node::Number(_)
            | Node::Framed(_)
            | Node::FramedOrNothing(_)
            | Node::Collection(_)
            | Node::Nothing => self.skip(node, 1, input),
        }
    }
}

impl Node {
    /// The collection, and how many share its frame, if this is a fixed array of collections.
    pub(crate) fn collection(&self) -> Option<(&Collection, usize)> {
        match self {
            Node::Collection(collection) => Some((collection, 1)),
            Node::Fixed { size, content } => {
                let (collection, count) = content.collection()?;
                Some((collection, count.checked_mul(*size)?))
            }
            _ => None,
        }
    }
}

#[cold]
fn no_end(class: &str) -> Error {
    Error::unsupported(format!("an object of {class} can be neither read nor skipped: it has no byte count"))
}
