//! The codes of failures that XrdCl and servers report.

/// `XrdCl::Status::code`, from `XrdClStatus.hh`.
pub(crate) mod client {
    pub(crate) const INVALID_OPERATION: u16 = 3;
    pub(crate) const INTERNAL: u16 = 7;
    pub(crate) const INVALID_ARGUMENTS: u16 = 9;
    pub(crate) const DATA: u16 = 14;
    pub(crate) const INVALID_ADDRESS: u16 = 101;
    pub(crate) const CONNECTION: u16 = 108;
    pub(crate) const INVALID_SESSION: u16 = 109;
    pub(crate) const TLS: u16 = 110;
    pub(crate) const LOGIN_FAILED: u16 = 203;
    pub(crate) const AUTH_FAILED: u16 = 204;
    pub(crate) const EXPIRED: u16 = 206;
    pub(crate) const INTERRUPTED: u16 = 207;
    pub(crate) const NOT_FOUND: u16 = 304;
    pub(crate) const ERROR_RESPONSE: u16 = 400;
}

/// `XErrorCode`, from `XProtocol.hh`.
pub(crate) mod server {
    pub(crate) const ARGUMENT_INVALID: u32 = 3000;
    pub(crate) const NOT_AUTHORIZED: u32 = 3010;
    pub(crate) const NOT_FOUND: u32 = 3011;
    pub(crate) const UNSUPPORTED: u32 = 3013;
    pub(crate) const NOT_FILE: u32 = 3015;
    pub(crate) const IS_DIRECTORY: u32 = 3016;
    pub(crate) const OVERLOADED: u32 = 3024;
    pub(crate) const TLS_REQUIRED: u32 = 3028;
    pub(crate) const NO_REPLICAS: u32 = 3029;
    pub(crate) const AUTH_FAILED: u32 = 3030;
}
