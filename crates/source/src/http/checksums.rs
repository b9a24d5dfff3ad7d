//! Checksums of an object that servers state on request.
//!
//! RFC 3230 (`Want-Digest`, which the storage systems of the field answer), RFC 9530 (`Want-Repr-Digest`), S3 and
//! compatible services (`x-amz-checksum-…`), Google (`x-goog-hash`), RFC 1864 (`Content-MD5`, which Azure sends).

use super::answer::Validators;
use super::remote::Remote;
use crate::Checksum;
use reqwest::header::{HeaderMap, HeaderValue};

/// The checksums to request, the cheapest to compute first.
const WANTED: [(&str, &str); 3] = [
    ("want-digest", "adler32, md5;q=0.4"),
    ("want-repr-digest", "adler=9, crc32c=8, md5=4, sha-256=1"),
    ("x-amz-checksum-mode", "ENABLED"),
];

/// How the header names of S3's checksums begin.
const S3: &str = "x-amz-checksum-";

/// The checksums that the server states of the version that was opened.
pub(super) async fn stated(remote: &Remote, opened: &Validators) -> Vec<Checksum> {
    let wanted = WANTED.iter().map(|(name, value)| ((*name).to_owned(), *value));
    let wanted =
        wanted.filter_map(|(name, value)| Some((name.parse().ok()?, HeaderValue::from_static(value))));
    match remote.head(wanted.collect()).await {
        Ok(headers) if !opened.differ(&Validators::of(&headers)) => of_headers(&headers),
        _ => Vec::new(),
    }
}

/// The checksums in the headers of an answer about a whole object.
fn of_headers(headers: &HeaderMap) -> Vec<Checksum> {
    let texts =
        |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>();
    let mut found = Vec::new();
    for text in ["digest", "repr-digest", "x-goog-hash"].into_iter().flat_map(texts) {
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        // Structured fields put bytes between colons (RFC 8941 §3.3.5).
        found.extend(pairs.filter_map(|(kind, value)| Checksum::parse(kind, value.trim().trim_matches(':'))));
    }
    found.extend(texts("content-md5").into_iter().filter_map(|text| Checksum::parse("md5", text)));
    // A checksum of the checksums of parts depends on how the object was uploaded.
    if texts("x-amz-checksum-type").iter().all(|kind| !kind.eq_ignore_ascii_case("composite")) {
        let kinds = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().strip_prefix(S3)?, value.to_str().ok()?)));
        found.extend(kinds.filter_map(|(kind, value)| Checksum::parse(kind, value)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[(&'static str, &'static str)]) -> Vec<String> {
        let lines =
            lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let headers: HeaderMap = lines.collect();
        of_headers(&headers).iter().map(Checksum::to_string).collect()
    }

    #[test]
    fn in_the_words_of_several_servers() {
        let md5 = "md5 d41d8cd98f00b204e9800998ecf8427e";
        for (lines, all) in [
            (
                &[("digest", "adler32=03da0195,md5=1B2M2Y8AsgTpgAmY7PhCfg==")][..],
                &["adler32 03da0195", md5][..],
            ),
            (&[("digest", "MD5=d41d8cd98f00b204e9800998ecf8427e, new=1")], &[md5]),
            (&[("repr-digest", "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:, unixsum=:AA==:")], &[md5]),
            (
                &[("x-goog-hash", "crc32c=AAAAAQ=="), ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==")],
                &["crc32c 00000001", md5],
            ),
            (
                &[("x-amz-checksum-crc32", "AAAAAQ=="), ("x-amz-checksum-type", "FULL_OBJECT")],
                &["crc32 00000001"],
            ),
            (&[("x-amz-checksum-crc32", "AAAAAQ=="), ("x-amz-checksum-type", "COMPOSITE")], &[]),
            (&[("x-amz-checksum-crc32c", "AAAAAQ==-3")], &[]),
            (
                &[("etag", "\"d41d8cd98f00b204e9800998ecf8427e\""), ("digest", "="), ("repr-digest", "md5")],
                &[],
            ),
        ] {
            assert_eq!(found(lines), all, "{lines:?}");
        }
    }
}
