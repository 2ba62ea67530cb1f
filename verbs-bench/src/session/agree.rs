//! What the two sides must have in common before QPs are made. Asked beyond what either bears is refused with its name;
//! not asked, it is the most that both bear.

use schema::RunSpec;

use crate::connect::Party;

/// Reads and atomics outstanding per QP; 0 where the operation has none.
pub(super) fn outstanding_reads(spec: &RunSpec, requester: &Party, responder: &Party) -> Result<u8, String> {
    if !spec.op.fetches() {
        return Ok(0);
    }
    let mut limits = vec![
        (requester.max_qp_init_rd_atom, "the requester's device can have outstanding (max_qp_init_rd_atom)"),
        (responder.max_qp_rd_atom, "the responder's device answers at once (max_qp_rd_atom)"),
    ];
    if spec.bidirectional {
        limits.extend([
            (
                responder.max_qp_init_rd_atom,
                "the responder's device can have outstanding (max_qp_init_rd_atom)",
            ),
            (requester.max_qp_rd_atom, "the requester's device answers at once (max_qp_rd_atom)"),
        ]);
    }
    for (limit, what) in &limits {
        let asked = spec.outstanding_reads.unwrap_or(1);
        if asked > *limit {
            return Err(format!("outstanding_reads: {asked} is more than the {limit} {what}"));
        }
    }
    let most = limits.iter().map(|(limit, _)| *limit).min().unwrap_or(1);
    Ok(spec.outstanding_reads.unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use schema::{Fabric, Op, Test};

    use super::*;

    fn party(answers: u8, outstanding: u8) -> Party {
        Party {
            fabric: Fabric::Soft,
            link_layer: "Soft".into(),
            active_mtu: 4096,
            gid: None,
            boot_id: None,
            cpus: Vec::new(),
            max_qp_rd_atom: answers,
            max_qp_init_rd_atom: outstanding,
        }
    }

    #[test]
    fn not_asked_it_is_what_both_bear_in_every_direction_used() {
        let mut spec = RunSpec::with_op(Test::Bandwidth, Op::Read);
        assert_eq!(outstanding_reads(&spec, &party(2, 16), &party(8, 1)), Ok(8));
        spec.bidirectional = true;
        assert_eq!(outstanding_reads(&spec, &party(2, 16), &party(8, 1)), Ok(1));
        assert_eq!(outstanding_reads(&RunSpec::new(Test::Bandwidth), &party(0, 0), &party(0, 0)), Ok(0));
    }

    #[test]
    fn more_than_either_side_bears_is_refused_with_its_name() {
        let mut spec = RunSpec::with_op(Test::Latency, Op::FetchAdd);
        spec.outstanding_reads = Some(9);
        let text = outstanding_reads(&spec, &party(16, 16), &party(8, 16)).unwrap_err();
        assert!(text.contains("outstanding_reads: 9") && text.contains("responder"), "{text}");
        spec.outstanding_reads = None;
        assert!(outstanding_reads(&spec, &party(16, 16), &party(0, 16)).is_err());
    }
}
