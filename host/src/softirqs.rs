//! /proc/softirqs: how often each kind of deferred work ran, by CPU. Its columns are the CPUs the host could have.

use crate::{sysroot::Sysroot, value::Value};

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Softirqs {
    /// The CPUs of the columns.
    pub cpus: Vec<u32>,
    /// The kind (`NET_RX`, `TASKLET`), and its counts in the order of `cpus`.
    pub rows: Vec<(String, Vec<u64>)>,
}

impl Softirqs {
    /// Reads the host's table.
    pub fn read(sysroot: &Sysroot) -> Value<Softirqs> {
        sysroot.read("/proc/softirqs").parse(|text| Softirqs::parse(&text))
    }

    /// Parses the text of the file. Lines that are no rows are passed over; a text without a header is an error.
    pub fn parse(text: &str) -> Result<Softirqs, String> {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().split_whitespace();
        let cpus: Vec<u32> = header.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
        if cpus.is_empty() {
            return Err("/proc/softirqs has no header of CPUs".to_owned());
        }
        let rows = lines.filter_map(|line| {
            let (kind, counts) = line.split_once(':')?;
            let counts = counts.split_whitespace().map_while(|word| word.parse().ok()).take(cpus.len());
            Some((kind.trim().to_owned(), counts.collect()))
        });
        Ok(Softirqs { rows: rows.collect(), cpus })
    }

    /// How often `kind` ran on `cpu`.
    pub fn on_cpu(&self, kind: &str, cpu: u32) -> Option<u64> {
        let column = self.cpus.iter().position(|listed| *listed == cpu)?;
        self.rows.iter().find(|(name, _)| name == kind)?.1.get(column).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "                    CPU0       CPU1       CPU4
          HI:          1          0          2
      NET_RX:     104322          7         11
     TASKLET:          3          4
";

    #[test]
    fn counts_are_found_by_kind_and_cpu() {
        let table = Softirqs::parse(TABLE).expect("a table");
        assert_eq!(table.cpus, [0, 1, 4]);
        assert_eq!(table.on_cpu("NET_RX", 4), Some(11));
        assert_eq!(table.on_cpu("TASKLET", 4), None, "the row is short");
        assert_eq!(table.on_cpu("NET_RX", 2), None);
        assert!(Softirqs::parse("").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)(CPU[0-9]{1,2} ){0,3}\n?([A-Z:]{0,6}[ 0-9]{0,30}\n){0,4}.{0,30}") {
            if let Ok(table) = Softirqs::parse(&text) {
                prop_assert!(table.rows.iter().all(|(_, counts)| counts.len() <= table.cpus.len()));
            }
        }
    }
}
