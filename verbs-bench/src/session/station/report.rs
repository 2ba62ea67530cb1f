//! A side's half of the record, with what only shows at the end: residency, switches, noise, drift, versions.

use host::{nic::Nic, pcie};
use schema::{
    BitsPerSec, Fabric, HostFacts, SideRecord,
    record::{DeviceRecord, PcieRecord, PlacementRecord, Versions},
};

use super::{NOISE_WATCH, Placement, Station};
use crate::{
    placement,
    session::{endpoint::Endpoint, measure::Seen, with_ticks},
};

impl Station {
    /// This side's half of the record, with what only shows at the end: residency, switches, noise, drift.
    pub(in crate::session) fn record(
        &self,
        mut place: Placement,
        endpoint: &Endpoint,
        seen: &Seen,
    ) -> SideRecord {
        let noise_after =
            with_ticks!(place.clock, |ticks| placement::noise_floor(ticks, place.clock.scale(), NOISE_WATCH));
        place.clock.recalibrate_drift();
        let mut placement = place.placed.into_record();
        placement.involuntary_switches = seen.switches;
        placement.cpus_seen.clone_from(&seen.cpus);
        residency(&mut placement, endpoint);
        SideRecord {
            side: self.side,
            host: self.host_facts(placement.cpu_pinned),
            device: self.device_record(),
            gid: self.gid.as_ref().map(|(_, record)| record.clone()),
            gid_table: self.gid_table.clone(),
            placement,
            clock: place.clock.record(),
            noise_before: Some(place.noise_before),
            noise_after: Some(noise_after),
            versions: versions(self.fabric()),
        }
    }

    fn host_facts(&self, cpu: Option<u32>) -> HostFacts {
        // The kernel's own word on the mask is that of a pinned thread by now; what the process was given came before.
        let allowed = placement::allowed_cpus();
        HostFacts {
            cpus_allowed: (!allowed.is_empty()).then(|| host::cpulist::format(&allowed)),
            ..host::facts::facts(&self.sysroot, cpu)
        }
    }

    fn device_record(&self) -> DeviceRecord {
        let name = self.context.device_name();
        let nic = Nic::new(&self.sysroot, &name);
        let netdevs = nic.netdevs(self.asked.port_num).known().unwrap_or_default();
        DeviceRecord {
            port_num: self.asked.port_num,
            firmware: self.device.fw_ver.clone(),
            vendor_part_id: self.device.vendor_part_id,
            link_layer: self.port.link_layer.to_string(),
            active_mtu: self.port.active_mtu,
            rate_bits_per_sec: self.port.rate_bits_per_sec,
            numa_node: nic.numa_node().known(),
            driver: self.driver(&nic, &netdevs),
            pcie: self.pcie(&nic),
            netdevs,
            name,
        }
    }

    /// The kernel driver, and the version that it tells of a network device.
    fn driver(&self, nic: &Nic<'_>, netdevs: &[String]) -> Option<String> {
        let name = nic.driver().known()?;
        let told = netdevs.first().and_then(|netdev| host::ethtool::driver(&self.sysroot, netdev).known());
        Some(match told.filter(|told| told.driver == name && !told.version.is_empty()) {
            Some(told) => format!("{name} {}", told.version),
            None => name,
        })
    }

    fn pcie(&self, nic: &Nic<'_>) -> Option<PcieRecord> {
        let way = pcie::upwards(&self.sysroot, &nic.bus_folder()).known()?;
        let link = pcie::bottleneck(&self.sysroot, &way)?;
        let control = pcie::device_control(&self.sysroot, &format!("{}/config", way.first()?.folder));
        Some(PcieRecord {
            link: link.current.to_string(),
            possible: link.possible.to_string(),
            rate_bits_per_sec: BitsPerSec(link.current.megabits_per_sec() * 1_000_000),
            max_payload_bytes: control.known().map(pcie::DeviceControl::max_payload_bytes),
        })
    }
}

fn residency(record: &mut PlacementRecord, endpoint: &Endpoint) {
    record.page_bytes = endpoint.buffer().page_bytes() as u64;
    match endpoint.buffer().pages_by_node() {
        Ok(pages) => record.pages_by_node = pages,
        Err(error) => record.notes.push(format!("page residency unknown: {error}")),
    }
}

fn versions(fabric: Fabric) -> Versions {
    Versions {
        verbs_bench: env!("CARGO_PKG_VERSION").into(),
        binary_sha256: crate::digest::own_binary(),
        libibverbs: match fabric {
            Fabric::Verbs => crate::digest::loaded_library("libibverbs.so"),
            Fabric::Soft => None,
        },
    }
}
