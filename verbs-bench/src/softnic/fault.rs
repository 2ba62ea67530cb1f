//! Which messages fail: an error completion at one, lost completions from one on.

use rdma_sys::ibv_wc_status::IBV_WC_SUCCESS;
use schema::SoftFault;

use crate::verbs::{VerbsError, WcStatus};

/// The faults that hang on a message's number, resolved for the data path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Faults {
    error_at: u64,
    error_status: u32,
    lost_from: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { error_at: 0, error_status: IBV_WC_SUCCESS, lost_from: u64::MAX }
    }
}

impl Faults {
    pub(super) fn new(fault: &SoftFault) -> Result<Faults, VerbsError> {
        let mut faults = Faults { lost_from: fault.lost_at_message.unwrap_or(u64::MAX), ..Faults::default() };
        if let Some(error) = &fault.error {
            let status = WcStatus::from_name(&error.status).filter(|status| *status != WcStatus::Success);
            let status = status.ok_or_else(|| VerbsError::SoftFault { status: error.status.clone() })?;
            faults.error_at = error.at_message;
            faults.error_status = status.code();
        }
        Ok(faults)
    }

    /// Status of the message of this number (the first is 1), and whether its completion is lost.
    #[inline]
    pub(super) fn of_message(&self, number: u64) -> (u32, bool) {
        let status = if number == self.error_at { self.error_status } else { IBV_WC_SUCCESS };
        (status, number >= self.lost_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_fails_and_from_another_on_all_are_lost() {
        let faults = Faults::new(&"error=RETRY_EXC_ERR@3,lost=5".parse().unwrap()).unwrap();
        let fates: Vec<_> = (1..=6).map(|number| faults.of_message(number)).collect();
        assert_eq!(fates, [(0, false), (0, false), (12, false), (0, false), (0, true), (0, true)]);
    }

    #[test]
    fn a_status_that_is_no_error_is_refused() {
        let mut fault: SoftFault = "error=RETRY_EXC_ERR@3".parse().unwrap();
        for status in ["SUCCESS", "NOPE"] {
            fault.error.as_mut().unwrap().status = status.into();
            assert!(Faults::new(&fault).is_err_and(|error| error.to_string().contains(status)));
        }
    }
}
