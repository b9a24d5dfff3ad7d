//! Columns as they are handed to the outside: a form and its buffers, shaped as Awkward Array shapes them.

use crate::Buffer;
use std::sync::Arc;

/// The number types of array data. Values are little-endian in memory, a `Bool` is one byte of 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// A byte of 0 or 1.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754, 32 bits.
    F32,
    /// IEEE 754, 64 bits.
    F64,
}

impl Primitive {
    /// Bytes of one value.
    pub fn size(self) -> usize {
        match self {
            Primitive::Bool | Primitive::I8 | Primitive::U8 => 1,
            Primitive::I16 | Primitive::U16 => 2,
            Primitive::I32 | Primitive::U32 | Primitive::F32 => 4,
            Primitive::I64 | Primitive::U64 | Primitive::F64 => 8,
        }
    }

    /// The name that NumPy gives it.
    pub fn numpy_name(self) -> &'static str {
        match self {
            Primitive::Bool => "bool",
            Primitive::I8 => "int8",
            Primitive::U8 => "uint8",
            Primitive::I16 => "int16",
            Primitive::U16 => "uint16",
            Primitive::I32 => "int32",
            Primitive::U32 => "uint32",
            Primitive::I64 => "int64",
            Primitive::U64 => "uint64",
            Primitive::F32 => "float32",
            Primitive::F64 => "float64",
        }
    }
}

/// The shape and type of a column, without its data.
///
/// The buffers of a [`Column`] follow the form depth first: each node that has a buffer contributes it
/// before its contents do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Form {
    /// Numbers; one buffer of values.
    Primitive(Primitive),
    /// Lists of `size` items each; no buffer.
    Fixed {
        /// Items per list.
        size: usize,
        /// What a list holds.
        content: Box<Form>,
    },
    /// Lists of any length; one buffer of `n + 1` 64-bit signed offsets that start at 0.
    List(Box<Form>),
    /// Byte strings, in practice UTF-8; one buffer of `n + 1` 64-bit signed offsets, one of bytes.
    String,
    /// Named fields; no buffer, the fields' buffers one after the other.
    Record(Vec<(String, Form)>),
}

impl Form {
    /// Lists of any length of `content`.
    pub fn list(content: Form) -> Self {
        Form::List(Box::new(content))
    }

    /// `content`, wrapped in lists of the fixed sizes `dims`, the outermost first.
    pub fn fixed(dims: &[usize], content: Form) -> Self {
        dims.iter().rev().fold(content, |content, &size| Form::Fixed { size, content: Box::new(content) })
    }

    /// For each buffer of a column of this form, whether it holds offsets.
    fn holds_offsets(&self, out: &mut Vec<bool>) {
        match self {
            Form::Primitive(_) => out.push(false),
            Form::Fixed { content, .. } => content.holds_offsets(out),
            Form::List(content) => {
                out.push(true);
                content.holds_offsets(out);
            }
            Form::String => out.extend([true, false]),
            Form::Record(fields) => fields.iter().for_each(|(_, form)| form.holds_offsets(out)),
        }
    }
}

/// A column of `length` items: a form, and its buffers in depth-first order.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Shape and type.
    pub form: Form,
    /// Number of items (entries).
    pub length: usize,
    /// Data, as the form says. Columns whose lists have the same lengths may share a buffer of offsets.
    pub buffers: Vec<Arc<Buffer>>,
}

impl Column {
    /// Bytes of all buffers.
    pub fn byte_count(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum()
    }

    /// The column of `length` items whose parts, one after the other, have the buffers `parts` each.
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
        let mut holds_offsets = Vec::new();
        form.holds_offsets(&mut holds_offsets);
        let buffers = holds_offsets.iter().enumerate().map(|(index, holds_offsets)| {
            let parts = parts.iter().filter_map(|part| part.get(index).copied());
            Arc::new(if *holds_offsets { join_offsets(parts) } else { join_values(parts) })
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
