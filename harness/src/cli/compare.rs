//! `compare`: the verdict of a campaign that is in the store.

use clap::Args;
use reports::{CompareOptions, Comparison};
use schema::Campaign;

use super::{Place, output};
use crate::exit::{self, Exit, UsageError};

/// Arguments of `compare`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness compare            the newest campaign
  rdma-harness compare 3 --all    campaign 3, with everything that was measured beside the gates
  rdma-harness compare 3 --json   the same as JSON

Exit codes: 0 fine, 1 regression, 2 nothing to compare, 3 could not run, 4 inconclusive or unstable.")]
pub(super) struct Compare {
    /// Number of the campaign; the newest if absent
    campaign: Option<i64>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// List what is no gate, too
    #[arg(long, conflicts_with = "json")]
    all: bool,
}

impl Compare {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let campaign = store.load(store.campaign_id(self.campaign)?)?;
        if campaign.variants.len() < 2 {
            let id = campaign.id;
            let what = format!(
                "campaign {id} has one variant, so there is nothing to compare; `history` holds nights against each other, \
                 `runs {id}` lists its runs, `report {id}` shows them with their evidence"
            );
            return Err(UsageError(what).into());
        }
        let comparison = compare(&campaign);
        if self.json {
            output::print(&reports::render::json(&comparison))?;
        } else {
            output::print(&reports::render::terminal(&comparison, &output::look(self.all)))?;
        }
        Ok(exit::of_comparison(&comparison))
    }
}

/// Compares by the house's rules.
pub(super) fn compare(campaign: &Campaign) -> Comparison {
    reports::compare(campaign, &CompareOptions::default())
}
