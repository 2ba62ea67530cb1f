//! Long CSV of a cluster: a row a run of a pair and message size, for R, pandas and spreadsheets.

use std::fmt::Write as _;

use schema::{Cluster, PairOutcome, PairPoint, PairRun};

use crate::{
    export::{csv::quoted, night::series::fabric},
    render::number,
};

/// Columns. A number that was not measured is empty; a run that measured nothing has one row without a size, which says why.
const HEADER: &str = "cluster,suite,fabric,run,round,part,label,started_at,scenario,workload,variant,role,requester,responder,\
                      requester_leaf,responder_leaf,hops,outcome,why,late_ns,msg_bytes,bandwidth_bits_per_sec,\
                      messages_per_sec,p50_ns,p99_ns,remarks\n";

/// The runs (RFC 4180), in the order they were made.
pub fn long_csv(cluster: &Cluster) -> String {
    let mut text = HEADER.to_owned();
    for run in &cluster.runs {
        let (head, remarks) = (head(cluster, run), quoted(&run.remarks.join("; ")));
        if run.points.is_empty() {
            let _ = writeln!(text, "{head},,,,,,{remarks}");
        }
        for point in &run.points {
            let _ = writeln!(text, "{head},{},{remarks}", numbers(point));
        }
    }
    text
}

fn head(cluster: &Cluster, run: &PairRun) -> String {
    let round = cluster.rounds.get(run.round as usize);
    let workload = round.and_then(|round| cluster.workloads.get(round.workload as usize));
    let [requester, responder] = [run.requester, run.responder].map(|rank| cluster.nodes.get(rank as usize));
    let name = |node: Option<&schema::ClusterNode>| node.map_or_else(String::new, |node| quoted(&node.name));
    let leaf = |node: Option<&schema::ClusterNode>| {
        node.and_then(schema::ClusterNode::leaf).map_or_else(String::new, quoted)
    };
    let hops = requester.zip(responder).and_then(|(a, b)| a.hops(b));
    let (outcome, why) = match &run.outcome {
        PairOutcome::Measured => ("measured", ""),
        PairOutcome::Invalid { why } => ("invalid", why.as_str()),
        PairOutcome::CouldNotRun { why } => ("could_not_run", why.as_str()),
    };
    [
        cluster.id.to_string(),
        quoted(&cluster.suite),
        cluster.fabric.map_or("", fabric).to_owned(),
        run.sequence.to_string(),
        run.round.to_string(),
        round.map_or_else(String::new, |round| round.part.to_string()),
        round.map_or_else(String::new, |round| quoted(&round.label)),
        round.map_or_else(String::new, |round| number::utc_iso(round.started_at_unix_ms)),
        workload.map_or_else(String::new, |of| quoted(&of.scenario)),
        workload.map_or_else(String::new, |of| quoted(&of.workload)),
        workload.map_or_else(String::new, |of| quoted(&of.variant)),
        run.role.to_string(),
        name(requester),
        name(responder),
        leaf(requester),
        leaf(responder),
        hops.map_or_else(String::new, |hops| hops.to_string()),
        outcome.to_owned(),
        quoted(why),
        run.late_ns.map_or_else(String::new, |late| late.to_string()),
    ]
    .join(",")
}

fn numbers(point: &PairPoint) -> String {
    let numbers =
        PairPoint::METRICS.map(|metric| point.get(metric).map_or_else(String::new, |of| of.to_string()));
    format!("{},{}", point.msg_bytes.get(), numbers.join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::measured_cluster;

    #[test]
    fn a_row_a_run_and_size_and_what_could_not_run_says_why() {
        let mut cluster = measured_cluster();
        let second = PairPoint { msg_bytes: schema::Bytes(4096), ..cluster.runs[1].points[0] };
        cluster.runs[1].points.push(second);
        let text = long_csv(&cluster);
        assert_eq!(text.lines().count(), 1 + cluster.runs.len() + 1);
        let refused = ",could_not_run,node8 never came: the scheduler says: drained (bad fan),,,,,,,";
        assert!(text.lines().any(|line| line.ends_with(refused)), "{text}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert!(reader.records().all(|row| row.is_ok()));
    }

    proptest! {
        #[test]
        fn whatever_things_are_called_a_csv_reader_finds_it(name in any::<String>(), remark in any::<String>()) {
            let mut cluster = measured_cluster();
            cluster.runs.truncate(4);
            cluster.nodes[0].name.clone_from(&name);
            (cluster.runs[0].requester, cluster.runs[0].remarks) = (0, vec![remark.clone()]);
            let text = long_csv(&cluster);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!((&rows[0][12], &rows[0][25]), (&name[..], &remark[..]));
        }
    }
}
