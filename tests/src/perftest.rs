//! perftest as the other tool: one server and one client on two devices of this machine, and the numbers of its table.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

use crate::programs::await_end;

/// The two devices and how the client reaches the server.
#[derive(Debug, Clone)]
pub struct Ends {
    /// Device of the client, which posts.
    pub requester: String,
    /// Device of the server, which is written to.
    pub responder: String,
    /// Control address of the server.
    pub address: String,
    /// GID index on both sides.
    pub gid_index: String,
    /// CPU of the client.
    pub requester_cpu: String,
    /// CPU of the server.
    pub responder_cpu: String,
}

/// What a perftest run costs at most, its connection included.
const LIMIT: Duration = Duration::from_secs(120);

/// A column of perftest's tables, as an index from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column(usize);

impl Column {
    /// `BW average`, MiB/s.
    pub const BANDWIDTH: Column = Column(3);
    /// `MsgRate`, millions a second: more digits than the bandwidth of small messages has.
    pub const MESSAGE_RATE: Column = Column(4);
    /// `t_typical`, us.
    pub const TYPICAL: Column = Column(4);
}

/// Runs one of perftest's tools and returns the column that counts.
///
/// perftest prints `inf`, `nan` or 0 with exit code 0 now and then; that is no measurement, and the run is made again.
pub fn measure(tool: &str, at: Column, ends: &Ends, options: &[&str], port: u16) -> anyhow::Result<f64> {
    for attempt in 0..3 {
        let table = run(tool, ends, options, port + attempt)?;
        match column(at, &table) {
            Some(value) if value.is_finite() && value > 0.0 => return Ok(value),
            _ => eprintln!("{tool} gave no number, once more:\n{table}"),
        }
    }
    bail!("{tool} gave no number three times")
}

fn run(tool: &str, ends: &Ends, options: &[&str], port: u16) -> anyhow::Result<String> {
    let port_text = port.to_string();
    let command = |device: &str, cpu: &str| {
        let mut command = Command::new("taskset");
        command
            .args(["-c", cpu, tool, "-d", device, "-x", &ends.gid_index, "-p", &port_text, "-F"])
            .args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let server = command(&ends.responder, &ends.responder_cpu)
        .spawn()
        .with_context(|| format!("{tool} does not start"))?;
    await_listener(port)?;
    let client = command(&ends.requester, &ends.requester_cpu).arg(&ends.address).spawn()?;
    let client = await_end(client, Instant::now(), LIMIT);
    let server = await_end(server, Instant::now(), LIMIT);
    if client.code != Some(0) || server.code != Some(0) {
        bail!("{tool} failed:\n{}{}{}", client.stdout, client.stderr, server.stderr);
    }
    Ok(client.stdout)
}

/// Until something listens on the port, as the kernel shows it.
fn await_listener(port: u16) -> anyhow::Result<()> {
    let local = format!(":{port:04X} ");
    for _ in 0..300 {
        for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let table = fs::read_to_string(file).unwrap_or_default();
            if table.lines().any(|line| line.contains(&local) && line.contains(":0000 0A ")) {
                return Ok(());
            }
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("nothing listens on port {port} after 30 s")
}

/// The data row starts with the message size; the headers say which column is which.
fn column(at: Column, table: &str) -> Option<f64> {
    let row = table.lines().rfind(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))?;
    row.split_whitespace().nth(at.0)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_both_tables() {
        let bandwidth = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536      1000             27.52              25.23  \t\t   0.000404\n---\n";
        assert_eq!(column(Column::BANDWIDTH, bandwidth), Some(25.23));
        assert_eq!(column(Column::MESSAGE_RATE, bandwidth), Some(0.000404));
        let latency = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n 8       1000          62.80          1016.49      68.55    \t       84.83  \n---\n";
        assert_eq!(column(Column::TYPICAL, latency), Some(68.55));
        assert_eq!(column(Column::TYPICAL, "no table"), None);
    }
}
