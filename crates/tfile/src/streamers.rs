//! Streamer information: the layout of each class in the file, as its writer described it.

use crate::{ElementKind, Pointer, PointerTarget, Record, StreamerElement, Walker};
use sapwood_core::Result;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// `TStreamerInfo::kIgnoreTObjectStreamer` in the bits of a description.
pub(crate) const NO_TOBJECT: u32 = 1 << 13;

/// The description of one version of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamerInfo {
    /// The class.
    pub name: String,
    /// Its version. Classes without `ClassDef` are all recorded as 1 and differ by checksum.
    pub version: i32,
    /// Checksum of its layout: a key for finding it, not a proof of integrity.
    pub checksum: u32,
    /// Version of `TStreamerInfo` itself. Below 3, collections are streamed in an older way; below 6, ranges
    /// of `Double32_t` were not distinguished (root-io-spec StreamerInfo §6.1).
    pub format: i16,
    /// True if objects of the class have no bytes for their base `TObject`.
    pub without_tobject: bool,
    /// Base classes and members, in the order of their bytes.
    pub elements: Vec<StreamerElement>,
}

/// All descriptions of classes in a file. Cheap to clone.
#[derive(Debug, Default, Clone)]
pub struct StreamerInfos {
    classes: Arc<BTreeMap<String, Vec<StreamerInfo>>>,
}

impl StreamerInfos {
    /// Parses the record of the streamer information; `file_version` is the header's version.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated` if it is broken.
    pub fn parse(record: &Record, file_version: u32) -> Result<StreamerInfos> {
        let infos = parse_list(&mut Walker::new(&record.payload, record.key_len), file_version);
        let infos = infos.map_err(|error| record.locate("the streamer information", &error))?;
        Ok(infos.into_iter().collect())
    }

    /// The description of a version of a class.
    pub fn get(&self, class_name: &str, version: i32) -> Option<&StreamerInfo> {
        self.versions(class_name).iter().find(|info| info.version == version)
    }

    /// The description of a class with a checksum.
    pub fn by_checksum(&self, class_name: &str, checksum: u32) -> Option<&StreamerInfo> {
        self.versions(class_name).iter().find(|info| info.checksum == checksum)
    }

    /// The description of the newest version of a class.
    pub fn newest(&self, class_name: &str) -> Option<&StreamerInfo> {
        self.versions(class_name).iter().max_by_key(|info| info.version)
    }

    /// All descriptions of a class, in the order of the file; none if it is not described.
    pub fn versions(&self, class_name: &str) -> &[StreamerInfo] {
        self.classes.get(class_name).map_or(&[], Vec::as_slice)
    }

    /// True if a version word of 0 or less is followed by a checksum in objects of this class: true for
    /// classes without `ClassDef`, but not for those that declare version 0 (root-io-spec Buffer §4).
    pub fn has_checksum_after_version(&self, class_name: &str) -> bool {
        !self.versions(class_name).iter().any(|info| info.version == 0)
    }

    /// The description for reading an object: that of its `version`, or, if that is 0 or less, of the
    /// `checksum` behind it. A single description always applies (SchemaEvolution §4).
    pub fn select(&self, class_name: &str, version: i16, checksum: Option<u32>) -> Option<&StreamerInfo> {
        let chosen = match checksum {
            Some(checksum) => self.by_checksum(class_name, checksum),
            None => self.get(class_name, i32::from(version.max(0))),
        };
        chosen.or_else(|| match self.versions(class_name) {
            [only] => Some(only),
            _ => None,
        })
    }

    /// The description of the class that a base-class element names: by checksum, else by version, else the
    /// newest one (StreamerInfo §9.2). `None` for elements of other kinds.
    pub fn base_of(&self, element: &StreamerElement) -> Option<&StreamerInfo> {
        let ElementKind::Base { version, checksum } = element.kind else { return None };
        self.by_checksum(&element.name, checksum)
            .filter(|_| checksum != 0)
            .or_else(|| self.get(&element.name, version))
            .or_else(|| self.newest(&element.name))
    }

    /// True if a class is `base` or derives from it, according to the file.
    pub fn derives_from(&self, class_name: &str, base: &str) -> bool {
        let mut met = HashSet::new();
        let mut open = vec![class_name];
        while let Some(name) = open.pop() {
            if name == base {
                return true;
            }
            if met.insert(name) {
                let elements = self.newest(name).map_or(&[][..], |info| info.elements.as_slice());
                open.extend(elements.iter().filter(|e| e.is_base()).map(|e| e.name.as_str()));
            }
        }
        false
    }

    /// All descriptions, by the name of the class, then in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &StreamerInfo> {
        self.classes.values().flatten()
    }

    /// True if the file describes no class.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }
}

impl FromIterator<StreamerInfo> for StreamerInfos {
    /// The descriptions in the order of a file. If several are equal, the first is kept: ROOT can write one twice,
    /// with other bits (SchemaEvolution §8.1).
    fn from_iter<I: IntoIterator<Item = StreamerInfo>>(infos: I) -> Self {
        let mut classes: BTreeMap<String, Vec<StreamerInfo>> = BTreeMap::new();
        let mut met = HashSet::new();
        for info in infos {
            if met.insert((info.name.clone(), info.version, info.checksum)) {
                classes.entry(info.name.clone()).or_default().push(info);
            }
        }
        StreamerInfos { classes: Arc::new(classes) }
    }
}

impl StreamerElement {
    /// True if it is a base class.
    pub fn is_base(&self) -> bool {
        // An STL collection as a base is a TStreamerSTL that is named like its type (StreamerDriven §4.3).
        matches!(self.kind, ElementKind::Base { .. })
            || (matches!(self.kind, ElementKind::Stl { .. }) && self.name == self.type_name)
    }
}

/// Parses the `TList` of all descriptions (StreamerInfo §4). Other objects, such as the list of schema rules,
/// are skipped.
fn parse_list(walker: &mut Walker<'_>, file_version: u32) -> Result<Vec<StreamerInfo>> {
    let mut infos = Vec::new();
    walker.list("TList", |walker| {
        own_object(walker, |walker, class| {
            match class {
                "TStreamerInfo" => infos.push(parse_info(walker, file_version)?),
                _ => walker.cursor.skip_object()?,
            }
            Ok(())
        })
    })?;
    Ok(infos)
}

/// Parses a `TStreamerInfo`, whose layout never changed (StreamerInfo §6).
fn parse_info(walker: &mut Walker<'_>, file_version: u32) -> Result<StreamerInfo> {
    let header = walker.open()?;
    let named = walker.cursor.tnamed()?;
    let checksum = walker.cursor.u32()?;
    let version = walker.cursor.i32()?;
    let mut elements = Vec::new();
    own_object(walker, |walker, _| {
        let array = walker.array(|walker| {
            own_object(walker, |walker, class| {
                elements.push(StreamerElement::parse(class, &mut walker.cursor, file_version)?);
                Ok(())
            })
        });
        array.map(drop)
    })?;
    walker.close(&header, "TStreamerInfo")?;
    Ok(StreamerInfo {
        name: named.name,
        version,
        checksum,
        format: header.version,
        without_tobject: named.object.bits & NO_TOBJECT != 0,
        elements,
    })
}

/// Reads a pointer with `read` for the object behind it; descriptions share no objects (StreamerInfo §6).
fn own_object<'a>(
    walker: &mut Walker<'a>,
    read: impl FnOnce(&mut Walker<'a>, &'a str) -> Result<()>,
) -> Result<Pointer> {
    let pointer = walker.pointer(|walker, _, class| read(walker, class))?;
    match pointer.target {
        PointerTarget::Null | PointerTarget::Object { .. } => Ok(pointer),
        _ => Err(walker.cursor.corrupt("a class description refers to another")),
    }
}
