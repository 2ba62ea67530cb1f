//! What a side has before it connects: an open device with an active port, a GID, a place to run, a clock.

mod report;

use std::{
    net::{IpAddr, SocketAddr, SocketAddrV6},
    sync::Arc,
};

use host::Sysroot;
use schema::{
    Fabric, Nanos, PostApi, RunSpec, Side, SideSpec, Stage,
    record::{GidRecord, NoiseFloor},
};

use super::{
    endpoint::{Endpoint, Path},
    preflight, with_ticks,
};
use crate::{
    clock::Clock,
    connect::{Offer, Party},
    fault::{At, Fault},
    placement::{self, Placed},
    softnic::SoftNic,
    verbs::{self, Context, DeviceAttr, GidEntry, GidType, PortAttr, Provider},
};

/// How long the core's noise is watched, before and after.
const NOISE_WATCH: Nanos = Nanos(10_000_000);

/// One side, ready to build an endpoint.
pub struct Station {
    side: Side,
    asked: SideSpec,
    threads: u32,
    context: Arc<Context>,
    device: DeviceAttr,
    port: PortAttr,
    gid: Option<(GidEntry, GidRecord)>,
    gid_table: Vec<GidRecord>,
    sysroot: Sysroot,
}

/// A station whose thread is pinned and whose clock is calibrated.
pub struct Placement {
    placed: Placed,
    clock: Clock,
    noise_before: NoiseFloor,
}

impl Placement {
    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The NUMA node the buffers belong on.
    pub fn node(&self) -> Option<u32> {
        self.placed.node()
    }

    /// The CPU of each polling thread; none is not pinned.
    pub(super) fn cpu_of_each_thread(&self, spec: &RunSpec) -> Vec<Option<u32>> {
        let cpus = self.placed.cpus();
        (0..spec.threads as usize).map(|thread| cpus.get(thread).copied()).collect()
    }
}

fn provider(side: Side, name: &str, spec: &RunSpec) -> Result<Arc<dyn Provider>, verbs::VerbsError> {
    if name != "soft" {
        return verbs::open(name);
    }
    let mut model = spec.soft_model.clone();
    let mut fault = spec.soft_fault.clone();
    if side == Side::Responder {
        // The way back draws its own jitter, and only the link's faults are shared: completions fail at the requester.
        if let Some(model) = &mut model {
            model.seed = model.seed.wrapping_add(1);
        }
        if let Some(fault) = &mut fault {
            (fault.error, fault.lost_at_message) = (None, None);
        }
    }
    Ok(SoftNic::new(model, fault))
}

impl Station {
    /// Opens the device and holds the spec against it.
    pub fn open(side: Side, spec: &RunSpec, asked: SideSpec) -> Result<Self, Fault> {
        let refused = |error: String| Fault::new(Stage::Preflight, side, error);
        let context =
            provider(side, &asked.device, spec).and_then(Context::open).at(Stage::Preflight, side)?;
        let device = match spec.post_api {
            PostApi::Classic => context.query_device(),
            PostApi::Extended => context.query_device_extended(),
        }
        .at(Stage::Preflight, side)?;
        let port = context.active_port(asked.port_num).at(Stage::Preflight, side)?;
        preflight::device_side(side, spec, &device, &port).map_err(refused)?;
        Ok(Station {
            side,
            asked,
            threads: spec.threads,
            context,
            device,
            port,
            gid: None,
            gid_table: Vec::new(),
            sysroot: Sysroot::new("/"),
        })
    }

    /// Chooses the GID by the route to the peer, where the port needs one or the user asks for one.
    pub fn choose_gid(&mut self, peer: IpAddr, local: IpAddr, like: Option<[u8; 16]>) -> Result<(), Fault> {
        let table = self.context.gid_table(self.asked.port_num).at(Stage::Preflight, self.side)?;
        if !self.port.needs_gid() && self.asked.gid_index.is_none() {
            self.gid_table =
                table.iter().map(|entry| entry.record("not used: the port addresses by LID")).collect();
            return Ok(());
        }
        let (chosen, records) = verbs::choose_gid(&table, peer, local, self.asked.gid_index, like)
            .at(Stage::Preflight, self.side)?;
        let record = records.iter().find(|record| record.index == chosen.index).cloned();
        self.gid = Some((chosen.clone(), record.unwrap_or_else(|| chosen.record("chosen"))));
        self.gid_table = records;
        Ok(())
    }

    /// Decides where the polling threads run and pins the calling one to the first place, where buffers are touched and the
    /// core is watched. `avoid` are CPUs the peer has on this host.
    pub fn take_place(&self, avoid: &[u32]) -> Result<Placed, Fault> {
        let nic = host::nic::Nic::new(&self.sysroot, &self.context.device_name());
        let irq_cpus = nic.irq_cpus().known().unwrap_or_default();
        let nic_node = nic.numa_node().known();
        placement::place(&self.asked, self.threads, nic_node, &irq_cpus, avoid, &self.sysroot)
            .at(Stage::Preflight, self.side)
    }

    /// Calibrates the clock and watches the core.
    pub fn settle(&self, placed: Placed) -> Placement {
        let mut clock = Clock::calibrate();
        let noise_before =
            with_ticks!(clock, |ticks| placement::noise_floor(ticks, clock.scale(), NOISE_WATCH));
        clock.refine();
        Placement { placed, clock, noise_before }
    }

    /// What the peer must know before QPs are made.
    pub fn party(&self, cpus: &[u32]) -> Party {
        Party {
            fabric: self.fabric(),
            link_layer: self.port.link_layer.to_string(),
            active_mtu: self.port.active_mtu,
            gid: self.gid.as_ref().map(|(entry, _)| entry.gid),
            boot_id: self.boot_id(),
            cpus: cpus.to_vec(),
            max_qp_rd_atom: self.device.max_qp_rd_atom,
            max_qp_init_rd_atom: self.device.max_qp_init_rd_atom,
        }
    }

    /// The open device.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// What carries the messages.
    pub fn fabric(&self) -> Fabric {
        self.context.provider().fabric()
    }

    /// Boot id of this kernel.
    pub fn boot_id(&self) -> Option<String> {
        self.sysroot.read("proc/sys/kernel/random/boot_id").known().map(|id| id.trim().to_owned())
    }

    /// Active MTU of the port, bytes.
    pub fn port(&self) -> &PortAttr {
        &self.port
    }

    /// The path at an agreed MTU and with the agreed outstanding reads.
    pub fn path(&self, path_mtu: u32, outstanding_reads: u8) -> Path {
        let gid = self.gid.as_ref().map(|(entry, _)| entry);
        Path {
            port_num: self.asked.port_num,
            path_mtu,
            gid_index: gid.and_then(|entry| u8::try_from(entry.index).ok()),
            gid: gid.map_or([0; 16], |entry| entry.gid),
            lid: self.port.lid,
            outstanding_reads,
        }
    }

    /// Makes memory, CQ and QPs.
    pub fn build(&self, spec: &RunSpec, placement: &Placement) -> Result<Endpoint, Fault> {
        Endpoint::build(&self.context, spec, self.side, self.asked.port_num, placement.node())
            .at(Stage::Setup, self.side)
    }

    /// The address of the chosen GID, by which rdma_cm finds this port; none where GIDs are no addresses. A link-local one
    /// is that of the GID's own network device.
    pub(super) fn gid_address(&self) -> Option<SocketAddr> {
        let (entry, _) = self.gid.as_ref().filter(|(entry, _)| entry.gid_type != GidType::Ib)?;
        Some(match entry.ip() {
            IpAddr::V4(v4) => SocketAddr::from((v4, 0)),
            IpAddr::V6(v6) if v6.is_unicast_link_local() => SocketAddrV6::new(v6, 0, 0, entry.ifindex).into(),
            IpAddr::V6(v6) => SocketAddr::from((v6, 0)),
        })
    }

    /// Whether what the peer offers is what the plan needs.
    pub fn check(&self, endpoint: &Endpoint, spec: &RunSpec, peer: &Offer) -> Result<(), Fault> {
        if peer.qps.len() == spec.total_qps() as usize && peer.region.len >= endpoint.layout().region_bytes()
        {
            return Ok(());
        }
        let cause = format!("the peer offers {} QPs and {} bytes", peer.qps.len(), peer.region.len);
        Err(Fault::new(Stage::Connect, self.side, cause).advise("use the same release on both sides"))
    }
}
