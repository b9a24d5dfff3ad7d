//! Walks over ROOT's containers of pointers.

use super::marks::Pointer;
use super::walker::Walker;
use crate::Cursor;
use sapwood_core::Result;

/// The smallest pointer: null, or a reference.
const POINTER: usize = 4;

impl<'a> Walker<'a> {
    /// Walks over a `TObjArray` (root-io-spec StreamerInfo §5); `each` reads one pointer and the object behind it. Returns
    /// the position of the count and, for an outline, the pointers.
    ///
    /// # Errors
    /// Those of `each`; `Corrupt` if there cannot be as many pointers.
    pub fn array(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<Pointer>,
    ) -> Result<(usize, Vec<Pointer>)> {
        let header = self.open()?;
        head(&mut self.cursor, header.version)?;
        let count_at = self.position();
        let count = self.cursor.count(POINTER)?;
        self.cursor.skip(4)?; // fLowerBound
        let mut pointers = Vec::with_capacity(if self.is_outlining() { count } else { 0 });
        for _ in 0..count {
            let pointer = each(self)?;
            if self.is_outlining() {
                pointers.push(pointer);
            }
        }
        self.close(&header, "TObjArray")?;
        Ok((count_at, pointers))
    }

    /// Walks over a `TList`, or a class that is stored like one, where an option follows each pointer (StreamerInfo §4);
    /// `each` reads a pointer and the object behind it.
    ///
    /// # Errors
    /// Those of `each`; `Corrupt` if there cannot be as many pointers.
    pub fn list(&mut self, class: &str, mut each: impl FnMut(&mut Self) -> Result<Pointer>) -> Result<()> {
        let header = self.open()?;
        head(&mut self.cursor, header.version)?;
        for _ in 0..self.cursor.count(POINTER)? {
            each(self)?;
            if header.version > 3 {
                let len = match self.cursor.u8()? {
                    255 if header.version > 4 => self.cursor.count(1)?,
                    len => usize::from(len),
                };
                self.cursor.skip(len)?;
            }
        }
        self.close(&header, class)
    }
}

/// Reads the members of `TList` and `TObjArray` before their number of pointers.
fn head(cursor: &mut Cursor<'_>, version: i16) -> Result<()> {
    if version > 2 {
        cursor.tobject()?;
    }
    if version > 1 {
        cursor.tstring_bytes()?;
    }
    Ok(())
}
