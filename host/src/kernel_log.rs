//! The kernel's log: read from /dev/kmsg without waiting, or from the recording that a tree has of it.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
};

use crate::{sysroot::Sysroot, value::Value};

/// Where a tree has the log, as dmesg prints it.
pub const RECORDED: &str = "/.recorded/kernel-log";

const DEVICE: &str = "/dev/kmsg";
/// O_NONBLOCK of Linux on every architecture but Alpha, MIPS, PA-RISC and SPARC, which no RDMA host here has.
const O_NONBLOCK: i32 = 0o4000;
/// A record of /dev/kmsg is at most this long (PRINTK_MESSAGE_MAX of kernel/printk/internal.h, with its prefix).
const RECORD_BYTES: usize = 8192;
/// No ring holds more records; it bounds what is read.
const MOST_RECORDS: usize = 100_000;
/// EPIPE: records were overwritten while we read; the next read goes on behind them.
const OVERWRITTEN: i32 = 32;

/// The lines of the log that `wanted` keeps, oldest first, without priority and time.
pub fn lines(sysroot: &Sysroot, wanted: impl Fn(&str) -> bool) -> Value<Vec<String>> {
    if sysroot.is_live() {
        return read_device(&wanted);
    }
    sysroot.read(RECORDED).map(|text| {
        let messages = text.lines().map(|line| without_time(line).to_owned());
        messages.filter(|message| wanted(message)).collect()
    })
}

fn read_device(wanted: &dyn Fn(&str) -> bool) -> Value<Vec<String>> {
    let mut device = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(DEVICE) {
        Ok(device) => device,
        Err(error) if error.kind() == ErrorKind::NotFound => return Value::Absent,
        Err(error) => return Value::Unreadable(format!("opening {DEVICE}: {error}")),
    };
    let mut record = vec![0; RECORD_BYTES];
    let mut lines = Vec::new();
    for _ in 0..MOST_RECORDS {
        match device.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                let message = message(&String::from_utf8_lossy(&record[..length]));
                lines.extend(message.filter(|message| wanted(message)));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.raw_os_error() == Some(OVERWRITTEN) => {}
            Err(error) => return Value::Unreadable(format!("reading {DEVICE}: {error}")),
        }
    }
    Value::Known(lines)
}

/// The text of a record `6,339,5140900,-;text`, whose further lines are its dictionary.
fn message(record: &str) -> Option<String> {
    let (_, text) = record.split_once(';')?;
    text.lines().next().map(str::to_owned)
}

/// A line of dmesg without the `[   12.345678] ` before it.
fn without_time(line: &str) -> &str {
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((_, text)) => text,
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn a_tree_has_a_recording() {
        let (_dir, host) = tree(&[(
            RECORDED,
            "[    8.387515] mlx5_core 0000:c1:00.0: firmware version: 28.39.1002\n[    9.1] usb 1-1: new\nno time mlx5\n",
        )]);
        let found = lines(&host, |line| line.contains("mlx5")).known().expect("a log");
        assert_eq!(found, ["mlx5_core 0000:c1:00.0: firmware version: 28.39.1002", "no time mlx5"]);
        let (_dir, none) = tree(&[]);
        assert_eq!(lines(&none, |_| true), Value::Absent);
    }

    #[test]
    fn a_record_is_its_text_without_the_dictionary() {
        let record =
            "6,339,5140900,-;mlx5_core 0000:c1:00.0: E-Switch\n SUBSYSTEM=pci\n DEVICE=+pci:0000:c1:00.0\n";
        assert_eq!(message(record).as_deref(), Some("mlx5_core 0000:c1:00.0: E-Switch"));
        assert_eq!(message("no record"), None);
    }

    #[test]
    fn the_log_of_this_host_is_read_without_waiting_or_is_refused() {
        assert!(!matches!(lines(&Sysroot::new("/"), |_| false), Value::Known(lines) if !lines.is_empty()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)\\[?.{0,80}") {
            let _ = (message(&text), without_time(&text));
        }
    }
}
