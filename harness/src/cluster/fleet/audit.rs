//! Has all nodes audit their hosts, at the same time.

use std::time::Instant;

use super::Fleet;
use crate::agent::protocol::{Order, Report};

impl Fleet {
    /// Audits every host. One that does not answer has no audit, which is told, and is measured all the same.
    pub(super) fn audit(&mut self) {
        let ranks = self.ranks_here();
        for rank in &ranks {
            let device = self.nodes[*rank as usize].device.clone();
            self.order(*rank, &Order::Audit { device });
        }
        let deadline = Instant::now() + self.limits.audit;
        let late = self.gather(&ranks, deadline, true, |fleet, rank, report| {
            let Report::Audited(audit) = report else { return false };
            fleet.nodes[rank as usize].audit = Some(*audit);
            true
        });
        if Instant::now() < deadline {
            return; // all have answered, or someone asked to stop
        }
        for rank in late {
            let within = self.limits.audit.as_secs_f32();
            self.remarks.push(format!("{}: not audited: no answer within {within} s", self.name(rank)));
        }
    }
}
