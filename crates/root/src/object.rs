//! Objects other than trees, decoded whole.

use sapwood_core::{Column, Error, ErrorKind, Result};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Key, Record};

/// An object of a file.
#[derive(Debug, Clone)]
pub struct Object {
    /// The C++ class, as the key names it.
    pub class_name: String,
    /// One item: the object.
    pub column: Column,
    /// Members that cannot be read and are not in the column: path and reason.
    pub skipped: Vec<(String, String)>,
}

impl Object {
    /// Decodes the record of a key.
    ///
    /// # Errors
    /// `Unsupported` if the class has no description; `Corrupt` if the object does not match its description.
    pub fn read(key: &Key, record: &Record, compiler: &Compiler) -> Result<Object> {
        let unreadable = |error: Error| {
            if error.kind() != ErrorKind::Unsupported {
                return error;
            }
            let message = format!("'{}' of class {}: {}", key.name, key.class_name, error.message());
            let hint = "its class has a custom streamer, whose code is not in the file";
            Error::unsupported(message).hint(hint).at(key.offset)
        };
        let program = compiler.object(&key.class_name, &[]).map_err(unreadable)?;
        let read = program.read_object(&record.payload, record.key_len as usize);
        let (column, skipped) = read.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => unreadable(error),
            _ => record.locate(&format!("'{}'", key.name), &error),
        })?;
        Ok(Object { class_name: key.class_name.clone(), column, skipped })
    }
}
