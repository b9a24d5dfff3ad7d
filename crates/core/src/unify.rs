//! Unifies columns whose forms depend on their data: finds one form for all of them, and converts the columns to it.

use crate::{Buffer, Column, Error, Field, Form, Result};
use std::sync::Arc;

impl Form {
    /// The form that can hold both.
    ///
    /// [`Form::Empty`] unifies with any form to that form, `X` with an option of `X` to the option. Records of one class with the same
    /// fields are unified field by field; other forms become a union.
    ///
    /// ```
    /// use sapwood_core::{Form, Primitive};
    /// let number = Form::Primitive(Primitive::U8);
    /// let option = |form| Form::Option(Box::new(form));
    /// assert_eq!(option(Form::Empty).unify(&number), option(number.clone()));
    /// assert_eq!(Form::String.unify(&number), Form::Union(vec![Form::String, number]));
    /// ```
    pub fn unify(&self, other: &Form) -> Form {
        match (self, other) {
            (one, other) if one == other => one.clone(),
            (Form::Empty, form) | (form, Form::Empty) => form.clone(),
            (Form::Option(one), Form::Option(other)) => Form::Option(Box::new(one.unify(other))),
            (Form::Option(one), other) | (other, Form::Option(one)) => {
                Form::Option(Box::new(one.unify(other)))
            }
            (Form::List(one), Form::List(other)) => Form::list(one.unify(other)),
            (Form::Fixed { size, content: one }, Form::Fixed { size: of_other, content: other })
                if size == of_other =>
            {
                Form::fixed(&[*size], one.unify(other))
            }
            (Form::Tuple(one), Form::Tuple(other)) if one.len() == other.len() => {
                Form::Tuple(one.iter().zip(other).map(|(one, other)| one.unify(other)).collect())
            }
            (Form::Record { class, fields }, Form::Record { fields: others, .. })
                if same_kind(self, other) =>
            {
                let fields = fields
                    .iter()
                    .zip(others)
                    .map(|(field, other)| Field { form: field.form.unify(&other.form), ..field.clone() });
                Form::Record { class: class.clone(), fields: fields.collect() }
            }
            (one, other) => {
                let mut forms = one.alternatives().to_vec();
                for form in other.alternatives() {
                    match forms.iter_mut().find(|known| same_kind(known, form)) {
                        Some(known) => *known = known.unify(form),
                        None => forms.push(form.clone()),
                    }
                }
                Form::Union(forms)
            }
        }
    }

    /// The alternatives of a union; the form itself if it is not a union.
    fn alternatives(&self) -> &[Form] {
        match self {
            Form::Union(forms) => forms,
            form => std::slice::from_ref(form),
        }
    }
}

/// True if unifying both creates no union at their own level.
fn same_kind(one: &Form, other: &Form) -> bool {
    match (one, other) {
        (Form::Record { class, fields }, Form::Record { class: other, fields: others }) => {
            class == other
                && fields.len() == others.len()
                && fields.iter().zip(others).all(|(field, other)| field.name == other.name)
        }
        (Form::Tuple(one), Form::Tuple(other)) => one.len() == other.len(),
        (Form::Fixed { size: one, .. }, Form::Fixed { size: other, .. }) => one == other,
        (Form::List(_), Form::List(_)) => true,
        (one, other) => one == other,
    }
}

impl Column {
    /// The columns, one after the other, in the [unified](Form::unify) form of all. Columns of one form are
    /// joined directly; a single column shares its unchanged buffers.
    ///
    /// # Errors
    /// `Corrupt` if the buffers of a column do not fit its form; `Unsupported` if a union would have more
    /// than 128 alternatives.
    ///
    /// ```
    /// use sapwood_core::{Buffer, Column, Form, Primitive};
    /// use std::sync::Arc;
    /// let nothing = Form::Option(Box::new(Form::Empty));
    /// let number = Form::Option(Box::new(Form::Primitive(Primitive::U8)));
    /// let positions = |values: &[i64]| Arc::new(Buffer::from_slice(values));
    /// let none = Column { form: nothing, length: 2, buffers: vec![positions(&[-1, -1])] };
    /// let one = Column {
    ///     form: number.clone(),
    ///     length: 1,
    ///     buffers: vec![positions(&[0]), Arc::new(Buffer::from_slice(&[7u8]))],
    /// };
    /// let all = Column::concat(vec![none, one])?;
    /// assert_eq!((all.form, all.length), (number, 3));
    /// assert_eq!(all.buffers[0].view::<i64>(), [-1, -1, 0]);
    /// # Ok::<(), sapwood_core::Error>(())
    /// ```
    pub fn concat(mut columns: Vec<Column>) -> Result<Column> {
        if columns.len() == 1
            && let Some(only) = columns.pop()
        {
            return Ok(only);
        }
        let forms = columns.iter().map(|column| &column.form);
        let form = forms.fold(Form::Empty, |unified, form| unified.unify(form));
        let columns =
            columns.into_iter().map(|column| column.into_form(&form)).collect::<Result<Vec<_>>>()?;
        let parts: Vec<Vec<&[u8]>> = columns
            .iter()
            .map(|column| column.buffers.iter().map(|buffer| buffer.as_bytes()).collect())
            .collect();
        Ok(Column::join(&form, &parts, columns.iter().map(|column| column.length).sum()))
    }

    /// The same items in a form that [`Form::unify`] derived from their own and others.
    fn into_form(self, form: &Form) -> Result<Column> {
        if self.form == *form {
            return Ok(self);
        }
        let mut buffers = Vec::new();
        recast(&self.form, form, self.length, &mut self.buffers.into_iter(), &mut buffers)?;
        Ok(Column { form: form.clone(), length: self.length, buffers })
    }
}

type Buffers = std::vec::IntoIter<Arc<Buffer>>;

/// Moves the buffers of `length` items from one form to another.
fn recast(
    from: &Form,
    to: &Form,
    length: usize,
    buffers: &mut Buffers,
    out: &mut Vec<Arc<Buffer>>,
) -> Result<()> {
    match (from, to) {
        (from, to) if from == to => out.extend(buffers.by_ref().take(from.buffer_count())),
        (Form::Empty, to) if length == 0 => nothing(to, out),
        (Form::Option(from), Form::Option(to)) => {
            let positions = next(buffers)?;
            let present = positions.view::<i64>().iter().filter(|position| **position >= 0).count();
            out.push(positions);
            recast(from, to, present, buffers, out)?;
        }
        (from, Form::Option(to)) => {
            out.push(Arc::new(Buffer::from_slice(&counted(length))));
            recast(from, to, length, buffers, out)?;
        }
        (Form::List(from), Form::List(to)) => {
            let offsets = next(buffers)?;
            let items = offsets.view::<i64>().last().copied().unwrap_or_default();
            out.push(offsets);
            recast(from, to, usize::try_from(items).unwrap_or_default(), buffers, out)?;
        }
        (Form::Fixed { size, content: from }, Form::Fixed { content: to, .. }) => {
            recast(from, to, length.saturating_mul(*size), buffers, out)?;
        }
        (Form::Tuple(from), Form::Tuple(to)) => {
            for (from, to) in from.iter().zip(to) {
                recast(from, to, length, buffers, out)?;
            }
        }
        (Form::Record { fields: from, .. }, Form::Record { fields: to, .. }) => {
            for (from, to) in from.iter().zip(to) {
                recast(&from.form, &to.form, length, buffers, out)?;
            }
        }
        (from, Form::Union(to)) => recast_union(from, to, length, buffers, out)?,
        _ => return Err(misfit()),
    }
    Ok(())
}

fn recast_union(
    from: &Form,
    to: &[Form],
    length: usize,
    buffers: &mut Buffers,
    out: &mut Vec<Arc<Buffer>>,
) -> Result<()> {
    let (tags, positions) = match from {
        Form::Union(_) => (next(buffers)?, next(buffers)?),
        _ => (Arc::new(Buffer::zeroed(length)), Arc::new(Buffer::from_slice(&counted(length)))),
    };
    let forms = from.alternatives();
    let place = |form: &Form| to.iter().position(|other| same_kind(form, other));
    let places = forms.iter().map(|form| place(form).ok_or_else(misfit)).collect::<Result<Vec<_>>>()?;
    if (1..places.len()).any(|index| places[..index].contains(&places[index])) {
        // Their items would have to be interleaved in the order of the tags.
        return Err(Error::unsupported("two alternatives of a union are one in another part of the data"));
    }
    let mut counts = vec![0usize; forms.len()];
    let mut moved = Vec::with_capacity(length);
    for tag in tags.as_bytes() {
        let tag = usize::from(*tag);
        let place = places.get(tag).ok_or_else(misfit)?;
        moved.push(i8::try_from(*place).map_err(|_| Error::unsupported("a union of more than 128 classes"))?);
        counts[tag] += 1;
    }
    out.extend([Arc::new(Buffer::from_slice(&moved)), positions]);
    let mut contents: Vec<Vec<Arc<Buffer>>> = vec![Vec::new(); to.len()];
    for (index, form) in to.iter().enumerate() {
        if !places.contains(&index) {
            nothing(form, &mut contents[index]);
        }
    }
    for ((form, place), count) in forms.iter().zip(&places).zip(&counts) {
        recast(form, &to[*place], *count, buffers, &mut contents[*place])?;
    }
    out.extend(contents.into_iter().flatten());
    Ok(())
}

fn next(buffers: &mut Buffers) -> Result<Arc<Buffer>> {
    buffers.next().ok_or_else(misfit)
}

fn misfit() -> Error {
    Error::corrupt("the buffers of a column do not fit its form")
}

/// 0, 1, 2, …
fn counted(length: usize) -> Vec<i64> {
    (0..i64::try_from(length).unwrap_or(i64::MAX)).collect()
}

/// The buffers of a column without items.
fn nothing(form: &Form, out: &mut Vec<Arc<Buffer>>) {
    out.extend(Column::join(form, &[], 0).buffers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Primitive;

    #[test]
    fn alternatives_that_become_one_are_refused() {
        let list = |primitive| Form::list(Form::Primitive(primitive));
        let column = |forms: Vec<Form>| Column::join(&Form::Union(forms), &[], 0);
        let two = column(vec![list(Primitive::U8), list(Primitive::F32)]);
        let other = column(vec![list(Primitive::F32), Form::String]);
        assert_eq!(Column::concat(vec![two, other]).unwrap_err().kind(), crate::ErrorKind::Unsupported);
    }

    fn record(class: &str) -> Form {
        let form = Form::Primitive(Primitive::U8);
        let fields = vec![Field { name: "x".into(), title: String::new(), form }];
        Form::Record { class: class.into(), fields }
    }

    fn option(form: Form) -> Form {
        Form::Option(Box::new(form))
    }

    #[test]
    fn different_classes_become_a_union_by_name() {
        let part = |class: &str, values: &[u8]| Column {
            form: option(record(class)),
            length: values.len(),
            buffers: vec![
                Arc::new(Buffer::from_slice(&counted(values.len()))),
                Arc::new(Buffer::from_slice(values)),
            ],
        };
        let all = Column::concat(vec![part("A", &[1]), part("B", &[2, 3]), part("A", &[4])]).unwrap();
        assert_eq!(all.form, option(Form::Union(vec![record("A"), record("B")])));
        assert_eq!(all.buffers[0].view::<i64>(), [0, 1, 2, 3]);
        assert_eq!(all.buffers[1].as_bytes(), [0, 1, 1, 0]);
        assert_eq!(all.buffers[2].view::<i64>(), [0, 0, 1, 1]);
        assert_eq!((all.buffers[3].as_bytes(), all.buffers[4].as_bytes()), (&[1, 4][..], &[2, 3][..]));
    }

    #[test]
    fn unions_in_another_order_keep_their_items() {
        let column = |classes: [&str; 2]| Column {
            form: Form::Union(classes.map(record).to_vec()),
            length: 2,
            buffers: vec![
                Arc::new(Buffer::from_slice(&[0i8, 1])),
                Arc::new(Buffer::from_slice(&[0i64, 0])),
                Arc::new(Buffer::from_slice(&[1u8])),
                Arc::new(Buffer::from_slice(&[2u8])),
            ],
        };
        let all = Column::concat(vec![column(["A", "B"]), column(["B", "A"])]).unwrap();
        assert_eq!(all.buffers[0].as_bytes(), [0, 1, 1, 0]);
        assert_eq!((all.buffers[2].as_bytes(), all.buffers[3].as_bytes()), (&[1, 2][..], &[2, 1][..]));
    }

    #[test]
    fn empty_lists_take_the_form_of_others() {
        let offsets = |values: &[i64]| Arc::new(Buffer::from_slice(values));
        let empty = Column { form: Form::list(Form::Empty), length: 1, buffers: vec![offsets(&[0, 0])] };
        let full = Column {
            form: Form::list(Form::String),
            length: 1,
            buffers: vec![offsets(&[0, 1]), offsets(&[0, 2]), Arc::new(Buffer::from_slice(b"ab"))],
        };
        let all = Column::concat(vec![empty, full]).unwrap();
        assert_eq!(all.form, Form::list(Form::String));
        assert_eq!(all.buffers[0].view::<i64>(), [0, 0, 1]);
    }
}
