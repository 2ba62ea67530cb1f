//! Takes a matrix apart: what the number of switches, the requester and the responder each explain of every pair's value, and what
//! is left (Tukey's median polish, of logarithms, with cells that were not measured).
//!
//! Everything here is a logarithm turned so that less is worse, whatever the metric: a bandwidth that halves and a latency that
//! doubles are both off by -0.69.

use schema::{Direction, Metric};

use super::{robust, scene::Scene};

/// Values below which a row or column tells nothing of its own: the median of two is moved by either of them.
pub(super) const FEWEST: usize = 3;
/// Sweeps after which a polish ends that does not settle: what still moves then is far below any margin.
const MOST_SWEEPS: u32 = 20;
/// A sweep that moves no effect further than this is the last.
const SETTLED: f64 = 1e-4;
/// What is left of a value in the middle of its row or column, but for rounding.
const NOTHING: f64 = 1e-6;
/// Values from which a hop class has a spread of its own.
const ENOUGH_FOR_A_SPREAD: usize = 30;
/// Numbers are kept to 0.1 %: what is closer together is the same.
const RESOLUTION: f64 = 1e-3;

/// What crosses a leaf switch is off by this, by position of the leaf in [`Scene::leaves`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeafEffects {
    /// Of what its nodes send past it.
    pub(super) leaves: Vec<f64>,
    /// Of what its nodes receive past it.
    pub(super) enters: Vec<f64>,
}

impl LeafEffects {
    pub(super) fn none(scene: &Scene) -> Self {
        LeafEffects { leaves: vec![0.0; scene.leaves.len()], enters: vec![0.0; scene.leaves.len()] }
    }

    pub(super) fn of(&self, scene: &Scene, requester: usize, responder: usize) -> f64 {
        match (scene.leaf_of[requester], scene.leaf_of[responder]) {
            (Some(a), Some(b)) if a != b => self.leaves[a] + self.enters[b],
            _ => 0.0,
        }
    }
}

/// A measure of all pairs, taken apart.
pub(super) struct Fit {
    nodes: usize,
    /// By requester and responder; NaN where nothing was measured.
    values: Vec<f64>,
    /// What is left of them.
    residuals: Vec<f64>,
    /// By hop class.
    classes: Vec<f64>,
    /// What a node sends is off by this; none where too few of its pairs were measured to tell.
    pub(super) sends: Vec<Option<f64>>,
    /// The same of what it receives.
    pub(super) receives: Vec<Option<f64>>,
    pub(super) leaf_effects: LeafEffects,
    /// Standard deviation of what is left, by hop class.
    pub(super) spreads: Vec<f64>,
    /// Values.
    pub(super) measured: usize,
    /// Values more than effects: what is left of so many tells the spread.
    pub(super) freedom: usize,
}

/// A number of a metric on the scale of a fit.
pub(super) fn scaled(metric: Metric, value: f64) -> f64 {
    match metric.direction() {
        Direction::HigherIsBetter => value.ln(),
        Direction::LowerIsBetter => -value.ln(),
    }
}

/// A number on the scale of a fit in the metric's unit.
pub(super) fn unscaled(metric: Metric, value: f64) -> f64 {
    match metric.direction() {
        Direction::HigherIsBetter => value.exp(),
        Direction::LowerIsBetter => (-value).exp(),
    }
}

/// An effect of a fit as a share of a metric, negative where the number is lower.
pub(super) fn as_change(metric: Metric, effect: f64) -> f64 {
    match metric.direction() {
        Direction::HigherIsBetter => effect.exp_m1(),
        Direction::LowerIsBetter => (-effect).exp_m1(),
    }
}

impl Fit {
    /// Of a matrix of a metric by requester and responder, NaN where nothing was measured.
    pub(super) fn of(scene: &Scene, metric: Metric, matrix: &[f64], leaf_effects: LeafEffects) -> Fit {
        let nodes = scene.nodes();
        let values: Vec<f64> = matrix.iter().map(|value| scaled(metric, *value)).collect();
        let mut left = values.clone();
        for (at, value) in left.iter_mut().enumerate() {
            *value -= leaf_effects.of(scene, at / nodes, at % nodes);
        }
        let told = |lines: Vec<usize>| -> Vec<Option<f64>> {
            lines.into_iter().map(|count| (count >= FEWEST).then_some(0.0)).collect()
        };
        let count = |at: &dyn Fn(usize, usize) -> usize| -> Vec<usize> {
            (0..nodes).map(|a| (0..nodes).filter(|b| !values[at(a, *b)].is_nan()).count()).collect()
        };
        let mut fit = Fit {
            sends: told(count(&|a, b| a * nodes + b)),
            receives: told(count(&|a, b| b * nodes + a)),
            measured: values.iter().filter(|value| !value.is_nan()).count(),
            freedom: 0,
            classes: vec![0.0; scene.classes.len()],
            spreads: Vec::new(),
            nodes,
            residuals: left,
            values,
            leaf_effects,
        };
        fit.polish(scene);
        let effects = fit.sends.iter().chain(&fit.receives).flatten().count() + fit.classes.len();
        fit.freedom = fit.measured.saturating_sub(effects);
        fit.spreads = fit.spreads(scene);
        fit
    }

    /// What a pair's value is; NaN where nothing was measured.
    pub(super) fn value(&self, requester: usize, responder: usize) -> f64 {
        self.values[requester * self.nodes + responder]
    }

    /// What neither its class, its leaves, its requester nor its responder explain of a pair's value; NaN where nothing was measured.
    pub(super) fn residual(&self, requester: usize, responder: usize) -> f64 {
        self.residuals[requester * self.nodes + responder]
    }

    /// What a pair should come to, if neither of its nodes nor its leaves were off their peers.
    pub(super) fn class(&self, scene: &Scene, requester: usize, responder: usize) -> f64 {
        self.classes[scene.class(requester, responder)]
    }

    /// By how much a pair is off, besides what its responder explains.
    pub(super) fn of_sender(&self, requester: usize, responder: usize) -> f64 {
        self.residual(requester, responder) + self.sends[requester].unwrap_or(0.0)
    }

    /// By how much a pair is off, besides what its requester explains.
    pub(super) fn of_receiver(&self, requester: usize, responder: usize) -> f64 {
        self.residual(requester, responder) + self.receives[responder].unwrap_or(0.0)
    }

    /// What a pair should come to, with everything that is known of its nodes and leaves.
    pub(super) fn expected(&self, scene: &Scene, requester: usize, responder: usize) -> f64 {
        self.class(scene, requester, responder)
            + self.leaf_effects.of(scene, requester, responder)
            + self.sends[requester].unwrap_or(0.0)
            + self.receives[responder].unwrap_or(0.0)
    }

    /// Pairs that were measured.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let measured = self.values.iter().enumerate().filter(|(_, value)| !value.is_nan());
        measured.map(|(at, _)| (at / self.nodes, at % self.nodes))
    }

    /// Takes out what classes, rows and columns explain, in turn, until nothing moves.
    fn polish(&mut self, scene: &Scene) {
        let mut line = Vec::new();
        for _ in 0..MOST_SWEEPS {
            let mut moved = self.sweep_classes(scene);
            for node in 0..self.nodes {
                moved = moved.max(self.sweep(node, true, &mut line));
            }
            for node in 0..self.nodes {
                moved = moved.max(self.sweep(node, false, &mut line));
            }
            self.centre();
            if moved < SETTLED {
                break;
            }
        }
    }

    fn sweep_classes(&mut self, scene: &Scene) -> f64 {
        let mut of_class = self.by_class(scene);
        let middles: Vec<f64> =
            of_class.iter_mut().map(|values| robust::median(values).unwrap_or(0.0)).collect();
        for (class, middle) in self.classes.iter_mut().zip(&middles) {
            *class += middle;
        }
        for (at, value) in self.residuals.iter_mut().enumerate() {
            *value -= middles[scene.class(at / self.nodes, at % self.nodes)];
        }
        middles.iter().fold(0.0, |most: f64, middle| most.max(middle.abs()))
    }

    /// Takes out the median of what a node sends, or receives.
    fn sweep(&mut self, node: usize, sends: bool, line: &mut Vec<f64>) -> f64 {
        let (from, step) = if sends { (node * self.nodes, 1) } else { (node, self.nodes) };
        let effect = if sends { &mut self.sends[node] } else { &mut self.receives[node] };
        let Some(effect) = effect else { return 0.0 };
        let places = (0..self.nodes).map(|other| from + other * step);
        line.clear();
        line.extend(places.clone().map(|at| self.residuals[at]).filter(|value| !value.is_nan()));
        let Some(middle) = robust::median(line) else { return 0.0 };
        *effect += middle;
        places.for_each(|at| self.residuals[at] -= middle);
        middle.abs()
    }

    /// A level common to all rows or columns is that of the classes: the middle node is off by nothing.
    fn centre(&mut self) {
        for effects in [&mut self.sends, &mut self.receives] {
            let mut told: Vec<f64> = effects.iter().flatten().copied().collect();
            // Where a row or column is not told it stands at 0 beside the others, which must then keep theirs.
            if told.is_empty() || told.len() < effects.len() / 2 {
                continue;
            }
            let Some(middle) = robust::median(&mut told) else { continue };
            effects.iter_mut().flatten().for_each(|effect| *effect -= middle);
            self.classes.iter_mut().for_each(|class| *class += middle);
        }
    }

    fn by_class(&self, scene: &Scene) -> Vec<Vec<f64>> {
        let mut of_class = vec![Vec::new(); scene.classes.len()];
        for (requester, responder) in self.pairs() {
            of_class[scene.class(requester, responder)].push(self.residual(requester, responder));
        }
        of_class
    }

    /// A median leaves the value in the middle with no residual at all, which says nothing of the spread: zeros are left out.
    fn spreads(&self, scene: &Scene) -> Vec<f64> {
        let left_of = |values: &[f64]| -> Vec<f64> {
            values.iter().copied().filter(|value| value.abs() > NOTHING).collect()
        };
        let of_class: Vec<Vec<f64>> = self.by_class(scene).iter().map(|values| left_of(values)).collect();
        let all = robust::spread(&of_class.concat(), 0.0).unwrap_or(0.0);
        let own = |values: &Vec<f64>| {
            let own = (values.len() >= ENOUGH_FOR_A_SPREAD).then(|| robust::spread(values, 0.0)).flatten();
            own.unwrap_or(all).max(RESOLUTION)
        };
        of_class.iter().map(own).collect()
    }
}
