//! Writes values as the bytes of an object, following the description of its class.

use super::known_classes;
use crate::{StoredNumber, array_type};
use sapwood_core::{Error, Primitive, Result};
use sapwood_tfile::write::RecordBuffer;
use sapwood_tfile::{ElementKind, StreamerElement};

/// The value of an object or of a member.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A null pointer.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Numbers, in the byte order of the machine.
    Numbers(Primitive, Vec<u8>),
    /// Members by name; those of base classes stand beside the object's own.
    Members(Vec<(String, Value)>),
    /// The objects in a list, each with its class.
    List(Vec<(String, Value)>),
}

impl Value {
    fn member(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Members(members) => {
                members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    fn int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            // Some writers store counts as floating-point numbers, and others the other way round.
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(*value as i64),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }
}

/// Writes an object of a class, from its byte count on.
///
/// # Errors
/// `Unsupported` if the class is not known, `Usage` if a member is missing or has a value of another type.
pub fn put_object(buffer: &mut RecordBuffer, class_name: &str, value: &Value) -> Result<()> {
    if let Some(primitive) = array_type(class_name) {
        return put_array(buffer, primitive, value);
    }
    match class_name {
        "TObject" => {
            let bits = value.member("fBits").and_then(Value::int).unwrap_or_default();
            let id = value.member("fUniqueID").and_then(Value::int).unwrap_or_default();
            buffer.i16(1);
            buffer.u32(id as u32);
            buffer.u32(bits as u32 & PERSISTENT_BITS);
            Ok(())
        }
        "TList" | "THashList" => put_list(buffer, value),
        _ => {
            let known = known_classes().newest(class_name);
            let info = known.ok_or_else(|| {
                Error::unsupported(format!("objects of class {class_name} cannot be written"))
            })?;
            let mut result = Ok(());
            buffer.object(info.version as i16, |buffer| {
                result = info.elements.iter().try_for_each(|element| put_element(buffer, element, value));
            });
            result
        }
    }
}

/// `TObject` bits that have a meaning on file: not where it is in memory, nor that it is referenced.
const PERSISTENT_BITS: u32 = 0x00ff_ffef;

fn put_element(buffer: &mut RecordBuffer, element: &StreamerElement, object: &Value) -> Result<()> {
    if let ElementKind::Base { .. } = element.kind {
        return match array_type(&element.name) {
            Some(primitive) => put_array(buffer, primitive, given(element, object.member("fArray"))?),
            None => put_object(buffer, &element.name, object),
        };
    }
    let value = given(element, object.member(&element.name))?;
    let class_name = element.type_name.trim_end_matches('*');
    match (&element.kind, element.type_code) {
        (ElementKind::BasicType, code) => {
            put_number(buffer, code, value).ok_or_else(|| unfit(element, value))
        }
        (ElementKind::String, _) => match value {
            Value::Text(text) => {
                buffer.tstring(text);
                Ok(())
            }
            _ => Err(unfit(element, value)),
        },
        (ElementKind::Object | ElementKind::ObjectAny, _) | (ElementKind::ObjectPointer, IN_PLACE) => {
            put_object(buffer, class_name, value)
        }
        (ElementKind::ObjectPointer, _) => match value {
            Value::Null => {
                buffer.null();
                Ok(())
            }
            _ => put_slot(buffer, class_name, value),
        },
        (ElementKind::BasicPointer(count), _) => {
            let count = object.member(&count.name).and_then(Value::int);
            put_counted(buffer, element, count, value)
        }
        _ => Err(Error::unsupported(format!("the member {} cannot be written", element.name))),
    }
}

/// The type code of a pointer that is never null: the object is stored in its place.
const IN_PLACE: i32 = 63;
/// Added to the type code of numbers for a pointer to as many as another member counts.
const POINTER: i32 = 40;

fn given<'a>(element: &StreamerElement, value: Option<&'a Value>) -> Result<&'a Value> {
    value.ok_or_else(|| Error::usage(format!("the member {} is missing", element.name)))
}

fn unfit(element: &StreamerElement, value: &Value) -> Error {
    Error::usage(format!(
        "{value:?} is no value for the member {} of type {}",
        element.name, element.type_name
    ))
}

fn put_slot(buffer: &mut RecordBuffer, class_name: &str, value: &Value) -> Result<()> {
    let mut result = Ok(());
    buffer.slot(class_name, |buffer| result = put_object(buffer, class_name, value));
    result
}

fn put_list(buffer: &mut RecordBuffer, value: &Value) -> Result<()> {
    let items = match value {
        Value::List(items) => items.as_slice(),
        Value::Null => &[],
        _ => return Err(Error::usage(format!("{value:?} is not a list"))),
    };
    let mut result = Ok(());
    buffer.tlist("", items.len(), |buffer| {
        for (class_name, value) in items {
            let written = put_slot(buffer, class_name, value);
            buffer.u8(0); // the option of the entry
            result = std::mem::replace(&mut result, Ok(())).and(written);
        }
    });
    result
}

/// A `TArray`: the number of its items, and the items; no byte count (root-io-spec TArray §2).
fn put_array(buffer: &mut RecordBuffer, primitive: Primitive, value: &Value) -> Result<()> {
    let Value::Numbers(found, bytes) = value else {
        return Err(Error::usage(format!("{value:?} is not an array of numbers")));
    };
    check_type(primitive, *found)?;
    buffer.count(bytes.len() / primitive.size());
    put_numbers(buffer, primitive, bytes);
    Ok(())
}

fn check_type(wanted: Primitive, found: Primitive) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    Err(Error::usage(format!(
        "an array of {} was given for one of {}",
        found.numpy_name(),
        wanted.numpy_name()
    )))
}

/// A flag, and as many numbers as another member counts.
fn put_counted(
    buffer: &mut RecordBuffer,
    element: &StreamerElement,
    count: Option<i64>,
    value: &Value,
) -> Result<()> {
    let primitive = match element.type_code - POINTER {
        5 => Primitive::F32,
        8 => Primitive::F64,
        _ => return Err(Error::unsupported(format!("the member {} cannot be written", element.name))),
    };
    match value {
        Value::Null if count == Some(0) => buffer.u8(0),
        Value::Numbers(found, bytes) => {
            check_type(primitive, *found)?;
            if count != i64::try_from(bytes.len() / primitive.size()).ok() {
                return Err(Error::usage(format!("{} has another length than it should", element.name)));
            }
            buffer.bool(!bytes.is_empty());
            put_numbers(buffer, primitive, bytes);
        }
        _ => return Err(unfit(element, value)),
    }
    Ok(())
}

fn put_numbers(buffer: &mut RecordBuffer, primitive: Primitive, bytes: &[u8]) {
    let mut on_file = bytes.to_vec();
    StoredNumber::Plain(primitive).decode_in_place(&mut on_file);
    buffer.bytes(&on_file);
}

/// A number of a type code (root-io-spec ElementTypes §2); `None` if the value is none of that type.
fn put_number(buffer: &mut RecordBuffer, type_code: i32, value: &Value) -> Option<()> {
    match type_code {
        1 => buffer.i8(value.int()?.try_into().ok()?),
        2 => buffer.i16(value.int()?.try_into().ok()?),
        3 | 6 => buffer.i32(value.int()?.try_into().ok()?),
        4 | 16 => buffer.i64(value.int()?),
        5 => buffer.f32(value.float()? as f32),
        8 => buffer.f64(value.float()?),
        11 => buffer.u8(value.int()?.try_into().ok()?),
        12 => buffer.u16(value.int()?.try_into().ok()?),
        13 | 15 => buffer.u32(value.int()?.try_into().ok()?),
        14 | 17 => buffer.u64(value.int()?.try_into().ok()?),
        18 => buffer.bool(value.int()? != 0),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(class_name: &str, value: &Value) -> Result<Vec<u8>> {
        let mut buffer = RecordBuffer::new(0);
        put_object(&mut buffer, class_name, value)?;
        buffer.finish()
    }

    #[test]
    fn a_text() {
        let value = Value::Members(vec![("fString".to_owned(), Value::Text("hello".to_owned()))]);
        let bytes = bytes_of("TObjString", &value).unwrap();
        assert_eq!(bytes, b"\x40\0\0\x12\0\x01\0\x01\0\0\0\0\0\0\0\0\x05hello");
    }

    #[test]
    fn what_does_not_fit_is_reported() {
        let with = |value| Value::Members(vec![("fString".to_owned(), value)]);
        let message = |value| bytes_of("TObjString", &with(value)).unwrap_err().to_string();
        assert!(message(Value::Int(3)).contains("fString"));
        assert!(bytes_of("TObjString", &Value::Members(vec![])).is_err());
        assert!(bytes_of("Strange", &with(Value::Null)).unwrap_err().to_string().contains("Strange"));
        assert!(bytes_of("TArrayD", &Value::Numbers(Primitive::F32, vec![0; 4])).is_err());
    }
}
