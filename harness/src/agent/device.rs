//! Which RDMA device of a host a spec means, as far as that is known before verbs-bench chooses.

use host::Sysroot;

/// The device that is named; with `auto` the only one there is. None for the software NIC, and where it can't be known yet.
pub(super) fn named(sysroot: &Sysroot, device: &str) -> Option<String> {
    match device {
        "soft" => None,
        "auto" => match sysroot.list("/sys/class/infiniband").known()?.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        },
        name => is_name(name).then(|| name.to_owned()),
    }
}

/// One component of a path, as the kernel names devices.
fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_known_where_there_is_no_choice() {
        let host = tempfile::tempdir().unwrap();
        let root = Sysroot::new(host.path());
        assert_eq!(named(&root, "auto"), None);
        std::fs::create_dir_all(host.path().join("sys/class/infiniband/rxe0")).unwrap();
        assert_eq!(named(&root, "auto").as_deref(), Some("rxe0"));
        std::fs::create_dir_all(host.path().join("sys/class/infiniband/rxe1")).unwrap();
        assert_eq!(named(&root, "auto"), None);
        assert_eq!(named(&root, "rxe1").as_deref(), Some("rxe1"));
    }

    #[test]
    fn no_name_leads_out_of_its_folder() {
        let root = Sysroot::new("/nonexistent");
        for name in ["..", "../net", "a/b", "", ".", "soft"] {
            assert_eq!(named(&root, name), None, "{name}");
        }
    }
}
