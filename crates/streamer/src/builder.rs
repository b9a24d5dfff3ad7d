//! Output of a decoding program that grows entry by entry: one per basket, joined at the end.

use sapwood_core::Form;

/// Growing buffers in the shape of a form.
#[derive(Debug)]
pub enum Builder {
    /// Values as in memory.
    Numbers { size: usize, bytes: Vec<u8> },
    /// Lists of fixed size.
    Fixed { length: usize, content: Box<Builder> },
    /// Lists; offsets begin with 0.
    List { offsets: Vec<i64>, content: Box<Builder> },
    /// Strings; offsets begin with 0.
    Text { offsets: Vec<i64>, bytes: Vec<u8> },
    /// Fields side by side.
    Record { length: usize, fields: Vec<Builder> },
}

impl Builder {
    /// An empty builder for columns of a form.
    pub fn new(form: &Form) -> Self {
        match form {
            Form::Primitive(primitive) => Builder::Numbers { size: primitive.size(), bytes: Vec::new() },
            Form::String => Builder::Text { offsets: vec![0], bytes: Vec::new() },
            Form::Fixed { content, .. } => {
                Builder::Fixed { length: 0, content: Box::new(Builder::new(content)) }
            }
            Form::List(content) => {
                Builder::List { offsets: vec![0], content: Box::new(Builder::new(content)) }
            }
            // No program builds these.
            Form::Tuple(_) | Form::Option(_) | Form::Union(_) | Form::Empty => {
                Builder::Record { length: 0, fields: Vec::new() }
            }
            Form::Record { fields, .. } => Builder::Record {
                length: 0,
                fields: fields.iter().map(|field| Builder::new(&field.form)).collect(),
            },
        }
    }

    /// Number of items.
    pub fn length(&self) -> usize {
        match self {
            Builder::Numbers { size, bytes } => bytes.len() / size,
            Builder::Fixed { length, .. } | Builder::Record { length, .. } => *length,
            Builder::List { offsets, .. } | Builder::Text { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Adds an empty list or string.
    pub fn push_empty(&mut self) {
        match self {
            Builder::List { offsets, content } => offsets.push(position(content.length())),
            Builder::Text { offsets, bytes } => offsets.push(position(bytes.len())),
            Builder::Numbers { .. } | Builder::Fixed { .. } | Builder::Record { .. } => {}
        }
    }

    /// The bytes of all buffers, depth first, as [`sapwood_core::Column::join`] takes them.
    pub fn slices(&self) -> Vec<&[u8]> {
        let mut slices = Vec::new();
        self.append_slices(&mut slices);
        slices
    }

    fn append_slices<'a>(&'a self, out: &mut Vec<&'a [u8]>) {
        match self {
            Builder::Numbers { bytes, .. } => out.push(bytes),
            Builder::Text { offsets, bytes } => out.extend([bytemuck::cast_slice(offsets), bytes.as_slice()]),
            Builder::List { offsets, content } => {
                out.push(bytemuck::cast_slice(offsets));
                content.append_slices(out);
            }
            Builder::Fixed { content, .. } => content.append_slices(out),
            Builder::Record { fields, .. } => fields.iter().for_each(|field| field.append_slices(out)),
        }
    }
}

/// A length as an offset of an array; memory never holds more than `i64::MAX` items.
pub fn position(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
