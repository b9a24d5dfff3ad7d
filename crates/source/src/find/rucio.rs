//! Replicas as JSON, as `list_replicas` of Rucio writes it: one record, a list of records, or one record per line.

use super::replica::{Replica, ReplicaList};
use crate::Checksum;
use sapwood_core::{Error, Result};
use serde_json::{Deserializer, Value};

/// The files in a document.
pub(super) fn parse(document: &[u8]) -> Result<Vec<ReplicaList>> {
    let values: Result<Vec<Value>, _> = Deserializer::from_slice(document).into_iter().collect();
    let values = values.map_err(|error| Error::usage(format!("this is not valid JSON: {error}")))?;
    let records = values.into_iter().flat_map(|value| match value {
        Value::Array(records) => records,
        record => vec![record],
    });
    let files: Vec<_> = records.filter_map(|record| described(&record)).collect();
    if files.is_empty() {
        return Err(Error::usage("this JSON lists no replicas")
            .hint("records as Rucio lists them, each with 'pfns' or 'rses'"));
    }
    Ok(files)
}

fn described(record: &Value) -> Option<ReplicaList> {
    let text = |name: &str| record.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (pfns, rses) = (record.get("pfns"), record.get("rses"));
    if pfns.is_none() && rses.is_none() {
        return None;
    }
    let mut replicas: Vec<(Order, Replica)> = Vec::new();
    for (site, urls) in rses.and_then(Value::as_object).into_iter().flatten() {
        for url in urls.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let order = order(pfns.and_then(|pfns| pfns.get(url)));
            replicas.push((order, Replica { url: url.to_owned(), site: Some(site.clone()) }));
        }
    }
    let alone: Vec<(&str, Option<&Value>)> = match pfns {
        Some(Value::Object(pfns)) => pfns.iter().map(|(url, of)| (url.as_str(), Some(of))).collect(),
        Some(Value::Array(pfns)) => pfns.iter().filter_map(|url| Some((url.as_str()?, None))).collect(),
        _ => Vec::new(),
    };
    for (url, of) in alone {
        if !replicas.iter().any(|(_, replica)| replica.url == url) {
            let site = of.and_then(|of| of.get("rse")).and_then(Value::as_str).map(str::to_owned);
            replicas.push((order(of), Replica { url: url.to_owned(), site }));
        }
    }
    replicas.sort_by_key(|(order, _)| *order);
    let checksums = ["adler32", "md5"].into_iter().filter_map(|kind| Checksum::parse(kind, text(kind)?));
    Some(ReplicaList {
        name: text("name").unwrap_or_default().to_owned(),
        size: record.get("bytes").and_then(Value::as_u64),
        checksums: checksums.collect(),
        replicas: replicas.into_iter().map(|(_, replica)| replica).collect(),
    })
}

/// The sort key of replicas: tapes last; then by priority, 1 first.
type Order = (bool, u64);

fn order(of: Option<&Value>) -> Order {
    let get = |name: &str| of.and_then(|of| of.get(name));
    let tape = get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("tape"));
    (tape, get("priority").and_then(Value::as_u64).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"scope": "cms", "name": "/store/x.root", "bytes": 99, "adler32": "0cc737eb", "md5": null,
        "pfns": {"root://tape//x.root": {"rse": "T1_X_Tape", "type": "TAPE", "priority": 1},
                 "root://b//x.root": {"rse": "T2_B", "type": "DISK", "priority": 3},
                 "davs://a/x.root": {"rse": "T2_A", "type": "DISK", "priority": 2}},
        "rses": {"T2_B": ["root://b//x.root"], "T1_X_Tape": ["root://tape//x.root"]}}"#;

    #[test]
    fn a_record_of_rucio() {
        let file = &parse(RECORD.as_bytes()).unwrap()[0];
        let replicas: Vec<_> =
            file.replicas.iter().map(|replica| (&*replica.url, replica.site.as_deref())).collect();
        assert_eq!(
            replicas,
            [
                ("davs://a/x.root", Some("T2_A")),
                ("root://b//x.root", Some("T2_B")),
                ("root://tape//x.root", Some("T1_X_Tape")),
            ]
        );
        assert_eq!((&*file.name, file.size), ("/store/x.root", Some(99)));
        assert_eq!(file.checksums, [Checksum::parse("adler32", "0cc737eb").unwrap()]);
    }

    #[test]
    fn records_in_a_list_or_one_a_line_and_short_ones() {
        assert_eq!(parse(format!("[{RECORD}, {RECORD}]").as_bytes()).unwrap().len(), 2);
        assert_eq!(parse(format!("{RECORD}\n{RECORD}\n").as_bytes()).unwrap().len(), 2);
        let short = &parse(br#"{"rses": {"A": ["http://a/x"]}}"#).unwrap()[0];
        assert_eq!(short.replicas, [Replica { url: "http://a/x".into(), site: Some("A".into()) }]);
        let listed = &parse(br#"{"pfns": ["http://a/x", 7]}"#).unwrap()[0];
        assert_eq!(listed.replicas, [Replica::of("http://a/x")]);
    }
}
