//! Metalinks: version 4 (RFC 5854) and version 3.

use super::replica::{Replica, ReplicaList};
use crate::Checksum;
use quick_xml::Reader;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};
use sapwood_core::{Error, Result};

/// The priority of replicas that state none: the last one (RFC 5854 §4.2.16).
const LAST: i64 = 999_999;

/// The files of a metalink.
pub(super) fn parse(document: &[u8]) -> Result<Vec<ReplicaList>> {
    read(document).map_err(|why| Error::usage(format!("this is not a valid metalink: {why}")))
}

/// The file that is being read.
#[derive(Default)]
struct FileElement {
    file: ReplicaList,
    /// Priority and replica.
    replicas: Vec<(i64, Replica)>,
    /// The text of the element, if it is needed.
    text: Option<String>,
    checksum: Option<String>,
    url: (i64, Option<String>),
    /// Within the checksums of pieces.
    pieces: bool,
}

fn read(document: &[u8]) -> Result<Vec<ReplicaList>, String> {
    let mut reader = Reader::from_reader(document);
    let (mut files, mut open, mut is_metalink) = (Vec::new(), None::<FileElement>, false);
    let mut buffer = Vec::new();
    loop {
        match reader.read_event_into(&mut buffer).map_err(|error| error.to_string())? {
            Event::Start(tag) => match (tag.local_name().as_ref(), &mut open) {
                (b"metalink", _) => is_metalink = true,
                (b"file", _) => {
                    let name = attribute(&tag, b"name")?.unwrap_or_default();
                    open = Some(FileElement {
                        file: ReplicaList { name, ..ReplicaList::default() },
                        ..FileElement::default()
                    });
                }
                (_, Some(open)) => open.begin(&tag)?,
                _ => {}
            },
            Event::Text(text) => {
                if let Some(into) = open.as_mut().and_then(|open| open.text.as_mut()) {
                    into.push_str(&text.decode().map_err(|error| error.to_string())?);
                }
            }
            Event::CData(text) => {
                if let Some(into) = open.as_mut().and_then(|open| open.text.as_mut()) {
                    into.push_str(&text.decode().map_err(|error| error.to_string())?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(into) = open.as_mut().and_then(|open| open.text.as_mut()) {
                    let name = reference.decode().map_err(|error| error.to_string())?;
                    let meant = reference.resolve_char_ref().map_err(|error| error.to_string())?;
                    into.push(meant.or_else(|| entity(&name)).ok_or_else(|| format!("&{name};"))?);
                }
            }
            Event::End(tag) => match (tag.local_name().as_ref(), &mut open) {
                (b"file", _) => files.extend(open.take().map(FileElement::end)),
                (name, Some(open)) => open.finish(name)?,
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    match (is_metalink, open) {
        (false, _) => Err("it has no element 'metalink'".to_owned()),
        (true, Some(_)) => Err("it ends in the middle of a file".to_owned()),
        (true, None) if files.is_empty() => Err("it names no file".to_owned()),
        (true, None) => Ok(files),
    }
}

impl FileElement {
    fn begin(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        match tag.local_name().as_ref() {
            b"pieces" => self.pieces = true,
            b"size" => self.text = Some(String::new()),
            b"hash" if !self.pieces => {
                self.checksum = attribute(tag, b"type")?;
                self.text = Some(String::new());
            }
            b"url" => {
                let number = |text: Option<String>| text.and_then(|text| text.trim().parse::<i64>().ok());
                let order = number(attribute(tag, b"priority")?)
                    .or(number(attribute(tag, b"preference")?).map(|best| LAST.saturating_sub(best)));
                // A country is not a site, but some name the site here.
                let site = attribute(tag, b"location")?.filter(|location| location.len() > 2);
                self.url = (order.unwrap_or(LAST), site);
                self.text = Some(String::new());
            }
            _ => self.text = None,
        }
        Ok(())
    }

    fn finish(&mut self, name: &[u8]) -> Result<(), String> {
        let text = self.text.take();
        let text = text.as_deref().map(str::trim);
        match (name, text) {
            (b"pieces", _) => self.pieces = false,
            (b"size", Some(size)) => {
                self.file.size = Some(size.parse().map_err(|_| format!("the size of a file is {size:?}"))?);
            }
            (b"hash", Some(value)) => {
                let kind = self.checksum.take();
                self.file.checksums.extend(kind.and_then(|kind| Checksum::parse(&kind, value)));
            }
            (b"url", Some(url)) if !url.is_empty() => {
                let (order, site) = std::mem::take(&mut self.url);
                self.replicas.push((order, Replica { url: url.to_owned(), site }));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(mut self) -> ReplicaList {
        self.replicas.sort_by_key(|(order, _)| *order);
        self.file.replicas = self.replicas.into_iter().map(|(_, replica)| replica).collect();
        self.file
    }
}

fn attribute(tag: &BytesStart<'_>, name: &[u8]) -> Result<Option<String>, String> {
    let found = tag.attributes().find(|found| match found {
        Ok(found) => found.key.local_name().as_ref() == name,
        Err(_) => true,
    });
    let found = found.transpose().map_err(|error: AttrError| error.to_string())?;
    let Some(found) = found else { return Ok(None) };
    let value = std::str::from_utf8(&found.value).map_err(|error| error.to_string())?;
    let value = quick_xml::escape::unescape(value).map_err(|error| error.to_string())?;
    Ok(Some(value.into_owned()))
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_4() {
        let document = br#"<?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><!-- two files -->
              <file name="x.root">
                <identity>cms:x.root</identity><size>1234</size>
                <hash type="adler32">0ab1</hash>
                <pieces length="10" type="sha-256"><hash>aa</hash></pieces>
                <url location="T2_CH_CERN" priority="2">https://a/x.root?x=1&amp;y=&#50;</url>
                <url location="de" priority="1"> root://b//x.root </url>
                <url><![CDATA[http://c/x.root]]></url>
              </file>
              <file name="y&amp;z.root"/>
              <file name="y&amp;z.root"></file>
            </metalink>"#;
        let files = parse(document).unwrap();
        let replica =
            |url: &str, site: Option<&str>| Replica { url: url.into(), site: site.map(str::to_owned) };
        assert_eq!(files[0].name, "x.root");
        assert_eq!(files[0].size, Some(1234));
        assert_eq!(files[0].checksums, [Checksum::parse("adler32", "00000ab1").unwrap()]);
        assert_eq!(
            files[0].replicas,
            [
                replica("root://b//x.root", None),
                replica("https://a/x.root?x=1&y=2", Some("T2_CH_CERN")),
                replica("http://c/x.root", None),
            ]
        );
        assert_eq!(files[1].name, "y&z.root");
    }

    #[test]
    fn version_3() {
        let document = br#"<metalink version="3.0"><files><file name="x.root"><size>7</size>
            <verification><hash type="md5">d41d8cd98f00b204e9800998ecf8427e</hash><hash type="new">aa</hash></verification>
            <resources><url type="http" preference="10">http://a/x.root</url>
            <url type="http" preference="90">http://b/x.root</url></resources></file></files></metalink>"#;
        let file = &parse(document).unwrap()[0];
        assert_eq!(
            file.replicas.iter().map(|replica| &*replica.url).collect::<Vec<_>>(),
            ["http://b/x.root", "http://a/x.root"]
        );
        assert_eq!((file.size, file.checksums.len()), (Some(7), 1));
    }

    #[test]
    fn what_is_broken_is_said() {
        for (document, why) in [
            ("<metalink><file name='x'><size>many</size></file></metalink>", "\"many\""),
            ("<metalink><file name='x'>", "middle"),
            ("<metalink><file name='x'><url>&nonsense;</url></file></metalink>", "nonsense"),
            ("<metalink></metalink>", "no file"),
            ("<html></html>", "'metalink'"),
            ("<metalink><file name=x></file></metalink>", "metalink"),
        ] {
            let error = parse(document.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
