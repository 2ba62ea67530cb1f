//! The two text formats of Prometheus. They differ in the line of the unit, in the type of an info, and in their end. No timestamps: the
//! textfile collector refuses them. Names and base units are Prometheus' own: bytes and seconds, never bits or milliseconds.

use std::fmt::Write as _;

use schema::Metric;

/// Labels and the value.
pub(in crate::export) type Sample = (Vec<(&'static str, String)>, f64);

/// A metric with its samples.
pub(in crate::export) struct Family {
    /// Without the `_info` of an info.
    pub(in crate::export) name: &'static str,
    /// What the name ends in, where the value has a unit.
    pub(in crate::export) unit: Option<&'static str>,
    /// One sentence.
    pub(in crate::export) help: &'static str,
    /// Whether its labels are all there is to it.
    pub(in crate::export) info: bool,
    /// By their labels.
    pub(in crate::export) samples: Vec<Sample>,
}

impl Family {
    /// A plain gauge.
    pub(in crate::export) fn gauge(
        name: &'static str,
        unit: Option<&'static str>,
        help: &'static str,
        samples: Vec<Sample>,
    ) -> Self {
        Family { name, unit, help, info: false, samples }
    }
}

/// What values of a metric are divided by to be in base units, and the unit.
pub(in crate::export) fn base_unit(metric: Metric) -> (f64, &'static str) {
    match metric {
        Metric::Bandwidth => (8.0, "bytes_per_second"),
        Metric::MessageRate => (1.0, "messages_per_second"),
        _ => (1e9, "seconds"),
    }
}

/// The text format 0.0.4, for the textfile collector: one file a suite. A family without samples is left out.
pub(in crate::export) fn text_format(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let name = sample_name(family);
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} gauge", family.help);
        samples(&mut text, family);
    }
    text
}

/// OpenMetrics 1.0.
pub(in crate::export) fn open_metrics(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let Family { name, unit, help, info, .. } = family;
        let _ = writeln!(text, "# TYPE {name} {}", if *info { "info" } else { "gauge" });
        if let Some(unit) = unit {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        samples(&mut text, family);
    }
    text + "# EOF\n"
}

fn sample_name(family: &Family) -> String {
    format!("{}{}", family.name, if family.info { "_info" } else { "" })
}

fn samples(text: &mut String, family: &Family) {
    let name = sample_name(family);
    for (labels, value) in &family.samples as &[Sample] {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// A label's value may be any text once these are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
