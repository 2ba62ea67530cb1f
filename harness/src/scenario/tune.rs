//! The `tune` table of a profile or of a variant: which knobs are to be turned, and by which profile.
//!
//! Values are checked here as far as they are wrong on any host; what a host has is its agent's to say.

use std::path::Path;

use schema::{Knob, KnobSetting, SidesTuning, Tuning};
use toml::{Spanned, de::DeValue};

use super::{
    profile,
    section::{At, Section},
};
use crate::tuning;

/// Knobs of several parts: a table of item and value.
const WITH_ITEMS: &[Knob] = &[
    Knob::Sysctl,
    Knob::ResumeLatency,
    Knob::Thp,
    Knob::HugePages,
    Knob::GlobalPause,
    Knob::Coalescing,
    Knob::Rings,
    Knob::Boot,
];

/// The tables of one variant: what is common to both sides, and what is said of one.
pub(super) fn read_sides(section: &Section<'_>, folder: &Path) -> SidesTuning {
    let requester = section.section("requester");
    let responder = section.section("responder");
    let common = read(section, folder);
    let of = |side: Option<Section<'_>>| match side {
        None => common.clone(),
        Some(side) => {
            let own = read(&side, folder);
            Tuning {
                allow_disruptive: common.allow_disruptive || own.allow_disruptive,
                profile: own.profile.clone().or_else(|| common.profile.clone()),
                ..over(common.clone(), own)
            }
        }
    };
    SidesTuning { requester: of(requester), responder: of(responder) }
}

/// One table. Its own knobs override its profile's.
pub(super) fn read(section: &Section<'_>, folder: &Path) -> Tuning {
    let profile = section.text("profile").and_then(|name| match profile::load(&name.value, folder) {
        Ok(tuning) => Some(tuning),
        Err(error) => {
            section.fault("profile", name.span, error.to_string());
            None
        }
    });
    let own = Tuning {
        profile: None,
        knobs: Knob::ALL.iter().flat_map(|knob| read_knob(section, *knob)).collect(),
        allow_disruptive: section.flag("allow_disruptive").is_some_and(|flag| flag.value),
        check_only: section.flag("check_only").is_some_and(|flag| flag.value),
    };
    let optional = read_optional(section);
    section.finish();
    let allow_disruptive = own.allow_disruptive;
    let mut tuning = Tuning { allow_disruptive, ..over(profile.unwrap_or_default(), own) };
    mark_optional(section, &mut tuning, &optional);
    tuning
}

/// What several tables turn together, in the order of turning. Where two turn the same, the later wins.
pub(crate) fn together<'t>(tables: impl IntoIterator<Item = &'t SidesTuning>) -> SidesTuning {
    let add = |all: Tuning, one: &Tuning| {
        let names = [all.profile.as_deref(), one.profile.as_deref()];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        Tuning {
            profile: (!names.is_empty()).then(|| names.join(" + ")),
            allow_disruptive: all.allow_disruptive || one.allow_disruptive,
            ..over(all.clone(), one.clone())
        }
    };
    tables.into_iter().fold(SidesTuning::default(), |all, one| SidesTuning {
        requester: add(all.requester, &one.requester),
        responder: add(all.responder, &one.responder),
    })
}

/// The second over the first, in the order of turning.
fn over(first: Tuning, second: Tuning) -> Tuning {
    let overridden = |setting: &KnobSetting| {
        second.knobs.iter().any(|own| own.knob == setting.knob && own.item == setting.item)
    };
    let mut knobs: Vec<KnobSetting> =
        first.knobs.iter().filter(|setting| !overridden(setting)).cloned().collect();
    knobs.extend(second.knobs);
    knobs.sort_by_key(|setting| tuning::place(setting.knob));
    Tuning { knobs, check_only: first.check_only || second.check_only, ..first }
}

fn read_knob(section: &Section<'_>, knob: Knob) -> Vec<KnobSetting> {
    let Some(value) = section.raw(knob.word()) else { return Vec::new() };
    if !WITH_ITEMS.contains(&knob) {
        return read_setting(section, knob, "", value).into_iter().collect();
    }
    let Some(items) = section.section(knob.word()) else { return Vec::new() };
    items
        .rest()
        .into_iter()
        .filter_map(|(item, value)| read_setting(&items, knob, &item.value, value))
        .collect()
}

fn read_setting(
    section: &Section<'_>,
    knob: Knob,
    item: &str,
    value: &Spanned<DeValue<'_>>,
) -> Option<KnobSetting> {
    let key = if item.is_empty() { knob.word() } else { item };
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Boolean(flag) => if *flag { "on" } else { "off" }.to_owned(),
        _ => {
            section.fault(key, value.span(), "must be a text in quotes, a decimal number, true or false");
            return None;
        }
    };
    let setting = KnobSetting { knob, item: item.to_owned(), value: text, optional: false };
    if let Err(why) = tuning::check_setting(&setting) {
        section.fault(key, value.span(), format!("`{}`: {why}", setting.value));
        return None;
    }
    Some(setting)
}

/// Names of knobs that may be left out where a host does not have them.
fn read_optional(section: &Section<'_>) -> Vec<At<String>> {
    let Some(value) = section.raw("optional") else { return Vec::new() };
    let Some(array) = value.get_ref().as_array() else {
        section.fault("optional", value.span(), "must be an array of knobs, for example [\"governor\"]");
        return Vec::new();
    };
    let mut names = Vec::new();
    for item in array {
        match item.get_ref().as_str() {
            Some(name) => names.push(At { value: name.to_owned(), span: item.span() }),
            None => section.fault("optional", item.span(), "must be the name of a knob in quotes"),
        }
    }
    names
}

fn mark_optional(section: &Section<'_>, tuning: &mut Tuning, optional: &[At<String>]) {
    for name in optional {
        let mut found = false;
        for setting in tuning.knobs.iter_mut().filter(|setting| setting.knob.word() == name.value) {
            setting.optional = true;
            found = true;
        }
        if !found {
            let what = format!("`{}` is not a knob that this table turns", name.value);
            section.fault("optional", name.span.clone(), what);
        }
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::{super::section::Faults, *};

    fn sides(source: &str) -> Result<SidesTuning, Vec<String>> {
        let table = DeTable::parse(source).unwrap();
        let faults = Faults::default();
        let sides = read_sides(&Section::new("tune", table.span(), table.get_ref(), &faults), Path::new("."));
        let faults = faults.into_inner();
        let said = |fault: &super::super::Fault| format!("{}: {} {}", fault.field, fault.what, fault.advice);
        if faults.is_empty() { Ok(sides) } else { Err(faults.iter().map(said).collect()) }
    }

    fn shown(tuning: &Tuning) -> Vec<String> {
        tuning.knobs.iter().map(|set| format!("{} {}={}", set.knob, set.item, set.value)).collect()
    }

    #[test]
    fn knobs_are_read_in_the_order_they_are_turned() {
        let read = sides(
            "mtu = 4200\nirqbalance = \"pause\"\nallow_disruptive = true\n\
             sysctl = { \"net.core.rmem_max\" = 134217728, \"net.ipv4.tcp_rmem\" = \"4096 87380 1\" }\n\
             coalescing = { adaptive_rx = false }\noptional = [\"coalescing\"]",
        )
        .unwrap();
        assert_eq!(
            shown(&read.requester),
            [
                "irqbalance =pause",
                "sysctl net.core.rmem_max=134217728",
                "sysctl net.ipv4.tcp_rmem=4096 87380 1",
                "mtu =4200",
                "coalescing adaptive_rx=off",
            ]
        );
        assert_eq!(read.requester, read.responder);
        assert!(
            read.requester.allow_disruptive
                && read.requester.knobs[4].optional
                && !read.requester.knobs[3].optional
        );
    }

    #[test]
    fn a_side_overrides_what_is_common_and_a_table_its_profile() {
        let read =
            sides("profile = \"low-latency\"\npm_qos = \"0us\"\n[requester]\npm_qos = \"7us\"\nmtu = 4200")
                .unwrap();
        let qos = |tuning: &Tuning| {
            let found: Vec<&str> = tuning
                .knobs
                .iter()
                .filter(|setting| setting.knob == Knob::PmQos)
                .map(|setting| setting.value.as_str())
                .collect();
            found.join(" ")
        };
        assert_eq!((qos(&read.requester).as_str(), qos(&read.responder).as_str()), ("7us", "0us"));
        assert!(read.requester.knobs.iter().any(|setting| setting.knob == Knob::Mtu));
        assert!(!read.responder.knobs.iter().any(|setting| setting.knob == Knob::Mtu));
        assert_eq!(read.requester.profile.as_deref(), Some("low-latency"));
    }

    #[test]
    fn every_mistake_is_named_with_its_key() {
        for (source, wanted) in [
            (
                "govenor = \"performance\"",
                "tune.govenor: is not a key of this table did you mean `governor`?",
            ),
            ("pm_qos = \"2\"", "tune.pm_qos: `2`: must be whole microseconds"),
            ("mtu = 400", "tune.mtu: `400`: must be bytes from 1280"),
            ("mtu = 1.5", "tune.mtu: must be a text in quotes, a decimal number"),
            (
                "sysctl = { \"kernel.core_pattern\" = \"|/bin/sh\" }",
                "tune.sysctl.kernel.core_pattern: `|/bin/sh`",
            ),
            ("sysctl = \"x\"", "tune.sysctl: must be a table"),
            ("profile = \"low-latencies\"", "did you mean `low-latency`?"),
            ("optional = [\"mtu\"]", "tune.optional: `mtu` is not a knob that this table turns"),
            ("optional = true", "tune.optional: must be an array"),
            ("irq_affinity = \"2\"", "tune.irq_affinity: `2`: must be nic-node-except-poll"),
            ("[requester]\nmut = 4200", "tune.requester.mut: is not a key of this table"),
            ("huge_pages = { \"0\" = 4 }", "tune.huge_pages.0: `4`: `0` must be NODE:SIZE"),
        ] {
            let faults = sides(source).unwrap_err().join("\n");
            assert!(faults.contains(wanted), "{source}: wanted {wanted}, got {faults}");
        }
    }
}
