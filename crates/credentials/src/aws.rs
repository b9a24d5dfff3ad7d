//! Keys of S3: from the options, else the environment, else a profile.

use super::{CredentialFinding, CredentialState, Environment, Secret, StorageOptions};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const KIND: &str = "S3 access key";

/// Longest profile file that is read.
const LARGEST: u64 = 1 << 20;

/// What authorizes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum S3Keys {
    /// An access key.
    Static {
        /// Its name.
        id: String,
        /// Its secret.
        secret: Secret,
        /// The token of a temporary key.
        token: Option<Secret>,
    },
    /// A token in a file, exchanged for a key at the token service.
    WebIdentity {
        /// The file of the token.
        file: String,
        /// The role to assume.
        role: String,
        /// The name of the session.
        session: Option<String>,
    },
    /// The keys that this machine gives to its programs.
    Machine,
    /// Nothing: the bucket is public.
    Anonymous,
}

/// Everything needed to read a bucket.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// The keys.
    pub keys: S3Keys,
    /// The region, if one is configured.
    pub region: Option<String>,
    /// The URL of the service, if one is configured.
    pub endpoint: Option<String>,
    /// Where keys were searched.
    pub findings: Vec<CredentialFinding>,
}

impl S3Settings {
    /// The settings from options, the environment and the profile, in this order.
    pub fn find(options: &StorageOptions, environment: &Environment) -> S3Settings {
        let named = options.profile.clone().or_else(|| environment.get("AWS_PROFILE"));
        let profile = Profile::read(named.as_deref().unwrap_or("default"), environment);
        let mut findings = Vec::new();
        let keys = keys(options, environment, &profile, &mut findings);
        if let Some(name) = named.filter(|_| !profile.exists) {
            let why = "there is no such profile".to_owned();
            findings.push(CredentialFinding::new(
                KIND,
                format!("profile '{name}'"),
                CredentialState::Unusable(why),
            ));
        }
        let variable = |names: &[&'static str]| environment.first(names).map(|(_, value)| value);
        let region = options.region.clone();
        let region = region.or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"]));
        let endpoint = options.endpoint.clone();
        let endpoint = endpoint.or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
        S3Settings {
            keys,
            region: region.or_else(|| profile.get("region")),
            endpoint: endpoint.or_else(|| profile.get("endpoint_url")),
            findings,
        }
    }
}

fn keys(
    options: &StorageOptions,
    environment: &Environment,
    profile: &Profile,
    findings: &mut Vec<CredentialFinding>,
) -> S3Keys {
    let mut found =
        |place: String, state: CredentialState| findings.push(CredentialFinding::new(KIND, place, state));
    let no_sign = ["AWS_NO_SIGN_REQUEST", "AWS_SKIP_SIGNATURE"].iter().any(|name| environment.is_set(name));
    if options.anonymous || no_sign {
        return S3Keys::Anonymous;
    }
    if let (Some(id), Some(secret)) = (&options.access_key_id, &options.secret_access_key) {
        found("the options".to_owned(), CredentialState::Usable(None));
        return S3Keys::Static {
            id: id.clone(),
            secret: secret.clone(),
            token: options.session_token.clone(),
        };
    }
    // A profile that the options name wins over the environment.
    if options.profile.is_some()
        && let Some(keys) = profile.keys(&mut found)
    {
        return keys;
    }
    for (id, secret, token) in [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        ("S3_ACCESS_KEY", "S3_SECRET_KEY", "S3_TOKEN"),
    ] {
        match (environment.get(id), environment.get(secret)) {
            (Some(key), Some(secret)) => {
                found(id.to_owned(), CredentialState::Usable(None));
                let token = environment.get(token).map(Secret::from);
                return S3Keys::Static { id: key, secret: secret.into(), token };
            }
            (Some(_), None) => {
                found(id.to_owned(), CredentialState::Unusable(format!("{secret} is not set")))
            }
            (None, _) => found(id.to_owned(), CredentialState::Absent),
        }
    }
    if let Some(keys) = profile.keys(&mut found) {
        return keys;
    }
    let identity = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE").zip(environment.get("AWS_ROLE_ARN"));
    if let Some((file, role)) = identity {
        return web_identity(
            file,
            role,
            environment.get("AWS_ROLE_SESSION_NAME"),
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            &mut found,
        );
    }
    found("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), CredentialState::Absent);
    if let Some(place) = machine(environment) {
        found(place, CredentialState::Usable(None));
        return S3Keys::Machine;
    }
    S3Keys::Anonymous
}

fn web_identity(
    file: String,
    role: String,
    session: Option<String>,
    place: &str,
    found: &mut impl FnMut(String, CredentialState),
) -> S3Keys {
    let place = format!("{place} ({file})");
    if !Path::new(&file).is_file() {
        found(place, CredentialState::Unusable("there is no such file".to_owned()));
        return S3Keys::Anonymous;
    }
    found(place, CredentialState::Usable(None));
    S3Keys::WebIdentity { file, role, session }
}

/// The service of this machine that gives keys to its programs, if there is one.
///
/// On other machines nothing answers at its address, and a request would only cost time.
fn machine(environment: &Environment) -> Option<String> {
    let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"];
    if let Some((name, _)) = environment.first(&container) {
        return Some(name.to_owned());
    }
    let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let here = vendor.trim() == "Amazon EC2" && !environment.is_set("AWS_EC2_METADATA_DISABLED");
    here.then(|| "the metadata service of this machine".to_owned())
}

/// One section of the profile files.
#[derive(Debug, Default)]
struct Profile {
    name: String,
    exists: bool,
    place: String,
    values: HashMap<String, Secret>,
}

impl Profile {
    /// A profile by its name. The credentials file wins over the configuration file.
    fn read(name: &str, environment: &Environment) -> Profile {
        let file = |variable: &str, default: &str| {
            let named = environment.get(variable).map(PathBuf::from);
            named.or_else(|| Some(environment.home()?.join(".aws").join(default)))
        };
        let mut profile = Profile { name: name.to_owned(), ..Profile::default() };
        let in_config = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        let files = [
            (file("AWS_CONFIG_FILE", "config"), in_config.as_str()),
            (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name),
        ];
        for (path, section) in files {
            let Some(path) = path else { continue };
            let readable = std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
            let text = std::fs::read_to_string(&path).ok().filter(|_| readable).unwrap_or_default();
            if let Some(values) = self::section(&text, section) {
                profile.exists = true;
                profile.place = path.display().to_string();
                profile.values.extend(values);
            }
        }
        profile
    }

    fn get(&self, name: &str) -> Option<String> {
        self.values.get(name).map(|value| value.reveal().to_owned())
    }

    fn keys(&self, found: &mut impl FnMut(String, CredentialState)) -> Option<S3Keys> {
        let place = format!("profile '{}' ({})", self.name, self.place);
        if !self.exists {
            return None;
        }
        if let (Some(id), Some(secret)) =
            (self.get("aws_access_key_id"), self.values.get("aws_secret_access_key"))
        {
            found(place, CredentialState::Usable(None));
            let token = self.values.get("aws_session_token").cloned();
            return Some(S3Keys::Static { id, secret: secret.clone(), token });
        }
        if let (Some(file), Some(role)) = (self.get("web_identity_token_file"), self.get("role_arn")) {
            return Some(web_identity(file, role, self.get("role_session_name"), &place, found));
        }
        let other = ["credential_process", "sso_session", "sso_start_url", "source_profile"];
        if let Some(name) = other.into_iter().find(|name| self.values.contains_key(*name)) {
            let why = format!(
                "{name} is not supported; 'aws configure export-credentials --format env' gives variables that are"
            );
            found(place, CredentialState::Unusable(why));
        }
        None
    }
}

/// The values of one section of a file in the format of AWS; `None` if it has no such section.
fn section(text: &str, wanted: &str) -> Option<HashMap<String, Secret>> {
    let mut values = None;
    let mut inside = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            inside = name.0.split_whitespace().eq(wanted.split_whitespace());
            if inside {
                values.get_or_insert_with(HashMap::new);
            }
        // Indented lines are nested settings, such as those below "s3 =".
        } else if inside
            && !line.starts_with([' ', '\t'])
            && let Some((name, value)) = bare.split_once('=')
        {
            let values = values.get_or_insert_with(HashMap::new);
            values.insert(name.trim().to_ascii_lowercase(), Secret::from(value.trim()));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=s=/+\ns3 =\n  region = no\n\n\
                        [profile  two]\nregion = eu-west-1\nrole_arn = r\n";

    #[test]
    fn sections() {
        let values = section(TEXT, "default").unwrap();
        assert_eq!(values["aws_secret_access_key"].reveal(), "s=/+");
        assert!(!values.contains_key("region"));
        assert_eq!(section(TEXT, "profile two").unwrap()["region"].reveal(), "eu-west-1");
        assert!(section(TEXT, "two").is_none());
    }

    #[test]
    fn the_order_of_the_chain() {
        let root = std::env::temp_dir().join(format!("sapwood-aws-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let (file, token) = (root.join("credentials"), root.join("token"));
        std::fs::write(&file, "[default]\naws_access_key_id=D\naws_secret_access_key=s\nregion=r0\n[p]\naws_access_key_id=P\naws_secret_access_key=s\nendpoint_url=http://e\n").unwrap();
        std::fs::write(&token, "t").unwrap();
        let path = |path: &Path| path.display().to_string();
        let mut variables = HashMap::from([("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned())]);
        let mut options = StorageOptions::default();
        let find = |options: &StorageOptions, variables: &HashMap<String, String>| {
            S3Settings::find(options, &Environment::new(variables.clone(), root.clone()))
        };
        let id = |settings: S3Settings| match settings.keys {
            S3Keys::Static { id, .. } => id,
            other => format!("{other:?}"),
        };
        assert_eq!(id(find(&options, &variables)), "Anonymous");
        variables.insert("AWS_WEB_IDENTITY_TOKEN_FILE".to_owned(), path(&token));
        variables.insert("AWS_ROLE_ARN".to_owned(), "role".to_owned());
        assert!(id(find(&options, &variables)).starts_with("WebIdentity"));
        variables.insert("AWS_SHARED_CREDENTIALS_FILE".to_owned(), path(&file));
        assert_eq!(find(&options, &variables).region.as_deref(), Some("r0"));
        assert_eq!(id(find(&options, &variables)), "D");
        variables.insert("AWS_PROFILE".to_owned(), "p".to_owned());
        assert_eq!(find(&options, &variables).endpoint.as_deref(), Some("http://e"));
        assert_eq!(id(find(&options, &variables)), "P");
        variables.insert("AWS_ACCESS_KEY_ID".to_owned(), "E".to_owned());
        variables.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "s".to_owned());
        assert_eq!(id(find(&options, &variables)), "E");
        options.profile = Some("default".to_owned());
        assert_eq!(id(find(&options, &variables)), "D");
        options.access_key_id = Some("O".to_owned());
        options.secret_access_key = Some("s".into());
        assert_eq!(id(find(&options, &variables)), "O");
        options.anonymous = true;
        assert_eq!(id(find(&options, &variables)), "Anonymous");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
