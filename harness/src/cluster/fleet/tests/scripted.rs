//! Fleets of real agents whose verbs-bench is a shell script.

use schema::{Fabric, NodeState, Outcome, RunRecord};

use super::{
    super::{Crew, FleetWishes},
    measure,
    stand_in::{Theatre, limits, task},
    whys,
};
use crate::agent::{
    Setup,
    testing::{agent, script},
};

/// Gives a record of whatever it is asked for, when it is told to start.
fn obedient() -> String {
    let mark = "the spec";
    let record = RunRecord::start(task(0, 1).spec, Fabric::Soft, 0, Outcome::Completed);
    let mut json = serde_json::to_value(record).unwrap();
    json["spec"] = mark.into();
    let json = json.to_string();
    let (before, after) = json.split_once(&format!("\"{mark}\"")).unwrap();
    format!(
        r#"if [ "$1" = serve ]; then echo '{{"listening":"127.0.0.1:1"}}'; exit 0; fi
read -r spec; echo '{{"holding":true}}'
read -r start || exit 4
printf '%s%s%s\n' '{before}' "$spec" '{after}'"#
    )
}

#[test]
fn agents_make_several_runs_at_once_and_one_that_refuses_holds_none_up() {
    let refuses = r#"[ "$1" = serve ] && { echo '{"listening":"127.0.0.1:1"}'; exit 0; }
        echo 'error: qps: 99 is too many' >&2; exit 2"#;
    let scripts = [script(&obedient()), script(refuses)];
    let mut theatre = Theatre::new([]);
    for (rank, script) in [(0, 0), (1, 0), (2, 0), (3, 1)] {
        let setup = Setup { verbs_bench: Some(scripts[script].1.clone()), ..Setup::live() };
        let link = agent(rank, setup, theatre.events());
        theatre.muster(Ok(link));
    }
    let mut fleet = theatre.meet(&FleetWishes { device: "soft".into(), ..FleetWishes::default() }, limits());
    let shift = measure(&mut fleet, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    let said = whys(&shift);
    assert_eq!(said[..3], ["completed"; 3]);
    assert!(said[3].contains("refused the run: error: qps: 99 is too many"), "{}", said[3]);
    assert_eq!(whys(&measure(&mut fleet, &[(0, 3), (1, 3), (2, 3)])), ["completed"; 3]);
    assert!(fleet.nodes().iter().all(|node| node.state == NodeState::Present));
    assert_eq!(fleet.dismiss(), Vec::<String>::new());
}
