//! A basket: one byte chooses how it is read, two say how many entries it has, the rest is its record.
#![no_main]

use bytes::Bytes;
use sapwood_core::{Counters, Form, Primitive};
use sapwood_streamer::{Node, StoredNumber, Program};
use sapwood_ttree::{BasketBytes, BasketRef, Interpretation, Layout, decode};
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&[choice, high, low], record)) = data.split_first_chunk() else { return };
    let entries = u64::from(high) << 8 | u64::from(low);
    let bytes = Bytes::copy_from_slice(record);
    let embedded = choice & 0x80 != 0;
    let basket = BasketRef {
        first_entry: 10,
        entries,
        offset: if embedded { 0 } else { 1000 },
        len: if embedded { 0 } else { record.len() as u64 },
        embedded: embedded.then(|| bytes.clone()),
    };
    let interpretation = interpretation(choice & 0x7f);
    let baskets = [BasketBytes { basket: &basket, bytes }];
    if let Ok(column) = decode(&interpretation, &baskets, 10..10 + entries, None, None, &Counters::default()) {
        assert_eq!(column.length as u64, entries);
    }
});

/// Every layout, and programs of the kinds that branches have.
fn interpretation(choice: u8) -> Interpretation {
    let number = StoredNumber::Plain(Primitive::F32);
    let numbers = Form::Primitive(Primitive::F32);
    let one = Node::Number(number);
    let list = |item| Node::List(Box::new(item));
    let framed = |content| Node::Framed(Box::new(content));
    let program = match choice % 16 {
        0 => return flat(numbers, Layout::Fixed { number, values: 1 }),
        1 => return flat(Form::fixed(&[3], numbers), Layout::Fixed { number, values: 3 }),
        2 => return flat(Form::list(numbers), Layout::Jagged { number, values: 1, header: 0 }),
        3 => return flat(Form::list(numbers), Layout::Jagged { number, values: 1, header: 1 }),
        4 => return flat(Form::list(numbers), Layout::Jagged { number, values: 1, header: 10 }),
        5 => Node::Bits,
        6 => Node::Text,
        7 => Node::TextOrNothing,
        8 => Node::LongText,
        9 => Node::Fixed { size: 2, content: Box::new(Node::Text) },
        10 => Node::FlaggedToEnd(Box::new(one)),
        11 => Node::ToEnd(Box::new(Node::Text)),
        12 => framed(list(Node::Text)),
        13 => framed(list(list(one))),
        14 => Node::FramedOrNothing(Box::new(list(one))),
        _ => Node::Record(vec![("text".to_owned(), Node::Text), ("bits".to_owned(), Node::Bits)]),
    };
    flat(program.form(), Layout::Program(Arc::new(Program::new(program, "program"))))
}

fn flat(form: Form, layout: Layout) -> Interpretation {
    Interpretation { form, layout, count_branch: None, skipped: Vec::new() }
}
