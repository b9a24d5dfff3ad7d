//! What the fields of an RNTuple are, to compare them with those of another one.

use crate::node::Builder;
use crate::schema::{ExtraTypeInfo, Role};
use crate::table::RNTuple;
use sapwood_table::Table;

/// Fields nested deeper than this come from a damaged file.
const MOST_DEPTH: usize = 64;

impl RNTuple {
    /// What it says about types, other than their fields.
    pub fn type_infos(&self) -> &[ExtraTypeInfo] {
        &self.schema.extra
    }

    /// Descriptions of the types of all columns. Columns with the same one hold the same, however it is encoded.
    pub fn signatures(&self) -> Vec<String> {
        let builder = self.builder().with_objects_as_bytes();
        let signature = |column| {
            let mut text = String::new();
            if let Some(id) = self.field_id(column) {
                self.describe(id, &builder, 0, &mut text);
            }
            text
        };
        (0..self.column_count()).map(signature).collect()
    }

    fn describe(&self, id: usize, builder: &Builder<'_>, depth: usize, text: &mut String) {
        let (Some(field), true) = (self.schema.fields.get(id), depth <= MOST_DEPTH) else { return };
        let children = builder.children.get(id).map_or(&[][..], Vec::as_slice);
        match field.type_name.is_empty() {
            true => *text += "a record or a collection of records",
            false => *text += &field.type_name,
        }
        if field.type_version > 0 {
            *text += &format!(" version {}", field.type_version);
        }
        // Nothing else tells what the bytes of objects mean.
        if let (Role::Streamed, Some(checksum)) = (field.role, field.type_checksum) {
            *text += &format!(" ({checksum:#x})");
        }
        let below = children.iter().filter(|_| field.source.is_none());
        for (number, child) in below.enumerate() {
            *text += if number == 0 { " {" } else { ", " };
            *text += self.schema.fields.get(*child).map_or("", |child| &child.name);
            *text += " ";
            self.describe(*child, builder, depth + 1, text);
        }
        if !children.is_empty() && field.source.is_none() {
            *text += "}";
        }
    }

    /// The top-level field above the one that a projection shows.
    pub(crate) fn root_of_source(&self, id: usize) -> Option<usize> {
        let mut field = self.schema.fields.get(id)?.source?;
        // Parents come before their sub-fields.
        loop {
            let above = self.schema.fields.get(field)?.parent;
            if above == field {
                return Some(field);
            }
            field = above;
        }
    }
}
