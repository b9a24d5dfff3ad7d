//! Which members are requested.

use std::collections::BTreeMap;

/// The members that are requested of an object, and of its members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MemberSelection(Option<BTreeMap<String, MemberSelection>>);

impl MemberSelection {
    /// Everything.
    pub(crate) fn all() -> Self {
        MemberSelection(None)
    }

    /// Nothing: the object is only skipped.
    pub(crate) fn nothing() -> Self {
        MemberSelection(Some(BTreeMap::new()))
    }

    /// The members with these paths, such as `fP.fX`; everything if there is none.
    pub(crate) fn of(paths: &[String]) -> Self {
        if paths.is_empty() {
            return MemberSelection::all();
        }
        let mut selection = MemberSelection::nothing();
        paths.iter().for_each(|path| selection.add(path));
        selection
    }

    fn add(&mut self, path: &str) {
        if path.is_empty() {
            *self = MemberSelection::all();
        }
        let MemberSelection(Some(members)) = self else { return };
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        members.entry(first.to_owned()).or_insert_with(MemberSelection::nothing).add(rest);
    }

    /// The selection for a member; `None` if it is not requested at all.
    pub(crate) fn member(&self, name: &str) -> Option<MemberSelection> {
        match &self.0 {
            None => Some(MemberSelection::all()),
            Some(members) => members.get(name).cloned(),
        }
    }

    /// Names of the requested members; none if all are.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &MemberSelection)> {
        self.0.iter().flatten().map(|(name, selection)| (name.as_str(), selection))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_wanted_whole_if_one_path_ends_there() {
        let paths = ["a.b.c", "a.b", "d"].map(str::to_owned);
        let selection = MemberSelection::of(&paths);
        let a = selection.member("a").unwrap();
        assert_eq!(a.member("b"), Some(MemberSelection::all()));
        assert_eq!((a.member("c"), selection.member("d")), (None, Some(MemberSelection::all())));
        assert!(MemberSelection::of(&[]).member("x").is_some());
    }
}
