//! One self-contained HTML file: no network, opens from disk.

use askama::Template;
use schema::Campaign;

use super::{
    RenderError,
    figures::{self, Figure, Source},
    number,
    view::{SizeView, View, WorkloadView, baseline_spec},
    words,
};
use crate::{
    compare::{Comparison, Look, Looks},
    index::Index,
};

/// Sizes of a workload whose details are open from the start.
const OPEN_SIZES: usize = 2;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'v> {
    view: &'v View,
    effects: Vec<Numbered>,
    /// Of a campaign that may stop early.
    looks: Option<PageLooks>,
    workloads: Vec<PageWorkload<'v>>,
}

/// The looks, planned and made.
struct PageLooks {
    said: String,
    rows: Vec<PageLook>,
}

/// One look.
struct PageLook {
    number: usize,
    blocks: u32,
    spent: String,
    level: String,
    state: &'static str,
}

impl PageLooks {
    fn of(looks: &Looks) -> Self {
        let state = |n: usize| match looks.at.map(|at| at as usize) {
            Some(at) if n < at => "made",
            Some(at) if n == at => "this comparison",
            _ if looks.stopped.is_some() => "not needed",
            _ => "to come",
        };
        let row = |(n, look): (usize, &Look)| PageLook {
            number: n + 1,
            blocks: look.blocks,
            spent: number::share(look.spent),
            level: number::share(look.level),
            state: state(n),
        };
        PageLooks { said: words::looks(looks), rows: looks.planned.iter().enumerate().map(row).collect() }
    }
}

struct PageWorkload<'v> {
    view: &'v WorkloadView,
    figures: Vec<Numbered>,
    /// What is shown on demand.
    explored: Vec<Numbered>,
    sizes: Vec<PageSize<'v>>,
}

struct PageSize<'v> {
    view: &'v SizeView,
    figures: Vec<Numbered>,
    open: bool,
}

/// A figure with its number on the page.
struct Numbered {
    number: u32,
    choices: Vec<PageChoice>,
    drawings: Vec<PageDrawing>,
    figure: Figure,
}

/// Radio buttons.
struct PageChoice {
    group: String,
    legend: &'static str,
    /// Class and text.
    options: Vec<(String, String)>,
}

/// A drawing and what ties it to the rest of its figure.
struct PageDrawing {
    id: String,
    title: String,
    classes: String,
    spots: String,
}

impl Numbered {
    fn new(number: u32, figure: Figure) -> Self {
        let choices = figure.choices.iter().enumerate().map(|(n, choice)| PageChoice {
            group: format!("f{number}-{n}"),
            legend: choice.name,
            options: choice
                .options
                .iter()
                .enumerate()
                .map(|(o, text)| (pick_class(n, o), text.clone()))
                .collect(),
        });
        let drawings = figure.drawings.iter().enumerate().map(|(n, drawing)| PageDrawing {
            id: format!("{number}-{n}"),
            title: figure.title_of(drawing),
            classes: drawing
                .picks
                .iter()
                .enumerate()
                .map(|(n, o)| format!(" {}", pick_class(n, *o)))
                .collect(),
            spots: drawing.spots(),
        });
        Numbered { number, choices: choices.collect(), drawings: drawings.collect(), figure }
    }
}

/// The class by which the style sheet ties an option of a choice to the drawings that show it: `a0`, `b1`.
fn pick_class(choice: usize, option: usize) -> String {
    format!("{}{option}", ["a", "b"][choice % 2])
}

/// Gives figures their numbers in the order of the page.
#[derive(Default)]
struct Counter(u32);

impl Counter {
    fn number(&mut self, figures: impl IntoIterator<Item = Option<Figure>>) -> Vec<Numbered> {
        let mut next = || {
            self.0 += 1;
            self.0
        };
        figures.into_iter().flatten().map(|figure| Numbered::new(next(), figure)).collect()
    }
}

/// The page.
pub fn html(campaign: &Campaign, comparison: &Comparison) -> Result<String, RenderError> {
    let index = Index::of(campaign);
    let view = View::of(campaign, comparison, &index);
    let label = view.simulated.as_ref().map(|label| format!("simulated: {label}"));
    let mut counter = Counter::default();
    let effects = counter.number([figures::gates(comparison, label.as_deref())?]);
    let mut workloads = Vec::new();
    for (workload, workload_view) in campaign.workloads.iter().zip(&view.workloads) {
        let Some(spec) = baseline_spec(campaign, workload) else { continue };
        let source =
            Source { campaign, index: &index, workload, test: spec.test, simulated: label.as_deref() };
        workloads.push(page_workload(source, comparison, workload_view, &mut counter)?);
    }
    let looks = comparison.looks.as_ref().map(PageLooks::of);
    Ok(Page { view: &view, effects, looks, workloads }.render()?)
}

fn page_workload<'v>(
    source: Source<'_>,
    comparison: &Comparison,
    view: &'v WorkloadView,
    counter: &mut Counter,
) -> Result<PageWorkload<'v>, RenderError> {
    let all_sizes: Vec<_> = view.sizes.iter().map(|size| size.msg_bytes).collect();
    let figures = counter.number([
        figures::throughput_by_size(&source, &all_sizes)?,
        figures::latency_by_size(&source, &all_sizes)?,
        figures::by_metric(comparison, &view.name, source.simulated)?,
        figures::by_candidate(comparison, &view.name, source.simulated)?,
    ]);
    let explored = counter.number([figures::comparisons(comparison, &view.name, source.simulated)?]);
    let mut sizes = Vec::new();
    for (n, view) in view.sizes.iter().enumerate() {
        let tails = figures::tails(&source, view.msg_bytes)?;
        let figures = counter.number([
            figures::percentiles(&source, view.msg_bytes, &tails)?,
            figures::histogram(&source, view.msg_bytes, &tails)?,
            figures::over_time(&source, view.msg_bytes)?,
            figures::runs(&source, view.msg_bytes)?,
        ]);
        sizes.push(PageSize { view, figures, open: n < OPEN_SIZES });
    }
    Ok(PageWorkload { view, figures, explored, sizes })
}
