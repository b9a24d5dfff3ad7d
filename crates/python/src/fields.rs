//! A dict of fields of a value, by their names.

/// `fields!(py, report, [bytes, trees])` is the dict `{"bytes": report.bytes, "trees": report.trees}`.
macro_rules! fields {
    ($py:expr, $value:expr, [$($name:ident),+ $(,)?]) => {{
        let (dict, value) = (::pyo3::types::PyDict::new($py), &$value);
        $(dict.set_item(stringify!($name), &value.$name)?;)+
        dict
    }};
}

pub(crate) use fields;
