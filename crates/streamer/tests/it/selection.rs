//! Members selected by path; the others are skipped.

use crate::describe::*;
use sapwood_core::ErrorKind;

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn only_what_is_wanted_is_built() {
    let classes = vec![
        class("Hit", 1, vec![int("x"), text("s"), float("y")]),
        class("A", 1, vec![int("a"), stl("hits", "vector<Hit>"), object("odd", "Unknown"), int("b")]),
    ];
    let compiler = compiler(classes);
    let hit = framed(1, &bytes(&[&ints(&[5]), &[1, b'q'], &2.5f32.to_be_bytes()]));
    let hits = framed(10, &bytes(&[&ints(&[1]), &hit]));
    let payload = framed(1, &bytes(&[&ints(&[1]), &hits, &framed(1, &[9; 5]), &ints(&[2])]));
    let program = compiler.object("A", &paths(&["hits.y"])).unwrap();
    let (column, _) = program.read_object(&payload, 0).unwrap();
    assert_eq!(names(&column.form), ["hits"]);
    assert_eq!((column.buffers.len(), column.buffers[1].view::<f32>()), (2, &[2.5f32][..]));
    let program = compiler.object("A", &paths(&["b", "hits.x"])).unwrap();
    assert_eq!(program.skipped, []);
    let (column, _) = program.read_object(&payload, 0).unwrap();
    assert_eq!(column.buffers[1].view::<i32>(), [5]);
    assert_eq!(column.buffers[2].view::<i32>(), [2]);
    assert_eq!(compiler.object("A", &paths(&["hits.z"])).unwrap_err().kind(), ErrorKind::Missing);
}

#[test]
fn columns_that_are_not_wanted_are_passed_over() {
    let classes = vec![
        class("Hit", 1, vec![int("n"), floats("w", "n", "Hit"), stl("v", "vector<int>"), int("last")]),
        class("A", 1, vec![stl("hits", "vector<Hit>")]),
    ];
    let w = bytes(&[&[1], &1f32.to_be_bytes(), &[0]]);
    let v = framed(10, &ints(&[0, 1, 3]));
    let columns = bytes(&[&ints(&[1, 0]), &w, &v, &ints(&[7, 8])]);
    let payload = framed(1, &framed(0x400a, &bytes(&[&[0, 1], &ints(&[2]), &columns])));
    let program = compiler(classes).object("A", &paths(&["hits.last"])).unwrap();
    assert_eq!(program.read_object(&payload, 0).unwrap().0.buffers[1].view::<i32>(), [7, 8]);
}
