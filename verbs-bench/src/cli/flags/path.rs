//! How the QPs are connected and what their packets carry.

use clap::Args;
use schema::{ConnectBy, RunSpec};

use super::{set, word};

/// Connection and packets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Path")]
pub(in crate::cli) struct PathFlags {
    /// tcp (our handshake carries the QP numbers) or rdma_cm; -R alone is rdma_cm [default: tcp]
    #[arg(
        short = 'R', long, num_args = 0..=1, default_missing_value = "rdma_cm", value_name = "HOW",
        value_parser = word::<ConnectBy>
    )]
    connect_by: Option<ConnectBy>,
    /// Path MTU in bytes [default: the smaller of both ports' active MTU]
    #[arg(short = 'm', long)]
    path_mtu: Option<u32>,
    /// GRH traffic class; the DSCP is its upper six bits [default: 0]
    #[arg(long, alias = "tclass")]
    traffic_class: Option<u8>,
    /// Service level [default: 0]
    #[arg(short = 'S', long)]
    service_level: Option<u8>,
    /// GRH flow label, 20 bits; 0 lets the device choose the UDP source port [default: 0]
    #[arg(long, value_parser = number)]
    flow_label: Option<u32>,
    /// Index in the port's partition key table [default: 0]
    #[arg(long)]
    pkey_index: Option<u16>,
    /// Local ACK timeout exponent, 4.096us * 2^n [default: 14]
    #[arg(short = 'u', long)]
    qp_timeout: Option<u8>,
    /// Retries after an ACK timeout [default: 7]
    #[arg(long)]
    retry_count: Option<u8>,
}

impl PathFlags {
    pub(super) fn apply(&self, spec: &mut RunSpec) {
        set(&mut spec.connect_by, &self.connect_by);
        spec.path_mtu = self.path_mtu;
        set(&mut spec.traffic_class, &self.traffic_class);
        set(&mut spec.service_level, &self.service_level);
        set(&mut spec.flow_label, &self.flow_label);
        set(&mut spec.pkey_index, &self.pkey_index);
        set(&mut spec.qp_timeout, &self.qp_timeout);
        set(&mut spec.retry_count, &self.retry_count);
    }
}

/// Decimal, or hexadecimal after `0x`, as labels are written.
fn number(text: &str) -> Result<u32, String> {
    let read = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    read.map_err(|_| format!("`{text}` is not a number such as 74565 or 0x12345"))
}
