//! Agents on threads of the test, each over pipes, as a launched one would be.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::mpsc::channel, thread};

use schema::Side;

use crate::{
    agent::{Pair, Setup, link::Link, serve},
    interrupt::Interrupt,
    scenario::Place,
};

/// A shell script that stands in for verbs-bench, in a folder that goes with it.
pub(super) fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("verbs-bench");
    let asked = "[ \"$1\" = --version ] && exit 0";
    fs::write(&program, format!("#!/bin/sh\n{asked}\n{text}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, program)
}

/// The requester's agent, and the responder's.
pub(super) fn agents(setups: [Setup; 2]) -> Pair {
    let (events, heard) = channel();
    let [requester, responder] = setups;
    let links = [(Side::Requester, requester), (Side::Responder, responder)].map(|(side, setup)| {
        let ((input, orders), (reports, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
        thread::spawn(move || serve(input, output, setup, &Interrupt::default()));
        Link::over(reports, orders, side, Place::Local, events.clone())
    });
    Pair::meet(links, events, heard).unwrap()
}
