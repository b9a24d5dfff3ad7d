//! The layout of a new RNTuple: from the forms of its top-level fields, to the records of fields and columns.

use super::elements::{Elements, Memory};
use super::feed::Node;
use crate::encoding::Encoding;
use crate::schema::{ColumnRecord, ExtraTypeInfo, FieldRecord, Role};
use sapwood_codec::Compression;
use sapwood_core::{Error, Field, Form, Primitive, Result};
use std::collections::HashSet;

/// The most types of a variant (its index is a byte in ROOT's memory).
const MOST_TYPES: usize = 125;
/// Fixed arrays of more items cannot be one entry of a page.
const MOST_ITEMS: usize = 1 << 30;

/// The specification of a top-level field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    /// Its name.
    pub name: String,
    /// Its description.
    pub title: String,
    /// What an entry holds.
    pub form: Form,
    /// How its pages are compressed.
    pub compression: Compression,
}

/// A field that shows a part of another one, and has no data of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// Its name.
    pub name: String,
    /// Its description.
    pub title: String,
    /// The name of the top-level field, a list.
    pub of: String,
    /// The member of the records in that list, which becomes a list of its own; `None` for the number of items.
    pub member: Option<String>,
}

/// A column to be written.
#[derive(Debug, Clone)]
pub(super) struct NewColumn {
    pub(super) record: ColumnRecord,
    pub(super) elements: Elements,
    pub(super) compression: Compression,
    /// The first of the columns that store the same values in different encodings.
    pub(super) first_of: usize,
    /// For a late field: the number of the first element that is stored.
    pub(super) first_element: u64,
}

/// Fields and columns in the order of their numbers, and how a column of input is divided among them.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) fields: Vec<FieldRecord>,
    pub(super) columns: Vec<NewColumn>,
    /// For each top-level field.
    pub(super) nodes: Vec<Node>,
    /// The columns that the nodes feed, in the order of a walk through all of them.
    pub(super) fed: Vec<usize>,
    pub(super) extra: Vec<ExtraTypeInfo>,
    /// Columns of projected fields: that of the field they show, and the projected field.
    pub(super) aliases: Vec<(usize, usize)>,
}

impl Layout {
    /// # Errors
    /// `Usage` for impossible names; `Unsupported` for forms that ROOT has no type for.
    pub(super) fn new(specs: &[FieldSpec], projections: &[Projection]) -> Result<Layout> {
        let mut layout = Layout::default();
        layout.add(specs)?;
        for projection in projections {
            layout.check_new(&projection.name)?;
            layout.project(projection).map_err(|error| error.branch(&projection.name))?;
        }
        Ok(layout)
    }

    /// Adds top-level fields.
    ///
    /// # Errors
    /// As [`new`](Layout::new).
    pub(super) fn add(&mut self, specs: &[FieldSpec]) -> Result<()> {
        for spec in specs {
            self.check_new(&spec.name)?;
            let context = Context { compression: spec.compression };
            let id = self.fields.len();
            let node = self.field(&spec.name, &spec.title, &spec.form, id, context);
            self.nodes.push(node.map_err(|error| error.branch(&spec.name))?);
        }
        Ok(())
    }

    /// Fails if there is a top-level field of this name.
    fn check_new(&self, name: &str) -> Result<()> {
        let is_known = |(id, field): (usize, &FieldRecord)| field.parent == id && field.name == name;
        match self.fields.iter().enumerate().any(is_known) {
            true => Err(Error::usage("there are two fields of this name").branch(name)),
            false => Ok(()),
        }
    }

    /// What a part of the layout lacks of all of it: its fields and columns, with the numbers that they have in all.
    pub(super) fn behind(&self, (fields, columns): (usize, usize)) -> Layout {
        Layout {
            fields: self.fields.get(fields..).unwrap_or_default().to_vec(),
            columns: self.columns.get(columns..).unwrap_or_default().to_vec(),
            ..Layout::default()
        }
    }

    /// The elements of a column before an entry, if they depend on nothing else: 0 below lists and variants, and for the
    /// second column of a field (as ROOT counts them).
    pub(super) fn elements_before(&self, column: usize, entry: u64) -> u64 {
        let Some(NewColumn { record, .. }) = self.columns.get(column) else { return 0 };
        let before = column.checked_sub(1).and_then(|before| self.columns.get(before));
        if before.is_some_and(|before| before.record.field == record.field) {
            return 0;
        }
        let (mut elements, mut id) = (entry, record.field);
        while let Some(field) = self.fields.get(id) {
            elements = elements.saturating_mul(field.repetitions.unwrap_or(1));
            if field.parent == id {
                break;
            }
            id = field.parent;
            if self.fields.get(id).is_some_and(|above| matches!(above.role, Role::Collection | Role::Variant))
            {
                return 0;
            }
        }
        elements
    }

    /// Adds a projected field, and those below it.
    fn project(&mut self, Projection { name, title, of, member }: &Projection) -> Result<()> {
        check_name(name)?;
        let child = |fields: &[FieldRecord], parent: usize, name: &str| {
            let mut found = fields.iter().enumerate().skip(parent + 1);
            found.find(|(_, field)| field.parent == parent && field.name == name).map(|(id, _)| id)
        };
        let top =
            self.fields.iter().enumerate().position(|(id, field)| field.parent == id && field.name == *of);
        let list = top.filter(|top| self.fields.get(*top).is_some_and(|top| top.role == Role::Collection));
        let (Some(list), id) = (list, self.fields.len()) else {
            return Err(Error::usage(format!("there is no list '{of}' to project")));
        };
        let Some(member) = member else {
            let type_name = "ROOT::RNTupleCardinality<std::uint32_t>";
            self.projected(list, id, Role::Plain, name, type_name, title);
            return Ok(());
        };
        let record = child(&self.fields, list, "_0");
        let source = record.and_then(|record| child(&self.fields, record, member));
        let source = source.ok_or_else(|| Error::usage(format!("'{of}' has no member '{member}'")))?;
        let item = self.fields.get(source).map(|field| field.type_name.clone()).unwrap_or_default();
        self.projected(list, id, Role::Collection, name, &format!("ROOT::VecOps::RVec<{item}>"), title);
        self.project_below(source, id, "_0")
    }

    /// Adds the projection of a field below another one.
    fn project_below(&mut self, source: usize, parent: usize, name: &str) -> Result<()> {
        let Some(FieldRecord { role, type_name, repetitions, .. }) = self.fields.get(source).cloned() else {
            return Ok(());
        };
        // ROOT's rules for projections.
        if role == Role::Variant || repetitions.is_some() || type_name.is_empty() {
            return Err(Error::unsupported("arrays, variants and records in it cannot be projected"));
        }
        let id = self.projected(source, parent, role, name, &type_name, "");
        let is_below = |(other, field): &(usize, &FieldRecord)| field.parent == source && *other != source;
        let below =
            self.fields.iter().enumerate().filter(is_below).map(|(id, field)| (id, field.name.clone()));
        below
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|(child, name)| self.project_below(child, id, &name))
    }

    fn projected(
        &mut self,
        source: usize,
        parent: usize,
        role: Role,
        name: &str,
        type_name: &str,
        title: &str,
    ) -> usize {
        let id = self.fields.len();
        self.fields.push(FieldRecord {
            parent,
            role,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            description: title.to_owned(),
            source: Some(source),
            ..FieldRecord::default()
        });
        let shown = self.columns.iter().enumerate().filter(|(_, column)| column.record.field == source);
        self.aliases.extend(shown.map(|(column, _)| (column, id)));
        id
    }

    fn field(
        &mut self,
        name: &str,
        title: &str,
        form: &Form,
        parent: usize,
        context: Context,
    ) -> Result<Node> {
        check_name(name)?;
        let id = self.fields.len();
        let (role, repetitions) = match form {
            Form::Primitive(_) | Form::String => (Role::Plain, None),
            Form::Fixed { size, .. } => (Role::Plain, Some(*size as u64)),
            Form::List(_) => (Role::Collection, None),
            Form::Option(content) if matches!(**content, Form::Union(_)) => (Role::Variant, None),
            Form::Option(_) => (Role::Collection, None),
            Form::Record { .. } | Form::Tuple(_) => (Role::Record, None),
            Form::Union(_) => (Role::Variant, None),
            Form::Empty => return Err(Error::unsupported("values of an unknown type cannot be written")),
        };
        self.fields.push(FieldRecord {
            parent,
            role,
            name: name.to_owned(),
            type_name: type_name(form)?.unwrap_or_default(),
            description: title.to_owned(),
            repetitions,
            ..FieldRecord::default()
        });
        let item = |layout: &mut Layout, form: &Form| layout.field("_0", "", form, id, context).map(Box::new);
        Ok(match form {
            Form::Primitive(primitive) => {
                self.column(Memory::Numbers(*primitive), id, context)?;
                Node::Numbers(*primitive)
            }
            Form::String => {
                self.column(Memory::Ends, id, context)?;
                self.column(Memory::Chars, id, context)?;
                Node::Text
            }
            Form::List(content) => {
                self.column(Memory::Ends, id, context)?;
                Node::List(item(self, content)?)
            }
            Form::Fixed { size, content } => {
                if *size == 0 || items_of(form) > MOST_ITEMS {
                    return Err(Error::unsupported(format!(
                        "a fixed array of {size} items cannot be written"
                    )));
                }
                Node::Fixed(*size, item(self, content)?)
            }
            Form::Option(content) => match &**content {
                Form::Union(forms) => self.variant(forms, id, true, context)?,
                content => {
                    self.column(Memory::Ends, id, context)?;
                    Node::Option(item(self, content)?)
                }
            },
            Form::Union(forms) => self.variant(forms, id, false, context)?,
            Form::Record { fields, .. } => {
                let mut names = HashSet::new();
                let mut field = |Field { name, title, form }: &Field| {
                    if !names.insert(name.clone()) {
                        return Err(Error::usage(format!("a record has two fields '{name}'")));
                    }
                    self.field(name, title, form, id, context)
                };
                Node::Fields(fields.iter().map(&mut field).collect::<Result<_>>()?)
            }
            Form::Tuple(forms) => Node::Fields(self.numbered(forms, id, context)?),
            Form::Empty => Node::Fields(Vec::new()),
        })
    }

    fn variant(&mut self, forms: &[Form], id: usize, optional: bool, context: Context) -> Result<Node> {
        if forms.is_empty() || forms.len() > MOST_TYPES {
            return Err(Error::unsupported(format!("a variant of {} types cannot be written", forms.len())));
        }
        self.column(Memory::Switch, id, context)?;
        Ok(Node::Union { optional, items: self.numbered(forms, id, context)? })
    }

    fn numbered(&mut self, forms: &[Form], id: usize, context: Context) -> Result<Vec<Node>> {
        let numbered = forms.iter().enumerate();
        numbered.map(|(number, form)| self.field(&format!("_{number}"), "", form, id, context)).collect()
    }

    fn column(&mut self, memory: Memory, field: usize, context: Context) -> Result<()> {
        let (kind, bits) = memory.usual_column(!context.compression.is_none());
        let encoding = Encoding::of(kind, bits, None)?;
        let encoding = encoding.ok_or_else(|| Error::corrupt("a column type that cannot be read"))?;
        let elements = Elements { memory, encoding };
        let record =
            ColumnRecord { kind, bits, field, representation: 0, deferred: false, value_range: None };
        let first_of = self.columns.len();
        self.fed.push(first_of);
        self.columns.push(NewColumn {
            record,
            elements,
            compression: context.compression,
            first_of,
            first_element: 0,
        });
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
struct Context {
    /// Numbers are split into bytes if they are compressed.
    compression: Compression,
}

/// ROOT's rules for names of fields.
fn check_name(name: &str) -> Result<()> {
    let forbidden = |c: char| c.is_control() || matches!(c, '.' | ' ' | '/' | '\\');
    match name.chars().find(|c| forbidden(*c)) {
        Some(c) => Err(Error::usage(format!("the name '{name}' of a field must not contain {c:?}"))),
        None if name.is_empty() => Err(Error::usage("a field needs a name")),
        None => Ok(()),
    }
}

/// Numbers in an item.
fn items_of(form: &Form) -> usize {
    match form {
        Form::Fixed { size, content } => size.saturating_mul(items_of(content)),
        _ => 1,
    }
}

/// The name of a type as ROOT spells it; none for a record, which has no class, and for lists of records.
fn type_name(form: &Form) -> Result<Option<String>> {
    let of = |name: &str, content: &Form| Ok(type_name(content)?.map(|item| format!("{name}<{item}>")));
    let typed = |what: &str, content: &Form| match type_name(content)? {
        Some(item) => Ok(item),
        None => Err(Error::unsupported(format!("{what} of records without a class cannot be written"))),
    };
    let all = |name: &str, forms: &[Form]| -> Result<Option<String>> {
        let items: Option<Vec<String>> = forms.iter().map(type_name).collect::<Result<_>>()?;
        Ok(items.map(|items| format!("{name}<{}>", items.join(","))))
    };
    match form {
        Form::Primitive(primitive @ (Primitive::Bool | Primitive::F32 | Primitive::F64)) => {
            Ok(Some(primitive.cpp_name().to_owned()))
        }
        Form::Primitive(primitive) => Ok(Some(format!("std::{}", primitive.cpp_name()))),
        Form::String => Ok(Some("std::string".to_owned())),
        Form::Fixed { size, content } => {
            Ok(Some(format!("std::array<{},{size}>", typed("fixed arrays", content)?)))
        }
        Form::List(content) => of("std::vector", content),
        Form::Option(content) if matches!(**content, Form::Union(_)) => type_name(content),
        Form::Option(content) => Ok(Some(format!("std::optional<{}>", typed("options", content)?))),
        Form::Union(forms) => match all("std::variant", forms)? {
            None => Err(Error::unsupported("variants of records without a class cannot be written")),
            name => Ok(name),
        },
        // A pair and a tuple of two have the same columns.
        Form::Tuple(forms) => all("std::tuple", forms),
        Form::Record { .. } | Form::Empty => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT: Form = Form::Primitive(Primitive::F32);

    fn spec(form: Form) -> FieldSpec {
        let (name, title) = ("x".to_owned(), String::new());
        FieldSpec { name, title, form, compression: Compression::default() }
    }

    #[test]
    fn types_have_the_names_of_root() {
        let record = Form::record([("pt".to_owned(), FLOAT)]);
        let names = [
            (Form::list(Form::list(FLOAT)), "std::vector<std::vector<float>>"),
            (Form::fixed(&[2, 3], FLOAT), "std::array<std::array<float,3>,2>"),
            (Form::Option(Box::new(Form::String)), "std::optional<std::string>"),
            (Form::Tuple(vec![FLOAT, Form::Primitive(Primitive::U64)]), "std::tuple<float,std::uint64_t>"),
            (Form::Union(vec![FLOAT, Form::String]), "std::variant<float,std::string>"),
            (Form::list(record.clone()), ""),
            (Form::Tuple(vec![record.clone()]), ""),
        ];
        for (form, name) in names {
            assert_eq!(Layout::new(&[spec(form)], &[]).unwrap().fields[0].type_name, name);
        }
        for form in [Form::Empty, Form::fixed(&[2], record.clone()), Form::Option(Box::new(record))] {
            assert!(Layout::new(&[spec(form)], &[]).is_err());
        }
    }

    #[test]
    fn names_that_root_refuses_are_refused() {
        for name in ["", "a.b", "a b", "a/b", "a\nb"] {
            assert!(Layout::new(&[FieldSpec { name: name.to_owned(), ..spec(FLOAT) }], &[]).is_err());
        }
        let colon = FieldSpec { name: "Aux:pt".to_owned(), ..spec(FLOAT) };
        assert!(Layout::new(std::slice::from_ref(&colon), &[]).is_ok());
        assert!(Layout::new(&[colon.clone(), colon], &[]).is_err());
    }
}
