//! A structure of leaves: numbers, texts, and arrays that other leaves of the same structure count.

use super::{ClassField, ClassLayout, CompiledClass, LayoutStep, Node, Size};
use sapwood_core::Primitive;
use std::sync::Arc;

/// A member of a [structure](Node::structure).
#[derive(Debug, Clone, PartialEq)]
pub struct StructureMember {
    /// Its name.
    pub name: String,
    /// The member, or each item of it.
    pub node: Node,
    /// The index of the member that counts its items, if there is one.
    pub count: Option<usize>,
}

impl Node {
    /// Members one after the other; `None` if a member is not counted by an integer in front of it.
    pub fn structure(members: Vec<StructureMember>) -> Option<Node> {
        if members.iter().all(|member| member.count.is_none()) {
            return Some(Node::Record(
                members.into_iter().map(|member| (member.name, member.node)).collect(),
            ));
        }
        let counters: Vec<usize> = members.iter().filter_map(|member| member.count).collect();
        let registers = members.iter().map(|member| member.name.clone()).collect();
        let (mut fields, mut steps) = (Vec::new(), Vec::new());
        for (index, StructureMember { name, node, count }) in members.into_iter().enumerate() {
            let node = match count {
                Some(count) => {
                    let counter = fields.get(count).map(|field: &ClassField| field.name.clone())?;
                    Node::Counted { register: count, counter, flag: false, content: Box::new(node) }
                }
                None => node,
            };
            steps.push(if counters.contains(&index) {
                let Node::Number(number) = node else { return None };
                if matches!(number.primitive(), Primitive::Bool | Primitive::F32 | Primitive::F64) {
                    return None;
                }
                LayoutStep::Counter { index: Some(index), number, register: index }
            } else {
                LayoutStep::Field { index, node: node.clone() }
            });
            fields.push(ClassField { name, title: String::new(), node });
        }
        Some(Node::Members(Arc::new(CompiledClass::of_steps(fields, steps, registers)), 0))
    }
}

impl CompiledClass {
    /// A class without name and versions, whose members are stored as these steps say.
    fn of_steps(fields: Vec<ClassField>, steps: Vec<LayoutStep>, registers: Vec<String>) -> CompiledClass {
        let size = fields.iter().map(ClassField::size).fold(Size::NONE, Size::and).within(1);
        let smallest = steps.iter().map(LayoutStep::smallest).fold(0, usize::saturating_add);
        let needed = steps.len();
        let layout = ClassLayout { version: 0, checksum: 0, steps, needed, smallest, unsupported: None };
        let (name, layouts, skipped) = (String::new(), vec![layout], Vec::new());
        CompiledClass { name, fields, layouts, has_checksum: false, registers, skipped, size }
    }
}
