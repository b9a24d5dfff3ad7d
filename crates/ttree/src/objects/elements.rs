//! What ROOT does with an element of a class where its objects are split.

use sapwood_tfile::{ElementKind, StreamerElement};

/// Type codes of `TObject` and `TNamed`.
const OF_ROOT: [i32; 2] = [66, 67];
/// The type code of pointers that are never null.
const INLINE: i32 = 63;
/// Classes that ROOT never splits, because their streamers are written by hand. They write what is described.
const NEVER_SPLIT: [&str; 3] = ["TVector2", "TVector3", "TLorentzVector"];

/// The member's name with its dimensions.
pub(super) fn full_name(element: &StreamerElement) -> String {
    let dims: String = element.array_dims.iter().map(|size| format!("[{size}]")).collect();
    format!("{}{dims}", element.name)
}

/// True if objects have no bytes of the element.
pub(super) fn is_absent(element: &StreamerElement) -> bool {
    element.kind == ElementKind::Artificial || element.type_code < 0
}

/// True for a `TObject` or `TNamed`, which its own streamer writes.
pub(super) fn is_of_root(element: &StreamerElement) -> bool {
    OF_ROOT.contains(&element.type_code)
}

/// False for classes that ROOT never splits.
pub(super) fn can_split(class: &str) -> bool {
    !NEVER_SPLIT.contains(&class)
}

/// True for a `TClonesArray`, and for a pointer to one that is never null.
pub(super) fn is_clones(element: &StreamerElement) -> bool {
    let is_object = match element.kind {
        ElementKind::Object => true,
        ElementKind::ObjectPointer => element.type_code == INLINE,
        _ => false,
    };
    is_object && element.type_name.trim_end_matches('*') == "TClonesArray" && element.array_dims.is_empty()
}

/// True if the comment of a member forbids splitting, or it is an array of objects.
pub(super) fn is_kept_whole(element: &StreamerElement) -> bool {
    element.title.starts_with("||") || !element.array_dims.is_empty()
}
