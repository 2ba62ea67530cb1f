//! Texts compared with what they were.

use std::{env, fs, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use pretty_assertions::assert_eq;
use sha2::{Digest as _, Sha256};

/// Compares with a file under `tests/golden`; `UPDATE_GOLDEN=1` writes it anew.
pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|cause| panic!("{}: {cause}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(text, expected, "{name} changed; if that is meant, UPDATE_GOLDEN=1 writes it anew");
}

/// A page asks nothing of the network, and lets its own script run and no other.
#[allow(dead_code, reason = "not every test binary has pages")]
pub(crate) fn self_contained(page: &str, template: &str) {
    // The name of the SVG language is no address that anything asks.
    let asked = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!asked.contains(foreign), "the page contains {foreign}");
    }
    let script = &page[page.find("<script>").unwrap() + 8..];
    let hash = BASE64.encode(Sha256::digest(&script[..script.find("</script>").unwrap()]));
    assert!(page.contains(&format!("script-src 'sha256-{hash}';")), "{template} has to say sha256-{hash}");
    assert!(page.contains("default-src 'none';"));
}
