//! Records a host as a tree that reads like it: the files that its readers read, what its drivers answer to requests, and
//! what it had and would not give.

mod collect;
mod gids;
mod manifest;
mod patterns;
mod redact;
#[cfg(test)]
mod tests;
mod tree;
mod walk;
mod write;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use host::Sysroot;

pub use manifest::{Manifest, MissedFile, PATH as MANIFEST_PATH};
use patterns::Kind;
use redact::Redactor;
use tree::{Entry, Tree};

/// What was replaced, in the words of the manifest.
const REPLACED: &str = "host names, MACs, GUIDs, GIDs, IP addresses, UUIDs and serial numbers, each by a token of its \
    own that stands wherever it stood; the key that chose them is not kept";

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The host has no such device.
    #[error("this host has no RDMA device {name}; it has {}", if .known.is_empty() { "none".into() } else { .known.join(", ") })]
    NoDevice {
        /// The one that was asked for.
        name: String,
        /// Those it has.
        known: Vec<String>,
    },
    /// The files of the table hold more than a host can have in them.
    #[error(
        "the host's files hold more than {most_mib} MiB, so something is not what it is taken for; nothing was written"
    )]
    TooLarge {
        /// What is taken at most.
        most_mib: u64,
    },
    /// Something is where the snapshot is to go.
    #[error("{} exists and is not an empty folder; name another place or remove it", .0.display())]
    InTheWay(PathBuf),
    /// It could not be written.
    #[error("writing {}: {source}", .path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// No random bytes for the key of the tokens.
    #[error("no random bytes for the tokens: {0}")]
    Random(getrandom::Error),
}

/// What is recorded, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// One RDMA device alone; all of them otherwise. Network devices are all taken.
    pub device: Option<String>,
    /// Whether names, addresses and identities stay as they are.
    pub keep_identities: bool,
}

/// Records a host to a folder, or to a tar file where the name ends in `.tar`.
///
/// # Errors
/// See [`SnapshotError`]. Nothing is left behind.
pub fn record(sysroot: &Sysroot, options: &Options, out: &Path) -> Result<Manifest, SnapshotError> {
    let is_tar = out.extension().is_some_and(|extension| extension == "tar");
    if is_in_the_way(out, is_tar) {
        return Err(SnapshotError::InTheWay(out.to_owned()));
    }
    let redactor = match options.keep_identities {
        true => None,
        false => Some(Redactor::of(sysroot).map_err(SnapshotError::Random)?),
    };
    let tree = collect::collect(sysroot, options.device.as_deref())?;
    let (entries, manifest) = finished(tree, redactor.as_ref());
    let written = if is_tar { write::to_tar(&entries, out) } else { write::to_folder(&entries, out) };
    written.map_err(|source| SnapshotError::Write { path: out.to_owned(), source })?;
    Ok(manifest)
}

fn is_in_the_way(out: &Path, is_tar: bool) -> bool {
    match fs::read_dir(out) {
        Ok(mut entries) => is_tar || entries.next().is_some(),
        Err(_) => out.symlink_metadata().is_ok(),
    }
}

/// Redacts what was taken and adds the errnos and the manifest.
fn finished(tree: Tree, redactor: Option<&Redactor>) -> (Vec<(String, Entry)>, Manifest) {
    let path = |path: &str| redactor.map_or_else(|| path.to_owned(), |redactor| redactor.path(path));
    let missed: Vec<MissedFile> = tree
        .missed
        .iter()
        .map(|(at, errno)| MissedFile {
            path: path(at),
            errno: *errno,
            error: io::Error::from_raw_os_error(*errno).to_string(),
        })
        .collect();
    let mut entries: Vec<(String, Entry)> = tree
        .entries
        .into_iter()
        .map(|(at, entry)| {
            let entry = match (entry, redactor) {
                (Entry::Link(target), _) => Entry::Link(path(&target)),
                (Entry::File { bytes, mode, kind }, Some(redactor)) => {
                    Entry::File { bytes: redactor.file(kind, &bytes), mode, kind }
                }
                (entry, _) => entry,
            };
            (path(&at), entry)
        })
        .collect();
    let count = |is: fn(&Entry) -> bool| entries.iter().filter(|(_, entry)| is(entry)).count();
    let manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        privileged: rustix::process::geteuid().is_root(),
        redacted: redactor.is_some(),
        replaced: redactor.map_or_else(String::new, |_| REPLACED.to_owned()),
        files: count(|entry| matches!(entry, Entry::File { .. })),
        links: count(|entry| matches!(entry, Entry::Link(_))),
        missed,
    };
    let text = |text: String| Entry::File { bytes: text.into_bytes(), mode: 0o644, kind: Kind::Verbatim };
    for missed in &manifest.missed {
        let at = format!("{}{}", host::sysroot::RECORDED_ERRNO, missed.path);
        entries.push((at, text(format!("{}\n", missed.errno))));
    }
    let manifest_text =
        serde_json::to_string_pretty(&manifest).expect("a manifest has no maps with odd keys");
    entries.push((manifest::PATH.to_owned(), text(manifest_text + "\n")));
    // Two names can become one only if their tokens collide; the first is kept.
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries.dedup_by(|(a, _), (b, _)| a == b);
    (entries, manifest)
}
