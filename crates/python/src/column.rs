//! Columns as NumPy arrays that share the core's memory.

use numpy::PyArray1;
use numpy::ndarray::ArrayView1;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString, PyTuple};
use sapwood::{Buffer, Form};
use std::collections::HashMap;
use std::sync::Arc;

/// A column of data: its form, and its buffers as NumPy arrays.
#[pyclass(module = "sapwood._core", frozen, get_all)]
pub(crate) struct Column {
    form: Py<PyAny>,
    length: usize,
    buffers: Vec<Py<PyAny>>,
}

/// The columns; a buffer that several of them share becomes one array. A buffer that the core still uses is
/// read-only, as is one that lies in a cache.
pub(crate) fn columns(py: Python<'_>, columns: Vec<sapwood::Column>) -> PyResult<Bound<'_, PyList>> {
    let mut buffers: Vec<(Arc<Buffer>, &'static str, usize)> = Vec::new();
    let mut indices: HashMap<*const Buffer, usize> = HashMap::new();
    let mut used = Vec::new();
    let mut shapes = Vec::with_capacity(columns.len());
    for column in columns {
        let mut dtypes = Vec::with_capacity(column.buffers.len());
        buffer_dtypes(&column.form, &mut dtypes);
        let first = used.len();
        for ((dtype, size), buffer) in dtypes.into_iter().zip(column.buffers) {
            used.push(*indices.entry(Arc::as_ptr(&buffer)).or_insert_with(|| {
                buffers.push((buffer, dtype, size));
                buffers.len() - 1
            }));
        }
        shapes.push((column.form, column.length, first..used.len()));
    }
    let arrays = buffers.into_iter().map(|(buffer, dtype, size)| match Arc::try_unwrap(buffer) {
        Ok(buffer) if buffer.is_shared() => shared_array(py, Arc::new(buffer), dtype),
        Ok(buffer) => array(py, buffer, dtype, size),
        Err(shared) => shared_array(py, shared, dtype),
    });
    let arrays: Vec<Py<PyAny>> = arrays.collect::<PyResult<_>>()?;
    let columns = shapes.into_iter().map(|(form, length, range)| {
        let buffers = used.get(range).into_iter().flatten();
        let buffers =
            buffers.filter_map(|index| arrays.get(*index)).map(|array| array.clone_ref(py)).collect();
        Ok(Column { form: form_tuple(py, &form)?, length, buffers })
    });
    PyList::new(py, columns.collect::<PyResult<Vec<_>>>()?)
}

/// The dtype of each buffer of a form and its bytes per item, depth first.
fn buffer_dtypes(form: &Form, out: &mut Vec<(&'static str, usize)>) {
    match form {
        Form::Primitive(primitive) => out.push((primitive.numpy_name(), primitive.size())),
        Form::Fixed { content, .. } => buffer_dtypes(content, out),
        Form::List(content) => {
            out.push(("int64", 8));
            buffer_dtypes(content, out);
        }
        Form::String => out.extend([("int64", 8), ("uint8", 1)]),
        Form::Record { fields, .. } => fields.iter().for_each(|field| buffer_dtypes(&field.form, out)),
        Form::Tuple(forms) => forms.iter().for_each(|form| buffer_dtypes(form, out)),
        Form::Option(content) => {
            out.push(("int64", 8));
            buffer_dtypes(content, out);
        }
        Form::Union(forms) => {
            out.extend([("int8", 1), ("int64", 8)]);
            forms.iter().for_each(|form| buffer_dtypes(form, out));
        }
        Form::Empty => {}
    }
}

fn array(py: Python<'_>, buffer: Buffer, dtype: &str, size: usize) -> PyResult<Py<PyAny>> {
    let (words, len) = buffer.into_words();
    let padded = words.len() * 8 != len;
    let array = PyArray1::from_vec(py, words).into_any();
    let array = if dtype == "uint64" { array } else { array.call_method1("view", (dtype,))? };
    if padded {
        let items = isize::try_from(len / size).unwrap_or(isize::MAX);
        return array.get_item(PySlice::new(py, 0, items, 1)).map(Bound::unbind);
    }
    Ok(array.unbind())
}

/// A buffer that the core still uses.
#[pyclass(frozen)]
struct SharedBuffer(Arc<Buffer>);

/// An array over shared memory: it is read-only.
#[expect(unsafe_code, reason = "a copy would take the memory twice, and 6 % of the time of decoding")]
fn shared_array(py: Python<'_>, buffer: Arc<Buffer>, dtype: &str) -> PyResult<Py<PyAny>> {
    let owner = Bound::new(py, SharedBuffer(buffer))?;
    let bytes = ArrayView1::from(owner.get().0.as_bytes());
    // SAFETY: the owner, which the array keeps alive, keeps the buffer; nobody can change or move the contents of a
    // buffer that is shared.
    let array = unsafe { PyArray1::borrow_from_array(&bytes, owner.clone().into_any()) }.into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    let array = if dtype == "uint8" { array } else { array.call_method1("view", (dtype,))? };
    Ok(array.unbind())
}

/// A form as nested tuples.
pub(crate) fn form_tuple(py: Python<'_>, form: &Form) -> PyResult<Py<PyAny>> {
    let tuple = match form {
        Form::Primitive(primitive) => ("primitive", primitive.numpy_name()).into_pyobject(py)?.into_any(),
        Form::Fixed { size, content } => {
            ("fixed", *size, form_tuple(py, content)?).into_pyobject(py)?.into_any()
        }
        Form::List(content) => ("list", form_tuple(py, content)?).into_pyobject(py)?.into_any(),
        Form::String => PyTuple::new(py, [PyString::new(py, "string")])?.into_any(),
        Form::Record { class, fields } => {
            let titles: Vec<&str> = fields.iter().map(|field| field.title.as_str()).collect();
            let fields = fields
                .iter()
                .map(|field| Ok((&field.name, form_tuple(py, &field.form)?)))
                .collect::<PyResult<Vec<_>>>()?;
            ("record", fields, class, titles).into_pyobject(py)?.into_any()
        }
        Form::Tuple(forms) => ("tuple", form_tuples(py, forms)?).into_pyobject(py)?.into_any(),
        Form::Option(content) => ("option", form_tuple(py, content)?).into_pyobject(py)?.into_any(),
        Form::Union(forms) => ("union", form_tuples(py, forms)?).into_pyobject(py)?.into_any(),
        Form::Empty => PyTuple::new(py, [PyString::new(py, "empty")])?.into_any(),
    };
    Ok(tuple.unbind())
}

fn form_tuples(py: Python<'_>, forms: &[Form]) -> PyResult<Vec<Py<PyAny>>> {
    forms.iter().map(|form| form_tuple(py, form)).collect()
}
