//! What a host answers to no file, kept in a tree as JSON below `/.recorded/`, so that a tree answers what a live host does.
//!
//! | file | shape |
//! |---|---|
//! | `ethtool/<netdev>/driver.json` | `{"driver", "version", "firmware", "bus"}` |
//! | `ethtool/<netdev>/link.json` | `{"speed_mbit", "full_duplex", "autoneg"}` |
//! | `ethtool/<netdev>/statistics.json` | `[["rx_packets", 17], ...]`, in the driver's order |
//! | `ethtool/<netdev>/{pause,rings,coalescing,channels}.json` | names to numbers, see [`nic_control::Aspect`] |
//! | `dcb/<netdev>.json` | [`nic_control::Dcb`] |
//!
//! A question the host refused is kept as `{"errno": 95}` and is refused by the tree with the same number. A missing file
//! is a thing the host does not have. What is set on a tree is written back here, in the one form [`to_text`] gives, so
//! that turning it back restores the file byte for byte.

use std::{fs, io};

use nic_control::Aspect;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{dcb, ethtool, sysroot::Sysroot, value::Value};

/// EOPNOTSUPP: the driver has no such request.
const NOT_SUPPORTED: i32 = 95;
/// ENODEV: there is no such device.
const NO_DEVICE: i32 = 19;

/// What a file holds.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Recorded<T> {
    Refused(Refused),
    Answer(T),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    errno: i32,
}

/// The answer in a tree's file.
pub(crate) fn read<T: DeserializeOwned>(sysroot: &Sysroot, path: &str) -> Value<T> {
    if path.contains("..") {
        return Value::Absent;
    }
    match sysroot.read(path).parse(|text| parse(&text, path)) {
        Value::Known(Recorded::Answer(answer)) => Value::Known(answer),
        Value::Known(Recorded::Refused(Refused { errno })) => {
            from_kernel(path, Err(io::Error::from_raw_os_error(errno)))
        }
        Value::Absent => Value::Absent,
        Value::NotApplicable(why) => Value::NotApplicable(why),
        Value::Unreadable(why) => Value::Unreadable(why),
    }
}

/// Changes the answer in a tree's file, whole or not at all.
pub(crate) fn change<T: Serialize + DeserializeOwned>(
    sysroot: &Sysroot,
    path: &str,
    edit: impl FnOnce(&mut T) -> io::Result<()>,
) -> io::Result<()> {
    let file = sysroot.path(path);
    let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::from_raw_os_error(NO_DEVICE),
        _ => error,
    })?;
    let mut answer =
        match parse(&text, path).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))? {
            Recorded::Answer(answer) => answer,
            Recorded::Refused(Refused { errno }) => return Err(io::Error::from_raw_os_error(errno)),
        };
    edit(&mut answer)?;
    let new = file.with_extension("json.new");
    fs::write(&new, to_text(&answer)?)?;
    fs::rename(&new, &file)
}

fn parse<T: DeserializeOwned>(text: &str, path: &str) -> Result<Recorded<T>, String> {
    serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
}

/// The form of a recording: keys in order, two blanks deep, one line break at the end.
fn to_text(answer: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(answer)? + "\n")
}

/// The kernel's answer as a value.
pub(crate) fn from_kernel<T>(what: &str, answer: io::Result<T>) -> Value<T> {
    match answer {
        Ok(answer) => Value::Known(answer),
        Err(error) => match error.raw_os_error() {
            Some(NO_DEVICE) => Value::Absent,
            Some(NOT_SUPPORTED) => Value::NotApplicable(format!("{what}: the driver has no such request")),
            _ => Value::Unreadable(format!("{what}: {error}")),
        },
    }
}

/// All that can be recorded of a network device: path in a tree, and text of the file.
pub fn record(sysroot: &Sysroot, netdev: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    keep(&mut files, ethtool::path(netdev, "driver"), ethtool::driver(sysroot, netdev));
    keep(&mut files, ethtool::path(netdev, "link"), ethtool::link(sysroot, netdev));
    keep(&mut files, ethtool::path(netdev, "statistics"), ethtool::statistics(sysroot, netdev));
    for aspect in Aspect::ALL {
        keep(&mut files, ethtool::path(netdev, aspect.name()), ethtool::fields(sysroot, netdev, aspect));
    }
    keep(&mut files, dcb::path(netdev), dcb::read(sysroot, netdev));
    files
}

/// A refusal is kept where the driver has no such request; what we were not let see is no property of the host.
fn keep<T: Serialize>(files: &mut Vec<(String, String)>, path: String, answer: Value<T>) {
    let text = match answer {
        Value::Known(answer) => to_text(&answer),
        Value::NotApplicable(_) => to_text(&Refused { errno: NOT_SUPPORTED }),
        Value::Absent | Value::Unreadable(_) => return,
    };
    files.extend(text.ok().map(|text| (path, text)));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nic_control::{Dcb, Fields, Statistic};
    use proptest::prelude::*;

    use super::*;

    /// A tree that holds `text` at `path`.
    pub(crate) fn tree(path: &str, text: &str) -> (tempfile::TempDir, Sysroot) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Sysroot::new(dir.path());
        let file = root.path(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(file, text).expect("written");
        (dir, root)
    }

    #[test]
    fn a_refusal_is_refused_again_and_a_missing_file_is_absent() {
        let (_dir, host) = tree("/.recorded/ethtool/eth0/rings.json", "{\"errno\": 95}");
        assert!(matches!(ethtool::fields(&host, "eth0", Aspect::Rings), Value::NotApplicable(_)));
        assert_eq!(ethtool::fields(&host, "eth0", Aspect::Pause), Value::Absent);
        assert_eq!(ethtool::fields(&host, "../eth0", Aspect::Pause), Value::Absent);
        let refused = ethtool::set_field(&host, "eth0", Aspect::Rings, "rx", 4).expect_err("refused");
        assert_eq!(refused.raw_os_error(), Some(95));
        let absent = ethtool::set_field(&host, "eth1", Aspect::Rings, "rx", 4).expect_err("no device");
        assert_eq!(absent.raw_os_error(), Some(19));
    }

    #[test]
    fn what_is_recorded_reads_back_as_it_was() {
        let (_dir, host) =
            tree("/.recorded/ethtool/e/coalescing.json", "{\"rx_usecs\": 8, \"adaptive_rx\": 1}");
        let files = record(&host, "e");
        assert_eq!(files.len(), 1, "{files:?}");
        let (_again, copy) = tree(&files[0].0, &files[0].1);
        let read = |host| ethtool::fields(host, "e", Aspect::Coalescing).known().expect("fields");
        assert_eq!(read(&host), read(&copy));
        assert_eq!(record(&copy, "e"), files, "the form is stable");
    }

    /// A tree whose settings are not in the one form would not be restored byte for byte.
    #[test]
    fn the_settings_of_the_fixtures_are_in_the_one_form() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        for tree in fs::read_dir(fixtures).expect("the fixtures").flatten() {
            let root = Sysroot::new(tree.path());
            for netdev in root.list("/.recorded/ethtool").known().unwrap_or_default() {
                for (path, text) in record(&root, &netdev) {
                    if path.ends_with("/statistics.json") {
                        continue;
                    }
                    let found = fs::read_to_string(root.path(&path)).expect("a file");
                    assert_eq!(found, text, "{}{path}", tree.path().display());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = parse::<Fields>(&text, "x").is_ok();
            let _ = parse::<Dcb>(&text, "x").is_ok();
            let _ = parse::<Vec<Statistic>>(&text, "x").is_ok();
        }
    }
}
