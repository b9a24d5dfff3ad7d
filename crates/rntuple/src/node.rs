//! What a field holds: a tree of numbers, lists and records, each with the columns that store it.

use crate::encoding::{Encoding, Kind};
use crate::schema::{FieldRecord, Role, Schema};
use crate::streamed::compiler;
use sapwood_core::{Error, Field, Form, Primitive, Result};
use sapwood_streamer::{Compiler, Program};
use std::collections::HashMap;
use std::sync::Arc;

/// Fields nested deeper than this come from a damaged file.
const MOST_DEPTH: usize = 64;
/// More values in an entry come from a damaged file.
const MOST_REPETITIONS: u64 = 1 << 40;

/// The columns that store the same values in different encodings; in each cluster, one of them is used.
pub(crate) type Representations = Vec<usize>;

/// A field.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Number {
        columns: Representations,
        primitive: Primitive,
    },
    /// The lengths of lists.
    Count {
        ends: Representations,
        primitive: Primitive,
    },
    Text {
        ends: Representations,
        chars: Representations,
    },
    List {
        ends: Representations,
        item: Box<Node>,
    },
    Option {
        ends: Representations,
        item: Box<Node>,
    },
    /// Objects that ROOT streamed.
    Object {
        ends: Representations,
        bytes: Representations,
        program: Arc<Program>,
    },
    Fixed {
        size: u64,
        item: Box<Node>,
    },
    Record {
        class: String,
        fields: Vec<NamedNode>,
    },
    Tuple(Vec<Node>),
    Union {
        switch: Representations,
        items: Vec<Node>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct NamedNode {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn form(&self) -> Form {
        self.form_of(&mut std::iter::empty())
    }

    /// Its form, where the forms of objects are known from their data.
    pub(crate) fn form_of(&self, objects: &mut dyn Iterator<Item = Form>) -> Form {
        let mut boxed = |item: &Node| Box::new(item.form_of(objects));
        match self {
            Node::Number { primitive, .. } | Node::Count { primitive, .. } => Form::Primitive(*primitive),
            Node::Text { .. } => Form::String,
            Node::Object { program, .. } => objects.next().unwrap_or_else(|| program.form.clone()),
            Node::List { item, .. } => Form::List(boxed(item)),
            Node::Option { item, .. } => Form::Option(boxed(item)),
            Node::Fixed { size, item } => {
                Form::Fixed { size: usize::try_from(*size).unwrap_or(usize::MAX), content: boxed(item) }
            }
            Node::Record { class, fields } => {
                let field = |NamedNode { name, title, node }: &NamedNode| Field {
                    name: name.clone(),
                    title: title.clone(),
                    form: node.form_of(objects),
                };
                Form::Record { class: class.clone(), fields: fields.iter().map(field).collect() }
            }
            Node::Tuple(items) => Form::Tuple(items.iter().map(|item| item.form_of(objects)).collect()),
            // A variant may hold no value.
            Node::Union { items, .. } => {
                let items = items.iter().map(|item| item.form_of(objects)).collect();
                Form::Option(Box::new(Form::Union(items)))
            }
        }
    }

    /// The parts of it on these paths.
    pub(crate) fn select(&self, paths: &[&str]) -> Node {
        if paths.is_empty() || paths.contains(&"") {
            return self.clone();
        }
        match self {
            Node::Record { class, fields } => {
                let kept = fields.iter().filter_map(|field| {
                    let below = |path: &&str| match path.split_once('.') {
                        Some((name, _)) if name != field.name => None,
                        None if *path != field.name => None,
                        other => Some(other.map_or("", |(_, rest)| rest).to_owned()),
                    };
                    let below: Vec<String> = paths.iter().filter_map(below).collect();
                    let below: Vec<&str> = below.iter().map(String::as_str).collect();
                    let node = (!below.is_empty()).then(|| field.node.select(&below))?;
                    Some(NamedNode { node, ..field.clone() })
                });
                Node::Record { class: class.clone(), fields: kept.collect() }
            }
            Node::List { ends, item } => {
                Node::List { ends: ends.clone(), item: Box::new(item.select(paths)) }
            }
            Node::Option { ends, item } => {
                Node::Option { ends: ends.clone(), item: Box::new(item.select(paths)) }
            }
            Node::Fixed { size, item } => Node::Fixed { size: *size, item: Box::new(item.select(paths)) },
            other => other.clone(),
        }
    }

    /// The parts of objects that are left out: path and reason.
    pub(crate) fn left_out(&self) -> Vec<(String, String)> {
        match self {
            Node::Object { program, .. } => program.skipped.clone(),
            Node::List { item, .. } | Node::Option { item, .. } | Node::Fixed { item, .. } => item.left_out(),
            Node::Record { fields, .. } => {
                let below = |field: &NamedNode| {
                    let below = field.node.left_out().into_iter();
                    let below = below.map(|(path, why)| (format!("{}.{path}", field.name), why));
                    below.collect::<Vec<_>>()
                };
                fields.iter().flat_map(below).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Visits its columns: those with positions first marked as an index, each with the number of its elements in an
    /// entry if that is fixed.
    ///
    /// # Errors
    /// The first of the visitor.
    pub(crate) fn visit(
        &self,
        repetitions: Option<u64>,
        visitor: &mut impl FnMut(&Representations, bool, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Node::Number { columns, .. } => visitor(columns, false, repetitions),
            Node::Count { ends, .. } => visitor(ends, true, repetitions),
            Node::Text { ends, chars } | Node::Object { ends, bytes: chars, .. } => {
                visitor(ends, true, repetitions)?;
                visitor(chars, false, None)
            }
            Node::List { ends, item } | Node::Option { ends, item } => {
                visitor(ends, true, repetitions)?;
                item.visit(None, visitor)
            }
            Node::Fixed { size, item } => {
                item.visit(repetitions.map(|one| one.saturating_mul(*size)), visitor)
            }
            Node::Record { fields, .. } => {
                fields.iter().try_for_each(|field| field.node.visit(repetitions, visitor))
            }
            Node::Tuple(items) => items.iter().try_for_each(|item| item.visit(repetitions, visitor)),
            Node::Union { switch, items } => {
                visitor(switch, true, repetitions)?;
                items.iter().try_for_each(|item| item.visit(None, visitor))
            }
        }
    }

    /// All its columns.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let each = self.visit(None, &mut |columns, _, _| {
            found.extend_from_slice(columns);
            Ok(())
        });
        // The visitor never fails.
        each.map_or_else(|_| Vec::new(), |()| found)
    }
}

/// Builds the nodes of fields.
pub(crate) struct Builder<'s> {
    schema: &'s Schema,
    encodings: &'s [Option<Encoding>],
    /// By field: its sub-fields, and its columns or those that it shows.
    pub(crate) children: Vec<Vec<usize>>,
    pub(crate) columns: Vec<Vec<usize>>,
    /// None if objects are read as their bytes.
    compiler: Option<Result<Compiler>>,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(schema: &'s Schema, encodings: &'s [Option<Encoding>]) -> Builder<'s> {
        let mut children = vec![Vec::new(); schema.fields.len()];
        let mut columns = children.clone();
        for (id, field) in schema.fields.iter().enumerate().filter(|(id, field)| *id != field.parent) {
            children[field.parent].push(id);
        }
        for (id, column) in schema.columns.iter().enumerate() {
            columns[column.field].push(id);
        }
        for (column, field) in &schema.aliases {
            columns[*field].push(*column);
        }
        Builder { schema, encodings, children, columns, compiler: Some(compiler(schema.classes())) }
    }

    /// The same, with the bytes of objects that ROOT streamed instead of what they hold.
    pub(crate) fn with_objects_as_bytes(self) -> Builder<'s> {
        Builder { compiler: None, ..self }
    }

    /// The field number `id`.
    ///
    /// # Errors
    /// `Unsupported` or `Corrupt` if it cannot be read.
    pub(crate) fn node(&self, id: usize, depth: usize, repetitions: u64) -> Result<Node> {
        let field = &self.schema.fields[id];
        if depth > MOST_DEPTH {
            return Err(Error::corrupt(format!("fields are nested deeper than {MOST_DEPTH}")));
        }
        if field.version != 0 {
            return Err(unreadable(field, &format!("has the unknown version {}", field.version)));
        }
        let below =
            |repetitions| self.only_child(id).and_then(|child| self.node(child, depth + 1, repetitions));
        match field.role {
            Role::Plain => match field.repetitions {
                Some(size) => {
                    let all = repetitions.checked_mul(size).filter(|all| *all <= MOST_REPETITIONS);
                    let all = all.ok_or_else(|| unreadable(field, "has too many items"))?;
                    let item = match self.children[id].is_empty() {
                        true => self.number(id, Primitive::Bool)?,
                        false => below(all)?,
                    };
                    Ok(Node::Fixed { size, item: Box::new(item) })
                }
                None => self.plain(id, depth, repetitions),
            },
            Role::Collection => {
                let (ends, item) = (self.index(id, 0)?, Box::new(below(1)?));
                let optional = ["std::optional<", "std::unique_ptr<"];
                match optional.iter().any(|name| field.type_name.starts_with(name)) {
                    true => Ok(Node::Option { ends, item }),
                    false => Ok(Node::List { ends, item }),
                }
            }
            Role::Record => self.record(id, depth, repetitions),
            Role::Variant => {
                let items = self.children[id].iter().map(|child| self.node(*child, depth + 1, 1));
                let items: Vec<Node> = items.collect::<Result<_>>()?;
                if items.is_empty() || items.len() > 125 {
                    return Err(unreadable(field, "is a variant of an impossible number of types"));
                }
                let switch = self.representations(id, 0, &|kind| kind == Kind::Switch)?;
                Ok(Node::Union { switch, items })
            }
            Role::Streamed => self.object(id),
            Role::Unknown(role) => Err(unreadable(field, &format!("has the unknown structure {role}"))),
        }
    }

    fn plain(&self, id: usize, depth: usize, repetitions: u64) -> Result<Node> {
        let field = &self.schema.fields[id];
        if let Some(primitive) = primitive(&field.type_name) {
            return self.number(id, primitive);
        }
        if field.type_name == "std::string" {
            return Ok(Node::Text {
                ends: self.index(id, 0)?,
                chars: self.representations(id, 1, &is_char)?,
            });
        }
        if field.is_count() {
            let wide = !field.type_name.contains("uint32");
            let primitive = if wide { Primitive::U64 } else { Primitive::U32 };
            return Ok(Node::Count { ends: self.index(id, 0)?, primitive });
        }
        match (self.columns[id].is_empty(), self.children[id].as_slice()) {
            // Enumerations and atomics.
            (true, [child]) => self.node(*child, depth + 1, repetitions),
            _ => Err(unreadable(field, "is of a type that cannot be read")),
        }
    }

    fn record(&self, id: usize, depth: usize, repetitions: u64) -> Result<Node> {
        let field = &self.schema.fields[id];
        let children = &self.children[id];
        let node = |child: &usize| self.node(*child, depth + 1, repetitions);
        if ["std::pair<", "std::tuple<"].iter().any(|name| field.type_name.starts_with(name)) {
            return Ok(Node::Tuple(children.iter().map(node).collect::<Result<_>>()?));
        }
        let mut fields: Vec<(Option<&str>, NamedNode)> = Vec::new();
        for child in children {
            let FieldRecord { name, type_name, description, .. } = &self.schema.fields[*child];
            match node(child)? {
                // The members of base classes are members of the class.
                Node::Record { fields: inherited, .. } if name.starts_with(':') => {
                    fields.extend(inherited.into_iter().map(|field| (Some(type_name.as_str()), field)));
                }
                node => {
                    fields.push((None, NamedNode { name: name.clone(), title: description.clone(), node }));
                }
            }
        }
        let fields = qualified(fields);
        Ok(Node::Record { class: field.type_name.clone(), fields })
    }

    fn object(&self, id: usize) -> Result<Node> {
        let field = &self.schema.fields[id];
        let (ends, bytes) = (self.index(id, 0)?, self.representations(id, 1, &is_char)?);
        let Some(compiler) = &self.compiler else { return Ok(Node::Text { ends, chars: bytes }) };
        let compiled = compiler.as_ref().map_err(Error::copy);
        let program = compiled.and_then(|compiler| compiler.object(&field.type_name, &[]));
        let program =
            program.map_err(|error| unreadable(field, &format!("is streamed: {}", error.message())))?;
        Ok(Node::Object { ends, bytes, program: Arc::new(program) })
    }

    fn only_child(&self, id: usize) -> Result<usize> {
        match self.children[id].as_slice() {
            [child] => Ok(*child),
            _ => Err(Error::corrupt(format!(
                "the collection '{}' has no type of items",
                self.schema.fields[id].name
            ))),
        }
    }

    fn number(&self, id: usize, primitive: Primitive) -> Result<Node> {
        let columns = self.stored(id, 0, &|encoding| encoding.can_be(primitive))?;
        Ok(Node::Number { columns, primitive })
    }

    fn index(&self, id: usize, place: usize) -> Result<Representations> {
        self.representations(id, place, &|kind| matches!(kind, Kind::Index { .. }))
    }

    fn representations(&self, id: usize, place: usize, is: &dyn Fn(Kind) -> bool) -> Result<Representations> {
        self.stored(id, place, &|encoding| is(encoding.kind))
    }

    /// The columns of a field at this place in each of its representations.
    fn stored(&self, id: usize, place: usize, is: &dyn Fn(Encoding) -> bool) -> Result<Representations> {
        let field = &self.schema.fields[id];
        let mut found = Vec::new();
        let (mut representation, mut next) = (None, 0);
        for column in &self.columns[id] {
            let own = self.schema.columns[*column].representation;
            next = if representation == Some(own) { next + 1 } else { 0 };
            representation = Some(own);
            if next == place {
                let encoding = self.encodings[*column];
                let encoding =
                    encoding.ok_or_else(|| unreadable(field, "has a column of an unknown type"))?;
                if !is(encoding) {
                    return Err(unreadable(field, "has a column of another type"));
                }
                found.push(*column);
            }
        }
        match found.is_empty() {
            true => Err(unreadable(field, "has too few columns")),
            false => Ok(found),
        }
    }
}

/// Members with the class that they are inherited from in their name, where the name alone is ambiguous.
fn qualified(fields: Vec<(Option<&str>, NamedNode)>) -> Vec<NamedNode> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for (_, field) in &fields {
        *uses.entry(field.name.clone()).or_default() += 1;
    }
    let named = fields.into_iter().map(|(base, field)| match base {
        Some(base) if uses.get(&field.name).is_some_and(|uses| *uses > 1) => {
            NamedNode { name: format!("{base}::{}", field.name), ..field }
        }
        _ => field,
    });
    named.collect()
}

fn is_char(kind: Kind) -> bool {
    matches!(kind, Kind::Plain { primitive: Primitive::I8 | Primitive::U8, .. })
}

fn unreadable(field: &FieldRecord, why: &str) -> Error {
    Error::unsupported(format!("the field '{}' ({}) {why}", field.name, field.type_name))
}

fn primitive(type_name: &str) -> Option<Primitive> {
    Some(match type_name {
        "bool" => Primitive::Bool,
        "char" | "std::int8_t" => Primitive::I8,
        "std::byte" | "std::uint8_t" => Primitive::U8,
        "std::int16_t" => Primitive::I16,
        "std::uint16_t" => Primitive::U16,
        "std::int32_t" => Primitive::I32,
        "std::uint32_t" => Primitive::U32,
        "std::int64_t" => Primitive::I64,
        "std::uint64_t" => Primitive::U64,
        "float" => Primitive::F32,
        "double" => Primitive::F64,
        _ => return None,
    })
}
