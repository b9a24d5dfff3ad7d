//! Resolves the name by which a file refers to another one (`TBranch::fFileName`).

use sapwood_core::{Error, Result};

/// The URL of the file that a file at `origin` calls `name`: in the same directory, unless `name` is an absolute path and
/// both are local.
///
/// # Errors
/// `Unsupported` for a name that leads to another server, or from a server to this machine: a file must not choose the
/// servers that its readers contact.
pub fn sibling_url(origin: &str, name: &str) -> Result<String> {
    let remote = origin.contains("://") && !origin.starts_with("file://");
    let absolute = name.starts_with('/');
    if name.contains("://") || (absolute && remote) {
        let message = format!("the file refers to another one by an absolute address: {name}");
        return Err(Error::unsupported(message).hint("only files in the same directory tree are opened"));
    }
    if absolute {
        return Ok(name.to_owned());
    }
    let path = if remote { origin.split(['?', '#']).next().unwrap_or(origin) } else { origin };
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    Ok(format!("{folder}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_first_file() {
        assert_eq!(sibling_url("main.root", "b.root").unwrap(), "b.root");
        assert_eq!(sibling_url("/data/main.root", "sub/b.root").unwrap(), "/data/sub/b.root");
        assert_eq!(sibling_url("/data/main.root", "/other/b.root").unwrap(), "/other/b.root");
        assert_eq!(
            sibling_url("https://host/data/main.root?token=1/2", "b.root").unwrap(),
            "https://host/data/b.root"
        );
        assert!(sibling_url("https://host/data/main.root", "/etc/b.root").is_err());
        assert!(sibling_url("https://host/data/main.root", "https://elsewhere/b.root").is_err());
    }
}
