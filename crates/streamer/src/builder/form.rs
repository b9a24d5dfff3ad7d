//! The form of what nodes build: from the descriptions and, where they leave it open, from the data.

use super::Builder;
use crate::node::{CompiledClass, Node};
use sapwood_core::{Field, Form, Primitive};

impl Node {
    /// The form of what this node builds, as far as it does not depend on the data; the rest is
    /// [`Form::Empty`].
    pub fn form(&self) -> Form {
        self.form_with(None)
    }

    /// The form of what `built` holds.
    pub(crate) fn form_with(&self, built: Option<&Builder>) -> Form {
        let inner = match built {
            Some(Builder::List { content, .. } | Builder::Fixed { content, .. }) => Some(&**content),
            _ => None,
        };
        let field = |index: usize| match built {
            Some(Builder::Record { fields, .. }) => fields.get(index),
            _ => None,
        };
        match self {
            Node::Number(number) => Form::Primitive(number.primitive()),
            Node::Bits => Form::Primitive(Primitive::U32),
            Node::Text | Node::TextOrNothing | Node::LongText => Form::String,
            Node::Fixed { size, content } => Form::fixed(&[*size], content.form_with(inner)),
            Node::Framed(content) | Node::FramedOrNothing(content) | Node::Named(content) => {
                content.form_with(built)
            }
            Node::Record(fields) => {
                let named = fields.iter().enumerate();
                Form::record(named.map(|(index, (name, node))| (name.clone(), node.form_with(field(index)))))
            }
            Node::Tuple(nodes) => {
                let nodes = nodes.iter().enumerate();
                Form::Tuple(nodes.map(|(index, node)| node.form_with(field(index))).collect())
            }
            Node::Object(class) | Node::Members(class, _) => class.form_with(field),
            Node::Ref => Form::record([("ref".to_owned(), Form::Primitive(Primitive::U32))]),
            Node::RefArray => {
                let named = Node::ref_array().into_iter();
                Form::record(named.map(|(name, node)| (name.to_owned(), node.form())))
            }
            Node::Opaque(class) => Form::Record { class: class.clone(), fields: Vec::new() },
            Node::Nothing | Node::TObject => Form::record([]),
            Node::Symmetric(class, number, _) => {
                let mut form = class.form_with(field);
                if let Form::Record { fields, .. } = &mut form {
                    let elements = Form::list(Form::Primitive(number.primitive()));
                    fields.push(Field { name: "fElements".to_owned(), title: String::new(), form: elements });
                }
                form
            }
            Node::Missing(_) => Form::Empty,
            Node::Pointer(_) | Node::PointerOrObject(..) | Node::Later(..) => match built {
                Some(Builder::Any(any)) => {
                    let forms = any.alternatives.iter().map(|one| one.node.form_with(Some(&one.builder)));
                    let mut forms: Vec<Form> = forms.collect();
                    let form = match forms.len() {
                        0 => Form::Empty,
                        1 => forms.remove(0),
                        _ => Form::Union(forms),
                    };
                    if any.is_option() { Form::Option(Box::new(form)) } else { form }
                }
                _ if !matches!(self, Node::Later(..)) => Form::Option(Box::new(Form::Empty)),
                _ => Form::Empty,
            },
            Node::List(_)
            | Node::FlaggedToEnd(_)
            | Node::ToEnd(_)
            | Node::Counted { .. }
            | Node::CountedEach(_)
            | Node::Pointers(..)
            | Node::Collection(_)
            | Node::Unframed(_)
            | Node::Columns(..)
            | Node::Clones(_) => match self.items() {
                Some(content) => Form::list(content.form_with(inner)),
                None => Form::list(Form::Empty),
            },
        }
    }
}

impl CompiledClass {
    fn form_with<'b>(&self, built: impl Fn(usize) -> Option<&'b Builder>) -> Form {
        let fields = self.fields.iter().enumerate().map(|(index, field)| Field {
            name: field.name.clone(),
            title: field.title.clone(),
            form: field.node.form_with(built(index)),
        });
        Form::Record { class: self.name.clone(), fields: fields.collect() }
    }
}
