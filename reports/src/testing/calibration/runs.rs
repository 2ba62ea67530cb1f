//! The runs of simulated campaigns. One campaign is made, and its numbers and its order are drawn anew for every other: the
//! comparison takes the same way as with measured runs.

use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use schema::{Bytes, Campaign, CampaignRun, Purpose, StopRule, Test};

use super::Setting;
use crate::testing::{Sample, point_of_bandwidth, record_of};

/// Bandwidth without noise or effect, bit/s.
const LEVEL: f64 = 10e9;

/// A campaign whose runs are drawn again and again.
pub(super) struct Runs {
    setting: Setting,
    per_block: usize,
    /// Every run of the most blocks there are.
    pub(super) whole: Campaign,
}

impl Runs {
    pub(super) fn of(setting: Setting) -> Self {
        let sizes: Vec<Bytes> = (0..setting.gates).map(|gate| Bytes(1024 << gate)).collect();
        let sample = Sample {
            test: Test::Bandwidth,
            sizes: sizes.clone(),
            candidates: vec![("deep", 1.0)],
            blocks: setting.blocks,
            latencies: 0,
            ..Sample::default()
        };
        let mut whole = sample.campaign();
        if let Some((first_look, look_every)) = setting.looks {
            whole.design.stop = StopRule::WhenDecided { first_look, look_every, max_time_ns: None };
        }
        for run in &mut whole.runs {
            let point = |size: &Bytes| {
                let mut point = point_of_bandwidth(*size, LEVEL);
                // Only the gate's metric: the others would be tested too, and say nothing here.
                point.messages_per_sec = None;
                point.intervals.clear();
                point
            };
            run.record = record_of(sizes.iter().map(point).collect());
        }
        let per_block = whole.runs.len() / setting.blocks as usize;
        Runs { setting, per_block, whole }
    }

    /// Draws the campaign of this number.
    pub(super) fn draw(&mut self, seed: u64, number: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        self.whole.design.seed = random.random();
        for block in self.whole.runs.chunks_mut(self.per_block) {
            block.shuffle(&mut random);
        }
        for (sequence, run) in self.whole.runs.iter_mut().enumerate() {
            run.sequence = sequence as u32;
        }
        let layout = (self.setting.blocks as usize, self.per_block);
        for gate in 0..self.setting.gates as usize {
            let spread = (self.setting.run_sd(), self.setting.margin());
            let noise = self.setting.noise.of_runs(layout, spread, &mut random);
            for (run, noise) in self.whole.runs.iter_mut().zip(noise) {
                let effect = if is_candidate(run) { self.setting.effect() } else { 0.0 };
                run.record.points[gate].bandwidth_bits_per_sec = Some(LEVEL * (noise + effect).exp());
            }
        }
    }

    /// The campaign as it is after its first blocks, taken out; [`Runs::put_back`] makes it whole.
    pub(super) fn first(&mut self, blocks: u32) -> Vec<CampaignRun> {
        self.whole.runs.split_off(blocks as usize * self.per_block)
    }

    pub(super) fn put_back(&mut self, later: Vec<CampaignRun>) {
        self.whole.runs.extend(later);
    }
}

fn is_candidate(run: &CampaignRun) -> bool {
    run.variant == "deep" && run.purpose == Purpose::Measure
}
