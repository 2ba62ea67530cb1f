//! What a log says about how a test was run, by names that table and JSON share: `Number of qps` and `Number_of_qps` are
//! `number_of_qps`.

use std::collections::BTreeMap;

use schema::{Configuration, Endpoint, Fabric};

use super::title::Title;

/// Facts by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts(pub(super) BTreeMap<String, String>);

/// Facts that shape what is measured: with another value it is another series.
const SHAPING: [(&str, &str, &str); 6] = [
    ("number_of_qps", "q", ""),
    ("tx_depth", "t", ""),
    ("post_list", "l", "1"),
    ("recv_post_list", "rl", "1"),
    ("max_inline_data", "I", "0"),
    ("outstand_reads", "o", ""),
];

/// Facts that name what was used in one run only, or are in the name of the series.
const NO_CONFIGURATION: [&str; 8] = [
    "device",
    "number_of_qps",
    "tx_depth",
    "post_list",
    "recv_post_list",
    "max_inline_data",
    "outstand_reads",
    "connection_type",
];

impl Facts {
    /// Adds one; `4096[B]` is 4096.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        let value = value.trim().trim_end_matches("[B]");
        self.0.insert(canonical(name), value.to_owned());
    }

    /// Adds those of a line of a header: `Number of qps   : 1    Transport type : IB`.
    pub(super) fn add_line(&mut self, line: &str) {
        let mut rest = line.trim();
        while let Some((name, after)) = rest.split_once(':') {
            let after = after.trim_start();
            let end = after.find('\t').into_iter().chain(after.find("  ")).min().unwrap_or(after.len());
            if !name.trim().is_empty() {
                self.add(name, &after[..end]);
            }
            rest = after[end..].trim_start();
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The device of the side that wrote the log.
    pub(super) fn requester(&self) -> Endpoint {
        Endpoint { host: String::new(), device: self.get("device").unwrap_or_default().to_owned() }
    }

    /// perftest knows no other.
    pub(super) fn fabric(&self) -> Fabric {
        Fabric::Verbs
    }

    /// How it was measured, where that makes another series: `rc-q1-t128`.
    pub(super) fn variant(&self, title: Title) -> String {
        let mut parts = vec![self.get("connection_type").unwrap_or("?").to_lowercase()];
        for (name, letter, usual) in SHAPING {
            if let Some(value) = self.get(name).filter(|value| *value != usual) {
                parts.push(format!("{letter}{value}"));
            }
        }
        if title.bidirectional {
            parts.push("bidirectional".into());
        }
        if self.get("events").is_some() {
            parts.push("events".into());
        }
        parts.join("-")
    }

    /// What may change without making it another series.
    pub(super) fn configuration(&self) -> Configuration {
        let kept = self.0.iter().filter(|(name, _)| !NO_CONFIGURATION.contains(&name.as_str()));
        Configuration(kept.map(|(name, value)| (format!("perftest.{name}"), value.clone())).collect())
    }
}

/// `ibv_wr* API` and `ibv_wr_API` are one.
fn canonical(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_one_fact_or_two() {
        let mut facts = Facts::default();
        facts.add_line(" Dual-port       : OFF\t\tDevice         : mlx5_0");
        facts.add_line(" PCIe relax order: ON           Lock-free      : OFF");
        facts.add_line(" ibv_wr* API     : ON\t\tUsing Enhanced Reorder      : ON");
        facts.add_line(" Mtu             : 4096[B]");
        facts.add_line(" rdma_cm QPs\t : OFF");
        facts.add_line(" Data ex. method : rdma_cm \tTOS    : 106");
        let read: Vec<(&str, &str)> =
            facts.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            read,
            [
                ("data_ex_method", "rdma_cm"),
                ("device", "mlx5_0"),
                ("dual_port", "OFF"),
                ("ibv_wr_api", "ON"),
                ("lock_free", "OFF"),
                ("mtu", "4096"),
                ("pcie_relax_order", "ON"),
                ("rdma_cm_qps", "OFF"),
                ("tos", "106"),
                ("using_enhanced_reorder", "ON"),
            ]
        );
    }

    #[test]
    fn depth_and_queue_pairs_make_a_series_and_the_mtu_makes_an_epoch() {
        let mut facts = Facts::default();
        for (name, value) in [
            ("Connection_type", "RC"),
            ("Number_of_qps", "4"),
            ("TX_depth", "128"),
            ("Max_inline_data", "0"),
            ("Mtu", "1024"),
        ] {
            facts.add(name, value);
        }
        let title = Title { op: "write", bandwidth: true, bidirectional: true };
        assert_eq!(facts.variant(title), "rc-q4-t128-bidirectional");
        let configuration = facts.configuration();
        assert_eq!(configuration.0.keys().collect::<Vec<_>>(), ["perftest.mtu"]);
    }
}
