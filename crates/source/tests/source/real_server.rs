//! The contract with any server that you name.
//!
//! `SAPWOOD_TEST_URL=http://… SAPWOOD_TEST_FILE=same-file cargo test -p sapwood-source -- --ignored real_server`

use sapwood_core::ByteRange;
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::conformance;
use std::env::var;

#[tokio::test]
#[ignore = "needs the URL of a server and a copy of the file"]
async fn keeps_the_contract() {
    let url = var("SAPWOOD_TEST_URL").unwrap();
    let content = std::fs::read(var("SAPWOOD_TEST_FILE").unwrap()).unwrap();
    let options = SourceOptions::default();
    let opened = open(&url, &options).await.unwrap();
    eprintln!("{:?}\n{:?}", opened.source, options.counters.snapshot());
    let first_bytes = ByteRange { start: 0, len: 64.min(content.len() as u64) };
    assert_eq!(opened.known.get(first_bytes).unwrap(), content[..first_bytes.len as usize]);
    conformance(opened.source.clone(), &content).await;
    eprintln!("{:?}\n{:?}", opened.source.cost_model(), options.counters.snapshot());
}
