//! What is said in the end: what was bad again, what could not be measured again, and how nodes are set up otherwise.

use std::collections::BTreeSet;

use schema::Certainty;

use super::{
    Analysis,
    again::{Again, Settled, Standing},
    census::{Census, Fault, Group},
    claim::Claim,
    evidence::{self, Remarks},
    model::{ClusterFinding, ClusterVerdict, FindingKind, NotRun, Subject},
    scene::Scene,
    sentence,
    suspect::{self, Suspect},
};

/// The worst first: confirmed, suspected, odd configurations.
pub(super) fn of(analysis: &Analysis) -> Vec<ClusterFinding> {
    let scene = &analysis.scene;
    let census = Census::of(scene.cluster);
    let mut findings = of_speed(analysis, &census);
    findings.extend(census.faults.iter().map(|fault| of_fault(scene, fault)));
    let groups = |kind, groups: &[Group]| -> Vec<ClusterFinding> {
        groups.iter().map(|group| of_group(scene, kind, group)).collect()
    };
    findings.extend(groups(FindingKind::Divided, &census.divided));
    findings.extend(groups(FindingKind::OddConfiguration, &census.odd));
    findings.sort_by_key(|finding| {
        let configuration = matches!(finding.kind, FindingKind::Divided | FindingKind::OddConfiguration);
        (configuration, finding.certainty != Certainty::Confirmed)
    });
    findings
}

/// The worst that is said.
pub(super) fn verdict(findings: &[ClusterFinding], not_run: &[NotRun], measured: bool) -> ClusterVerdict {
    match () {
        () if findings.iter().any(ClusterFinding::alarms) => ClusterVerdict::Slow,
        () if !not_run.is_empty() || !measured => ClusterVerdict::CouldNotRun,
        () if !findings.is_empty() => ClusterVerdict::Inconclusive,
        () => ClusterVerdict::Fine,
    }
}

fn of_speed(analysis: &Analysis, census: &Census) -> Vec<ClusterFinding> {
    let scene = &analysis.scene;
    let claims = analysis.claims();
    if claims.is_empty() {
        return Vec::new();
    }
    let settled = Again::of(scene, &analysis.judged, &claims).settled(&claims);
    let confirmed: BTreeSet<_> =
        settled.iter().filter(|one| one.standing == Standing::Confirmed).map(|one| one.claim.part).collect();
    let stays = |one: &&Settled| one.standing != Standing::Cleared;
    let claims: Vec<Claim> = settled.iter().filter(stays).map(|one| one.claim).collect();
    let remarks = Remarks::of(scene.cluster);
    let finding = |suspect: Suspect| {
        let sure = |claim: &Claim| confirmed.contains(&claim.part);
        let certain = suspect.claims.iter().any(sure);
        // A direction that could not be measured again adds nothing to one that was.
        let suspect = if certain {
            let claims: Vec<Claim> = suspect.claims.iter().filter(|claim| sure(claim)).copied().collect();
            suspect::folded(scene, &claims).pop()?
        } else {
            suspect
        };
        Some(said(scene, suspect, certain, &settled, census, &remarks))
    };
    let mut findings: Vec<ClusterFinding> =
        suspect::folded(scene, &claims).into_iter().filter_map(finding).collect();
    let size = |finding: &ClusterFinding| finding.effects.first().map_or(0.0, |effect| effect.change.abs());
    findings.sort_by(|a, b| {
        (a.kind == FindingKind::Link).cmp(&(b.kind == FindingKind::Link)).then(size(b).total_cmp(&size(a)))
    });
    findings
}

fn said(
    scene: &Scene,
    suspect: Suspect,
    certain: bool,
    settled: &[Settled],
    census: &Census,
    remarks: &Remarks,
) -> ClusterFinding {
    let Suspect { kind, subject, effects, claims } = suspect;
    // That of the worst claim that was measured again.
    let of = |claim: &Claim| settled.iter().find(|one| one.claim == *claim && one.retest.is_some());
    let wanted = if certain { Standing::Confirmed } else { Standing::Open };
    let retest = claims.iter().filter_map(of).find(|one| one.standing == wanted).and_then(|one| one.retest);
    let sentence = sentence::of_speed(scene.cluster, kind, &subject, &effects[0], certain, retest);
    ClusterFinding {
        evidence: evidence::of(scene.cluster, census, remarks, &subject),
        sentence,
        advice: sentence::advice(kind, certain),
        certainty: if certain { Certainty::Confirmed } else { Certainty::Suspected },
        kind,
        subject,
        effects,
        retest,
    }
}

fn of_fault(scene: &Scene, fault: &Fault) -> ClusterFinding {
    let first = fault.findings[0];
    let names = sentence::names(scene.cluster, &fault.nodes);
    let found = fault.nodes.iter().zip(&fault.findings).map(|(rank, finding)| {
        format!("{}: {}: {}", scene.cluster.nodes[*rank as usize].name, finding.subject, finding.summary)
    });
    let advice = match first.remedy.is_empty() {
        true => sentence::advice(FindingKind::Fault, true),
        false => format!("{}: {}", sentence::advice(FindingKind::Fault, true), first.remedy),
    };
    ClusterFinding {
        kind: FindingKind::Fault,
        subject: Subject { nodes: fault.nodes.clone(), leaf: None },
        certainty: Certainty::Confirmed,
        effects: Vec::new(),
        retest: None,
        evidence: found.collect(),
        sentence: format!("{names}: {} ({})", first.summary, first.check),
        advice,
    }
}

fn of_group(scene: &Scene, kind: FindingKind, group: &Group) -> ClusterFinding {
    let names = sentence::names(scene.cluster, &group.nodes);
    let verb = if group.nodes.len() == 1 { "differs" } else { "differ" };
    let facts = group.facts.join("; ");
    let sentence = match kind {
        FindingKind::Divided => format!("the nodes are not set up alike: {facts}"),
        _ => format!("{names} {verb} from the other nodes: {facts}"),
    };
    ClusterFinding {
        kind,
        subject: Subject { nodes: group.nodes.clone(), leaf: None },
        certainty: Certainty::Confirmed,
        effects: Vec::new(),
        retest: None,
        evidence: group.facts.clone(),
        sentence,
        advice: sentence::advice(kind, true),
    }
}
