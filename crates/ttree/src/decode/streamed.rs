//! Entries that a program decodes.

use super::piece::Piece;
use rayon::prelude::*;
use sapwood_core::{Column, Form, Result};
use sapwood_streamer::{Builder, Input, Node};

/// The column of all pieces.
pub(super) fn decode(node: &Node, pieces: &[Piece<'_>]) -> Result<Column> {
    let form = node.form();
    let built: Vec<Builder> =
        pieces.par_iter().map(|piece| build(node, &form, piece)).collect::<Result<_>>()?;
    let parts: Vec<Vec<&[u8]>> = built.iter().map(Builder::slices).collect();
    Ok(Column::join(&form, &parts, pieces.iter().map(Piece::len).sum()))
}

fn build(node: &Node, form: &Form, piece: &Piece<'_>) -> Result<Builder> {
    let mut builder = Builder::new(form);
    piece.with_content(|content| {
        let mut boundaries = Vec::new();
        piece.boundaries(&content, &mut boundaries)?;
        for (begin, end) in boundaries.iter().zip(boundaries.iter().skip(1)) {
            let mut input = Input::new(&content.data[*begin..*end], *begin as u64);
            node.read(&mut input, &mut builder)?;
            input.finish()?;
        }
        Ok(())
    })?;
    Ok(builder)
}
