//! The columns of a table: those that are needed, those that may be there, and no others.

/// Columns by their names, and whether a table must have them.
pub const KNOWN: [(&str, bool); 13] = [
    ("time", true),
    ("scenario", true),
    ("msg_bytes", true),
    ("metric", true),
    ("value", true),
    ("unit", true),
    ("workload", false),
    ("variant", false),
    ("engine", false),
    ("requester_host", false),
    ("requester_device", false),
    ("responder_host", false),
    ("responder_device", false),
];

/// Columns that begin like this are facts of the configuration: another value begins another epoch.
const CONFIGURATION: &str = "configuration.";
/// Columns that begin like this are kept and not compared.
const FACT: &str = "fact.";

/// Where the columns of a table stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    known: Vec<Option<usize>>,
    /// Names without their beginning, and places.
    pub(super) configuration: Vec<(String, usize)>,
    pub(super) facts: Vec<(String, usize)>,
}

impl Columns {
    /// Reads a header; says what is missing or unknown, and what could be meant.
    pub fn of<'h>(
        header: impl Iterator<Item = &'h str>,
        renamed: &[(String, String)],
    ) -> Result<Self, String> {
        let mut columns =
            Columns { known: vec![None; KNOWN.len()], configuration: Vec::new(), facts: Vec::new() };
        let written: Vec<&str> = header.collect();
        if let Some((from, _)) = renamed.iter().find(|(from, _)| !written.contains(&from.as_str())) {
            return Err(format!(
                "there is no column `{from}` to rename; the columns are {}",
                written.join(", ")
            ));
        }
        for (place, written) in written.iter().enumerate() {
            let name =
                renamed.iter().find(|(from, _)| from == written).map_or(*written, |(_, to)| to.as_str());
            if let Some(fact) = name.strip_prefix(CONFIGURATION) {
                columns.configuration.push((fact.to_owned(), place));
            } else if let Some(fact) = name.strip_prefix(FACT) {
                columns.facts.push((fact.to_owned(), place));
            } else {
                columns.put(name, place)?;
            }
        }
        let missing: Vec<&str> = KNOWN
            .iter()
            .zip(&columns.known)
            .filter(|((_, needed), place)| *needed && place.is_none())
            .map(|((name, _), _)| *name)
            .collect();
        if missing.is_empty() {
            return Ok(columns);
        }
        Err(format!(
            "no column {}; the columns are {}; --rename FROM=TO gives one another name",
            missing.join(", "),
            written.join(", ")
        ))
    }

    fn put(&mut self, name: &str, place: usize) -> Result<(), String> {
        let Some(known) = KNOWN.iter().position(|(known, _)| *known == name) else {
            let names = KNOWN.map(|(name, _)| name).join(", ");
            return Err(format!(
                "column `{name}` is unknown; known are {names}; --rename {name}={FACT}{name} keeps it beside the values, \
                 --rename {name}={CONFIGURATION}{name} makes it part of the configuration"
            ));
        };
        match self.known[known].replace(place) {
            None => Ok(()),
            Some(_) => Err(format!("column `{name}` is there twice")),
        }
    }

    /// The field of a known column; empty where the table has no such column.
    pub(super) fn field<'r>(&self, name: &str, record: &'r csv::StringRecord) -> &'r str {
        let place = KNOWN.iter().position(|(known, _)| *known == name).and_then(|known| self.known[known]);
        place.and_then(|place| record.get(place)).unwrap_or_default()
    }
}
