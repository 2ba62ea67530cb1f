//! Which code ran: the digest of this binary, and the file a library was loaded from.

use std::{fs, path::Path};

use sha2::{Digest, Sha256};

use crate::connect::auth::hex;

/// SHA-256 of the running binary, hex; none if it can't be read.
pub fn own_binary() -> Option<String> {
    fs::read("/proc/self/exe").ok().map(|bytes| hex(&Sha256::digest(bytes)))
}

/// File name of the mapped library whose name starts so, with its version as the file system has it.
pub fn loaded_library(prefix: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    library_in(&maps, prefix)
}

fn library_in(maps: &str, prefix: &str) -> Option<String> {
    maps.lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter_map(|path| Path::new(path).file_name()?.to_str())
        .find(|name| name.starts_with(prefix))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_named_with_its_version() {
        let maps = "7f-80 r--p 0 08:01 1 /usr/lib/libc.so.6\n80-81 r-xp 0 08:01 2 /usr/lib/libibverbs.so.1.14.44.0\n81-82 rw-p 0 0 0\n";
        assert_eq!(library_in(maps, "libibverbs.so").as_deref(), Some("libibverbs.so.1.14.44.0"));
        assert_eq!(library_in(maps, "libnuma.so"), None);
    }

    #[test]
    fn a_digest_is_64_hex_digits() {
        assert_eq!(own_binary().unwrap().len(), 64);
    }
}
