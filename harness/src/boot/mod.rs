//! What only a boot or a firmware reset can change: what holds now, the exact commands to change it on this distribution and
//! to change it back, and what to look at afterwards. Nothing here is ever applied: a boot loader that is edited wrongly
//! leaves a host that does not come back.

mod change;
mod cmdline;
mod loader;
mod nvconfig;
mod word;

use host::Sysroot;
use schema::finding::Reading;
use serde::Serialize;

/// What to do for one boot-level knob, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BootPlan {
    /// The knob's item: `isolcpus`, `iommu`, `nvconfig`.
    pub item: String,
    /// What holds now and where that was read.
    pub now: Reading,
    /// What is wanted, as it will stand where it is written: `isolcpus=2-3`.
    pub wanted: String,
    /// Whether what was read is what is wanted. False where it could not be read.
    pub holds: bool,
    /// How this host's boot entries are changed: the distribution and its tool.
    pub by: String,
    /// The commands for a root shell, in order. A line that begins with `#` is for a person.
    pub commands: Vec<String>,
    /// The commands that undo them.
    pub undo: Vec<String>,
    /// What should be read after the reboot.
    pub after_reboot: String,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootError {
    /// No such item.
    #[error("boot: `{item}` is not one of {}", known.join(", "))]
    UnknownItem {
        /// As it was written.
        item: String,
        /// The items there are.
        known: Vec<&'static str>,
    },
    /// The item does not take this value.
    #[error("boot: {item} = `{value}`: {why}")]
    BadValue {
        /// The item.
        item: String,
        /// As it was written.
        value: String,
        /// What is wrong, and what to write.
        why: String,
    },
    /// The item is one of a device, and which one was not said or is not there.
    #[error("boot: {item}: {why}")]
    NoDevice {
        /// The item.
        item: String,
        /// What is missing.
        why: String,
    },
}

impl BootError {
    fn bad(item: &str, value: &str, why: impl Into<String>) -> Self {
        BootError::BadValue { item: item.into(), value: value.into(), why: why.into() }
    }
}

/// The names that [`plan`] takes as its item.
fn items() -> Vec<&'static str> {
    word::WORDS.iter().map(|word| word.name).chain([nvconfig::ITEM]).collect()
}

/// Plans one boot-level knob. `device` is the RDMA device it is for; `nvconfig` needs one, `iommu` then reads the mode of
/// that device instead of the command line.
///
/// # Errors
/// An item that is not known, a value outside its grammar or naming CPUs that are not there, a device that is missing.
pub fn plan(sysroot: &Sysroot, item: &str, value: &str, device: Option<&str>) -> Result<BootPlan, BootError> {
    if item == nvconfig::ITEM {
        return nvconfig::plan(sysroot, value, device);
    }
    let Some(word) = word::WORDS.iter().find(|word| word.name == item) else {
        return Err(BootError::UnknownItem { item: item.into(), known: items() });
    };
    let wanted = word.check(sysroot, value)?;
    let reading = word.now(sysroot, &wanted, device);
    let before = cmdline::read(sysroot).known().map(|line| line.words_of(wanted.name())).unwrap_or_default();
    let loader = loader::detect(sysroot);
    let holds = word.holds(&reading, &wanted);
    let (commands, undo) = if holds && !before.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        loader.way.change(sysroot, &before, &wanted.text())
    };
    Ok(BootPlan {
        item: item.to_owned(),
        holds,
        by: loader.describe(),
        after_reboot: format!(
            "after the reboot {} reads {}",
            reading.at,
            word.expected_reading(&reading, &wanted)
        ),
        now: reading,
        wanted: wanted.text(),
        commands,
        undo,
    })
}

#[cfg(test)]
mod tests;
