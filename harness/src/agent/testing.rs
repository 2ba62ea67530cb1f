//! Agents on threads of a test, each over pipes, as a launched one would be.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::mpsc::Sender, thread};

use super::{
    Setup,
    link::{Event, Link},
    serve,
};
use crate::{interrupt::Interrupt, scenario::Place};

/// A shell script that stands in for verbs-bench, in a folder that goes with it.
pub(crate) fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("verbs-bench");
    let asked = "[ \"$1\" = --version ] && exit 0";
    fs::write(&program, format!("#!/bin/sh\n{asked}\n{text}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, program)
}

/// The link to an agent of this setup.
pub(crate) fn agent<K: Copy + Send + 'static>(key: K, setup: Setup, events: Sender<Event<K>>) -> Link<K> {
    let ((input, orders), (reports, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
    thread::spawn(move || serve(input, output, setup, &Interrupt::default()));
    Link::over(reports, orders, key, Place::Local, events)
}
