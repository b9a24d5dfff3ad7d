//! The descriptions of ROOT's own classes that new files carry, as ROOT 6.40 describes them.

use sapwood_core::{Error, Result};
use sapwood_tfile::{Count, ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
use std::collections::HashSet;
use std::sync::OnceLock;

/// One line per class (name, version, checksum), then one per element, all fields between tabs; written by
/// `scripts/class_table.py` from a file of ROOT's.
const TABLE: &str = include_str!("classes.txt");

/// The format of `TStreamerInfo` that ROOT writes.
const FORMAT: i16 = 9;

/// The descriptions of all classes whose objects can be written.
pub fn known_classes() -> &'static StreamerInfos {
    static KNOWN: OnceLock<StreamerInfos> = OnceLock::new();
    KNOWN.get_or_init(|| parse(TABLE).into_iter().collect())
}

/// The descriptions that a file with objects of these classes needs: their own, those of their bases, and
/// those of the classes of their members.
///
/// # Errors
/// `Unsupported` if a class is not known.
pub fn descriptions_for<'a>(classes: impl IntoIterator<Item = &'a str>) -> Result<Vec<StreamerInfo>> {
    let known = known_classes();
    let mut met = HashSet::new();
    let mut found = Vec::new();
    let mut open: Vec<String> = classes.into_iter().map(str::to_owned).collect();
    if let Some(stranger) = open.iter().find(|name| known.newest(name).is_none()) {
        return Err(Error::unsupported(format!("objects of class {stranger} cannot be written")));
    }
    while let Some(name) = open.pop() {
        if let Some(info) = known.newest(&name)
            && met.insert(name)
        {
            open.extend(info.elements.iter().map(|element| match element.kind {
                ElementKind::Base { .. } => element.name.clone(),
                _ => element.type_name.trim_end_matches('*').to_owned(),
            }));
            found.push(info.clone());
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn parse(table: &str) -> Vec<StreamerInfo> {
    let mut infos: Vec<StreamerInfo> = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["", kind, name, code, size, type_name, extra, title] => {
                let Some((info, kind)) = infos.last_mut().zip(element_kind(kind, extra)) else { continue };
                let element = StreamerElement::new(name, kind, number(code), type_name);
                info.elements.push(StreamerElement {
                    title: title.to_owned(),
                    size: number(size),
                    ..element
                });
            }
            [name, version, checksum] => infos.push(StreamerInfo {
                name: name.to_owned(),
                version: number(version),
                checksum: hexadecimal(checksum),
                format: FORMAT,
                without_tobject: false,
                elements: Vec::new(),
            }),
            _ => {}
        }
    }
    infos
}

fn element_kind(kind: &str, extra: &str) -> Option<ElementKind> {
    let words: Vec<&str> = extra.split_whitespace().collect();
    Some(match (kind, &words[..]) {
        ("Base", [version, checksum]) => {
            ElementKind::Base { version: number(version), checksum: hexadecimal(checksum) }
        }
        ("BasicType", []) => ElementKind::BasicType,
        ("BasicPointer", [name, class_name, version]) => ElementKind::BasicPointer(Count {
            name: (*name).to_owned(),
            class_name: (*class_name).to_owned(),
            version: number(version),
        }),
        ("Object", []) => ElementKind::Object,
        ("ObjectAny", []) => ElementKind::ObjectAny,
        ("ObjectPointer", []) => ElementKind::ObjectPointer,
        ("String", []) => ElementKind::String,
        ("STL", [stl_type, content_type]) => {
            ElementKind::Stl { stl_type: number(stl_type), content_type: number(content_type) }
        }
        _ => return None,
    })
}

fn number(text: &str) -> i32 {
    text.parse().unwrap_or_default()
}

fn hexadecimal(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let infos = parse(TABLE);
        let elements: usize = infos.iter().map(|info| info.elements.len()).sum();
        assert_eq!(infos.len() + elements, TABLE.lines().count());
        assert!(infos.iter().all(|info| info.checksum != 0));
    }

    #[test]
    fn bases_and_members_come_along() {
        let names = |class| descriptions_for([class]).unwrap().into_iter().map(|info| info.name);
        let profile: Vec<String> = names("TProfile").collect();
        for needed in ["TH1D", "TH1", "TAxis", "TAttAxis", "THashList", "TList", "TCollection", "TString"] {
            assert!(profile.iter().any(|name| name == needed), "{needed}");
        }
        assert!(!profile.iter().any(|name| name == "TTree"));
        assert!(descriptions_for(["MyClass"]).is_err());
    }
}
