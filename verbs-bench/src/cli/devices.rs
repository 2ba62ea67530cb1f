//! `verbs-bench devices`: what this host has, as text or JSON.

use clap::Args;

use super::{EXIT_FAILED, complain};
use crate::verbs::{self, DeviceSummary, PortSummary};

/// Flags of `devices`.
#[derive(Debug, Args)]
pub(super) struct Devices {
    /// Print a JSON array on stdout
    #[arg(long)]
    json: bool,
}

impl Devices {
    pub(super) fn execute(self) -> u8 {
        let devices = match verbs::list_devices() {
            Ok(devices) => devices,
            Err(error) => {
                if self.json {
                    println!("[]");
                }
                complain(error);
                return EXIT_FAILED;
            }
        };
        if self.json {
            match serde_json::to_string_pretty(&devices) {
                Ok(json) => println!("{json}"),
                Err(error) => complain(error),
            }
        } else {
            devices.iter().for_each(print_device);
        }
        0
    }
}

fn print_device(device: &DeviceSummary) {
    let firmware =
        device.attr.as_ref().and_then(|attr| attr.fw_ver.as_deref()).unwrap_or("no firmware version");
    println!("{}   {firmware}", device.name);
    if let Some(error) = &device.error {
        println!("  cannot be used: {error}");
    }
    device.ports.iter().for_each(print_port);
}

fn print_port(port: &PortSummary) {
    let attr = &port.attr;
    let rate = attr.rate_bits_per_sec.map_or("rate unknown".into(), |rate| rate.to_string());
    println!(
        "  port {}   {}   {} ({})   {rate}   active MTU {} B",
        port.port_num, attr.link_layer, attr.state, attr.phys_state, attr.active_mtu
    );
    for gid in &port.gids {
        let record = gid.record("");
        println!(
            "    GID {:>3}   {:<39}   {:<7}   {}",
            record.index,
            record.gid,
            record.gid_type,
            record.netdev.as_deref().unwrap_or("no netdev in this network namespace")
        );
    }
}
