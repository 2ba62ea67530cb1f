//! How the runs of a simulated cluster vary.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// The shape of the noise from run to run, of the logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Normal.
    Normal,
    /// Student's t with four degrees of freedom, with the same standard deviation.
    Heavy,
}

/// How runs, nodes and distances differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation from run to run, of ln of bandwidth; latency varies by twice that.
    pub run: f64,
    /// Its shape.
    pub tail: Tail,
    /// Share of runs that are slower for no reason that lasts, by 10 to 60 %.
    pub outliers: f64,
    /// Standard deviation from node to node, of ln, of what each sends and of what each receives.
    pub node: f64,
    /// By how much what crosses leaf switches is slower: 0.10.
    pub hop: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Noise { run: 0.02, tail: Tail::Normal, outliers: 0.0, node: 0.01, hop: 0.10 }
    }
}

impl Noise {
    /// One draw of unit standard deviation.
    pub(super) fn draw(&self, random: &mut impl Rng) -> f64 {
        match self.tail {
            Tail::Normal => StandardNormal.sample(random),
            Tail::Heavy => {
                let student = StudentT::new(4.0).expect("four is above 0");
                let draw: f64 = student.sample(random);
                // The variance of t with four degrees of freedom is 2.
                draw / 2f64.sqrt()
            }
        }
    }

    /// What a run is slower by for no reason that lasts, of ln; mostly nothing.
    pub(super) fn outlier(&self, random: &mut impl Rng) -> f64 {
        if self.outliers > 0.0 && random.random_bool(self.outliers) {
            (-random.random_range(0.1f64..0.6)).ln_1p()
        } else {
            0.0
        }
    }
}
