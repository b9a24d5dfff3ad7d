//! Forms: the shape and type of a column, following Awkward Array.

/// The number types of array data. Values are little-endian in memory; a `Bool` is one byte, 0 or 1.
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
    /// All of them.
    pub const ALL: [Primitive; 11] = [
        Primitive::Bool,
        Primitive::I8,
        Primitive::U8,
        Primitive::I16,
        Primitive::U16,
        Primitive::I32,
        Primitive::U32,
        Primitive::I64,
        Primitive::U64,
        Primitive::F32,
        Primitive::F64,
    ];

    /// True for integers without a sign.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64)
    }

    /// Bytes of one value.
    pub fn size(self) -> usize {
        match self {
            Primitive::Bool | Primitive::I8 | Primitive::U8 => 1,
            Primitive::I16 | Primitive::U16 => 2,
            Primitive::I32 | Primitive::U32 | Primitive::F32 => 4,
            Primitive::I64 | Primitive::U64 | Primitive::F64 => 8,
        }
    }

    /// Its name in NumPy.
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

    /// Its name in C++: that of `<cstdint>`, without the namespace.
    pub fn cpp_name(self) -> &'static str {
        match self {
            Primitive::Bool => "bool",
            Primitive::I8 => "int8_t",
            Primitive::U8 => "uint8_t",
            Primitive::I16 => "int16_t",
            Primitive::U16 => "uint16_t",
            Primitive::I32 => "int32_t",
            Primitive::U32 => "uint32_t",
            Primitive::I64 => "int64_t",
            Primitive::U64 => "uint64_t",
            Primitive::F32 => "float",
            Primitive::F64 => "double",
        }
    }
}

/// A number of Rust that buffers hold as one [`Primitive`]; `u8` also holds booleans.
///
/// ```
/// use sapwood_core::{Number, Primitive};
/// assert!(f32::is(Primitive::F32) && !f32::is(Primitive::F64));
/// assert!(u8::is(Primitive::Bool));
/// ```
pub trait Number: bytemuck::Pod {
    /// Its name.
    const NAME: &'static str;

    /// Whether a buffer of these holds such numbers.
    fn is(primitive: Primitive) -> bool;
}

macro_rules! numbers {
    ($($number:ident: $($primitive:ident)|+),*) => {$(
        impl Number for $number {
            const NAME: &'static str = stringify!($number);

            fn is(primitive: Primitive) -> bool {
                matches!(primitive, $(Primitive::$primitive)|+)
            }
        }
    )*};
}

numbers!(i8: I8, u8: U8 | Bool, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);

/// The shape and type of a column, without its data.
///
/// The buffers of a [`Column`](crate::Column) follow the form depth first: each node that has a buffer
/// contributes it before its contents do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Form {
    /// Numbers; one buffer of values.
    Primitive(Primitive),
    /// Lists of `size` items each; no buffer.
    Fixed {
        /// Items per list.
        size: usize,
        /// The form of the items of a list.
        content: Box<Form>,
    },
    /// Lists of any length; one buffer of `n + 1` 64-bit signed offsets that start at 0.
    List(Box<Form>),
    /// Byte strings, in practice UTF-8; one buffer of `n + 1` 64-bit signed offsets, one of bytes.
    String,
    /// Named fields; no buffer, the fields' buffers one after the other.
    Record {
        /// The C++ class; empty for a record that is not an object.
        class: String,
        /// The fields.
        fields: Vec<Field>,
    },
    /// Fields without names, such as a `std::pair`; no buffer.
    Tuple(Vec<Form>),
    /// An item or null; one buffer of `n` 64-bit signed positions in the content, -1 for null. The content
    /// holds the present items, in order.
    Option(Box<Form>),
    /// An item of one of several forms; a buffer of `n` tags (`i8`) and one of `n` 64-bit signed positions in
    /// the content of that tag. Each content holds its items in order.
    Union(Vec<Form>),
    /// Items of unknown form, because there are none; no buffer.
    Empty,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name.
    pub name: String,
    /// The writer's description: the comment behind the declaration of a member.
    pub title: String,
    /// Shape and type.
    pub form: Form,
}

/// The role of a buffer of a column when columns are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Values, characters or tags: copied unchanged.
    Values,
    /// Offsets of lists or strings.
    Offsets,
    /// Positions of present items.
    Positions,
    /// Positions within the content of the tag in the previous buffer.
    TaggedPositions,
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

    /// A record that is not an object.
    pub fn record(fields: impl IntoIterator<Item = (String, Form)>) -> Self {
        let fields = fields.into_iter().map(|(name, form)| Field { name, title: String::new(), form });
        Form::Record { class: String::new(), fields: fields.collect() }
    }

    /// Number of buffers of a column of this form.
    pub fn buffer_count(&self) -> usize {
        let mut roles = Vec::new();
        self.roles(&mut roles);
        roles.len()
    }

    /// The role of each buffer of a column of this form, depth first.
    pub(crate) fn roles(&self, out: &mut Vec<Role>) {
        match self {
            Form::Primitive(_) => out.push(Role::Values),
            Form::Fixed { content, .. } => content.roles(out),
            Form::List(content) => {
                out.push(Role::Offsets);
                content.roles(out);
            }
            Form::String => out.extend([Role::Offsets, Role::Values]),
            Form::Record { fields, .. } => fields.iter().for_each(|field| field.form.roles(out)),
            Form::Tuple(forms) => forms.iter().for_each(|form| form.roles(out)),
            Form::Option(content) => {
                out.push(Role::Positions);
                content.roles(out);
            }
            Form::Union(forms) => {
                out.extend([Role::Values, Role::TaggedPositions]);
                forms.iter().for_each(|form| form.roles(out));
            }
            Form::Empty => {}
        }
    }
}
