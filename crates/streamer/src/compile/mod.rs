//! Compiles class descriptions to nodes.

mod class;
mod code;
mod collection;
mod descriptions;
mod known;
mod member;
mod names;
mod session;

pub(crate) use code::number;
pub(crate) use descriptions::layout_of;
pub(crate) use member::{counter, to_end};
pub(crate) use session::{ClassUse, Session};

use crate::{MemberSelection, Node};
use descriptions::Descriptions;
use sapwood_core::Result;
use sapwood_tfile::StreamerInfos;
use std::sync::Arc;

/// Compiles the class descriptions of a file. Cheap to clone; compiled classes are shared.
///
/// All methods that take `paths` compile only the members with these paths, such as `obj.pt_`, and what is
/// necessary to find them; with no path, everything.
///
/// # Errors
/// All methods fail with `Unsupported` if the requested object cannot be read at all, `Corrupt` if
/// descriptions contradict themselves, `Missing` if a path names no member, `Limit` if a class has an absurd
/// number of members.
#[derive(Debug, Clone)]
pub struct Compiler(Arc<Descriptions>);

impl Compiler {
    /// A compiler for the classes that a file describes.
    pub fn new(infos: StreamerInfos) -> Self {
        Compiler(Arc::new(Descriptions::new(infos)))
    }

    /// A compiler whose programs add to each `TObjString` a field `fUniqueID`, the bin number of axis labels
    /// (root-io-spec TAxis). Otherwise, `TObject` is not built.
    pub fn with_identities(infos: StreamerInfos) -> Self {
        Compiler(Arc::new(Descriptions { with_identities: true, ..Descriptions::new(infos) }))
    }

    /// The descriptions.
    pub fn streamers(&self) -> &StreamerInfos {
        &self.0.infos
    }

    /// An object of a class in a record of its own.
    pub(crate) fn class_node(&self, class: &str, wanted: &MemberSelection) -> Result<Node> {
        self.session().class_node(class, "", wanted, ClassUse::Inside)
    }

    pub(crate) fn session(&self) -> Session<'_> {
        Session::new(&self.0)
    }
}
