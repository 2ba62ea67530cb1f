//! A copy of a tree in a temporary folder, with the modes that git does not keep.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use tempfile::TempDir;

/// `MODE PATH` lines, the mode in octal and the path relative to the tree: files that their host lets nobody write.
const MODES: &str = ".modes";

/// A copy of a fixture, its symbolic links kept, and the files that its `.modes` lists set to their modes.
pub fn copy(name: &str) -> TempDir {
    let target = super::temporary();
    let source = super::folder(name);
    copy_folder(&source, target.path()).unwrap_or_else(|error| panic!("copying {name}: {error}"));
    if let Ok(modes) = fs::read_to_string(source.join(MODES)) {
        for line in modes.lines() {
            apply(line, target.path()).unwrap_or_else(|error| panic!("{name}/{MODES}: `{line}`: {error}"));
        }
    }
    target
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, source, target) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_symlink() {
            symlink(fs::read_link(source)?, target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&source, &target)?;
        } else if entry.file_name() != MODES {
            fs::copy(source, target)?;
        }
    }
    Ok(())
}

fn apply(line: &str, root: &Path) -> io::Result<()> {
    let (mode, path) = line.split_once(' ').ok_or_else(|| io::Error::other("not `MODE PATH`"))?;
    let mode = u32::from_str_radix(mode, 8).map_err(io::Error::other)?;
    fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_managed_vector_is_read_only_in_the_copy_and_the_others_are_not() {
        let tree = copy("managed-irqs");
        let mode = |irq: u32| {
            let file = tree.path().join(format!("proc/irq/{irq}/smp_affinity_list"));
            fs::metadata(file).expect("the vector is there").permissions().mode() & 0o222
        };
        assert_eq!((mode(32), mode(41)), (0, 0o200));
        assert!(!tree.path().join(MODES).exists(), "a host has no such file");
    }

    #[test]
    fn links_stay_links() {
        let tree = copy("two-socket-mlx5");
        let link = tree.path().join("sys/class/infiniband/mlx5_0");
        assert!(link.is_symlink() && link.join("fw_ver").is_file());
    }
}
