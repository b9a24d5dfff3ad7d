//! A program with its metadata, and its runs.

mod of_classes;

use crate::builder::{Builder, Raw};
use crate::run::Runner;
use crate::{Compiler, Node, StreamInput};
use sapwood_core::{Column, Form, Result};

/// A decoding program for a branch or an object.
#[derive(Debug, Clone)]
pub struct Program {
    /// The root of the program.
    pub node: Node,
    /// The form of the column, as far as it does not depend on the data: objects behind pointers are
    /// [`Form::Empty`] here, and complete in the [column](ProgramRun::finish).
    pub form: Form,
    /// The C++ type, spelled with the names of `<cstdint>`.
    pub type_name: String,
    /// Members that cannot be read and are omitted: path and reason.
    pub skipped: Vec<(String, String)>,
    /// The member whose column holds the number of items for each object of an entry, if
    /// [`ProgramRun::entry_counted`] needs it.
    pub counter: Option<String>,
    /// Compiles classes that only the data name.
    pub(crate) compiler: Option<Compiler>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        (&self.node, &self.type_name, &self.skipped) == (&other.node, &other.type_name, &other.skipped)
    }
}

impl Program {
    /// A program that needs no description of classes.
    pub fn new(node: Node, type_name: impl Into<String>) -> Self {
        let form = node.form();
        Program {
            node,
            form,
            type_name: type_name.into(),
            skipped: Vec::new(),
            counter: None,
            compiler: None,
        }
    }

    /// True if entries contain only numbers and texts, in any arrays and lists, and no references.
    pub fn is_plain(&self) -> bool {
        self.node.is_plain()
    }

    /// Number of columns, as far as it does not depend on the data; long names and comments count as well.
    pub fn weight(&self) -> usize {
        self.node.size().weight
    }

    /// True if the program was compiled from class descriptions of the file.
    pub fn follows_descriptions(&self) -> bool {
        self.compiler.is_some()
    }

    /// Begins to build a column.
    pub fn run(&self) -> ProgramRun<'_> {
        ProgramRun {
            program: self,
            runner: Runner::new(self.compiler.as_ref()),
            builder: Builder::new(&self.node),
            entries: 0,
        }
    }

    /// The positions of words in an entry that name positions in its buffer: tags of classes named before,
    /// and of earlier objects. If the entry moves, these words change by the same number of bytes.
    ///
    /// # Errors
    /// `Corrupt` if the entry breaks the format; `Unsupported` if the file does not describe a part of it,
    /// which may contain such words.
    pub fn position_tags(&self, entry: StreamInput<'_>) -> Result<Vec<usize>> {
        Runner::new(self.compiler.as_ref()).position_tags(&self.node, entry)
    }

    /// Runs the program on the decompressed payload of one record, behind a key of `key_len` bytes: returns a
    /// column of one item, and path and reason of everything that is missing from it:
    /// [skipped](Program::skipped) members, and objects of classes that only the data name and nothing
    /// describes.
    ///
    /// # Errors
    /// `Corrupt` if the payload breaks the format; `Unsupported` if it does not match its description.
    pub fn read_object(&self, payload: &[u8], key_len: usize) -> Result<(Column, Vec<(String, String)>)> {
        let unframed = match &self.node {
            // A collection that is an object itself has a count and items only, without a frame.
            Node::Collection(collection) if !begins_with_byte_count(payload) => {
                Some(Program { node: Node::List(Box::new(collection.item.clone())), ..self.clone() })
            }
            _ => None,
        };
        let mut run = unframed.as_ref().unwrap_or(self).run();
        run.runner = run.runner.tolerant();
        run.entry(StreamInput::new(payload, 0..payload.len(), key_len)?)?;
        let skipped = run.program.node.gaps(&run.builder, self.skipped.clone());
        Ok((ColumnPart::join(vec![run.finish()])?, skipped))
    }
}

/// A count is always smaller than a word that marks a byte count (root-io-spec Buffer §3).
fn begins_with_byte_count(payload: &[u8]) -> bool {
    payload.first().is_some_and(|byte| byte & 0x40 != 0)
}

/// A column that is being built.
#[derive(Debug)]
pub struct ProgramRun<'p> {
    program: &'p Program,
    runner: Runner<'p>,
    builder: Builder,
    entries: usize,
}

impl ProgramRun<'_> {
    /// Reads one entry, all of it.
    ///
    /// # Errors
    /// `Corrupt` if the entry breaks the format; `Unsupported` if it does not match its description.
    pub fn entry(&mut self, input: StreamInput<'_>) -> Result<()> {
        self.entry_counted(input, &[])
    }

    /// As [`entry`](ProgramRun::entry); `counts` are the values of the program's [counter](Program::counter), one for
    /// each object of the entry.
    ///
    /// # Errors
    /// As [`entry`](ProgramRun::entry).
    pub fn entry_counted(&mut self, input: StreamInput<'_>, counts: &[i64]) -> Result<()> {
        self.runner.entry(&self.program.node, input, counts, &mut self.builder)?;
        self.entries += 1;
        Ok(())
    }

    /// The finished part.
    pub fn finish(self) -> ColumnPart {
        let node = &self.program.node;
        let form =
            if node.is_open() { node.form_with(Some(&self.builder)) } else { self.program.form.clone() };
        let mut buffers = Vec::new();
        self.builder.finish(&mut buffers);
        ColumnPart { form, length: self.entries, buffers }
    }
}

/// A part of a column: the entries of one basket.
#[derive(Debug)]
pub struct ColumnPart {
    form: Form,
    length: usize,
    buffers: Vec<Raw>,
}

impl ColumnPart {
    /// Joins consecutive parts to a column, in a form that fits all of them.
    ///
    /// # Errors
    /// `Unsupported` if the data hold too many classes in one place.
    pub fn join(parts: Vec<ColumnPart>) -> Result<Column> {
        let first = parts.first().map_or(Form::Empty, |part| part.form.clone());
        if parts.iter().all(|part| part.form == first) {
            let all: Vec<Vec<&[u8]>> = parts.iter().map(|part| part.slices()).collect();
            return Ok(Column::join(&first, &all, parts.iter().map(|part| part.length).sum()));
        }
        let columns = parts.iter().map(|part| Column::join(&part.form, &[part.slices()], part.length));
        Column::concat(columns.collect())
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(Raw::as_bytes).collect()
    }
}
