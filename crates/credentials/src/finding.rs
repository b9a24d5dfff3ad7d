//! Where credentials were searched, and what was found, without secrets.

use std::fmt;
use std::time::{Duration, SystemTime};

/// A place that was searched for a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialFinding {
    /// The kind of credential, such as `bearer token`.
    pub kind: &'static str,
    /// The place, such as `BEARER_TOKEN` or `/tmp/x509up_u1000`.
    pub place: String,
    /// What was found there.
    pub state: CredentialState,
}

/// What was found at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialState {
    /// A credential that is valid until this moment, if that is known.
    Usable(Option<SystemTime>),
    /// A credential that expired at this moment.
    Expired(SystemTime),
    /// A credential that cannot be used, for this reason.
    Unusable(String),
    /// Nothing.
    Absent,
}

impl CredentialFinding {
    /// A credential of this kind at this place.
    pub fn new(kind: &'static str, place: impl Into<String>, state: CredentialState) -> Self {
        CredentialFinding { kind, place: place.into(), state }
    }

    /// True if a credential was found, usable or not.
    pub fn is_there(&self) -> bool {
        self.state != CredentialState::Absent
    }
}

impl CredentialState {
    /// The state of a credential that is valid until `end`.
    pub fn until(end: Option<SystemTime>) -> CredentialState {
        match end {
            Some(end) if end <= SystemTime::now() => CredentialState::Expired(end),
            end => CredentialState::Usable(end),
        }
    }

    /// True if it can be shown to a server.
    pub fn is_usable(&self) -> bool {
        matches!(self, CredentialState::Usable(_))
    }

    /// One word: `usable`, `expired`, `unusable` or `absent`.
    pub fn word(&self) -> &'static str {
        match self {
            CredentialState::Usable(_) => "usable",
            CredentialState::Expired(_) => "expired",
            CredentialState::Unusable(_) => "unusable",
            CredentialState::Absent => "absent",
        }
    }
}

impl fmt::Display for CredentialFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kind, self.place)?;
        match &self.state {
            CredentialState::Usable(None) => Ok(()),
            CredentialState::Usable(Some(end)) => {
                let left = end.duration_since(SystemTime::now()).unwrap_or_default();
                write!(f, " (valid for {})", span(left))
            }
            CredentialState::Expired(end) => {
                let since = SystemTime::now().duration_since(*end).unwrap_or_default();
                write!(f, " (expired {} ago)", span(since))
            }
            CredentialState::Unusable(why) => write!(f, " (unusable: {why})"),
            CredentialState::Absent => f.write_str(" (not there)"),
        }
    }
}

/// A duration in a suitable unit.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        let finding = |state| CredentialFinding::new("bearer token", "BEARER_TOKEN", state).to_string();
        assert_eq!(
            finding(CredentialState::until(Some(ago(7300)))),
            "bearer token in BEARER_TOKEN (expired 2 h ago)"
        );
        assert_eq!(finding(CredentialState::until(None)), "bearer token in BEARER_TOKEN");
        assert!(
            finding(CredentialState::until(Some(SystemTime::now() + Duration::from_secs(500))))
                .ends_with("(valid for 8 min)")
        );
        assert_eq!(span(Duration::from_secs(3 * 86400)), "3 days");
    }
}
