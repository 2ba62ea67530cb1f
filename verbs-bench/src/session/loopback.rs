//! An endpoint that talks to itself on the raw software NIC: what the loops are timed and tested on without a peer.

use schema::{Fabric, RunSpec, Side};

use super::endpoint::{Endpoint, EndpointError, Path};
use crate::{
    connect::{Party, Region},
    softnic::SoftNic,
    verbs::Context,
};

/// An endpoint on the raw software NIC that writes into its own target half, and that half: what the loop is timed and tested
/// on without a peer.
pub fn loopback(spec: &RunSpec) -> Result<(Endpoint, Region), EndpointError> {
    let context = Context::open(SoftNic::new(None, None))?;
    // It talks to itself, so it receives what it sends.
    let mut endpoint = Endpoint::build(&context, spec, Side::Responder, 1, None)?;
    let outstanding_reads = spec.outstanding_reads.unwrap_or(u8::from(spec.op.fetches()) * 16);
    let path = Path { port_num: 1, path_mtu: 4096, gid_index: None, gid: [0; 16], lid: 0, outstanding_reads };
    let party = Party {
        fabric: Fabric::Soft,
        link_layer: "Soft".into(),
        active_mtu: path.path_mtu,
        gid: None,
        boot_id: None,
        cpus: Vec::new(),
        max_qp_rd_atom: 16,
        max_qp_init_rd_atom: 16,
    };
    let offer = endpoint.offer(party, &path);
    endpoint.connect(spec, &path, &offer)?;
    Ok((endpoint, offer.region))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Bytes, Nanos, Op, Stage, Stop, Test, Transport};

    use super::*;
    use crate::{
        clock::Clock,
        engine::{
            bandwidth::{End, Measured, Phases},
            kept::Kept,
            pattern,
            watch::Watch,
        },
    };

    fn spec(change: impl FnOnce(&mut RunSpec)) -> RunSpec {
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
        (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(64)], Nanos(0));
        change(&mut spec);
        assert_eq!(spec.faults(), []);
        spec
    }

    fn clock() -> Clock {
        static CLOCK: std::sync::OnceLock<Clock> = std::sync::OnceLock::new();
        CLOCK.get_or_init(Clock::calibrate).clone()
    }

    fn watch(clock: &Clock) -> Watch<'static> {
        Watch::new(None, Side::Requester, Stage::Measure, clock.scale(), Nanos(2_000_000_000))
    }

    /// Runs a spec against itself.
    fn measure(spec: &RunSpec) -> (Measured, Kept) {
        let clock = clock();
        let (endpoint, region) = loopback(spec).unwrap();
        let mut kept = Kept::new(clock.scale(), spec.interval_ns, None);
        let mut bandwidth = endpoint.bandwidth(spec, spec.msg_bytes[0], &region, &clock);
        let now = clock.source().now();
        let end = match spec.stop {
            Stop::DurationNs(duration) => End::At(now + clock.scale().ticks(duration.get())),
            Stop::Iterations(count) => End::After(count),
        };
        let phases = Phases { warm_until: now, end, messages_per_sec: None };
        let measured = bandwidth.measure(phases, None, &mut kept, &mut watch(&clock)).unwrap();
        (measured, kept)
    }

    #[test]
    fn every_slot_of_every_qp_is_written_once_with_its_own_bytes() {
        let spec = spec(|s| (s.post_list, s.qp_count, s.msg_bytes) = (5, 3, vec![Bytes(100)]));
        let clock = clock();
        let (mut endpoint, region) = loopback(&spec).unwrap();
        pattern::fill(endpoint.source(), 0);
        let mut bandwidth = endpoint.bandwidth(&spec, Bytes(100), &region, &clock);
        assert_eq!(bandwidth.send_each_slot_once(None, &mut watch(&clock)).unwrap(), 15);
        let layout = *endpoint.layout();
        let check = pattern::check_in_place(endpoint.target(), &layout, 100, 0, Transport::Rc);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(5 * 3 * 100), Bytes(0)));
    }

    #[test]
    fn a_working_set_is_walked_to_its_last_slot() {
        let spec = spec(|s| {
            (s.post_list, s.qp_count, s.msg_bytes) = (3, 2, vec![Bytes(100)]);
            (s.working_set_bytes, s.stride_bytes) = (Some(Bytes(16 << 10)), Some(Bytes(256)));
        });
        let clock = clock();
        let (mut endpoint, region) = loopback(&spec).unwrap();
        pattern::fill(endpoint.source(), 0);
        let mut bandwidth = endpoint.bandwidth(&spec, Bytes(100), &region, &clock);
        bandwidth.send_each_slot_once(None, &mut watch(&clock)).unwrap();
        let layout = *endpoint.layout();
        let check = pattern::check_in_place(endpoint.target(), &layout, 100, 0, Transport::Rc);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(64 * 2 * 100), Bytes(0)));
    }

    #[test]
    fn a_duration_ends_and_what_it_counts_fits_its_intervals() {
        let (measured, kept) = measure(&spec(|s| s.stop = Stop::DurationNs(Nanos(30_000_000))));
        assert!(measured.messages > 0 && measured.duration(clock().scale()) >= Nanos(29_000_000));
        let latency = &kept.latency;
        assert_eq!(latency.samples().0.len(), measured.messages);
        assert_eq!(
            latency.intervals().iter().map(|interval| interval.messages).sum::<u64>(),
            measured.messages
        );
    }

    /// Open files, mappings and resident memory of this process.
    fn traces() -> (usize, usize, u64) {
        let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mappings = maps.lines().filter(|line| line.contains("memfd:")).count();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        (files, mappings, resident.trim().trim_end_matches(" kB").parse().unwrap())
    }

    #[test]
    fn a_thousand_qps_come_and_go_and_leave_nothing() {
        let spec = spec(|s| {
            (s.op, s.threads, s.qp_count) = (Op::Send, 2, 500);
            (s.tx_depth, s.rx_depth) = (2, 2);
        });
        // The first round fills the allocator's own stock.
        drop(loopback(&spec).unwrap());
        let (files, mappings, resident_kib) = traces();
        for _ in 0..3 {
            let (endpoint, region) = loopback(&spec).unwrap();
            let qps = |thread| endpoint.job(thread, &spec, Bytes(64), &region).qps.len();
            assert_eq!(qps(0) + qps(1), 1_000);
            let (_, mapped, _) = traces();
            assert!(mapped > mappings, "the endpoint's memory is a memfd");
        }
        let after = traces();
        assert_eq!((after.0, after.1), (files, mappings));
        // A leak of one page a QP would be 12,000 KiB.
        assert!(after.2 < resident_kib + 6_000, "{} KiB became {} KiB", resident_kib, after.2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 4_000, ..ProptestConfig::default() })]
        #[test]
        fn exactly_as_many_messages_as_asked_and_one_sample_a_signal(
            depth in 1u32..80, list in 0u32..80, interval in 0u32..80, qps in 1u32..4, batch in 1u32..20, count in 1u64..2_000,
            walk: bool,
        ) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (depth, list % depth + 1, interval % depth + 1);
            (spec.qp_count, spec.cq_poll_batch, spec.stop) = (qps, batch, Stop::Iterations(count));
            (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(8)], Nanos(0));
            spec.working_set_bytes = walk.then_some(Bytes(64 << 10));
            prop_assume!(spec.faults().is_empty());
            let (measured, kept) = measure(&spec);
            prop_assert_eq!(measured.messages, count);
            let quotas = (0..u64::from(qps)).map(|qp| count / u64::from(qps) + u64::from(qp < count % u64::from(qps)));
            let signals: u64 = quotas.map(|quota| quota.div_ceil(u64::from(spec.signal_interval))).sum();
            prop_assert_eq!(kept.latency.samples().0.len(), signals);
        }
    }
}
