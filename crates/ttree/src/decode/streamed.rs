//! Entries that a program decodes.

use super::Node;
use super::builder::Builder;
use super::piece::Piece;
use super::program::Input;
use rayon::prelude::*;
use sapwood_core::{Buffer, Result};

/// The buffers of all pieces, joined.
pub(super) fn decode(node: &Node, pieces: &[Piece<'_>]) -> Result<Vec<Buffer>> {
    let built: Vec<Builder> = pieces.par_iter().map(|piece| build(node, piece)).collect::<Result<_>>()?;
    let nothing = Builder::new(node);
    let parts: Vec<&Builder> = if built.is_empty() { vec![&nothing] } else { built.iter().collect() };
    let mut buffers = Vec::new();
    Builder::join(&parts, &mut buffers);
    Ok(buffers)
}

fn build(node: &Node, piece: &Piece<'_>) -> Result<Builder> {
    let mut builder = Builder::new(node);
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
