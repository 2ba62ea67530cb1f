//! One sysctl. None of those of the network stack touches the data path of an RDMA NIC; they are turned to show that.

use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    allow::{SYSCTLS, sysctl_path},
    form::Form,
    site::Site,
};

/// A value is up to three whole numbers; all sysctls of the list have that shape.
const MOST_NUMBERS: usize = 3;

pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let Some(name) = SYSCTLS.iter().find(|name| **name == setting.item) else {
        return Err(Unfit::Value(format!(
            "`{}` is not among the sysctls that may be turned: {}",
            setting.item,
            SYSCTLS.join(", ")
        )));
    };
    let (text, at_least) = super::at_least(&setting.value);
    let wanted = numbers(text)
        .ok_or_else(|| Unfit::Value("must be whole numbers, as the kernel prints them".to_owned()))?;
    let path = sysctl_path(name);
    let now = site.sysroot.read(&path).known().and_then(|text| numbers(&text));
    let numbers = match now.filter(|now| at_least && now.len() == wanted.len()) {
        Some(now) => now.iter().zip(&wanted).map(|(now, wanted)| *now.max(wanted)).collect(),
        None => wanted,
    };
    let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(vec![Want::file(path, Form::Words, words.join(" "))])
}

/// One to three whole numbers.
fn numbers(text: &str) -> Option<Vec<i64>> {
    let numbers: Vec<i64> = text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (1..=MOST_NUMBERS).contains(&numbers.len()).then_some(numbers)
}
