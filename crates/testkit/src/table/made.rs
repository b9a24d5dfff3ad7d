//! Writes the files of a [`PagedTable`](super::PagedTable).

use super::page::{Page, compressed};
use bytes::Bytes;
use sapwood_core::{ByteRange, Column, Error, Extremes, Form, Primitive, Result, Statistics};
use sapwood_table::{EntryStatistics, FileIndex};
use std::ops::Range;
use std::sync::Arc;

/// Files with columns in pages, and what is known without reading them.
#[derive(Debug)]
pub struct PagedFiles {
    /// The content of each file.
    pub files: Vec<Bytes>,
    /// The first entry of each cluster, then the number of entries.
    pub(super) starts: Vec<u64>,
    pub(super) columns: Vec<PagedColumn>,
    pub(super) stored: Vec<StoredColumn>,
    /// Where the list of pages is in the first file.
    pub(super) list: ByteRange,
}

/// A column: values, or lists of values or of records.
#[derive(Debug)]
pub(super) struct PagedColumn {
    pub(super) name: String,
    pub(super) form: Form,
    /// The stored column with the end of each list, counted from the begin of the cluster.
    pub(super) ends: Option<usize>,
    /// The stored columns with the items, by the names of their fields; values have none.
    pub(super) fields: Vec<(String, usize)>,
    pub(super) statistics: Vec<EntryStatistics>,
}

/// A column of numbers, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredColumn {
    pub(super) primitive: Primitive,
    pub(super) file: FileIndex,
}

/// Elements of a column of numbers in each cluster, as bytes.
type Elements = Vec<Vec<u8>>;

impl PagedFiles {
    /// Writes columns of numbers, of lists of numbers, and of lists of records of numbers. Columns that share their buffer
    /// of offsets share its pages. The last column goes into a second file. A page has at most `page` elements.
    ///
    /// # Panics
    /// If a column has another form.
    pub fn write(columns: &[(&str, Column)], cluster_sizes: &[u64], page: usize) -> PagedFiles {
        let mut starts = vec![0];
        starts.extend(cluster_sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        }));
        let mut made = PagedFiles {
            files: Vec::new(),
            starts,
            columns: Vec::new(),
            stored: Vec::new(),
            list: ByteRange { start: 0, len: 0 },
        };
        let mut elements: Vec<Elements> = Vec::new();
        for (number, (name, column)) in columns.iter().enumerate() {
            let file = FileIndex::from(number > 0 && number + 1 == columns.len());
            let twin = columns[..number].iter().position(|(_, other)| shares_offsets(other, column));
            let ends = twin.and_then(|twin| made.columns[twin].ends);
            made.add(name, column, ends, file, &mut elements);
        }
        made.store(&elements, page);
        made
    }

    fn add(
        &mut self,
        name: &str,
        column: &Column,
        ends: Option<usize>,
        file: FileIndex,
        elements: &mut Vec<Elements>,
    ) {
        let clusters: Vec<Range<u64>> = self.starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let (items, mut ends, buffers) = match &column.form {
            Form::List(items) => (&**items, ends, &column.buffers[1..]),
            form => (form, None, &column.buffers[..]),
        };
        let is_list = buffers.len() < column.buffers.len();
        let offsets: &[i64] = if is_list { column.buffers[0].view() } else { &[] };
        let place = |entry: u64| if is_list { offsets[entry as usize] as usize } else { entry as usize };
        if is_list && ends.is_none() {
            ends = Some(self.stored.len());
            self.stored.push(StoredColumn { primitive: Primitive::U64, file });
            let ends_of = |cluster: &Range<u64>| {
                let ends = cluster.clone().map(|entry| place(entry + 1) - place(cluster.start));
                ends.flat_map(|end| (end as u64).to_le_bytes()).collect()
            };
            elements.push(clusters.iter().map(ends_of).collect());
        }
        let primitives: Vec<(String, Primitive)> = match items {
            Form::Primitive(primitive) => vec![(String::new(), *primitive)],
            Form::Record { fields, .. } => {
                fields.iter().map(|field| (field.name.clone(), primitive(&field.form))).collect()
            }
            other => vec![(String::new(), primitive(other))],
        };
        let mut fields = Vec::new();
        for ((field, primitive), buffer) in primitives.into_iter().zip(buffers) {
            fields.push((field, self.stored.len()));
            self.stored.push(StoredColumn { primitive, file });
            let size = primitive.size();
            let part = |cluster: &Range<u64>| {
                buffer.as_bytes()[place(cluster.start) * size..place(cluster.end) * size].to_vec()
            };
            elements.push(clusters.iter().map(part).collect());
        }
        let statistics = match column.form {
            Form::Primitive(Primitive::I64) => clusters.iter().map(|part| extremes(column, part)).collect(),
            _ => Vec::new(),
        };
        let form = column.form.clone();
        self.columns.push(PagedColumn { name: name.to_owned(), form, ends, fields, statistics });
    }

    /// Writes all pages, those of a cluster together, and the list of them.
    fn store(&mut self, elements: &[Elements], page: usize) {
        let mut files = vec![b"paged".to_vec(), b"pages".to_vec()];
        let clusters = self.starts.len() - 1;
        let mut lists = vec![vec![Vec::new(); clusters]; elements.len()];
        for cluster in 0..clusters {
            for ((stored, elements), list) in self.stored.iter().zip(elements).zip(&mut lists) {
                let size = stored.primitive.size();
                for page in elements[cluster].chunks(page * size) {
                    let bytes = compressed(page);
                    let file = &mut files[stored.file];
                    list[cluster].push([file.len(), bytes.len(), page.len() / size]);
                    file.extend(bytes);
                }
            }
        }
        let pages = lists.iter().flatten();
        let words = pages.flat_map(|pages| [pages.len()].into_iter().chain(pages.iter().copied().flatten()));
        let list: Vec<u8> = words.flat_map(|word| (word as u64).to_le_bytes()).collect();
        self.list = ByteRange { start: files[0].len() as u64, len: list.len() as u64 };
        files[0].extend(list);
        self.files = files.into_iter().map(Bytes::from).collect();
    }

    /// The pages of each stored column, by cluster, from their list: their number, then where each is, and how many elements
    /// it has.
    pub(super) fn pages(&self, list: &[u8]) -> Result<Vec<Vec<Vec<Page>>>> {
        let mut words = list.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
        let mut next = || words.next().ok_or_else(|| Error::corrupt("the list of pages is too short"));
        let mut cluster = || {
            let (pages, mut end) = (next()?, 0);
            let page = |_| {
                let (range, first) = (ByteRange { start: next()?, len: next()? }, end);
                end += next()?;
                Ok(Page { range, elements: first..end })
            };
            (0..pages).map(page).collect()
        };
        let clusters = self.starts.len().saturating_sub(1);
        self.stored.iter().map(|_| (0..clusters).map(|_| cluster()).collect()).collect()
    }
}

fn shares_offsets(one: &Column, other: &Column) -> bool {
    let lists = |column: &Column| matches!(column.form, Form::List(_));
    lists(one) && lists(other) && Arc::ptr_eq(&one.buffers[0], &other.buffers[0])
}

fn primitive(form: &Form) -> Primitive {
    match form {
        Form::Primitive(primitive) => *primitive,
        other => unimplemented!("pages of {other:?}"),
    }
}

fn extremes(column: &Column, entries: &Range<u64>) -> EntryStatistics {
    let values: &[i64] = &column.buffers[0].view()[entries.start as usize..entries.end as usize];
    let extremes = values.iter().min().zip(values.iter().max());
    let statistics = Statistics {
        count: values.len() as u64,
        nans: 0,
        extremes: extremes.map(|(least, most)| Extremes::Signed(*least, *most)),
    };
    EntryStatistics { entries: entries.clone(), statistics: Some(statistics) }
}
