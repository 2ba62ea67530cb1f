//! Governor, energy-performance preference and turbo. Of CPUs that share a policy, the first is written.

use std::collections::BTreeSet;

use host::{Value, cpufreq, cpulist, topology::Topology};
use schema::KnobSetting;

use super::{Unfit, Want, is_word};
use crate::tuning::{form::Form, site::Site};

/// An attribute of every CPU's policy, and the one that lists what it can be.
const GOVERNOR: (&str, &str) = ("scaling_governor", "scaling_available_governors");
const PREFERENCE: (&str, &str) =
    ("energy_performance_preference", "energy_performance_available_preferences");

pub(super) fn governor(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    every_policy(setting, site, GOVERNOR)
}

pub(super) fn preference(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    every_policy(setting, site, PREFERENCE)
}

pub(super) fn turbo(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let on = match setting.value.trim() {
        "on" => true,
        "off" => false,
        _ => return Err(Unfit::Value("must be on or off".to_owned())),
    };
    match cpufreq::turbo(&site.sysroot) {
        Value::Known(turbo) => {
            let word = if on { turbo.word_on } else { turbo.word_off };
            Ok(vec![Want::file(turbo.path, Form::Word, word)])
        }
        unknown => Err(Unfit::Host(format!(
            "no switch of turbo for all CPUs: {}",
            unknown.why_unknown().unwrap_or_default()
        ))),
    }
}

fn every_policy(
    setting: &KnobSetting,
    site: &Site,
    (attribute, available): (&str, &str),
) -> Result<Vec<Want>, Unfit> {
    let word = setting.value.trim();
    if !is_word(word) {
        return Err(Unfit::Value("must be one word, for example performance".to_owned()));
    }
    let mut policies = BTreeSet::new();
    let mut wants = Vec::new();
    for cpu in Topology::read(&site.sysroot).online() {
        let path = cpufreq::path(cpu, attribute);
        if !site.sysroot.exists(&path) {
            continue;
        }
        let known = site.sysroot.read(cpufreq::path(cpu, available)).known();
        if let Some(known) = known.filter(|known| !known.split_whitespace().any(|known| known == word)) {
            return Err(Unfit::Host(format!("CPU {cpu} has no `{word}`, but {known}")));
        }
        // The folder of a CPU is a link to its policy's.
        if policies.insert(site.sysroot.resolve(cpufreq::path(cpu, "")).known().unwrap_or(path.clone())) {
            wants.push(Want::file(path, Form::Word, word));
        }
    }
    if wants.is_empty() {
        let cpus = cpulist::format(&Topology::read(&site.sysroot).online());
        return Err(Unfit::Host(format!("none of the CPUs {cpus} has cpufreq/{attribute}: usual in a VM")));
    }
    Ok(wants)
}
