//! Scenarios of factors: what they come to, and what is refused.

use std::path::Path;

use schema::Role;

use crate::{
    plan::{Outlook, Plan, plan, show},
    scenario::parse,
};

fn shown(plan: &Plan) -> String {
    show(plan, &Outlook::of(plan, None))
}

const GOOD: &str = r#"
question = "Which matters?"
[hosts.requester]
device = "soft"
[design]
duration = "100ms"
[[workloads]]
name = "w"
test = "bandwidth"
op = "write"
size = 64
[workloads.with.list]
signal_interval = 8
[[factors]]
name = "deep"
tx_depth = 32
[[factors]]
name = "list"
post_list = 8
[[factors]]
name = "tuned"
tune.governor = "performance"
"#;

fn planned(changes: &[(&str, &str)]) -> Result<Plan, String> {
    let text = changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let scenario = parse(Path::new("x.toml"), text).map_err(|error| error.to_string())?;
    plan(&scenario, 7).map_err(|error| error.to_string())
}

/// Seven factors, of which each sets a parameter of its own.
fn seven(design: &str) -> Result<Plan, String> {
    let more = "[[factors]]\nname = \"batch\"\ncq_poll_batch = 4\n[[factors]]\nname = \"qps\"\nqp_count = 2\n\
                [[factors]]\nname = \"ordered\"\nrelaxed_ordering = true\n[[factors]]\nname = \"big\"\nworking_set = \"1Mi\"\n\
                [[factors]]\nname = \"deep\"";
    planned(&[("[[factors]]\nname = \"deep\"", more), ("[design]", &format!("[design]\n{design}"))])
}

#[test]
fn three_factors_make_eight_combinations() {
    let plan = planned(&[]).unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        names,
        ["none", "deep", "list", "deep+list", "tuned", "deep+tuned", "list+tuned", "deep+list+tuned"]
    );
    assert_eq!(plan.variants.iter().filter(|variant| variant.role == Role::Baseline).count(), 1);
    assert_eq!(plan.runs.len(), 9 * 10, "eight and the control in each of ten blocks");
    assert_eq!(plan.questions(), 3, "one a factor");
    let all = plan.variants.last().unwrap();
    assert_eq!(all.factors_on, ["deep", "list", "tuned"]);
    assert_eq!((all.settings["tx_depth"].as_str(), all.settings["post_list"].as_str()), ("32", "8"));
    assert_eq!(all.tuning.requester.knobs.len(), 1);
    let spec = |variant: &str| &plan.workloads[0].specs[variant];
    assert_eq!((spec("deep+list").tx_depth, spec("deep+list").signal_interval), (32, 8));
    assert_eq!((spec("deep").post_list, spec("none").tx_depth), (1, spec("list").tx_depth));
    assert_eq!(
        plan.factors.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(),
        ["deep", "list", "tuned"]
    );
}

#[test]
fn many_factors_are_numbered_and_need_a_design() {
    let text = seven("").unwrap_err();
    assert!(
        text.contains("design.factorial: is missing; all combinations of 7 factors would be 128"),
        "{text}"
    );
    assert!(text.contains("\"fractional\" (16 runs, resolution IV)"), "{text}");
    let plan = seven("factorial = \"fractional\"").unwrap();
    assert_eq!((plan.variants.len(), plan.variants[1].name.as_str()), (16, "c02"));
    assert_eq!(seven("factorial = \"fractional\"\ncombinations = 8").unwrap().variants.len(), 8);
    assert_eq!(seven("factorial = \"screening\"").unwrap().variants.len(), 8);
    assert_eq!(seven("factorial = \"screening\"\ncombinations = 12").unwrap().variants.len(), 12);
}

#[test]
fn the_plan_says_what_it_combines_and_what_it_confounds() {
    let text = shown(&planned(&[]).unwrap());
    for word in [
        "all 8 combinations of 3 factors",
        "post_list = 8",
        "governor = performance",
        "off in 4 of the 8 runs",
    ] {
        assert!(text.contains(word), "no {word} in:\n{text}");
    }
    assert!(!text.contains("cannot be told from each other"), "{text}");
    let text = shown(&seven("factorial = \"fractional\"").unwrap());
    for word in
        ["16 of 128 combinations", "resolution IV", "cannot be told from each other", "batch x qps = "]
    {
        assert!(text.contains(word), "no {word} in:\n{text}");
    }
}

#[test]
fn what_two_factors_share_is_refused() {
    for (from, to, wanted) in [
        (
            "post_list = 8",
            "post_list = 8\ntx_depth = 64",
            "factors[1].tx_depth: is what factor `deep` sets already",
        ),
        (
            "signal_interval = 8",
            "tx_depth = 64",
            "workloads[0].with.list.tx_depth: is what factor `deep` sets already",
        ),
        (
            "tx_depth = 32",
            "tune.governor = \"powersave\"",
            "factors[2].tune: turns governor, which factor `deep` turns already",
        ),
    ] {
        let text = planned(&[(from, to)]).expect_err(to);
        assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
    }
}

#[test]
fn what_is_no_factorial_is_refused_at_its_place() {
    for (from, to, wanted) in [
        ("name = \"list\"\npost_list = 8", "name = \"list\"", "factors[1]: sets and turns nothing"),
        ("name = \"deep\"", "name = \"de+ep\"", "factors[0].name: `+` joins the names"),
        ("name = \"deep\"", "name = \"none\"", "factors[0].name: `none` is the name of the baseline"),
        ("name = \"deep\"", "name = \"list\"", "factors[1].name: `list` is given twice"),
        ("[workloads.with.list]", "[workloads.with.lits]", "there is no factor `lits`"),
        (
            "tx_depth = 32",
            "tx_depth = 32\nbaseline = true",
            "factors[0].baseline: has no meaning for a factor",
        ),
        ("tx_depth = 32", "size = 8", "factors[0].size: belongs to a workload"),
        (
            "size = 64",
            "size = 64\ntx_depth = 4",
            "factors[0].tx_depth: is set by factor `deep` and by workload `w`",
        ),
        ("tx_depth = 32", "tx_depth = 128", "factors[0]: `deep` is the same as `none`"),
        ("[design]", "[design]\nfactorial = \"half\"", "design.factorial: `half` is unknown"),
        (
            "[design]",
            "[design]\nfactorial = \"fractional\"",
            "design.factorial: there is no fractional design for 3",
        ),
        (
            "[design]",
            "[design]\nfactorial = \"screening\"\ncombinations = 9",
            "design.combinations: there is no screening design of 9 combinations for 3 factors",
        ),
        ("[design]", "[design]\ncombinations = 8", "design.factorial: is missing, and a number"),
        (
            "[[factors]]",
            "[[variants]]\nname = \"v\"\nbaseline = true\n[[factors]]",
            "variants: are given beside [[factors]]",
        ),
        (
            "tune.governor = \"performance\"",
            "tune.profile = \"roce-lossless-check\"",
            "factors[2].tune: is only checked, never turned",
        ),
    ] {
        let text = planned(&[(from, to)]).expect_err(to);
        assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
        assert!(text.contains("x.toml:") && text.contains('^'), "{text}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_once_however_many_combinations_it_is_in() {
    let text = planned(&[("post_list = 8", "post_list = 64")]).unwrap_err();
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert!(text.contains("factors[1].post_list: 64 is more than tx_depth 32"), "{text}");
}

#[test]
fn factors_without_a_second_one_and_a_design_without_factors_are_refused() {
    let one = "question = \"x\"\n[[workloads]]\nname = \"w\"\ntest = \"latency\"\nop = \"write\"\n[[factors]]\nname = \"a\"\ncpu = \"0\"\n";
    let text = parse(Path::new("x.toml"), one.into()).err().unwrap().to_string();
    assert!(text.contains("factors: one factor has nothing to be combined with"), "{text}");
    let none = "question = \"x\"\ndesign.factorial = \"full\"\n[[workloads]]\nname = \"w\"\ntest = \"latency\"\nop = \"write\"\n[[variants]]\nname = \"a\"\nbaseline = true\n[[variants]]\nname = \"b\"\ncpu = \"0\"\n";
    let text = parse(Path::new("x.toml"), none.into()).err().unwrap().to_string();
    assert!(text.contains("design.factorial: is given, and there are no factors"), "{text}");
}
