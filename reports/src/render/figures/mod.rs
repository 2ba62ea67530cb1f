//! Figures: SVG drawn from the campaign, each with its title, a description for those who don't see it, and a caption.

mod axis;
mod by_size;
mod forest;
mod frame;
mod intervals;
mod paint;
mod percentiles;
mod runs;

use schema::{Bytes, Campaign, CampaignRun, Point, Role, Test, Workload};

use super::RenderError;
use crate::index::Index;
use frame::{Mark, WIDTH};
use paint::Paint;

pub(super) use by_size::by_size;
pub(super) use forest::forest;
pub(super) use intervals::intervals;
pub(super) use percentiles::percentiles;
pub(super) use runs::runs;

/// A figure, ready to be put on a page.
pub(super) struct Figure {
    /// What it shows.
    pub(super) title: String,
    /// How to read it, and what it is drawn from.
    pub(super) caption: String,
    /// The inside of the `<svg>`.
    pub(super) svg: String,
    /// Width of the view box.
    pub(super) width: u32,
    /// Height of the view box.
    pub(super) height: u32,
}

impl Figure {
    fn new(title: String, caption: String, svg: String, height: u32) -> Self {
        Figure { title, caption, svg, width: WIDTH, height }
    }
}

/// What a figure is drawn from: one workload of a campaign.
#[derive(Clone, Copy)]
pub(super) struct Source<'c> {
    /// The campaign.
    pub(super) campaign: &'c Campaign,
    /// Its points.
    pub(super) index: &'c Index<'c>,
    /// The workload.
    pub(super) workload: &'c Workload,
    /// What it measures.
    pub(super) test: Test,
    /// The label of simulation; none for real devices.
    pub(super) simulated: Option<&'c str>,
}

/// A variant as it is drawn.
struct Series<'c> {
    name: &'c str,
    paint: Paint,
    mark: Mark,
}

impl<'c> Source<'c> {
    /// The variants: the baseline a disc, candidates diamonds.
    fn series(&self) -> Vec<Series<'c>> {
        let mut candidates = 0..;
        let variants = self.campaign.variants.iter();
        variants
            .map(|variant| match variant.role {
                Role::Baseline => Series { name: &variant.name, paint: Paint::Baseline, mark: Mark::Disc },
                Role::Candidate => {
                    let paint = Paint::Candidate(candidates.next().unwrap_or(0));
                    Series { name: &variant.name, paint, mark: Mark::Diamond }
                }
            })
            .collect()
    }

    /// The valid runs of the workload with their point at a size, in time order.
    fn points(&self, msg_bytes: Bytes) -> impl Iterator<Item = (&'c CampaignRun, &'c Point)> {
        self.index.points(&self.workload.name, msg_bytes).iter().copied()
    }

    /// The points of a variant's runs, controls left out.
    fn points_of(&self, variant: &str, msg_bytes: Bytes) -> impl Iterator<Item = &'c Point> {
        self.index.measured(&self.workload.name, variant, msg_bytes).iter().copied()
    }

    fn legend(&self) -> Vec<(Mark, Paint, String)> {
        self.series().into_iter().map(|series| (series.mark, series.paint, series.name.to_owned())).collect()
    }
}
