//! Units as other tools write them, and what one is in ours.

use schema::Metric;

/// Factors to bits a second, messages a second and ns.
const BANDWIDTH: [(&str, f64); 8] = [
    ("bit/s", 1.0),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("B/s", 8.0),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    ("MiB/s", 8.0 * 1_048_576.0),
    ("GiB/s", 8.0 * 1_073_741_824.0),
];
const RATE: [(&str, f64); 2] = [("msg/s", 1.0), ("Mmsg/s", 1e6)];
const TIME: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// What a value of this unit is multiplied with to be in [`Metric::unit`].
pub(super) fn factor(metric: Metric, unit: &str) -> Result<f64, String> {
    let known: &[(&str, f64)] = match metric {
        Metric::Bandwidth => &BANDWIDTH,
        Metric::MessageRate => &RATE,
        _ => &TIME,
    };
    let found = known.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("unit `{unit}` is none of {metric}: {}", names.join(", "))
    })
}
