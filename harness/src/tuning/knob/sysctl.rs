//! One sysctl. None of those of the network stack touches the data path of an RDMA NIC; they are turned to show that.

use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    allow::{SYSCTLS, sysctl_path},
    form::Form,
};

/// A value is up to three whole numbers; all sysctls of the list have that shape.
const MOST_NUMBERS: usize = 3;

pub(super) fn wants(setting: &KnobSetting) -> Result<Vec<Want>, Unfit> {
    let Some(name) = SYSCTLS.iter().find(|name| **name == setting.item) else {
        return Err(Unfit::Value(format!(
            "`{}` is not among the sysctls that may be turned: {}",
            setting.item,
            SYSCTLS.join(", ")
        )));
    };
    let words: Vec<&str> = setting.value.split_whitespace().collect();
    let numbers = words.iter().all(|word| word.parse::<i64>().is_ok());
    if !numbers || words.is_empty() || words.len() > MOST_NUMBERS {
        return Err(Unfit::Value("must be whole numbers, as the kernel prints them".to_owned()));
    }
    Ok(vec![Want::file(sysctl_path(name), Form::Words, words.join(" "))])
}
