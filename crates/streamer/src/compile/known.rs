//! Classes of ROOT whose bytes no description determines (root-io-spec HandWrittenStreamers §2,
//! ForwardingStreamers).

use crate::node::Pointers;
use crate::{MemberSelection, Node, StoredNumber, array_type};
use sapwood_core::Primitive;
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo};

/// An object of a class that ROOT streams by hand.
pub(super) fn node(class: &str, wanted: &MemberSelection) -> Option<Node> {
    if let Some(primitive) = array_type(class) {
        return Some(Node::List(Box::new(Node::Number(StoredNumber::Plain(primitive)))));
    }
    let pointer = || Box::new(Node::Pointer(wanted.clone()));
    Some(match class {
        "TObject" => Node::TObject,
        "TString" | "string" | "std::string" => Node::Text,
        "TStringLong" => Node::LongText,
        "TQObject" => Node::Nothing,
        "TDatime" => {
            Node::Record(vec![("fDatime".to_owned(), Node::Number(StoredNumber::Plain(Primitive::U32)))])
        }
        "TRef" => Node::Ref,
        "TRefArray" => Node::RefArray,
        "TClonesArray" => Node::Clones(wanted.clone()),
        "TObjArray" => Node::Pointers(Pointers::Array, pointer()),
        "TList" | "THashList" | "TSortedList" => Node::Pointers(Pointers::List, pointer()),
        "TCollection" | "TSeqCollection" | "TOrdCollection" | "THashTable" => {
            Node::Pointers(Pointers::Plain, pointer())
        }
        "TMap" => Node::Pointers(Pointers::Plain, Box::new(Node::Tuple(vec![*pointer(), *pointer()]))),
        _ => return None,
    })
}

/// The field for a base class that is not a record.
pub(super) fn field_of_base(class: &str) -> &str {
    if class.starts_with("TArray") { "fArray" } else { class }
}

/// True for classes that write only their bases, without version and byte count. ROOT has many; these occur
/// in files.
pub(super) fn only_forwards(class: &str) -> bool {
    matches!(class, "TVirtualPerfStats" | "TSeqCollection" | "TPair")
}

/// Classes whose own streamers write undescribed bytes; their byte counts are correct.
pub(super) fn is_opaque(class: &str) -> bool {
    const CLASSES: &str = "TASImage TBasket TBtree TBranchClones TCanvas TClassTree TDirectory TDirectoryFile TExMap \
        TFile TKey TMaterial TMixture TPolyLine3D TPolyMarker3D TStreamerElement TStreamerInfo TTreeIndex \
        RooAbsBinning RooLinkedList RooRealVar RooRefArray";
    CLASSES.split(' ').any(|name| name == class)
}

/// Descriptions of classes that files may omit: their layout never changed.
pub(super) fn description(class: &str) -> Option<StreamerInfo> {
    let element = StreamerElement::new;
    let base = |name| element(name, ElementKind::Base { version: 1, checksum: 0 }, 66, "BASE");
    let text = |name| element(name, ElementKind::String, 65, "TString");
    let elements = match class {
        "TNamed" => vec![base("TObject"), text("fName"), text("fTitle")],
        "TObjString" => vec![base("TObject"), text("fString")],
        // Some acquisition programs leave it out (StreamerDriven §6.2).
        "TTime" => vec![element("fMilliSec", ElementKind::BasicType, 16, "Long64_t")],
        _ => {
            let template = crate::cpp_type::Template::parse(class).filter(|one| one.head == "pair")?;
            let [first, second] = template.arguments.as_slice() else { return None };
            let member = |name, type_name: &str| {
                let (kind, code) = kind_of(type_name);
                element(name, kind, code, type_name)
            };
            vec![member("first", first), member("second", second)]
        }
    };
    Some(StreamerInfo {
        name: class.to_owned(),
        version: 1,
        checksum: 0,
        format: 10,
        without_tobject: false,
        elements,
    })
}

/// The element that describes a member of a `pair` (Collections §8.1).
fn kind_of(type_name: &str) -> (ElementKind, i32) {
    use crate::CppType;
    if let Some(pointee) = type_name.strip_suffix('*') {
        return match CppType::parse(pointee) {
            CppType::StdString => (ElementKind::StlString, 500),
            _ => (ElementKind::ObjectAnyPointer, 69),
        };
    }
    let is_collection =
        crate::cpp_type::Template::parse(type_name).is_some_and(|template| template.container().is_some());
    match CppType::parse(type_name) {
        CppType::Number(number) => (ElementKind::BasicType, number.type_code()),
        CppType::StdString => (ElementKind::StlString, 500),
        CppType::RootString => (ElementKind::String, 65),
        _ if is_collection => (ElementKind::Stl { stl_type: 0, content_type: 0 }, 300),
        _ => (ElementKind::ObjectAny, 62),
    }
}
