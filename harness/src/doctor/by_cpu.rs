//! One question asked of many CPUs: the answers with their CPUs, instead of a reading for each of a thousand.

use std::collections::BTreeMap;

use host::Value;

use super::words;

/// The answers, each with the CPUs that gave it.
pub(super) struct ByCpu {
    answers: BTreeMap<String, Vec<u32>>,
    /// The first that was none.
    unknown: Option<Value<String>>,
}

impl ByCpu {
    /// Asks every CPU.
    pub(super) fn ask(cpus: &[u32], mut question: impl FnMut(u32) -> Value<String>) -> ByCpu {
        let mut by_cpu = ByCpu { answers: BTreeMap::new(), unknown: None };
        for &cpu in cpus {
            match question(cpu) {
                Value::Known(answer) => by_cpu.answers.entry(answer).or_default().push(cpu),
                other => {
                    by_cpu.unknown.get_or_insert(other);
                }
            }
        }
        by_cpu
    }

    /// The CPUs whose answer is not this one.
    pub(super) fn other_than(&self, answer: &str) -> Vec<u32> {
        let others = self.answers.iter().filter(|(other, _)| *other != answer);
        let mut cpus: Vec<u32> = others.flat_map(|(_, cpus)| cpus.iter().copied()).collect();
        cpus.sort_unstable();
        cpus
    }

    /// The answer where all gave the same, else the answers in words; none where there is none.
    pub(super) fn answer(&self) -> Option<String> {
        match self.answers.len() {
            1 if self.unknown.is_none() => self.answers.keys().next().cloned(),
            _ => self.value().known(),
        }
    }

    /// The answers, in words.
    pub(super) fn value(&self) -> Value<String> {
        if self.answers.is_empty() {
            return self.unknown.clone().unwrap_or(Value::Absent);
        }
        let parts = self.answers.iter().map(|(answer, cpus)| format!("{answer} on {}", words::cpus(cpus)));
        Value::Known(parts.collect::<Vec<_>>().join(", "))
    }
}
