//! Reads objects of classes that only the data name: behind pointers, and in ROOT's containers of pointers.

use super::Runner;
use super::object_base::object_base;
use crate::builder::{Alternative, Any, Builder, misfit, position};
use crate::input::PointerValue;
use crate::node::Pointers;
use crate::{MemberSelection, Node, StreamInput};
use sapwood_core::{Error, Result};

/// Most classes behind one pointer: as many as tags can distinguish.
const MOST_CLASSES: usize = 128;

/// The state before an object was entered.
pub(super) struct Outer {
    scope: super::Scope,
    depth: usize,
}

impl Runner<'_> {
    /// Reads a pointer. A reference to an object that is being read, which would never end, becomes null.
    pub(super) fn pointer(
        &mut self,
        wanted: &MemberSelection,
        input: &mut StreamInput<'_>,
        out: &mut Any,
    ) -> Result<()> {
        match self.slot(input)? {
            PointerValue::Null => out.tags.push(-1),
            PointerValue::Object { class, at, body: Some(mut body) } => {
                self.pointee(class, at, wanted, &mut body, out)?;
                body.finish(class)?;
            }
            PointerValue::Object { class, at, body: None } => self.pointee(class, at, wanted, input, out)?,
            PointerValue::Reference(1) => out.tags.push(-1),
            // The tags of the object were collected at its position.
            PointerValue::Reference(_) if self.tags.is_some() => out.tags.push(-1),
            PointerValue::Reference(tag) => {
                if input.referred(tag).is_some_and(|at| self.open.contains(&at)) {
                    out.tags.push(-1);
                    return Ok(());
                }
                self.again(tag, wanted, input, out)?;
            }
        }
        Ok(())
    }

    /// Reads the object that a reference names once more, as if it were stored here.
    fn again(
        &mut self,
        tag: u32,
        wanted: &MemberSelection,
        input: &StreamInput<'_>,
        out: &mut Any,
    ) -> Result<()> {
        let mut earlier = input.earlier(tag)?;
        let before = earlier.remaining();
        let Ok((PointerValue::Object { class, at, body }, _)) = earlier.slot() else {
            return Err(input.error(format!("a pointer refers to position {tag}, where there is no object")));
        };
        let mut body = match body {
            Some(body) => {
                self.spend(before - earlier.remaining())?;
                body
            }
            None => {
                self.spend(before)?;
                earlier
            }
        };
        self.pointee(class, at, wanted, &mut body, out)
    }

    fn pointee(
        &mut self,
        class: &str,
        at: usize,
        wanted: &MemberSelection,
        input: &mut StreamInput<'_>,
        out: &mut Any,
    ) -> Result<()> {
        let (tag, one) = self.alternative(class, wanted, &mut out.alternatives)?;
        let outer = self.enter(one.depth)?;
        self.open.push(at);
        match &one.node {
            // The byte count of the pointer gives its end.
            Node::Opaque(_) if self.tolerant => {
                input.take_rest();
                one.builder.push_default(1);
            }
            node => self.read(node, input, &mut one.builder)?,
        }
        self.open.pop();
        self.leave(outer);
        out.tags.push(tag);
        Ok(())
    }

    /// Reads an object of a class that contains objects of its own class.
    pub(super) fn later(
        &mut self,
        class: &str,
        wanted: &MemberSelection,
        input: &mut StreamInput<'_>,
        out: &mut Any,
    ) -> Result<()> {
        let (tag, one) = self.alternative(class, wanted, &mut out.alternatives)?;
        let outer = self.enter(one.depth)?;
        self.read(&one.node, input, &mut one.builder)?;
        self.leave(outer);
        out.tags.push(tag);
        Ok(())
    }

    /// The builder for objects of a class, and their tag. The first object of a class is charged to the
    /// budget: its description determines the number of columns, and every pointer can add them.
    pub(super) fn alternative<'a>(
        &mut self,
        class: &str,
        wanted: &MemberSelection,
        alternatives: &'a mut Vec<Alternative>,
    ) -> Result<(i8, &'a mut Alternative)> {
        self.spend(class.len())?;
        let place = match alternatives.iter().position(|one| one.class == class) {
            Some(known) => known,
            None if alternatives.len() >= MOST_CLASSES => {
                return Err(Error::unsupported("a pointer refers to objects of more than 128 classes"));
            }
            None => {
                let node = self.node_of(class, wanted)?;
                self.check_whole(class, &node)?;
                let size = node.size();
                self.spend(size.weight.saturating_mul(size_of::<Builder>()))?;
                let builder = Builder::new(&node);
                alternatives.push(Alternative { class: class.to_owned(), node, depth: size.depth, builder });
                alternatives.len() - 1
            }
        };
        let tag = i8::try_from(place).map_err(|_| misfit())?;
        alternatives.get_mut(place).map(|one| (tag, one)).ok_or_else(misfit)
    }

    /// Fails if objects of a class that only the data name would lack members silently: the gaps of a column
    /// are reported before anything is read.
    fn check_whole(&self, class: &str, node: &Node) -> Result<()> {
        if self.tolerant || self.tags.is_some() {
            return Ok(());
        }
        match node.skipped().first() {
            None => Ok(()),
            Some((member, why)) => {
                let hint = "other members of the objects can be read by their paths";
                Err(Error::unsupported(format!("{member} of {class} cannot be read: {why}")).hint(hint))
            }
        }
    }

    /// An object of a class.
    pub(super) fn node_of(&self, class: &str, wanted: &MemberSelection) -> Result<Node> {
        match self.compiler {
            Some(compiler) => compiler.class_node(class, wanted),
            None => Err(Error::unsupported(format!("nothing describes the class {class}"))),
        }
    }

    /// Enters an object with this many levels; returns the state for [`leave`](Runner::leave).
    pub(super) fn enter(&mut self, levels: usize) -> Result<Outer> {
        if self.depth + levels >= super::DEEPEST {
            let message = format!("objects lie within each other more than {} deep", super::DEEPEST);
            return Err(Error::unsupported(message));
        }
        let outer = Outer { scope: self.scope, depth: self.depth };
        self.scope = super::Scope::ONE;
        self.depth += 1 + levels;
        Ok(outer)
    }

    pub(super) fn leave(&mut self, outer: Outer) {
        self.depth = outer.depth;
        self.scope = outer.scope;
    }

    /// Reads the items of a container of pointers.
    pub(super) fn pointers(
        &mut self,
        kind: Pointers,
        content: &Node,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        let mut body = input.must_frame()?;
        let version = body.i16()?;
        if version > 2 {
            object_base(&mut body)?;
        }
        if version > 1 {
            body.text()?;
        }
        let count = body.count(content.smallest())?;
        if kind == Pointers::Array {
            body.take(4)?; // fLowerBound
        }
        for _ in 0..count {
            self.read(content, &mut body, out)?;
            // The option of an item, almost always empty (StreamerInfo §4).
            if kind == Pointers::List && version > 3 {
                let len = match body.u8()? {
                    255 if version > 4 => body.count(1)?,
                    len => usize::from(len),
                };
                body.take(len)?;
            }
        }
        body.finish("a container")
    }

    /// Reads a `TRefArray` (References §4).
    pub(super) fn ref_array(&mut self, input: &mut StreamInput<'_>, fields: &mut [Builder]) -> Result<()> {
        let mut body = input.must_frame()?;
        body.i16()?;
        object_base(&mut body)?;
        let text = body.text()?;
        let count = body.count(4)?;
        body.take(4 + 2)?; // fLowerBound, pidf
        let numbers = body.take(count.saturating_mul(4))?;
        let [Builder::Text { offsets, bytes }, size, Builder::List { offsets: ends, content }] = fields
        else {
            return Err(misfit());
        };
        bytes.extend_from_slice(text);
        offsets.push(position(bytes.len()));
        let announced = u32::try_from(count).unwrap_or(u32::MAX);
        size.numbers_mut(1)?.extend_from_slice(&announced.to_ne_bytes());
        crate::StoredNumber::Plain(sapwood_core::Primitive::I32).append(numbers, content.numbers_mut(count)?);
        ends.push(position(content.length()));
        body.finish("a TRefArray")
    }
}
