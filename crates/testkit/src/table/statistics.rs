//! What is known of values without reading them is true.

use super::expect::{call, part, unwrapped};
use super::subject::Subject;
use sapwood_core::{Column, Extremes, Form, Primitive};

pub(super) fn contain_the_values(subject: &Subject) {
    for (index, whole) in &subject.columns {
        let what = format!("{}: the statistics of column {index}", subject.name);
        let known = subject.table.statistics(*index, &mut call(&mut || false));
        let known = unwrapped(known, &what);
        assert!(known.is_sorted_by_key(|one| one.entries.start), "{what} are in the order of entries");
        for (entries, statistics) in known.iter().filter_map(|one| Some((&one.entries, one.statistics?))) {
            let Some(values) = numbers(&part(whole, entries)) else { continue };
            assert_eq!(statistics.count, values.len() as u64, "{what}, {entries:?}");
            let nans = values.iter().filter(|value| value.is_nan()).count();
            assert_eq!(statistics.nans, nans as u64, "{what}, {entries:?}");
            let (least, most) = match statistics.extremes {
                None => (f64::INFINITY, f64::NEG_INFINITY),
                Some(Extremes::Signed(least, most)) => (least as f64, most as f64),
                Some(Extremes::Unsigned(least, most)) => (least as f64, most as f64),
                Some(Extremes::Float(least, most)) => (least, most),
            };
            let outside = values.iter().find(|value| **value < least || **value > most);
            assert_eq!(outside, None, "{what}, {entries:?}: {statistics:?}");
        }
    }
}

/// The values of a column of numbers, or of lists of them. Rounding keeps the order.
fn numbers(column: &Column) -> Option<Vec<f64>> {
    let mut form = &column.form;
    while let Form::List(content) | Form::Fixed { content, .. } = form {
        form = content;
    }
    let (Form::Primitive(primitive), Some(values)) = (form, column.buffers.last()) else { return None };
    fn all<T: Copy>(values: &[T], convert: impl Fn(T) -> f64) -> Vec<f64> {
        values.iter().map(|value| convert(*value)).collect()
    }
    Some(match primitive {
        Primitive::Bool | Primitive::U8 => all::<u8>(values.view(), f64::from),
        Primitive::I8 => all::<i8>(values.view(), f64::from),
        Primitive::I16 => all::<i16>(values.view(), f64::from),
        Primitive::U16 => all::<u16>(values.view(), f64::from),
        Primitive::I32 => all::<i32>(values.view(), f64::from),
        Primitive::U32 => all::<u32>(values.view(), f64::from),
        Primitive::I64 => all::<i64>(values.view(), |value| value as f64),
        Primitive::U64 => all::<u64>(values.view(), |value| value as f64),
        Primitive::F32 => all::<f32>(values.view(), f64::from),
        Primitive::F64 => values.view().to_vec(),
    })
}
