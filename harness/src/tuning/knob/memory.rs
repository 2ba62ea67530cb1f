//! NUMA balancing, transparent huge pages, and huge pages reserved on a node.

use host::memory;
use schema::{Bytes, KnobSetting};

use super::{Unfit, Want, is_word};
use crate::tuning::{allow::sysctl_path, form::Form, site::Site};

pub(super) fn numa_balancing(setting: &KnobSetting) -> Result<Vec<Want>, Unfit> {
    // Linux 5.18 and newer: 2 is tiering.
    if !["0", "1", "2"].contains(&setting.value.trim()) {
        return Err(Unfit::Value("must be 0, 1, or 2 (tiering)".to_owned()));
    }
    Ok(vec![Want::file(sysctl_path("kernel.numa_balancing"), Form::Word, setting.value.trim())])
}

pub(super) fn thp(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    if !["enabled", "defrag"].contains(&setting.item.as_str()) {
        return Err(Unfit::Value(format!("`{}` is not one of enabled, defrag", setting.item)));
    }
    bracketed(setting, site, memory::thp_path(&setting.item))
}

/// One of the words a file offers.
pub(super) fn bracketed(setting: &KnobSetting, site: &Site, path: String) -> Result<Vec<Want>, Unfit> {
    let word = setting.value.trim();
    if !is_word(word) {
        return Err(Unfit::Value("must be one word".to_owned()));
    }
    let text = site.sysroot.read(&path).known().unwrap_or_default();
    let offers = |offered: &str| offered.trim_matches(['[', ']']) == word;
    if !text.is_empty() && !text.split_whitespace().any(offers) {
        return Err(Unfit::Host(format!("{path} offers `{text}`, not `{word}`")));
    }
    Ok(vec![Want::file(path, Form::Bracketed, word)])
}

pub(super) fn huge_pages(setting: &KnobSetting) -> Result<Vec<Want>, Unfit> {
    let (node, size) = setting
        .item
        .split_once(':')
        .and_then(|(node, size)| Some((node.parse::<u32>().ok()?, size.parse::<Bytes>().ok()?)))
        .ok_or_else(|| Unfit::Value(format!("`{}` must be NODE:SIZE, for example 0:2Mi", setting.item)))?;
    if setting.value.trim().parse::<u64>().is_err() {
        return Err(Unfit::Value("must be a whole number of pages".to_owned()));
    }
    let path = memory::huge_pages_path(node, size.0, "nr_hugepages");
    Ok(vec![Want::file(path, Form::Count, setting.value.trim())])
}
