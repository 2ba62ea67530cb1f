//! What each side uses: device, port, GID, CPU, memory node; and how the software NIC behaves.

use clap::Args;
use schema::{CpuChoice, NodeChoice, RunSpec, SideSpec, SoftFault, SoftModel};

/// The two sides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sides")]
pub(in crate::cli) struct SideFlags {
    /// auto, soft, or a device name
    #[arg(short = 'd', long, default_value = "auto")]
    device: String,
    /// Device of the responder [default: soft with soft, else what `serve --device` says, else auto]
    #[arg(long)]
    peer_device: Option<String>,
    /// Port of the device, from 1
    #[arg(short = 'i', long, default_value_t = 1)]
    ib_port: u8,
    /// Port of the responder's device [default: as --ib-port]
    #[arg(long)]
    peer_ib_port: Option<u8>,
    /// GID index of the requester [default: chosen by the route to the peer]
    #[arg(short = 'x', long)]
    gid_index: Option<u32>,
    /// GID index of the responder [default: chosen by the route to the peer]
    #[arg(long)]
    peer_gid_index: Option<u32>,
    /// CPUs of the polling threads: auto, none, or a list, one for each thread
    #[arg(long, default_value = "auto")]
    cpu: CpuChoice,
    /// CPUs of the responder's polling threads
    #[arg(long, default_value = "auto")]
    peer_cpu: CpuChoice,
    /// NUMA node of the message buffers: auto, none, or a node
    #[arg(long, default_value = "auto")]
    memory_node: NodeChoice,
    /// NUMA node of the responder's message buffers
    #[arg(long, default_value = "auto")]
    peer_memory_node: NodeChoice,
    /// Link model of the software NIC, e.g. latency=2us,jitter=uniform:500ns,rate=100Gbps [default: raw]
    #[arg(long)]
    soft_model: Option<SoftModel>,
    /// Faults of the software NIC, e.g. error=RETRY_EXC_ERR@1000 or stall=5ms/100ms
    #[arg(long)]
    soft_fault: Option<SoftFault>,
}

impl SideFlags {
    pub(super) fn apply(&self, spec: &mut RunSpec, local: bool) {
        spec.requester = SideSpec {
            device: self.device.clone(),
            port_num: self.ib_port,
            gid_index: self.gid_index,
            cpu: self.cpu.clone(),
            memory_node: self.memory_node,
        };
        // A responder of our own uses our device; one elsewhere decides for itself.
        let default_device = if self.device == "soft" || local { self.device.as_str() } else { "auto" };
        spec.responder = SideSpec {
            device: self.peer_device.as_deref().unwrap_or(default_device).to_owned(),
            port_num: self.peer_ib_port.unwrap_or(self.ib_port),
            gid_index: self.peer_gid_index,
            cpu: self.peer_cpu.clone(),
            memory_node: self.peer_memory_node,
        };
        spec.soft_model.clone_from(&self.soft_model);
        spec.soft_fault.clone_from(&self.soft_fault);
    }
}
