//! Names the library, and keeps it loaded: threads run in it until the process ends.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsapwood.so,-z,nodelete");
    }
}
