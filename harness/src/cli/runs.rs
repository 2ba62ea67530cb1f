//! `runs`: what is in the store.

use clap::Args;
use comfy_table::{Table, presets::NOTHING};
use rdma_harness::{
    store::{CampaignHead, Store},
    words,
};
use schema::{CampaignRun, CampaignState, Purpose, Stopped};

use super::{Place, output};
use crate::exit::Exit;

/// Arguments of `runs`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness runs      every campaign
  rdma-harness runs 3    every run of campaign 3")]
pub(super) struct Runs {
    /// Number of a campaign: list its runs
    campaign: Option<i64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Runs {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        match self.campaign {
            Some(id) => self.list_runs(&store, id),
            None => self.list_campaigns(&store),
        }?;
        Ok(Exit::Fine)
    }

    fn list_campaigns(&self, store: &Store) -> anyhow::Result<()> {
        let campaigns = store.campaigns()?;
        if self.json {
            return output::print(&serde_json::to_string_pretty(&campaigns)?);
        }
        let mut table = table(&["campaign", "started", "scenario", "runs", "state", "question"]);
        for head in &campaigns {
            table.add_row([
                head.id.to_string(),
                words::moment(head.started_at_unix_ms),
                head.scenario.clone(),
                tried(head),
                state(head),
                head.question.clone(),
            ]);
        }
        output::print(&table.trim_fmt())
    }

    fn list_runs(&self, store: &Store, id: i64) -> anyhow::Result<()> {
        let campaign = store.load(id)?;
        if self.json {
            return output::print(&serde_json::to_string_pretty(&campaign.runs)?);
        }
        let mut table = table(&["run", "block", "started", "workload", "variant", "measured", "outcome"]);
        for run in &campaign.runs {
            table.add_row(row(run));
        }
        output::print(&table.trim_fmt())
    }
}

pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    table
}

fn tried(head: &CampaignHead) -> String {
    let failed = match head.not_completed {
        0 => String::new(),
        count => format!(", {count} not completed"),
    };
    match head.stopped {
        Some(Stopped::Decided | Stopped::TimeSpent) => {
            format!("{} of at most {}{failed}", head.tried, head.planned)
        }
        Some(Stopped::BlocksSpent) | None => format!("{} of {}{failed}", head.tried, head.planned),
    }
}

fn state(head: &CampaignHead) -> String {
    match (head.state(), head.stopped) {
        (CampaignState::Finished, Some(why)) => format!("finished: {}", words::stopped(why)),
        (CampaignState::Finished, None) => "finished".into(),
        (CampaignState::Unfinished, _) => "unfinished".into(),
    }
}

fn row(run: &CampaignRun) -> [String; 7] {
    let variant = match run.purpose {
        Purpose::Measure => run.variant.clone(),
        Purpose::Control => format!("{} (control)", run.variant),
    };
    [
        run.number().to_string(),
        (run.block + 1).to_string(),
        words::moment(run.record.started_at_unix_ms),
        run.workload.clone(),
        variant,
        words::measured(&run.record),
        words::ending(&run.record),
    ]
}
