//! Finds the system's libnuma and says which package brings it when there is none.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = pkg_config::Config::new().atleast_version("2.0.12").probe("numa") {
        println!(
            "cargo::error=libnuma 2.0.12 or newer is needed: install libnuma-dev (Debian, Ubuntu) or numactl-devel (Fedora, RHEL)"
        );
        println!("cargo::error={}", error.to_string().replace('\n', " "));
    }
}
