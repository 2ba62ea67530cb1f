//! The stall model as arithmetic: what an open loop must see of it, and a closed loop can't.
//!
//! With a stall of D at the end of every period P and a message that needs w of link time, a message meant for a moment that
//! is uniform in the period completes after w, except: a share w/P, under way as the stall begins, after w + D; a share D/P,
//! meant for the stall itself, after w and what is left of the stall. So the share that takes longer than w + x is
//! (D - x + w) / P for x below D, and the quantile that leaves out the share q is w + D - q P + w, at most w + D.

use super::*;

const STALL: u64 = 5_000_000;
const PERIOD: u64 = 100_000_000;
const WAY: u64 = 20_000;
const STEP: u64 = 2_000;

fn stalling() -> Rig {
    Rig::new(modelled_nic("latency=15us,ack_latency=5us", "stall=5ms/100ms"), 256, 256)
}

fn quantile(mut latencies: Vec<u64>, share_above: f64) -> u64 {
    latencies.sort_unstable();
    latencies[((1.0 - share_above) * latencies.len() as f64) as usize]
}

#[test]
fn latency_from_the_intended_time_has_the_quantiles_of_the_model() {
    const EVERY: u64 = 50_000;
    let rig = stalling();
    let began = TIME.get();
    let messages = 5 * PERIOD / EVERY;
    let (mut posted, mut latencies) = (0, Vec::new());
    while (latencies.len() as u64) < messages {
        while posted < messages && began + posted * EVERY <= TIME.get() {
            assert_eq!(rig.post(&mut rig.write(began + posted * EVERY, 0, 8, SIGNALED)), 0);
            posted += 1;
        }
        latencies.extend(rig.poll().iter().map(|(intended, _)| TIME.get() - intended));
        wait(STEP);
    }
    for (share_above, expected) in
        [(0.5, WAY), (0.01, 2 * WAY + STALL - PERIOD / 100), (0.001, 2 * WAY + STALL - PERIOD / 1_000)]
    {
        let seen = quantile(latencies.clone(), share_above);
        assert!(seen.abs_diff(expected) <= expected / 100 + STEP, "{share_above}: {seen}, not {expected}");
    }
    let longest = latencies.iter().max().unwrap();
    assert!(longest.abs_diff(WAY + STALL) <= STEP, "{longest}");
}

#[test]
fn a_closed_loop_hides_it() {
    let rig = stalling();
    let began = TIME.get();
    let mut latencies = Vec::new();
    while TIME.get() < began + 2 * PERIOD {
        let posted = TIME.get();
        assert_eq!(rig.post(&mut rig.write(0, 0, 8, SIGNALED)), 0);
        while rig.poll().is_empty() {
            wait(STEP);
        }
        latencies.push(TIME.get() - posted);
    }
    // One message a period in 4,750 waits for the stall.
    assert_eq!(quantile(latencies.clone(), 0.001), WAY);
    assert!(latencies.iter().max().unwrap().abs_diff(WAY + STALL) <= STEP);
}
