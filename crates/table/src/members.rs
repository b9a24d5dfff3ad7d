//! Members of the objects in a column. A member is a column that shares the buffers of the objects.

use sapwood_core::{Buffer, Column, Error, ErrorKind, Field, Form, Result};
use std::fmt::Write;
use std::slice;
use std::sync::Arc;

/// The names of a path.
pub fn names(path: &str) -> Vec<String> {
    path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The column of the member at `path` of the objects in `column`. Lists stay around it; where an object on the path is
/// missing, so is the member.
///
/// Fields of records are found by name, those of tuples by number.
///
/// # Errors
/// `Missing`, with the names of the members.
pub fn member(column: &Column, path: &[String]) -> Result<Column> {
    let mut buffers = column.buffers.iter();
    let (form, buffers) = part(&column.form, &mut buffers, path)?;
    Ok(Column { form, length: column.length, buffers })
}

/// The form of the member at `path`.
///
/// # Errors
/// As [`member`].
pub fn member_form(form: &Form, path: &[String]) -> Result<Form> {
    member(&Column::join(form, &[], 0), path).map(|column| column.form)
}

/// The C++ type of a form, with brackets for collections: `float[][3]`.
pub fn spelled_form(form: &Form) -> String {
    let (mut form, mut brackets) = (form, String::new());
    loop {
        form = match form {
            Form::List(content) => {
                brackets.push_str("[]");
                content
            }
            Form::Fixed { size, content } => {
                // Writing to a string cannot fail.
                let _ = write!(brackets, "[{size}]");
                content
            }
            _ => break,
        }
    }
    let item = match form {
        Form::Primitive(primitive) => primitive.cpp_name().into(),
        Form::Record { class, .. } if class.is_empty() => "struct".into(),
        Form::Record { class, .. } => class.clone(),
        Form::Tuple(items) => {
            let class = if items.len() == 2 { "std::pair" } else { "std::tuple" };
            format!("{class}<{}>", items.iter().map(spelled_form).collect::<Vec<_>>().join(", "))
        }
        Form::Option(content) => format!("{}*", spelled_form(content)),
        Form::String => "std::string".into(),
        Form::Union(_) | Form::Empty | Form::List(_) | Form::Fixed { .. } => "void".into(),
    };
    item + &brackets
}

type Buffers<'a> = slice::Iter<'a, Arc<Buffer>>;
/// A form, and its buffers.
type FormBuffers = (Form, Vec<Arc<Buffer>>);

/// Takes the buffers of `form` from `buffers`, and keeps those of the member.
fn part(form: &Form, buffers: &mut Buffers<'_>, path: &[String]) -> Result<FormBuffers> {
    let Some((name, rest)) = path.split_first() else {
        return Ok((form.clone(), whole(form, buffers)));
    };
    match form {
        Form::List(content) => {
            let own = own(buffers, 1);
            let (content, inner) = part(content, buffers, path)?;
            Ok((Form::list(content), [own, inner].concat()))
        }
        Form::Fixed { size, content } => {
            let (content, inner) = part(content, buffers, path)?;
            Ok((Form::Fixed { size: *size, content: Box::new(content) }, inner))
        }
        Form::Option(content) => {
            let positions = own(buffers, 1);
            option(positions, part(content, buffers, path)?)
        }
        Form::Record { fields, .. } => {
            let wanted = fields.iter().position(|field| field.name == *name);
            let forms = fields.iter().map(|field| &field.form);
            field(forms, buffers, wanted.ok_or_else(|| no_member(name, fields))?, rest)
        }
        Form::Tuple(items) => {
            let wanted = name.parse().ok().filter(|index| *index < items.len());
            let wanted = wanted.ok_or_else(|| {
                missing_member(format!("there is no '{name}' in a tuple of {}", items.len()))
                    .hint("its members are called 0, 1, …")
            });
            field(items.iter(), buffers, wanted?, rest)
        }
        Form::Union(forms) => union(forms, buffers, path),
        Form::Empty => Ok((Form::Empty, Vec::new())),
        Form::Primitive(_) | Form::String => {
            Err(missing_member(format!("there is no member '{name}': {} has none", spelled_form(form))))
        }
    }
}

/// The member of one of several consecutive fields.
fn field<'a>(
    forms: impl Iterator<Item = &'a Form>,
    buffers: &mut Buffers<'_>,
    wanted: usize,
    path: &[String],
) -> Result<FormBuffers> {
    let mut found = None;
    for (index, form) in forms.enumerate() {
        if index == wanted {
            found = Some(part(form, buffers, path)?);
        } else {
            whole(form, buffers);
        }
    }
    found.ok_or_else(|| missing_member("a member is missing"))
}

/// Joins nested options: a value is missing if it is missing in either.
fn option(positions: Vec<Arc<Buffer>>, content: FormBuffers) -> Result<FormBuffers> {
    let (Form::Option(inner), mut buffers) = content else {
        return Ok((Form::Option(Box::new(content.0)), [positions, content.1].concat()));
    };
    let (Some(outer), false) = (positions.first(), buffers.is_empty()) else {
        return Err(Error::corrupt("an option without positions"));
    };
    let below = buffers.remove(0);
    let below: &[i64] = below.view();
    let place = |position: &i64| usize::try_from(*position).ok().and_then(|at| below.get(at)).copied();
    let joined: Vec<i64> = outer.view::<i64>().iter().map(|position| place(position).unwrap_or(-1)).collect();
    buffers.insert(0, Arc::new(Buffer::from_slice(&joined)));
    Ok((Form::Option(inner), buffers))
}

/// The member of each alternative; the items of alternatives without it are missing.
fn union(forms: &[Form], buffers: &mut Buffers<'_>, path: &[String]) -> Result<FormBuffers> {
    let own = own(buffers, 2);
    let mut kept: Vec<(usize, FormBuffers)> = Vec::new();
    let mut missing = None;
    for (tag, form) in forms.iter().enumerate() {
        let mut ahead = buffers.clone();
        whole(form, buffers);
        match part(form, &mut ahead, path) {
            Ok(found) => kept.push((tag, found)),
            Err(error) => missing = Some(error),
        }
    }
    let Some(error) = missing else {
        let (forms, inner): (Vec<Form>, Vec<_>) = kept.into_iter().map(|(_, found)| found).unzip();
        return Ok((Form::Union(forms), [own, inner.concat()].concat()));
    };
    let (false, [tags, positions]) = (kept.is_empty(), own.as_slice()) else { return Err(error) };
    let new_tag_of = |tag: i8| kept.iter().position(|(kept, _)| i8::try_from(*kept) == Ok(tag));
    let (mut present, mut new_tags, mut new_positions) = (Vec::new(), Vec::new(), Vec::new());
    for (tag, position) in tags.view::<i8>().iter().zip(positions.view::<i64>()) {
        let place = new_tag_of(*tag).and_then(|place| i8::try_from(place).ok());
        present.push(if place.is_some() { as_position(new_tags.len()) } else { -1 });
        new_tags.extend(place);
        new_positions.extend(place.map(|_| *position));
    }
    let positions = vec![Arc::new(Buffer::from_slice(&present))];
    let (forms, inner): (Vec<Form>, Vec<_>) = kept.into_iter().map(|(_, found)| found).unzip();
    let own = [Arc::new(Buffer::from_slice(&new_tags)), Arc::new(Buffer::from_slice(&new_positions))];
    option(positions, (Form::Union(forms), [own.to_vec(), inner.concat()].concat()))
}

fn as_position(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn own(buffers: &mut Buffers<'_>, count: usize) -> Vec<Arc<Buffer>> {
    buffers.by_ref().take(count).cloned().collect()
}

/// All buffers of `form`.
fn whole(form: &Form, buffers: &mut Buffers<'_>) -> Vec<Arc<Buffer>> {
    own(buffers, form.buffer_count())
}

fn missing_member(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Missing, message)
}

fn no_member(name: &str, fields: &[Field]) -> Error {
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let error = missing_member(format!("there is no member '{name}'"));
    if names.is_empty() { error } else { error.hint(format!("there are {}", names.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Primitive;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    fn column(form: Form, length: usize, buffers: Vec<Buffer>) -> Column {
        Column { form, length, buffers: buffers.into_iter().map(Arc::new).collect() }
    }

    fn point() -> Form {
        let (x, y) = (Form::Primitive(Primitive::I8), Form::list(Form::Primitive(Primitive::F32)));
        Form::record([("x".to_owned(), x), ("y".to_owned(), y)])
    }

    #[test]
    fn a_member_keeps_the_lists_around_it_and_shares_their_buffers() {
        let (offsets, x) = (Buffer::from_slice(&[0i64, 1, 2]), Buffer::from_slice(&[5i8, 6]));
        let (inner, y) = (Buffer::from_slice(&[0i64, 1, 3]), Buffer::from_slice(&[0.5f32, 1.5, 2.5]));
        let form = Form::list(Form::record([("p".to_owned(), point())]));
        let points = column(form, 2, vec![offsets, x, inner, y]);
        let y = member(&points, &path("p.y")).unwrap();
        assert_eq!(spelled_form(&y.form), "float[][]");
        assert_eq!(y.buffers, [&points.buffers[0], &points.buffers[2], &points.buffers[3]].map(Arc::clone));
        assert_eq!(spelled_form(&member_form(&points.form, &path("p.x")).unwrap()), "int8_t[]");
        let error = member(&points, &path("p.z")).unwrap_err();
        assert!(error.hint_text().is_some_and(|hint| hint.contains("x, y")), "{error}");
        assert!(member(&points, &path("p.x.y")).is_err());
    }

    #[test]
    fn members_of_missing_objects_are_missing() {
        let inner = Form::Option(Box::new(Form::Primitive(Primitive::I8)));
        let form = Form::Option(Box::new(Form::record([("p".to_owned(), inner)])));
        let buffers = vec![
            Buffer::from_slice(&[-1i64, 0, 1]),
            Buffer::from_slice(&[-1i64, 0]),
            Buffer::from_slice(&[7i8]),
        ];
        let found = member(&column(form, 3, buffers), &path("p")).unwrap();
        assert_eq!(found.form, Form::Option(Box::new(Form::Primitive(Primitive::I8))));
        assert_eq!(found.buffers[0].view::<i64>(), [-1, -1, 0]);
        assert_eq!(found.buffers[1].view::<i8>(), [7]);
    }

    #[test]
    fn alternatives_without_the_member_are_missing() {
        let other = Form::record([("z".to_owned(), Form::Primitive(Primitive::I16))]);
        let form = Form::Union(vec![other, point()]);
        let buffers = vec![
            Buffer::from_slice(&[1i8, 0, 1]),
            Buffer::from_slice(&[0i64, 0, 1]),
            Buffer::from_slice(&[300i16]),
            Buffer::from_slice(&[5i8, 6]),
            Buffer::from_slice(&[0i64, 0, 0]),
            Buffer::from_slice::<f32>(&[]),
        ];
        let union = column(form, 3, buffers);
        let x = member(&union, &path("x")).unwrap();
        assert_eq!(x.form, Form::Option(Box::new(Form::Union(vec![Form::Primitive(Primitive::I8)]))));
        assert_eq!(x.buffers[0].view::<i64>(), [0, -1, 1]);
        assert_eq!(x.buffers[1].view::<i8>(), [0, 0]);
        assert_eq!(x.buffers[2].view::<i64>(), [0, 1]);
        assert_eq!(x.buffers[3].view::<i8>(), [5, 6]);
        assert!(member(&union, &path("w")).is_err());
    }
}
