//! The link between two nodes on the software NIC: no better than either of its ends. It is how one slow node among many is
//! played out where there is no device, to see what is said of it.

use schema::SoftModel;

/// What a pair's messages go over: of what the workload says and what is said of its two nodes the longest latencies, the lowest rates
/// and the longest penalty. Jitter, `near_cpu` and the seed are the first that are given, the workload's before those of a node. None
/// where nothing is said at all.
pub fn soft_link(workload: Option<&SoftModel>, nodes: [Option<&SoftModel>; 2]) -> Option<SoftModel> {
    let [first, second] = nodes;
    let given = [workload, first, second].into_iter().flatten();
    given.cloned().reduce(|link, end| SoftModel {
        latency_ns: link.latency_ns.max(end.latency_ns),
        ack_latency_ns: link.ack_latency_ns.max(end.ack_latency_ns),
        jitter: if link.jitter == schema::Jitter::None { end.jitter } else { link.jitter },
        rate_bits_per_sec: lower(link.rate_bits_per_sec, end.rate_bits_per_sec),
        messages_per_sec: lower(link.messages_per_sec, end.messages_per_sec),
        remote_numa_penalty_ns: link.remote_numa_penalty_ns.max(end.remote_numa_penalty_ns),
        near_cpu: link.near_cpu.or(end.near_cpu),
        seed: link.seed,
    })
}

/// The lower of two limits, none of which is no limit.
fn lower<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn link(workload: Option<&str>, nodes: [Option<&str>; 2]) -> Option<String> {
        let read = |text: Option<&str>| text.map(|text| text.parse::<SoftModel>().unwrap());
        let (workload, nodes) = (read(workload), nodes.map(read));
        soft_link(workload.as_ref(), nodes.each_ref().map(Option::as_ref)).map(|model| model.to_string())
    }

    fn printed(text: &str) -> Option<String> {
        Some(text.parse::<SoftModel>().unwrap().to_string())
    }

    #[test]
    fn a_link_is_no_better_than_either_end_whichever_posts() {
        let workload = Some("latency=20us,rate=1Gbps,seed=7");
        let slow = Some("latency=50us,rate=600Mbps");
        let worse = printed("latency=50us,rate=600Mbps,seed=7");
        assert_eq!(link(workload, [slow, None]), worse);
        assert_eq!(link(workload, [None, slow]), worse);
        assert_eq!(
            link(workload, [slow, Some("rate=2Gbps,message_rate=9")]),
            printed("latency=50us,rate=600Mbps,message_rate=9,seed=7")
        );
        assert_eq!(link(workload, [Some("rate=2Gbps"), None]), printed("latency=20us,rate=1Gbps,seed=7"));
    }

    #[test]
    fn what_only_one_of_them_says_holds() {
        assert_eq!(link(None, [None, None]), None);
        assert_eq!(link(None, [None, Some("latency=1us,seed=3")]), printed("latency=1us,seed=3"));
        assert_eq!(
            link(Some("rate=1Gbps"), [Some("jitter=uniform:5us"), None]),
            printed("rate=1Gbps,jitter=uniform:5us")
        );
    }
}
