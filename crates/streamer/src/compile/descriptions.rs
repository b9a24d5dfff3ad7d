//! The class descriptions of a file, and the classes compiled from them.

use super::code::number;
use super::names::Names;
use crate::node::{self, CompiledClass};
use crate::{CppType, MemberSelection, StoredNumber};
use sapwood_tfile::{ElementKind, StreamerInfo, StreamerInfos};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

/// Work that all compilations together may take, plus more for each element of a description.
const WORK: usize = 1 << 19;
const WORK_PER_ELEMENT: usize = 32;

/// The class descriptions of a file, and the classes compiled from them.
#[derive(Debug)]
pub(super) struct Descriptions {
    pub(super) infos: StreamerInfos,
    /// Members that count others, by class.
    pub(super) counters: HashMap<String, HashSet<String>>,
    /// The storage types of enums, by name; none for a name with several types.
    pub(super) enums: HashMap<String, Option<StoredNumber>>,
    /// Whether a `TObjString` is built with the identity of its `TObject`.
    pub(super) with_identities: bool,
    pub(super) names: OnceLock<Names>,
    pub(super) classes: Mutex<HashMap<(String, MemberSelection), Arc<CompiledClass>>>,
    /// Work that may still be done, beyond what small compilations take.
    pub(super) budget: AtomicUsize,
}

impl Descriptions {
    pub(super) fn new(infos: StreamerInfos) -> Self {
        let mut counters: HashMap<String, HashSet<String>> = HashMap::new();
        for element in infos.iter().flat_map(|info| &info.elements) {
            if let ElementKind::BasicPointer(count) | ElementKind::Loop(count) = &element.kind {
                counters.entry(count.class_name.clone()).or_default().insert(count.name.clone());
            }
        }
        let enums = enums(&infos);
        let (names, classes) = (OnceLock::new(), Mutex::default());
        let elements: usize = infos.iter().map(|info| info.elements.len() + 1).sum();
        let budget = AtomicUsize::new(WORK.saturating_add(elements.saturating_mul(WORK_PER_ELEMENT)));
        Descriptions { infos, counters, enums, with_identities: false, names, classes, budget }
    }
}

/// The index of a description among the layouts of its class.
pub(crate) fn layout_of(class: &CompiledClass, info: &StreamerInfo) -> usize {
    let is_it =
        |layout: &&node::ClassLayout| layout.version == info.version && layout.checksum == info.checksum;
    class.layouts.iter().position(|layout| is_it(&layout)).unwrap_or(0)
}

/// Type names of integer members that are not number types: those of enums.
fn enums(infos: &StreamerInfos) -> HashMap<String, Option<StoredNumber>> {
    let mut enums: HashMap<String, Option<StoredNumber>> = HashMap::new();
    for element in infos.iter().flat_map(|info| &info.elements) {
        let is_number = |name: &str| matches!(CppType::parse(name), CppType::Number(..));
        if element.kind == ElementKind::BasicType
            && !is_number(&element.type_name)
            && let Some(number) = number(element)
        {
            let known = enums.entry(element.type_name.clone()).or_insert(Some(number));
            *known = known.filter(|known| *known == number);
        }
    }
    enums
}
