//! Takes items of a column: in any order, or a range.

use crate::{Buffer, Column, Error, Form, Result};
use std::ops::Range;
use std::sync::Arc;

/// Consecutive items: the first, and one past the last. Consecutive lists have consecutive items, so whole
/// ranges are copied at once at every depth.
type ItemRange = Range<usize>;

impl Column {
    /// The items at `indices`, in that order; an index may occur several times.
    ///
    /// # Errors
    /// `Usage` for an index beyond the column; `Corrupt` if the buffers do not fit the form.
    ///
    /// ```
    /// use sapwood_core::{Buffer, Column, Form, Primitive};
    /// use std::sync::Arc;
    /// let column = Column {
    ///     form: Form::list(Form::Primitive(Primitive::U8)),
    ///     length: 3,
    ///     buffers: vec![
    ///         Arc::new(Buffer::from_slice(&[0i64, 2, 2, 3])),
    ///         Arc::new(Buffer::from_slice(&[7u8, 8, 9])),
    ///     ],
    /// };
    /// let taken = column.take([2, 0])?;
    /// assert_eq!(taken.buffers[0].view::<i64>(), [0, 1, 3]);
    /// assert_eq!(taken.buffers[1].as_bytes(), [9, 7, 8]);
    /// # Ok::<(), sapwood_core::Error>(())
    /// ```
    pub fn take(&self, indices: impl IntoIterator<Item = usize>) -> Result<Column> {
        let mut runs: Vec<ItemRange> = Vec::new();
        for index in indices {
            if index >= self.length {
                let message = format!("index {index} is beyond a column of {} items", self.length);
                return Err(Error::usage(message));
            }
            push(&mut runs, index..index + 1);
        }
        self.take_runs(&runs)
    }

    /// The items of a range. Values in [shared memory](Buffer::is_shared) are not copied, unless they are not aligned.
    ///
    /// # Errors
    /// As [`take`](Column::take).
    ///
    /// ```
    /// use sapwood_core::{Buffer, Column, Form, Primitive};
    /// use std::sync::Arc;
    /// let numbers = Arc::new(Buffer::from_slice(&[5u8, 6, 7, 8]));
    /// let column = Column { form: Form::Primitive(Primitive::U8), length: 4, buffers: vec![numbers] };
    /// assert_eq!(column.slice(1..3)?.buffers[0].as_bytes(), [6, 7]);
    /// # Ok::<(), sapwood_core::Error>(())
    /// ```
    pub fn slice(&self, items: Range<usize>) -> Result<Column> {
        if items.start > items.end || items.end > self.length {
            let message = format!("the items {items:?} are beyond a column of {} items", self.length);
            return Err(Error::usage(message));
        }
        self.take_runs(&[items])
    }

    fn take_runs(&self, runs: &[ItemRange]) -> Result<Column> {
        let mut taken =
            ColumnTaker { source: self.buffers.iter(), buffers: Vec::with_capacity(self.buffers.len()) };
        taken.node(&self.form, runs)?;
        Ok(Column { form: self.form.clone(), length: count(runs), buffers: taken.buffers })
    }
}

/// Appends a range, merged with the last one if it continues that.
fn push(runs: &mut Vec<ItemRange>, run: ItemRange) {
    match runs.last_mut() {
        _ if run.is_empty() => {}
        Some(last) if last.end == run.start => last.end = run.end,
        _ => runs.push(run),
    }
}

fn count(runs: &[ItemRange]) -> usize {
    runs.iter().map(ItemRange::len).sum()
}

/// A column under construction: the remaining buffers of the source, and those of the result.
struct ColumnTaker<'a> {
    source: std::slice::Iter<'a, Arc<Buffer>>,
    buffers: Vec<Arc<Buffer>>,
}

impl<'a> ColumnTaker<'a> {
    fn node(&mut self, form: &Form, runs: &[ItemRange]) -> Result<()> {
        match form {
            Form::Primitive(primitive) => self.values(primitive.size(), runs),
            Form::Fixed { size, content } => {
                let mut items = Vec::with_capacity(runs.len());
                for run in runs {
                    let scaled = |index: usize| index.checked_mul(*size).ok_or_else(unfit);
                    push(&mut items, scaled(run.start)?..scaled(run.end)?);
                }
                self.node(content, &items)
            }
            Form::List(content) => {
                let items = self.lists(runs)?;
                self.node(content, &items)
            }
            Form::String => {
                let bytes = self.lists(runs)?;
                self.values(1, &bytes)
            }
            Form::Record { fields, .. } => fields.iter().try_for_each(|field| self.node(&field.form, runs)),
            Form::Tuple(forms) => forms.iter().try_for_each(|form| self.node(form, runs)),
            Form::Option(content) => {
                let present = self.options(runs)?;
                self.node(content, &present)
            }
            Form::Union(forms) => {
                let of_tags = self.unions(forms.len(), runs)?;
                forms.iter().zip(&of_tags).try_for_each(|(form, runs)| self.node(form, runs))
            }
            Form::Empty => Ok(()),
        }
    }

    fn next(&mut self) -> Result<&'a Buffer> {
        self.source.next().map(|buffer| &**buffer).ok_or_else(unfit)
    }

    /// Copies the values of `size` bytes.
    fn values(&mut self, size: usize, runs: &[ItemRange]) -> Result<()> {
        let source = self.next()?;
        if let [run] = runs {
            let part = source.slice(run.start * size, run.end * size).ok_or_else(unfit)?;
            self.buffers.push(Arc::new(part));
            return Ok(());
        }
        let source = source.as_bytes();
        let mut buffer = Buffer::zeroed(count(runs).checked_mul(size).ok_or_else(unfit)?);
        let mut place = buffer.as_bytes_mut();
        for run in runs {
            let bytes = source.get(run.start * size..run.end * size).ok_or_else(unfit)?;
            let (here, after) = place.split_at_mut(bytes.len());
            here.copy_from_slice(bytes);
            place = after;
        }
        self.buffers.push(Arc::new(buffer));
        Ok(())
    }

    /// Recomputes the offsets of lists, and returns the items in them.
    fn lists(&mut self, runs: &[ItemRange]) -> Result<Vec<ItemRange>> {
        let source: &[i64] = self.next()?.view();
        let mut buffer = Buffer::zeroed((count(runs) + 1) * size_of::<i64>());
        let mut places = buffer.view_mut::<i64>().iter_mut().skip(1);
        let mut items = Vec::with_capacity(runs.len());
        let mut end = 0i64;
        for run in runs {
            let offsets = source.get(run.start..=run.end).ok_or_else(unfit)?;
            let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { continue };
            for (offset, place) in offsets.iter().skip(1).zip(places.by_ref()) {
                *place = end + (offset - first);
            }
            end += last - first;
            push(&mut items, index(*first)?..index(*last)?);
        }
        self.buffers.push(Arc::new(buffer));
        Ok(items)
    }

    /// Recomputes the positions of present items, and returns their old positions.
    fn options(&mut self, runs: &[ItemRange]) -> Result<Vec<ItemRange>> {
        let source: &[i64] = self.next()?.view();
        let mut buffer = Buffer::zeroed(count(runs) * size_of::<i64>());
        let mut places = buffer.view_mut::<i64>().iter_mut();
        let mut present = Vec::new();
        let mut next = 0i64;
        for run in runs {
            let positions = source.get(run.clone()).ok_or_else(unfit)?;
            for (&position, place) in positions.iter().zip(places.by_ref()) {
                *place = if position < 0 { -1 } else { next };
                if position >= 0 {
                    next += 1;
                    let at = index(position)?;
                    push(&mut present, at..at + 1);
                }
            }
        }
        self.buffers.push(Arc::new(buffer));
        Ok(present)
    }

    /// Recomputes the positions for each tag, and returns the old positions of its items.
    fn unions(&mut self, tags: usize, runs: &[ItemRange]) -> Result<Vec<Vec<ItemRange>>> {
        let source_tags = self.next()?.as_bytes();
        let source: &[i64] = self.next()?.view();
        let (mut new_tags, mut positions) =
            (Vec::with_capacity(count(runs)), Vec::with_capacity(count(runs)));
        let mut items: Vec<Vec<ItemRange>> = vec![Vec::new(); tags];
        let mut next = vec![0i64; tags];
        for run in runs {
            let here = source_tags.get(run.clone()).zip(source.get(run.clone())).ok_or_else(unfit)?;
            for (tag, position) in here.0.iter().zip(here.1) {
                let of_tag = items.get_mut(usize::from(*tag)).zip(next.get_mut(usize::from(*tag)));
                let (items, next) = of_tag.ok_or_else(unfit)?;
                let at = index(*position)?;
                push(items, at..at + 1);
                new_tags.push(*tag);
                positions.push(*next);
                *next += 1;
            }
        }
        self.buffers.push(Arc::new(Buffer::from_slice(&new_tags)));
        self.buffers.push(Arc::new(Buffer::from_slice(&positions)));
        Ok(items)
    }
}

fn index(position: i64) -> Result<usize> {
    usize::try_from(position).map_err(|_| unfit())
}

fn unfit() -> Error {
    Error::corrupt("the buffers of a column do not fit its form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Primitive};
    use proptest::prelude::*;

    /// An item, written as text.
    #[derive(Debug, Clone, PartialEq)]
    enum Value {
        Bytes(Vec<u8>),
        List(Vec<Value>),
        Nothing,
        Tagged(u8, Box<Value>),
    }

    /// The items of a column of `length` items, computed naively.
    fn values(form: &Form, buffers: &mut std::slice::Iter<'_, Arc<Buffer>>, length: usize) -> Vec<Value> {
        let mut next = || buffers.next().unwrap();
        match form {
            Form::Primitive(primitive) => {
                next().as_bytes().chunks(primitive.size()).map(|bytes| Value::Bytes(bytes.to_vec())).collect()
            }
            Form::Fixed { size, content } => {
                let items = values(content, buffers, length * size);
                (0..length).map(|i| Value::List(items[i * size..(i + 1) * size].to_vec())).collect()
            }
            Form::List(_) | Form::String => {
                let offsets: Vec<usize> =
                    next().view::<i64>().iter().map(|o| usize::try_from(*o).unwrap()).collect();
                let content = if let Form::List(content) = form { content } else { &BYTE };
                let items = values(content, buffers, offsets[length]);
                offsets.windows(2).map(|pair| Value::List(items[pair[0]..pair[1]].to_vec())).collect()
            }
            Form::Record { fields, .. } => {
                rows(fields.iter().map(|field| &field.form), buffers, length).collect()
            }
            Form::Tuple(forms) => rows(forms.iter(), buffers, length).collect(),
            Form::Option(content) => {
                let positions = next().view::<i64>().to_vec();
                let items = values(content, buffers, positions.iter().filter(|p| **p >= 0).count());
                let item = |p: &i64| usize::try_from(*p).map_or(Value::Nothing, |p| items[p].clone());
                positions.iter().map(item).collect()
            }
            Form::Union(forms) => {
                let tags = next().as_bytes().to_vec();
                let positions = next().view::<i64>().to_vec();
                let alternatives: Vec<Vec<Value>> = (0u8..)
                    .zip(forms)
                    .map(|(tag, form)| values(form, buffers, tags.iter().filter(|t| **t == tag).count()))
                    .collect();
                let item = |(tag, position): (&u8, &i64)| {
                    let item = alternatives[usize::from(*tag)][usize::try_from(*position).unwrap()].clone();
                    Value::Tagged(*tag, Box::new(item))
                };
                tags.iter().zip(&positions).map(item).collect()
            }
            Form::Empty => vec![Value::Nothing; length],
        }
    }

    const BYTE: Form = Form::Primitive(Primitive::U8);

    fn rows<'a>(
        forms: impl Iterator<Item = &'a Form>,
        buffers: &mut std::slice::Iter<'_, Arc<Buffer>>,
        length: usize,
    ) -> impl Iterator<Item = Value> {
        let fields: Vec<Vec<Value>> = forms.map(|form| values(form, buffers, length)).collect();
        (0..length).map(move |i| Value::List(fields.iter().map(|field| field[i].clone()).collect()))
    }

    /// The buffers of `length` items, generated from `entropy`.
    fn fill(form: &Form, length: usize, entropy: &mut impl Iterator<Item = u8>, out: &mut Vec<Arc<Buffer>>) {
        let mut less_than = |most: u8| entropy.next().unwrap() % most;
        match form {
            Form::Primitive(primitive) => {
                let bytes: Vec<u8> = entropy.take(length * primitive.size()).collect();
                out.push(Arc::new(Buffer::from_slice(&bytes)));
            }
            Form::Fixed { size, content } => fill(content, length * size, entropy, out),
            Form::List(_) | Form::String => {
                let mut offsets = vec![0i64];
                (0..length).for_each(|i| offsets.push(offsets[i] + i64::from(less_than(4))));
                let items = usize::try_from(offsets[length]).unwrap();
                out.push(Arc::new(Buffer::from_slice(&offsets)));
                fill(if let Form::List(content) = form { content } else { &BYTE }, items, entropy, out);
            }
            Form::Record { fields, .. } => {
                fields.iter().for_each(|field| fill(&field.form, length, entropy, out));
            }
            Form::Tuple(forms) => forms.iter().for_each(|form| fill(form, length, entropy, out)),
            Form::Option(content) => {
                let mut present = 0;
                let positions: Vec<i64> = (0..length)
                    .map(|_| {
                        let there = less_than(3) > 0;
                        present += i64::from(there);
                        if there { present - 1 } else { -1 }
                    })
                    .collect();
                out.push(Arc::new(Buffer::from_slice(&positions)));
                fill(content, usize::try_from(present).unwrap(), entropy, out);
            }
            Form::Union(forms) => {
                let mut counts = vec![0i64; forms.len()];
                let tags: Vec<u8> =
                    (0..length).map(|_| less_than(u8::try_from(forms.len()).unwrap())).collect();
                let mut position = |tag: &u8| {
                    counts[usize::from(*tag)] += 1;
                    counts[usize::from(*tag)] - 1
                };
                let positions: Vec<i64> = tags.iter().map(&mut position).collect();
                out.push(Arc::new(Buffer::from_slice(&tags)));
                out.push(Arc::new(Buffer::from_slice(&positions)));
                for (form, count) in forms.iter().zip(counts) {
                    fill(form, usize::try_from(count).unwrap(), entropy, out);
                }
            }
            Form::Empty => {}
        }
    }

    fn forms() -> impl Strategy<Value = Form> {
        let number = |primitive| Just(Form::Primitive(primitive));
        let leaf = prop_oneof![
            number(Primitive::U8),
            number(Primitive::I16),
            number(Primitive::F64),
            Just(Form::String),
            Just(Form::Empty),
        ];
        leaf.prop_recursive(4, 12, 3, |inner| {
            let several = || prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                inner.clone().prop_map(Form::list),
                inner.clone().prop_map(|content| Form::Option(Box::new(content))),
                (0..4usize, inner.clone()).prop_map(|(size, content)| Form::fixed(&[size], content)),
                several().prop_map(Form::Tuple),
                several().prop_map(Form::Union),
                several().prop_map(|forms| {
                    Form::record(forms.into_iter().map(|form| (String::from("field"), form)))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn take_returns_the_items_at_the_indices(
            form in forms(),
            length in 1..20usize,
            entropy in prop::collection::vec(any::<u8>(), 1..50),
            indices in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let mut buffers = Vec::new();
            fill(&form, length, &mut entropy.into_iter().cycle(), &mut buffers);
            let column = Column { form, length, buffers };
            let indices: Vec<usize> = indices.iter().map(|index| index.index(length)).collect();
            let taken = column.take(indices.iter().copied()).unwrap();
            let all = values(&column.form, &mut column.buffers.iter(), length);
            let expected: Vec<Value> = indices.iter().map(|index| all[*index].clone()).collect();
            prop_assert_eq!(taken.length, indices.len());
            prop_assert_eq!(values(&taken.form, &mut taken.buffers.iter(), taken.length), expected);
        }

        #[test]
        fn slice_returns_the_items_of_the_range(
            form in forms(),
            length in 1..20usize,
            entropy in prop::collection::vec(any::<u8>(), 1..50),
            ends in any::<[prop::sample::Index; 2]>(),
        ) {
            let mut buffers = Vec::new();
            fill(&form, length, &mut entropy.into_iter().cycle(), &mut buffers);
            let column = Column { form, length, buffers };
            let mut ends = ends.map(|index| index.index(length + 1));
            ends.sort_unstable();
            let range = ends[0]..ends[1];
            let part = column.slice(range.clone()).unwrap();
            let all = values(&column.form, &mut column.buffers.iter(), length);
            prop_assert_eq!(part.length, range.len());
            prop_assert_eq!(&values(&part.form, &mut part.buffers.iter(), part.length), &all[range]);
        }
    }

    #[test]
    fn indices_beyond_the_column_are_refused() {
        let column = Column { form: BYTE, length: 2, buffers: vec![Arc::new(Buffer::from_slice(&[1u8, 2]))] };
        assert_eq!(column.take([2]).unwrap_err().kind(), ErrorKind::Usage);
        let short = Column { length: 3, ..column };
        assert_eq!(short.take([2]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
