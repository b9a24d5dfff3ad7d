//! `Writer`: a file with trees, RNTuples and objects, from arrays and plain values.

use crate::arguments::{Target, cluster_size};
use crate::detached::detached;
use crate::error::exception;
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sapwood::write::{
    Algorithm, BranchSpec, Class, ClassMember, ColumnView, Compression, FieldSpec, RNTupleOptions, Storage,
    TableId, Value, VectorItem, WriterOptions, split,
};
use sapwood::{Error, Form, Primitive, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// Each compression algorithm: its name in settings, the hundreds of ROOT's number, the usual level.
pub(crate) fn algorithms() -> [(&'static str, i32, u8); Algorithm::ALL.len()] {
    Algorithm::ALL.map(|algorithm| (algorithm.setting(), algorithm.hundreds(), algorithm.usual_level()))
}

/// A file that is written.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Writer(Mutex<Option<OpenWriter>>);

struct OpenWriter {
    writer: sapwood::write::Writer,
    tables: Vec<TableId>,
}

/// An existing tree: its number, its entries, and name and storage of its branches.
type ExistingTree<'py> = (usize, u64, Vec<(String, Bound<'py, PyTuple>)>);

/// Name, title, storage, ROOT's number of the compression, basket size.
type Branch<'py> = (String, Option<String>, Bound<'py, PyTuple>, i32, u32);

/// Name, description, form, ROOT's number of the compression.
type Field<'py> = (String, String, Bound<'py, PyTuple>, i32);

#[pymethods]
impl Writer {
    /// A new file at a path or URL, or into an object with `write` and `seek`.
    #[new]
    #[pyo3(signature = (target, name, *, title="", compression=505, threads=None))]
    fn new(
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        name: &str,
        title: &str,
        compression: i32,
        threads: Option<usize>,
    ) -> PyResult<Writer> {
        let compression = Compression::from_number(compression).map_err(|error| exception(&error))?;
        let options =
            WriterOptions { compression, title: title.to_owned(), threads, ..WriterOptions::default() };
        let target = Target::new(target, name);
        let writer = detached(py, None, |_| sapwood::write::Writer::new(target.sink()?, name, &options))?;
        Ok(Writer(Mutex::new(Some(OpenWriter { writer, tables: Vec::new() }))))
    }

    /// Adds to the local file at a path.
    #[staticmethod]
    #[pyo3(signature = (target, *, compression=505, threads=None))]
    fn update(py: Python<'_>, target: &str, compression: i32, threads: Option<usize>) -> PyResult<Writer> {
        let compression = Compression::from_number(compression).map_err(|error| exception(&error))?;
        let options = WriterOptions { compression, threads, ..WriterOptions::default() };
        let writer = detached(py, None, |_| sapwood::write::Writer::update(target, &options))?;
        Ok(Writer(Mutex::new(Some(OpenWriter { writer, tables: Vec::new() }))))
    }

    /// Paths and classes of the contents of the file.
    fn paths(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.with(py, |open| open.writer.paths())
    }

    /// Creates the directories of a path.
    fn directory(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.with(py, |open| open.writer.directory(path).map(|_| ()))
    }

    /// A new tree; its number. Clusters have that many entries or, after compression, bytes.
    fn tree(
        &self,
        py: Python<'_>,
        directory: &str,
        name: &str,
        title: &str,
        branches: Vec<Branch<'_>>,
        cluster: (String, u64),
    ) -> PyResult<usize> {
        let branches = branches.into_iter().map(branch).collect::<PyResult<Vec<_>>>()?;
        let cluster = cluster_size(cluster);
        self.with(py, |open| {
            let directory = open.writer.directory(directory)?;
            open.tables.push(open.writer.tree(directory, name, title, branches, cluster)?);
            Ok(open.tables.len() - 1)
        })
    }

    /// A new RNTuple; its number. A field is its name, its description, its form, and ROOT's number of its compression.
    #[pyo3(signature = (directory, name, description, fields, *, compression, cluster, page_size, checksums))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of one call")]
    fn rntuple(
        &self,
        py: Python<'_>,
        directory: &str,
        name: &str,
        description: &str,
        fields: Vec<Field<'_>>,
        compression: i32,
        cluster: (String, u64),
        page_size: usize,
        checksums: bool,
    ) -> PyResult<usize> {
        let fields = fields.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
        let compression = Compression::from_number(compression).map_err(|error| exception(&error))?;
        let options = RNTupleOptions { cluster: cluster_size(cluster), page_size, checksums, compression };
        self.with(py, |open| {
            let directory = open.writer.directory(directory)?;
            open.tables.push(open.writer.rntuple(directory, name, description, fields, &[], options)?);
            Ok(open.tables.len() - 1)
        })
    }

    /// Adds fields to an RNTuple, as for `rntuple`.
    fn add_fields(&self, py: Python<'_>, table: usize, fields: Vec<Field<'_>>) -> PyResult<()> {
        let fields = fields.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
        self.with(py, |open| {
            let table = *open.tables.get(table).ok_or_else(|| Error::usage("there is no such table"))?;
            open.writer.add_fields(table, fields)
        })
    }

    /// An existing tree: its number, its entries, and name and storage of its branches.
    fn existing_tree<'py>(&self, py: Python<'py>, path: &str) -> PyResult<ExistingTree<'py>> {
        let (number, entries, branches) = self.with(py, |open| {
            let tree = open.writer.existing_tree(path)?;
            open.tables.push(tree);
            let branches = open.writer.branches(tree).to_vec();
            Ok((open.tables.len() - 1, open.writer.entries(tree), branches))
        })?;
        let branches = branches.into_iter().map(|branch| Ok((branch.name, described(py, &branch.storage)?)));
        Ok((number, entries, branches.collect::<PyResult<_>>()?))
    }

    /// Adds entries to a tree or an RNTuple: the buffers of a column for each branch or field, as bytes.
    fn extend(
        &self,
        py: Python<'_>,
        table: usize,
        entries: usize,
        columns: Vec<Vec<PyReadonlyArray1<'_, u8>>>,
    ) -> PyResult<()> {
        let columns = views(entries, &columns)?;
        detached(py, None, |call| {
            self.open(|open| {
                let table = *open.tables.get(table).ok_or_else(|| Error::usage("there is no such table"))?;
                open.writer.extend(table, &columns, entries, call)
            })
        })
    }

    /// The number of entries of an existing tree.
    fn existing_entries(&self, py: Python<'_>, path: &str) -> PyResult<u64> {
        detached(py, None, |call| self.open(|open| open.writer.existing_entries(path, call)))
    }

    /// Adds branches to an existing tree, as for `tree`, with the buffers of a column for each, as for `extend`.
    fn add_branches(
        &self,
        py: Python<'_>,
        path: &str,
        branches: Vec<Branch<'_>>,
        entries: usize,
        columns: Vec<Vec<PyReadonlyArray1<'_, u8>>>,
    ) -> PyResult<()> {
        let branches = branches.into_iter().map(branch).collect::<PyResult<Vec<_>>>()?;
        let columns = views(entries, &columns)?;
        detached(py, None, |call| {
            self.open(|open| open.writer.add_branches(path, branches, &columns, entries, call))
        })
    }

    /// Writes an object of a class.
    fn object(
        &self,
        py: Python<'_>,
        directory: &str,
        class_name: &str,
        name: &str,
        title: &str,
        members: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = value(members)?;
        self.with(py, |open| {
            let directory = open.writer.directory(directory)?;
            open.writer.object(directory, class_name, name, title, &value)
        })
    }

    /// Finishes the file and moves it into place; returns the number of its bytes.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, None, |call| {
            let open = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            open.ok_or_else(closed)?.writer.commit(call)
        })
    }

    /// Leaves the target unchanged.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Writer {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OpenWriter) -> Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, None, |_| self.open(work))
    }

    fn open<T>(&self, work: impl FnOnce(&mut OpenWriter) -> Result<T>) -> Result<T> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(guard.as_mut().ok_or_else(closed)?)
    }
}

/// Columns of these entries: the buffers of each, as bytes.
fn views<'a>(entries: usize, columns: &'a [Vec<PyReadonlyArray1<'_, u8>>]) -> PyResult<Vec<ColumnView<'a>>> {
    let view = |buffers: &'a Vec<PyReadonlyArray1<'_, u8>>| {
        let buffers = buffers.iter().map(|buffer| buffer.as_slice().map_err(PyErr::from));
        Ok(ColumnView { length: entries, buffers: buffers.collect::<PyResult<_>>()? })
    };
    columns.iter().map(view).collect()
}

fn closed() -> Error {
    Error::new(sapwood::ErrorKind::Closed, "the file is closed").hint("write inside its with block")
}

fn branch((name, title, form, compression, basket_size): Branch<'_>) -> PyResult<BranchSpec> {
    let compression =
        Compression::from_number(compression).map_err(|error| exception(&error.branch(&name)))?;
    Ok(BranchSpec { storage: storage(&form)?, name, title, compression, basket_size })
}

fn field((name, title, form, compression): Field<'_>) -> PyResult<FieldSpec> {
    let compression =
        Compression::from_number(compression).map_err(|error| exception(&error.branch(&name)))?;
    Ok(FieldSpec { form: self::form(&form)?, name, title, compression })
}

/// The form of these nested tuples: the inverse of [`form_tuple`](crate::column::form_tuple).
fn form(tuple: &Bound<'_, PyTuple>) -> PyResult<Form> {
    let content =
        |place: usize| -> PyResult<Box<Form>> { Ok(Box::new(form(tuple.get_item(place)?.cast()?)?)) };
    let forms = |forms: Vec<Bound<'_, PyTuple>>| forms.iter().map(form).collect::<PyResult<Vec<_>>>();
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "primitive" => Form::Primitive(dtype(&tuple.get_item(1)?)?),
        "string" => Form::String,
        "empty" => Form::Empty,
        "list" => Form::List(content(1)?),
        "option" => Form::Option(content(1)?),
        "fixed" => Form::Fixed { size: tuple.get_item(1)?.extract()?, content: content(2)? },
        "tuple" => Form::Tuple(forms(tuple.get_item(1)?.extract()?)?),
        "union" => Form::Union(forms(tuple.get_item(1)?.extract()?)?),
        "record" => {
            let fields: Vec<(String, Bound<'_, PyTuple>)> = tuple.get_item(1)?.extract()?;
            let titles: Vec<String> = tuple.get_item(3)?.extract()?;
            let fields = fields.into_iter().zip(titles);
            let field = |((name, form), title)| Ok(sapwood::Field { name, title, form: self::form(&form)? });
            let fields = fields.map(field).collect::<PyResult<_>>()?;
            Form::Record { class: tuple.get_item(2)?.extract()?, fields }
        }
        _ => return Err(PyValueError::new_err(format!("there is no form '{kind}'"))),
    })
}

/// The branches of a column of split objects, if the first has this index in its tree: name and storage of
/// each.
#[pyfunction]
pub(crate) fn split_branches<'py>(
    py: Python<'py>,
    column: &str,
    form: &Bound<'py, PyTuple>,
    first: usize,
) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
    let branches = split(column, &storage(form)?, first).into_iter();
    branches.map(|(name, storage)| Ok((name, described(py, &storage)?))).collect()
}

/// `("numbers", dtype, dims)`, `("counted", dtype, dims, counter)`, `("text",)`, `("string",)`, `("vector", item)`,
/// `("object", class, members)`, `("objects", class, members)`, where a member is its name and storage, or
/// `("member", of, path)`.
fn storage(form: &Bound<'_, PyTuple>) -> PyResult<Storage> {
    let kind: String = form.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "numbers" => {
            Storage::Numbers { primitive: dtype(&form.get_item(1)?)?, dims: form.get_item(2)?.extract()? }
        }
        "counted" => Storage::Counted {
            primitive: dtype(&form.get_item(1)?)?,
            dims: form.get_item(2)?.extract()?,
            counter: form.get_item(3)?.extract()?,
        },
        "text" => Storage::Text,
        "string" => Storage::StdString,
        "vector" => Storage::Vector(item(&form.get_item(1)?)?),
        "object" => Storage::Object(class(form)?),
        "objects" => Storage::Objects(class(form)?),
        "member" => Storage::Member { of: form.get_item(1)?.extract()?, path: form.get_item(2)?.extract()? },
        _ => return Err(PyValueError::new_err(format!("no branch holds a '{kind}'"))),
    })
}

/// A class of split objects.
fn class(form: &Bound<'_, PyTuple>) -> PyResult<Arc<Class>> {
    let members: Vec<(String, Bound<'_, PyTuple>)> = form.get_item(2)?.extract()?;
    let members = members.into_iter().map(|(name, form)| Ok(ClassMember { name, storage: storage(&form)? }));
    Ok(Arc::new(Class { name: form.get_item(1)?.extract()?, members: members.collect::<PyResult<_>>()? }))
}

fn described_class<'py>(py: Python<'py>, kind: &str, class: &Class) -> PyResult<Bound<'py, PyTuple>> {
    let members = class.members.iter().map(|member| Ok((&member.name, described(py, &member.storage)?)));
    (kind, &class.name, members.collect::<PyResult<Vec<_>>>()?).into_pyobject(py)
}

/// The tuple that [`storage`] takes.
fn described<'py>(py: Python<'py>, storage: &Storage) -> PyResult<Bound<'py, PyTuple>> {
    match storage {
        Storage::Numbers { primitive, dims } => ("numbers", primitive.numpy_name(), dims).into_pyobject(py),
        Storage::Counted { primitive, dims, counter } => {
            ("counted", primitive.numpy_name(), dims, counter).into_pyobject(py)
        }
        Storage::Text => ("text",).into_pyobject(py),
        Storage::StdString => ("string",).into_pyobject(py),
        Storage::Vector(item) => ("vector", described_item(py, item)?).into_pyobject(py),
        Storage::Object(class) => described_class(py, "object", class),
        Storage::Objects(class) => described_class(py, "objects", class),
        Storage::Member { of, path } => ("member", of, path).into_pyobject(py),
    }
}

fn described_item<'py>(py: Python<'py>, item: &VectorItem) -> PyResult<Bound<'py, PyAny>> {
    Ok(match item {
        VectorItem::Number(primitive) => primitive.numpy_name().into_pyobject(py)?.into_any(),
        VectorItem::String => ("string",).into_pyobject(py)?.into_any(),
        VectorItem::Vector(item) => ("vector", described_item(py, item)?).into_pyobject(py)?.into_any(),
    })
}

/// What a vector holds: a dtype, `("string",)`, or `("vector", item)`.
fn item(form: &Bound<'_, PyAny>) -> PyResult<VectorItem> {
    let Ok(tuple) = form.cast::<PyTuple>() else { return Ok(VectorItem::Number(dtype(form)?)) };
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "string" => VectorItem::String,
        _ => VectorItem::Vector(Box::new(item(&tuple.get_item(1)?)?)),
    })
}

fn dtype(name: &Bound<'_, PyAny>) -> PyResult<Primitive> {
    let name: String = name.extract()?;
    let found = Primitive::ALL.into_iter().find(|primitive| primitive.numpy_name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("branches do not hold {name}")))
}

/// A value of an object's member: None, a number, a text, an array, a mapping of members, or a list of
/// (class, value).
fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.extract::<String>() {
        return Ok(Value::Text(text));
    }
    if let Ok(members) = object.cast::<PyDict>() {
        let members = members.iter().map(|(name, member)| Ok((name.extract()?, value(&member)?)));
        return Ok(Value::Members(members.collect::<PyResult<_>>()?));
    }
    if let Ok(items) = object.cast::<PyList>() {
        let items = items.iter().map(|pair| {
            let (class_name, item): (String, Bound<'_, PyAny>) = pair.extract()?;
            Ok((class_name, value(&item)?))
        });
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if let Some(numbers) = array(object) {
        return numbers;
    }
    match (object.extract::<i64>(), object.extract::<f64>()) {
        (Ok(number), _) => Ok(Value::Int(number)),
        (_, Ok(number)) => Ok(Value::Float(number)),
        _ => Err(PyTypeError::new_err(format!("{object} cannot be a member of an object"))),
    }
}

/// The numbers of an array, which must be contiguous.
fn array(object: &Bound<'_, PyAny>) -> Option<PyResult<Value>> {
    fn numbers<T: numpy::Element + Copy>(
        object: &Bound<'_, PyAny>,
        primitive: Primitive,
        bytes: impl Fn(T) -> Vec<u8>,
    ) -> Option<PyResult<Value>> {
        let array: PyReadonlyArrayDyn<'_, T> = object.extract().ok()?;
        if array.ndim() == 0 {
            return None;
        }
        let values = array.as_slice().map_err(PyErr::from);
        Some(
            values.map(|values| {
                Value::Numbers(primitive, values.iter().flat_map(|value| bytes(*value)).collect())
            }),
        )
    }
    numbers::<f64>(object, Primitive::F64, |value| value.to_ne_bytes().to_vec())
        .or_else(|| numbers::<f32>(object, Primitive::F32, |value| value.to_ne_bytes().to_vec()))
        .or_else(|| numbers::<i32>(object, Primitive::I32, |value| value.to_ne_bytes().to_vec()))
        .or_else(|| numbers::<i16>(object, Primitive::I16, |value| value.to_ne_bytes().to_vec()))
        .or_else(|| numbers::<i8>(object, Primitive::I8, |value| value.to_ne_bytes().to_vec()))
}
