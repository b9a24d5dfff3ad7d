//! Names of classes, which a file does not always spell in the same way (root-io-spec StreamerInfo §7.3).

use crate::CppType;
use crate::cpp_type::Template;
use sapwood_tfile::StreamerInfos;
use std::collections::BTreeMap;

/// Template arguments nested deeper than this are ignored.
const DEEPEST: usize = 32;
/// Most enclosing classes and namespaces in which a name is looked up.
const MOST_SCOPES: usize = 16;
/// Default template arguments of the STL.
const DEFAULTS: [&str; 6] = ["allocator<", "less<", "char_traits<", "hash<", "equal_to<", "default_delete<"];

/// Finds descriptions by names in any spelling.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    pub(super) fn new(infos: &StreamerInfos) -> Self {
        let mut names = BTreeMap::new();
        for info in infos.iter() {
            names.entry(normal(&info.name, DEEPEST)).or_insert_with(|| info.name.clone());
        }
        Names(names)
    }

    /// The name of the described class that `holder` calls `name`.
    pub(super) fn find(&self, name: &str, holder: &str) -> Option<&str> {
        let name = normal(name, DEEPEST);
        let mut scope = holder.split('<').next().unwrap_or_default();
        for _ in 0..MOST_SCOPES {
            if scope.is_empty() {
                break;
            }
            if let Some(found) = self.0.get(&format!("{scope}::{name}")) {
                return Some(found);
            }
            scope = scope.rsplit_once("::").map_or("", |(outer, _)| outer);
        }
        if let Some(found) = self.0.get(&name) {
            return Some(found);
        }
        let longer = format!("{},", name.strip_suffix('>')?);
        let mut found = self.0.range(longer.clone()..).take_while(|(known, _)| known.starts_with(&longer));
        match (found.next(), found.next()) {
            (Some((_, only)), None) => Some(only),
            _ => None,
        }
    }
}

/// Normalizes a spelling: no `std::`, no spaces, one name for each number type, no default arguments.
fn normal(name: &str, depth: usize) -> String {
    let name = name.trim();
    let name = name.strip_prefix("const ").unwrap_or(name).trim();
    if name.ends_with('*') {
        let pointee = name.trim_end_matches(['*', ' ']);
        let stars = name[pointee.len()..].replace(' ', "");
        return format!("{}{stars}", normal(pointee, depth));
    }
    match CppType::parse(name) {
        CppType::Number(number) => return number.type_name().to_owned(),
        CppType::StdString => return "string".to_owned(),
        _ => {}
    }
    let short = name.strip_prefix("std::").unwrap_or(name);
    match Template::parse(name) {
        Some(template) if depth > 0 => {
            let head = short.split('<').next().unwrap_or_default().trim();
            let arguments = template.arguments.iter().map(|argument| normal(argument, depth - 1));
            let arguments = arguments.filter(|one| !DEFAULTS.iter().any(|default| one.starts_with(default)));
            format!("{head}<{}>", arguments.collect::<Vec<_>>().join(","))
        }
        _ => short.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_the_same() {
        let same = |one: &str, other: &str| assert_eq!(normal(one, DEEPEST), normal(other, DEEPEST));
        same("UserTmplt<Int_t>", "UserTmplt<int>");
        same("artdaq::QuickVec<unsigned long long>", "artdaq::QuickVec<ULong64_t>");
        same("edm::Wrapper<std::vector<float, std::allocator<float> > >", "edm::Wrapper<vector<float> >");
        assert_ne!(normal("A<Double32_t>", DEEPEST), normal("A<double>", DEEPEST));
    }
}
