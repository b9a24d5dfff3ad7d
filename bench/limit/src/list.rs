//! The list of baskets that `bench/local.py` writes.
//!
//! The first line is the path of the file. A line `column NAME ITEM_SIZE flat|jagged` begins a column; each line
//! after it is a basket: offset in the file, then fNbytes, fKeylen, fObjlen, fLast of its key, and its entries.

use limits::Result;
use std::path::PathBuf;

pub struct List {
    pub path: PathBuf,
    pub columns: Vec<Column>,
}

pub struct Column {
    pub name: String,
    /// Bytes of one number.
    pub item_size: usize,
    /// Whether its baskets end with a table of entry offsets.
    pub jagged: bool,
    pub baskets: Vec<Basket>,
}

pub struct Basket {
    pub offset: u64,
    pub nbytes: usize,
    pub keylen: usize,
    pub objlen: usize,
    pub last: usize,
    pub entries: usize,
}

impl Basket {
    /// Bytes of values, between the key and fLast.
    pub fn data_len(&self) -> usize {
        self.last - self.keylen
    }
}

impl List {
    pub fn parse(text: &str) -> Result<List> {
        let mut lines = text.lines();
        let path = lines.next().ok_or("the list is empty")?.into();
        let mut columns: Vec<Column> = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words.as_slice() {
                ["column", name, item_size, kind] => columns.push(Column {
                    name: (*name).into(),
                    item_size: item_size.parse()?,
                    jagged: *kind == "jagged",
                    baskets: Vec::new(),
                }),
                [offset, nbytes, keylen, objlen, last, entries] => {
                    let column = columns.last_mut().ok_or("a basket before the first column")?;
                    column.baskets.push(Basket {
                        offset: offset.parse()?,
                        nbytes: nbytes.parse()?,
                        keylen: keylen.parse()?,
                        objlen: objlen.parse()?,
                        last: last.parse()?,
                        entries: entries.parse()?,
                    });
                }
                _ => return Err(format!("not a line of a list: {line}").into()),
            }
        }
        Ok(List { path, columns })
    }
}
