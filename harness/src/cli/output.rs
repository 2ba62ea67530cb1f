//! Writes files so that a reader never sees half of one, and text to stdout.

use std::{
    fs,
    io::{self, IsTerminal as _, Write as _},
    path::Path,
};

use anyhow::Context as _;
use reports::render::Look;

/// Writes to a temporary name beside the file, then renames: killed at any moment, the old file or the new one is whole.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut temporary = tempfile::Builder::new().permissions(readable()).tempfile_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(file)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", file.display()))
}

/// What a file made by hand would get: a report is there to be shown.
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

/// Prints to stdout with a line end; a reader that has gone (`| head`) is no error.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") });
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to standard output"),
    }
}

/// Sets when there are colours, for the whole program.
pub(super) fn choose_colours(asked: clap::ColorChoice) {
    match asked {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// How a comparison is shown on stdout: with colours where they are wanted, with pictures on a terminal that can draw, or
/// where colours are forced.
pub(super) fn look(all: bool) -> Look {
    let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let draws = io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    Look { width: columns().unwrap_or(100), colours, pictures: colours || draws, all }
}

fn columns() -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    asked.or_else(terminal).map(|columns: usize| columns.max(40))
}

/// Columns to write for: `$COLUMNS`, or those of the terminal, up to 100, beyond which lines are hard to read; 100 where
/// there is neither.
pub(super) fn width() -> usize {
    columns().unwrap_or(100).clamp(60, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/report.md");
        write_file(&file, b"old").unwrap();
        write_file(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = write_file(Path::new("/proc/none/report.md"), b"x").unwrap_err();
        assert!(format!("{error:#}").contains("/proc/none/report.md"), "{error:#}");
    }
}
