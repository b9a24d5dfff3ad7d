//! Columns, as they leave sapwood: a form and its buffers.

use crate::form::Role;
use crate::{Buffer, Form};
use std::sync::Arc;

/// A column of `length` items: a form, and its buffers in depth-first order.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Shape and type.
    pub form: Form,
    /// Number of items (entries).
    pub length: usize,
    /// The data, in the layout of the form. Columns whose lists have the same lengths may share a buffer of
    /// offsets.
    pub buffers: Vec<Arc<Buffer>>,
}

impl Column {
    /// Bytes of all buffers.
    pub fn byte_count(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum()
    }

    /// Joins consecutive parts with the buffers `parts` to a column of `length` items.
    ///
    /// ```
    /// use sapwood_core::{Buffer, Column, Form, Primitive};
    /// let form = Form::list(Form::Primitive(Primitive::U8));
    /// let (offsets, values) = (Buffer::from_slice(&[0i64, 2, 3]), Buffer::from_slice(&[7u8, 8, 9]));
    /// let part = vec![offsets.as_bytes(), values.as_bytes()];
    /// let column = Column::join(&form, &[part.clone(), part], 4);
    /// assert_eq!(column.buffers[0].view::<i64>(), [0, 2, 3, 5, 6]);
    /// assert_eq!(column.buffers[1].as_bytes(), [7, 8, 9, 7, 8, 9]);
    /// ```
    pub fn join(form: &Form, parts: &[Vec<&[u8]>], length: usize) -> Column {
        let mut roles = Vec::new();
        form.roles(&mut roles);
        let buffers = roles.iter().enumerate().map(|(index, role)| {
            let nth =
                |index: usize| parts.iter().map(move |part| part.get(index).copied().unwrap_or_default());
            Arc::new(match role {
                Role::Values => join_values(nth(index)),
                Role::Offsets => join_offsets(nth(index)),
                Role::Positions => join_positions(nth(index)),
                Role::TaggedPositions => join_tagged(nth(index.saturating_sub(1)), nth(index)),
            })
        });
        Column { form: form.clone(), length, buffers: buffers.collect() }
    }
}

fn join_values<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Buffer {
    let mut buffer = Buffer::zeroed(parts.clone().map(<[u8]>::len).sum());
    let mut rest = buffer.as_bytes_mut();
    for part in parts {
        let (place, after) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = after;
    }
    buffer
}

fn join_offsets<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Buffer {
    let offsets = |part: &'a [u8]| part.as_chunks().0.iter().map(|offset| i64::from_ne_bytes(*offset));
    let lists: usize = parts.clone().map(|part| (part.len() / size_of::<i64>()).saturating_sub(1)).sum();
    let mut buffer = Buffer::zeroed((lists + 1) * size_of::<i64>());
    let mut places = buffer.view_mut::<i64>().iter_mut().skip(1);
    let mut base = 0;
    for part in parts {
        for (offset, place) in offsets(part).skip(1).zip(places.by_ref()) {
            *place = base + offset;
        }
        base += offsets(part).next_back().unwrap_or_default();
    }
    buffer
}

/// Positions of present items continue from part to part; -1 stays.
fn join_positions<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Buffer {
    let items: usize = parts.clone().map(|part| part.len() / size_of::<i64>()).sum();
    let mut buffer = Buffer::zeroed(items * size_of::<i64>());
    let positions = parts.flat_map(|part| part.as_chunks().0).map(|position| i64::from_ne_bytes(*position));
    let mut next = 0;
    for (place, position) in buffer.view_mut::<i64>().iter_mut().zip(positions) {
        *place = if position < 0 { -1 } else { next };
        next += i64::from(position >= 0);
    }
    buffer
}

/// Positions continue for each tag.
fn join_tagged<'a>(tags: impl Iterator<Item = &'a [u8]>, parts: impl Iterator<Item = &'a [u8]>) -> Buffer {
    let mut next = [0_i64; 256];
    let items: usize = parts.map(|part| part.len() / size_of::<i64>()).sum();
    let mut buffer = Buffer::zeroed(items * size_of::<i64>());
    for (place, tag) in buffer.view_mut::<i64>().iter_mut().zip(tags.flatten()) {
        *place = next[usize::from(*tag)];
        next[usize::from(*tag)] += 1;
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Primitive;

    #[test]
    fn positions_continue_across_joined_parts() {
        let bytes = Form::Primitive(Primitive::U8);
        let option = Form::Option(Box::new(bytes.clone()));
        let (first, second) = (Buffer::from_slice(&[-1i64, 0, 1]), Buffer::from_slice(&[0i64, -1]));
        let parts = [vec![first.as_bytes(), &[7, 8][..]], vec![second.as_bytes(), &[9][..]]];
        let column = Column::join(&option, &parts, 5);
        assert_eq!(column.buffers[0].view::<i64>(), [-1, 0, 1, 2, -1]);
        assert_eq!(column.buffers[1].as_bytes(), [7, 8, 9]);

        let union = Form::Union(vec![bytes.clone(), bytes]);
        let (first, second) = (Buffer::from_slice(&[0i64, 0, 1]), Buffer::from_slice(&[0i64]));
        let parts = [
            vec![&[0, 1, 0][..], first.as_bytes(), &[1, 2][..], &[3][..]],
            vec![&[1][..], second.as_bytes(), &[][..], &[4][..]],
        ];
        let column = Column::join(&union, &parts, 4);
        assert_eq!(column.buffers[1].view::<i64>(), [0, 0, 1, 1]);
        assert_eq!(column.buffers[3].as_bytes(), [3, 4]);
    }
}
