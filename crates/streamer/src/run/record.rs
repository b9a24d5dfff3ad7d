//! Reads objects: their headers, and their members one after the other or in columns.

use super::{Runner, Scope};
use crate::builder::{Builder, misfit, position};
use crate::node::{ClassLayout, CompiledClass, LayoutStep};
use crate::{StoredNumber, StreamInput};
use sapwood_core::{Error, Primitive, Result};

impl Runner<'_> {
    /// Reads an object with its header into the fields of its record.
    pub(super) fn object(
        &mut self,
        class: &CompiledClass,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        let outer = std::mem::replace(&mut self.scope, Scope::ONE);
        self.open_window(class, 1)?;
        self.framed_object(class, input, fields)?;
        self.close_window(outer);
        Ok(())
    }

    /// Reads a symmetric matrix: the members that its base describes, then the elements (Matrix §2).
    pub(super) fn symmetric(
        &mut self,
        class: &CompiledClass,
        number: StoredNumber,
        rows: usize,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        let Some((elements, members)) = fields.split_last_mut() else { return Err(misfit()) };
        self.object(class, input, members)?;
        let Some(Builder::Numbers { bytes, .. }) = members.get(rows) else { return Err(misfit()) };
        let rows = bytes.last_chunk().map_or(0, |rows| i32::from_ne_bytes(*rows));
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let count = rows.saturating_mul(rows.saturating_add(1)) / 2;
        let on_file = input.take(count.saturating_mul(number.size_on_file()))?;
        let (offsets, content) = elements.lists_mut(1)?;
        number.append(on_file, content.numbers_mut(count)?);
        offsets.push(position(content.length()));
        Ok(())
    }

    /// Registers for `items` objects.
    fn open_window(&mut self, class: &CompiledClass, items: usize) -> Result<()> {
        let window = self.registers.len();
        self.scope = Scope { window, items, item: 0 };
        let registers = class.registers.len();
        if registers != 0 {
            // Objects of other versions need not have the members that count.
            self.spend(registers.saturating_mul(items).saturating_mul(size_of::<i64>()))?;
            self.registers.resize(window + registers * items, 0);
        }
        Ok(())
    }

    fn close_window(&mut self, outer: Scope) {
        self.registers.truncate(self.scope.window);
        self.scope = outer;
    }

    fn framed_object(
        &mut self,
        class: &CompiledClass,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        let Some(mut body) = input.frame()? else { return self.bare_object(class, input, fields) };
        let layout = read_version(class, &mut body)?;
        let all = self.steps(class, layout, true, &mut body, fields)?;
        if all { body.finish(&class.name) } else { Ok(()) }
    }

    /// An object without a byte count: it begins with the version or, if the class's streamer wrote none,
    /// with its members (StreamerDriven §7.1). The version of a `TObject` base, always 1, distinguishes the
    /// two.
    fn bare_object(
        &mut self,
        class: &CompiledClass,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        // A base without members whose class was never meant to be stored has no bytes at all.
        if class.layouts.iter().all(|layout| layout.steps.is_empty()) {
            return Ok(());
        }
        let derives = class.layouts.first().is_some_and(|layout| {
            matches!(layout.steps.first(), Some(LayoutStep::Skip(crate::Node::TObject)))
        });
        let without_version = derives && input.peek_u16(2) != Some(1) && input.peek_u16(0) == Some(1);
        let layout = if without_version {
            class.layouts.first().ok_or_else(|| undescribed(class))?
        } else {
            read_version(class, input)?
        };
        self.steps(class, layout, false, input, fields)?;
        Ok(())
    }

    /// Reads the members of an object that has no header and ends with the entry.
    pub(super) fn members(
        &mut self,
        class: &CompiledClass,
        layout: usize,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        let outer = std::mem::replace(&mut self.scope, Scope::ONE);
        self.open_window(class, 1)?;
        let layout = class.layouts.get(layout).ok_or_else(|| undescribed(class))?;
        if !self.steps(class, layout, true, input, fields)? {
            input.take_rest();
        }
        self.close_window(outer);
        Ok(())
    }

    /// Reads the members of one object; with `jump`, only as far as they are wanted. Returns whether all were
    /// read.
    fn steps(
        &mut self,
        class: &CompiledClass,
        layout: &ClassLayout,
        jump: bool,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<bool> {
        check(class, layout)?;
        let steps = match layout.steps.get(..layout.needed) {
            Some(needed) if jump && self.tags.is_none() => needed,
            _ => &layout.steps,
        };
        self.spend(steps.len())?;
        for step in steps {
            match step {
                LayoutStep::Run { bytes, pieces } => {
                    let data = input.take(*bytes)?;
                    for piece in pieces {
                        let field = fields.get_mut(piece.index).ok_or_else(misfit)?;
                        let on_file =
                            data.get(piece.offset..piece.offset + piece.bytes).ok_or_else(misfit)?;
                        piece.number.append(on_file, field.numbers_mut(1)?);
                    }
                }
                LayoutStep::Field { index, node } => {
                    self.read(node, input, fields.get_mut(*index).ok_or_else(misfit)?)?;
                }
                LayoutStep::Base { class, first, register, .. } => {
                    let fields = fields.get_mut(*first..*first + class.fields.len()).ok_or_else(misfit)?;
                    self.scope.window += register;
                    self.framed_object(class, input, fields)?;
                    self.scope.window -= register;
                }
                other => self.step(other, 1, input, fields)?,
            }
        }
        Ok(steps.len() == layout.steps.len())
    }

    /// Reads the members of as many objects of `size` bytes as the entry holds.
    pub(super) fn columns_to_end(
        &mut self,
        class: &CompiledClass,
        layout: usize,
        size: usize,
        input: &mut StreamInput<'_>,
        out: &mut Builder,
    ) -> Result<()> {
        let layout = class.layouts.get(layout).ok_or_else(|| undescribed(class))?;
        let Builder::Record { length, fields } = out else { return Err(misfit()) };
        let count = input.remaining() / size.max(1);
        self.columns(class, layout, count, input, fields)?;
        *length += count;
        Ok(())
    }

    /// Reads the members of `count` objects, each a column.
    pub(super) fn columns(
        &mut self,
        class: &CompiledClass,
        layout: &ClassLayout,
        count: usize,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        let outer = self.scope;
        self.open_window(class, count)?;
        self.steps_of_columns(class, layout, count, input, fields)?;
        self.close_window(outer);
        Ok(())
    }

    fn steps_of_columns(
        &mut self,
        class: &CompiledClass,
        layout: &ClassLayout,
        count: usize,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        check(class, layout)?;
        self.spend(layout.steps.len())?;
        for step in &layout.steps {
            match step {
                // Without objects, members with absurd sizes take no bytes.
                LayoutStep::Run { .. } if count == 0 => {}
                LayoutStep::Run { bytes, pieces } => {
                    let data = input.take(bytes.saturating_mul(count))?;
                    for piece in pieces {
                        let field = fields.get_mut(piece.index).ok_or_else(misfit)?;
                        let begin = piece.offset * count;
                        let on_file = data.get(begin..begin + piece.bytes * count).ok_or_else(misfit)?;
                        piece.number.append(on_file, field.numbers_mut(count)?);
                    }
                }
                LayoutStep::Field { index, node } => {
                    self.read_column(node, count, input, fields.get_mut(*index).ok_or_else(misfit)?)?;
                }
                LayoutStep::Base { class, first, is_framed: true, .. } => {
                    let fields = fields.get_mut(*first..*first + class.fields.len()).ok_or_else(misfit)?;
                    self.each(count, input, |runner, _, input| runner.object(class, input, fields))?;
                }
                // In columns other bases have no header: their version is that of the description (Collections §4.2).
                LayoutStep::Base { class, layout, first, register, .. } => {
                    let fields = fields.get_mut(*first..*first + class.fields.len()).ok_or_else(misfit)?;
                    let layout = class.layouts.get(*layout).ok_or_else(|| undescribed(class))?;
                    self.scope.window += register * count;
                    self.steps_of_columns(class, layout, count, input, fields)?;
                    self.scope.window -= register * count;
                }
                other => self.step(other, count, input, fields)?,
            }
        }
        Ok(())
    }

    /// Steps that are the same for one object and for columns.
    fn step(
        &mut self,
        step: &LayoutStep,
        count: usize,
        input: &mut StreamInput<'_>,
        fields: &mut [Builder],
    ) -> Result<()> {
        match step {
            LayoutStep::Counter { index, number, register } => {
                let on_file = input.take(count.saturating_mul(number.size_on_file()))?;
                let first = self.scope.window + register * count;
                let places = self.registers.get_mut(first..first + count).ok_or_else(misfit)?;
                if *number == StoredNumber::Plain(Primitive::I32) {
                    for (place, word) in places.iter_mut().zip(on_file.as_chunks::<4>().0) {
                        *place = i64::from(i32::from_be_bytes(*word));
                    }
                } else {
                    let mut counts = Vec::new();
                    number.append(on_file, &mut counts);
                    for (place, count) in places.iter_mut().zip(counts.chunks_exact(number.size())) {
                        *place = integer(number.primitive(), count);
                    }
                }
                if let Some(index) = index {
                    let field = fields.get_mut(*index).ok_or_else(misfit)?;
                    number.append(on_file, field.numbers_mut(count)?);
                }
                Ok(())
            }
            LayoutStep::Skip(node) => self.skip(node, count, input),
            LayoutStep::Convert { index, from, to } => {
                let field = fields.get_mut(*index).ok_or_else(misfit)?;
                let on_file = input.take(count.saturating_mul(from.size_on_file()))?;
                convert(*from, *to, on_file, field.numbers_mut(count)?);
                Ok(())
            }
            LayoutStep::Default { index } => {
                let field = fields.get_mut(*index).ok_or_else(misfit)?;
                self.spend(field.default_size().saturating_mul(count))?;
                field.push_default(count);
                Ok(())
            }
            LayoutStep::Run { .. } | LayoutStep::Field { .. } | LayoutStep::Base { .. } => Err(misfit()),
        }
    }

    /// Skips the members of `count` objects of a layout, in columns if `framed` is false.
    pub(super) fn skip_steps(
        &mut self,
        class: &CompiledClass,
        layout: &ClassLayout,
        count: usize,
        in_columns: bool,
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        let outer = self.scope;
        self.open_window(class, count)?;
        self.skip_each(layout, count, in_columns, input)?;
        self.close_window(outer);
        Ok(())
    }

    fn skip_each(
        &mut self,
        layout: &ClassLayout,
        count: usize,
        in_columns: bool,
        input: &mut StreamInput<'_>,
    ) -> Result<()> {
        self.spend(layout.steps.len())?;
        for step in &layout.steps {
            match step {
                LayoutStep::Run { bytes, .. } => {
                    input.take(bytes.saturating_mul(count))?;
                }
                LayoutStep::Field { node, .. } | LayoutStep::Skip(node) => self.skip(node, count, input)?,
                LayoutStep::Base { class, is_framed: true, .. } => {
                    self.each(count, input, |runner, _, input| runner.skip_object(class, input))?;
                }
                LayoutStep::Base { class, layout, register, .. } if in_columns => {
                    let layout = class.layouts.get(*layout).ok_or_else(|| undescribed(class))?;
                    self.scope.window += register * count;
                    self.skip_each(layout, count, in_columns, input)?;
                    self.scope.window -= register * count;
                }
                LayoutStep::Base { class, register, .. } => {
                    self.scope.window += register;
                    self.skip_object(class, input)?;
                    self.scope.window -= register;
                }
                LayoutStep::Convert { from, .. } => {
                    input.take(count.saturating_mul(from.size_on_file()))?;
                }
                LayoutStep::Counter { number, register, .. } => {
                    let counter = LayoutStep::Counter { index: None, number: *number, register: *register };
                    self.step(&counter, count, input, &mut [])?;
                }
                LayoutStep::Default { .. } => {}
            }
        }
        Ok(())
    }

    /// Skips an object with its header.
    pub(super) fn skip_object(&mut self, class: &CompiledClass, input: &mut StreamInput<'_>) -> Result<()> {
        if input.frame()?.is_some() || class.layouts.iter().all(|layout| layout.steps.is_empty()) {
            return Ok(());
        }
        let layout = read_version(class, input)?;
        self.skip_steps(class, layout, 1, false, input)
    }
}

/// Reads a version, and the checksum behind it if it is 0 or less; returns the layout that they select.
#[inline]
pub(super) fn read_version<'l>(
    class: &'l CompiledClass,
    input: &mut StreamInput<'_>,
) -> Result<&'l ClassLayout> {
    let version = input.i16()?;
    let checksum = if version <= 0 && class.has_checksum { Some(input.u32()?) } else { None };
    class.layout(version, checksum).ok_or_else(|| {
        let version = checksum.map_or(format!("version {version}"), |sum| format!("checksum {sum:#010x}"));
        Error::unsupported(format!("the file does not describe {version} of {}", class.name))
    })
}

fn check(class: &CompiledClass, layout: &ClassLayout) -> Result<()> {
    match &layout.unsupported {
        None => Ok(()),
        Some(why) => Err(Error::unsupported(format!("version {} of {}: {why}", layout.version, class.name))),
    }
}

#[cold]
pub(super) fn undescribed(class: &CompiledClass) -> Error {
    Error::unsupported(format!("the file does not describe the class {}", class.name))
}

/// Converts numbers to another type, as C++ does.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "as C++ does"
)]
fn convert(from: StoredNumber, to: Primitive, on_file: &[u8], bytes: &mut Vec<u8>) {
    let mut decoded = Vec::new();
    from.append(on_file, &mut decoded);
    for value in decoded.chunks_exact(from.size()) {
        let integer = integer(from.primitive(), value);
        let float = float(from.primitive(), value).unwrap_or(integer as f64);
        let integer =
            if matches!(from.primitive(), Primitive::F32 | Primitive::F64) { float as i64 } else { integer };
        match to {
            Primitive::F32 => bytes.extend_from_slice(&(float as f32).to_ne_bytes()),
            Primitive::F64 => bytes.extend_from_slice(&float.to_ne_bytes()),
            Primitive::Bool => bytes.push(u8::from(float != 0.0)),
            Primitive::I8 | Primitive::U8 => bytes.push(integer as u8),
            Primitive::I16 | Primitive::U16 => bytes.extend_from_slice(&(integer as u16).to_ne_bytes()),
            Primitive::I32 | Primitive::U32 => bytes.extend_from_slice(&(integer as u32).to_ne_bytes()),
            Primitive::I64 | Primitive::U64 => bytes.extend_from_slice(&integer.to_ne_bytes()),
        }
    }
}

fn integer(primitive: Primitive, value: &[u8]) -> i64 {
    let signed = matches!(primitive, Primitive::I8 | Primitive::I16 | Primitive::I32);
    let negative = signed && value.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xFF } else { 0 }; 8];
    wide.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
    i64::from_le_bytes(wide)
}

fn float(primitive: Primitive, value: &[u8]) -> Option<f64> {
    match primitive {
        Primitive::F32 => value.first_chunk().map(|value| f64::from(f32::from_ne_bytes(*value))),
        Primitive::F64 => value.first_chunk().map(|value| f64::from_ne_bytes(*value)),
        _ => None,
    }
}
