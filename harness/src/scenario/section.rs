//! One table of a file while it is read: hands out values by key, and knows what nobody asked for.
//!
//! Reading never stops at the first fault; faults are collected so that a file is corrected in one go.

use std::{cell::RefCell, fmt::Display, path::Path, str::FromStr};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::fault::{Fault, FaultReport, Span, did_you_mean};

/// Faults found so far.
pub(crate) type Faults = RefCell<Vec<Fault>>;

/// A text with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

/// Reads a TOML file table by table; what can't be read, or is noted meanwhile, is the report.
pub(crate) fn read_tables<T>(
    file: &Path,
    source: &str,
    read: impl FnOnce(&Section<'_>, &Faults) -> Option<T>,
) -> Result<T, FaultReport> {
    let faults = Faults::default();
    let (table, errors) = DeTable::parse_recoverable(source);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        faults.borrow_mut().push(Fault::new("", span, error.message()));
    }
    let root = Section::new("", 0..0, table.get_ref(), &faults);
    let found = if faults.borrow().is_empty() { read(&root, &faults) } else { None };
    match (found, faults.into_inner()) {
        (Some(found), faults) if faults.is_empty() => Ok(found),
        (_, faults) => Err(FaultReport { file: file.to_owned(), source: source.to_owned(), faults }),
    }
}

/// A table being read.
pub(crate) struct Section<'t> {
    /// Path of the table: `variants[1]`; empty for the file itself.
    path: String,
    span: Span,
    table: &'t DeTable<'t>,
    asked: RefCell<Vec<&'static str>>,
    faults: &'t Faults,
}

impl<'t> Section<'t> {
    /// Starts to read a table.
    pub(crate) fn new(
        path: impl Into<String>,
        span: Span,
        table: &'t DeTable<'t>,
        faults: &'t Faults,
    ) -> Self {
        Section { path: path.into(), span, table, asked: RefCell::default(), faults }
    }

    /// The table's place.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The table's path: `variants[1]`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a key of this table.
    pub(crate) fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Notes a fault at a key of this table.
    pub(crate) fn fault(&self, key: &str, span: Span, what: impl Into<String>) {
        self.push(Fault::new(self.field(key), span, what));
    }

    /// Notes a fault.
    pub(crate) fn push(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    /// The value of a key, whatever it is.
    pub(crate) fn raw(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.asked.borrow_mut().push(key);
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// A text.
    pub(crate) fn text(&self, key: &'static str) -> Option<At<String>> {
        let value = self.raw(key)?;
        match value.get_ref().as_str() {
            Some(text) => Some(At { value: text.to_owned(), span: value.span() }),
            None => {
                self.wrong_type(key, value, "a text in quotes");
                None
            }
        }
    }

    /// A text that reads as `T`.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, key: &'static str) -> Option<At<T>> {
        let text = self.text(key)?;
        match text.value.parse() {
            Ok(value) => Some(At { value, span: text.span }),
            Err(error) => {
                self.fault(key, text.span, error.to_string());
                None
            }
        }
    }

    /// A whole number between two bounds, both included.
    pub(crate) fn whole(&self, key: &'static str, least: u64, most: u64) -> Option<At<u64>> {
        let value = self.raw(key)?;
        let Some(number) = value.get_ref().as_integer() else {
            self.wrong_type(key, value, "a whole number");
            return None;
        };
        match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if (least..=most).contains(&number) => Some(At { value: number, span: value.span() }),
            _ => {
                self.fault(key, value.span(), format!("{} is outside {least}..={most}", number.as_str()));
                None
            }
        }
    }

    /// A number between two bounds, both included.
    pub(crate) fn decimal(&self, key: &'static str, least: f64, most: f64) -> Option<At<f64>> {
        let value = self.raw(key)?;
        let number: Option<f64> = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            self.fault(key, value.span(), format!("must be a number between {least} and {most}"));
        }
        fits.map(|number| At { value: number, span: value.span() })
    }

    /// A share, as `"2%"` or `0.02`.
    pub(crate) fn share(&self, key: &'static str) -> Option<f64> {
        let value = self.raw(key)?;
        let share = match value.get_ref() {
            DeValue::String(text) => percent(text),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let sensible = share.filter(|share| *share > 0.0 && *share < 1.0);
        if sensible.is_none() {
            self.fault(key, value.span(), "must be a share between 0 and 1, as \"2%\" or 0.02");
        }
        sensible
    }

    /// Texts.
    pub(crate) fn texts(&self, key: &'static str) -> Option<Vec<At<String>>> {
        let value = self.raw(key)?;
        let texts = value.get_ref().as_array().map(|array| {
            let text = |item: &Spanned<DeValue<'_>>| {
                Some(At { value: item.get_ref().as_str()?.to_owned(), span: item.span() })
            };
            array.iter().map(text).collect::<Option<Vec<_>>>()
        });
        let texts = texts.flatten();
        if texts.is_none() {
            self.wrong_type(key, value, "an array of texts in quotes");
        }
        texts
    }

    /// A yes or no.
    pub(crate) fn flag(&self, key: &'static str) -> Option<At<bool>> {
        let value = self.raw(key)?;
        match value.get_ref().as_bool() {
            Some(flag) => Some(At { value: flag, span: value.span() }),
            None => {
                self.wrong_type(key, value, "true or false");
                None
            }
        }
    }

    /// A table within this one.
    pub(crate) fn section(&self, key: &'static str) -> Option<Section<'t>> {
        let value = self.raw(key)?;
        match value.get_ref().as_table() {
            Some(table) => Some(Section::new(self.field(key), value.span(), table, self.faults)),
            None => {
                self.wrong_type(key, value, &format!("a table: [{}]", self.field(key)));
                None
            }
        }
    }

    /// Every table within this one, with its name.
    pub(crate) fn subsections(&self) -> Vec<(At<String>, Section<'t>)> {
        let mut sections = Vec::new();
        for (key, value) in self.rest() {
            match value.get_ref().as_table() {
                Some(table) => {
                    let section = Section::new(self.field(&key.value), value.span(), table, self.faults);
                    sections.push((key, section));
                }
                None => self.wrong_type(&key.value, value, "a table"),
            }
        }
        sections
    }

    /// The tables of an array of tables.
    pub(crate) fn sections(&self, key: &'static str) -> Vec<Section<'t>> {
        let Some(value) = self.raw(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, &format!("an array of tables: [[{}]]", self.field(key)));
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (n, item) in array.iter().enumerate() {
            let path = format!("{}[{n}]", self.field(key));
            match item.get_ref().as_table() {
                Some(table) => sections.push(Section::new(path, item.span(), table, self.faults)),
                None => self.wrong_type(key, item, "a table"),
            }
        }
        sections
    }

    /// Every key nobody has asked for, with its value.
    pub(crate) fn rest(&self) -> Vec<(At<String>, &'t Spanned<DeValue<'t>>)> {
        let asked = self.asked.borrow();
        self.table
            .iter()
            .filter(|(key, _)| !asked.iter().any(|name| name == key.get_ref()))
            .map(|(key, value)| (At { value: key.get_ref().to_string(), span: key.span() }, value))
            .collect()
    }

    /// Ends the reading: what nobody asked for is a fault.
    pub(crate) fn finish(&self) {
        for (key, _) in self.rest() {
            self.unknown(&key, &[]);
        }
    }

    /// Notes an unknown key; `more` are names this table also knows.
    pub(crate) fn unknown(&self, key: &At<String>, more: &[&'static str]) {
        let asked = self.asked.borrow();
        let known = || asked.iter().chain(more).copied();
        let advice = match did_you_mean(&key.value, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
        };
        self.push(
            Fault::new(self.field(&key.value), key.span.clone(), "is not a key of this table").advice(advice),
        );
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let found = value.get_ref().type_str();
        self.fault(key, value.span(), format!("must be {wanted}, not {} {found}", article(found)));
    }
}

/// The share that a text such as `2%` names.
pub(crate) fn percent(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.trim().parse::<f64>().ok().map(|percent| percent / 100.0)
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(source: &str, read: impl FnOnce(&Section<'_>)) -> Vec<String> {
        let table = DeTable::parse(source).unwrap();
        let faults = Faults::default();
        read(&Section::new("", table.span(), table.get_ref(), &faults));
        let faults = faults.into_inner();
        faults.into_iter().map(|fault| format!("{}: {} {}", fault.field, fault.what, fault.advice)).collect()
    }

    #[test]
    fn an_unknown_key_brings_the_nearest_known_one() {
        let faults = faults_of("blokcs = 1", |section| {
            section.whole("blocks", 1, 9);
            section.finish();
        });
        assert_eq!(faults, ["blokcs: is not a key of this table did you mean `blocks`?"]);
    }

    #[test]
    fn types_and_ranges_are_checked() {
        let faults = faults_of("blocks = 10\nname = 3\nsections = 1", |section| {
            section.whole("blocks", 1, 9);
            section.text("name");
            section.sections("sections");
            section.finish();
        });
        assert_eq!(
            faults,
            [
                "blocks: 10 is outside 1..=9 ",
                "name: must be a text in quotes, not an integer ",
                "sections: must be an array of tables: [[sections]], not an integer "
            ]
        );
    }
}
