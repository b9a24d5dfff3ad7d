//! Development only: loopback servers, a WAN proxy, fault injection, conformance suites.
