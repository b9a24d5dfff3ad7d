//! What writers of columnar formats share: their input columns, checked, and the sizes of clusters.

use sapwood_core::{Column, Error, Form, Result};
use std::ops::Range;

/// The size of the clusters of a new table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterSize {
    /// This many entries.
    Entries(u64),
    /// About this many compressed bytes. In trees, only the first cluster is ended by its size; all others have as many
    /// entries.
    Bytes(u64),
}

/// A column of `length` entries in borrowed buffers: one per node of its form with a buffer, as in
/// [`Column`](sapwood_core::Column). Offsets are 64-bit and may start anywhere.
#[derive(Debug, Clone)]
pub struct ColumnView<'a> {
    /// Number of entries.
    pub length: usize,
    /// The buffers, depth first, in the byte order of the machine.
    pub buffers: Vec<&'a [u8]>,
}

impl<'a> From<&'a Column> for ColumnView<'a> {
    fn from(column: &'a Column) -> ColumnView<'a> {
        let buffers = column.buffers.iter().map(|buffer| buffer.as_bytes()).collect();
        ColumnView { length: column.length, buffers }
    }
}

impl<'a> ColumnView<'a> {
    /// The buffer at `place`; empty if there is none.
    pub fn buffer(&self, place: usize) -> &'a [u8] {
        self.buffers.get(place).copied().unwrap_or_default()
    }

    /// Bytes of all buffers.
    pub fn byte_count(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum()
    }

    /// The offsets, or positions, in the buffer at `place`.
    pub fn offsets(&self, place: usize) -> Offsets<'a> {
        Offsets(self.buffer(place).as_chunks().0)
    }

    /// Checks that it has `entries` entries of a form, and that they can be written without further checks.
    ///
    /// # Errors
    /// `Usage` if its buffers are too short or contradict each other.
    pub fn check(&self, form: &Form, entries: usize) -> Result<()> {
        if self.length != entries {
            return Err(Error::usage(format!("it has {} entries; others have {entries}", self.length)));
        }
        if self.buffers.len() != form.buffer_count() {
            return Err(Error::usage(format!("{} buffers were given for {form:?}", self.buffers.len())));
        }
        self.check_items(form, 0, 0..entries)
    }

    /// Checks the items `items` of a form whose first buffer is at `place`.
    fn check_items(&self, form: &Form, place: usize, items: Range<usize>) -> Result<()> {
        match form {
            Form::Primitive(primitive) => enough(self.buffer(place).len() / primitive.size(), items.end),
            Form::Fixed { size, content } => {
                let items = items.start.saturating_mul(*size)..items.end.saturating_mul(*size);
                self.check_items(content, place, items)
            }
            Form::List(content) => self.check_items(content, place + 1, self.items_of_lists(place, &items)?),
            Form::String => enough(self.buffer(place + 1).len(), self.items_of_lists(place, &items)?.end),
            Form::Record { fields, .. } => {
                self.check_each(fields.iter().map(|field| &field.form), place, &items)
            }
            Form::Tuple(forms) => self.check_each(forms.iter(), place, &items),
            Form::Option(content) => {
                let positions = self.offsets(place);
                enough(positions.len(), items.end)?;
                let all = positions.run(items, |_| true)?;
                self.check_items(content, place + 1, all)
            }
            Form::Union(forms) => {
                let (tags, positions) = (self.buffer(place), self.offsets(place + 1));
                enough(tags.len().min(positions.len()), items.end)?;
                let here = tags.get(items.clone()).unwrap_or_default();
                if here.iter().any(|tag| usize::from(*tag) >= forms.len()) {
                    return Err(Error::usage("a tag names none of its types"));
                }
                let mut place = place + 2;
                for (number, form) in forms.iter().enumerate() {
                    let own = |item: usize| tags.get(item).is_some_and(|tag| usize::from(*tag) == number);
                    self.check_items(form, place, positions.run(items.clone(), own)?)?;
                    place += form.buffer_count();
                }
                Ok(())
            }
            Form::Empty => Ok(()),
        }
    }

    fn check_each<'f>(
        &self,
        forms: impl Iterator<Item = &'f Form>,
        mut place: usize,
        items: &Range<usize>,
    ) -> Result<()> {
        for form in forms {
            self.check_items(form, place, items.clone())?;
            place += form.buffer_count();
        }
        Ok(())
    }

    /// The items of these lists.
    fn items_of_lists(&self, place: usize, lists: &Range<usize>) -> Result<Range<usize>> {
        let offsets = self.offsets(place);
        enough(offsets.len().saturating_sub(1), lists.end)?;
        let range = offsets.0.get(lists.start..=lists.end).unwrap_or_default();
        let values = || range.iter().map(|bytes| i64::from_ne_bytes(*bytes));
        if values().zip(values().skip(1)).any(|(one, next)| one > next)
            || values().next().is_some_and(i64::is_negative)
        {
            return Err(Error::usage("its offsets do not grow"));
        }
        Ok(offsets.get(lists.start)..offsets.get(lists.end))
    }
}

fn enough(have: usize, need: usize) -> Result<()> {
    if have >= need {
        return Ok(());
    }
    Err(Error::usage(format!("a buffer holds {have} items where {need} are needed")))
}

/// Offsets of lists or strings, or positions of items, in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Offsets<'a>(&'a [[u8; 8]]);

impl<'a> Offsets<'a> {
    /// The offset at `place`; 0 if there is none.
    #[inline]
    pub fn get(self, place: usize) -> usize {
        self.0.get(place).map_or(0, |bytes| i64::from_ne_bytes(*bytes) as usize)
    }

    /// The range of the items of a list.
    #[inline]
    pub fn range(self, list: usize) -> Range<usize> {
        self.get(list)..self.get(list + 1)
    }

    /// The values at these places.
    pub fn slice(self, places: Range<usize>) -> impl Iterator<Item = i64> + Clone + 'a {
        self.0.get(places).unwrap_or_default().iter().map(|bytes| i64::from_ne_bytes(*bytes))
    }

    /// Where the chosen ones of these items are in their content, which holds them in order. Negative positions are
    /// missing items.
    ///
    /// # Errors
    /// `Usage` if they are not in order.
    pub fn run(self, items: Range<usize>, chosen: impl Fn(usize) -> bool) -> Result<Range<usize>> {
        let positions = items.clone().zip(self.slice(items)).filter(|(item, _)| chosen(*item));
        let mut range: Option<Range<usize>> = None;
        for (_, position) in positions {
            let Ok(position) = usize::try_from(position) else { continue };
            let run = range.get_or_insert(position..position);
            if run.end != position {
                return Err(Error::usage("its items are not in order"));
            }
            run.end += 1;
        }
        Ok(range.unwrap_or_default())
    }

    fn len(self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::{Buffer, Primitive};

    #[test]
    fn buffers_that_contradict_their_form_are_refused() {
        let number = Form::Primitive(Primitive::I32);
        let option = Form::Option(Box::new(number.clone()));
        let union = Form::Union(vec![number.clone(), number.clone()]);
        let values = [0_u8; 8];
        let check = |form: &Form, buffers: Vec<&[u8]>| ColumnView { length: 3, buffers }.check(form, 3);
        let positions = |values: [i64; 3]| Buffer::from_slice(&values);
        let (right, gap) = (positions([0, -1, 1]), positions([0, -1, 2]));
        check(&option, vec![right.as_bytes(), &values]).unwrap();
        assert!(check(&option, vec![gap.as_bytes(), &values]).is_err());
        assert!(check(&option, vec![right.as_bytes(), &values[..4]]).is_err());
        let positions = positions([0, 0, 1]);
        check(&union, vec![&[0, 1, 0], positions.as_bytes(), &values, &values]).unwrap();
        assert!(check(&union, vec![&[0, 2, 0], positions.as_bytes(), &values, &values]).is_err());
        assert!(check(&union, vec![&[0, 0, 0], positions.as_bytes(), &values, &values]).is_err());
        let offsets = Buffer::from_slice(&[0_i64, 2, 1, 2]);
        assert!(check(&Form::list(number), vec![offsets.as_bytes(), &values]).is_err());
    }
}
