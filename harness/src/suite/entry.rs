//! One table of `[[scenarios]]`: the scenario, the variant, and what is kept of it.

use std::path::Path;

use schema::{Metric, RunSpec, Test};

use super::{Wrong, has, usual};
use crate::{
    plan::{self, Plan, Single, SingleError},
    scenario::{self, At, Fault, Scenario, ScenarioError, Section, did_you_mean},
};

/// What a table names.
pub(crate) struct Named {
    /// The path as written.
    pub(crate) file: At<String>,
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// The plan of its one variant.
    pub(crate) plan: Plan,
    metrics: Option<Vec<At<Metric>>>,
}

impl Named {
    /// Name of the variant.
    pub(crate) fn variant(&self) -> &str {
        &self.plan.variants[0].name
    }

    /// The workloads by name.
    pub(crate) fn specs(&self) -> impl Iterator<Item = (&str, &RunSpec)> {
        let workloads = self.plan.workloads.iter();
        workloads.flat_map(|workload| workload.specs.values().map(|spec| (workload.name.as_str(), spec)))
    }

    /// What is kept of a test.
    pub(crate) fn metrics_of(&self, test: Test) -> Vec<Metric> {
        match &self.metrics {
            None => usual(test).to_vec(),
            Some(asked) => asked.iter().map(|at| at.value).filter(|metric| has(test, *metric)).collect(),
        }
    }
}

/// Reads a table, to which nothing is said after this: each workload of one variant is made `runs` times. `never` tells why a metric is
/// not kept by suites of this kind.
pub(crate) fn read_named(
    section: &Section<'_>,
    folder: &Path,
    runs: u32,
    never: impl Fn(Metric) -> Option<&'static str>,
    wrong: &Wrong,
) -> Option<Named> {
    let (file, variant) = (section.text("file"), section.text("variant"));
    let metrics = read_metrics(section, never);
    section.finish();
    let Some(file) = file else {
        if section.raw("file").is_none() {
            let what = "is missing; it is the path of a scenario, from the suite's folder";
            section.fault("file", section.span(), what);
        }
        return None;
    };
    let scenario = match scenario::load(&folder.join(&file.value)) {
        Ok(scenario) => scenario,
        Err(ScenarioError::Read { file: path, cause }) => {
            section.fault("file", file.span, format!("reading {}: {cause}", path.display()));
            return None;
        }
        Err(error) => {
            wrong.borrow_mut().get_or_insert(error);
            return None;
        }
    };
    let single = Single { variant: variant.as_ref().map(|name| name.value.as_str()), runs };
    let plan = match plan::of_one_variant(&scenario, single, 0) {
        Ok(plan) => plan,
        Err(SingleError::Scenario(error)) => {
            wrong.borrow_mut().get_or_insert(error);
            return None;
        }
        Err(SingleError::NoVariant { variant: name, known, .. }) => {
            let advice = match did_you_mean(&name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", known.join(", ")),
            };
            let what = format!("scenario `{}` has no variant `{name}`", scenario.name);
            let place = variant.map_or(section.span(), |name| name.span);
            section.push(Fault::new(section.field("variant"), place, what).advice(advice));
            return None;
        }
    };
    let named = Named { file, scenario, plan, metrics };
    refuse_what_no_workload_has(section, &named);
    Some(named)
}

fn read_metrics(
    section: &Section<'_>,
    never: impl Fn(Metric) -> Option<&'static str>,
) -> Option<Vec<At<Metric>>> {
    let texts = section.texts("metrics")?;
    let mut metrics: Vec<At<Metric>> = Vec::new();
    for text in texts {
        match text.value.parse() {
            Ok(metric) if metrics.iter().any(|known| known.value == metric) => {
                section.fault("metrics", text.span, format!("{metric} is given twice"));
            }
            Ok(metric) => match never(metric) {
                Some(why) => section.fault("metrics", text.span, format!("{metric} {why}")),
                None => metrics.push(At { value: metric, span: text.span }),
            },
            Err(error) => section.fault("metrics", text.span, error.to_string()),
        }
    }
    Some(metrics)
}

fn refuse_what_no_workload_has(section: &Section<'_>, named: &Named) {
    for metric in named.metrics.iter().flatten() {
        if !named.specs().any(|(_, spec)| has(spec.test, metric.value)) {
            let what = format!("no workload of scenario `{}` has {}", named.scenario.name, metric.value);
            section.fault("metrics", metric.span.clone(), what);
        }
    }
}

/// Notes that a suite names no scenario.
pub(crate) fn no_scenario(root: &Section<'_>) {
    root.push(
        Fault::new("scenarios", 0..0, "there is none, so nothing is measured")
            .advice("add [[scenarios]] with file = \"PATH\", which counts from the suite's folder"),
    );
}

/// Refuses two entries that would be values of the same series, or look as if they were.
pub(crate) fn refuse_twins(root: &Section<'_>, entries: &[Named]) {
    for (n, entry) in entries.iter().enumerate() {
        let (name, variant) = (&entry.scenario.name, entry.variant());
        let Some(first) = entries[..n].iter().find(|other| other.scenario.name == *name) else { continue };
        let what = if first.scenario.source != entry.scenario.source {
            format!("another scenario is called `{name}` already; rename one of the files")
        } else if entries[..n].iter().any(|other| other.scenario.name == *name && other.variant() == variant)
        {
            format!("variant `{variant}` of this scenario is measured already")
        } else {
            continue;
        };
        let fault = Fault::new(format!("scenarios[{n}].file"), entry.file.span.clone(), what);
        root.push(fault.beside(first.file.span.clone(), "the first"));
    }
}
