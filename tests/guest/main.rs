//! On a real rxe inside a guest; scripts/test.sh builds this and runs it there. `pair::` and `operations::` need rxe0 and rxe1 on the ends of a
//! veth pair (scripts/guest/pair.sh), `hosts::` a responder in another guest (scripts/guest/two-hosts.sh), `cluster::` four devices on a
//! bridge (scripts/guest/four.sh), and the others the guest of scripts/guest/tuning.sh.
#![forbid(unsafe_code)]

mod audit;
mod cluster;
mod hosts;
mod operations;
mod pair;
mod state;
mod tuned_runs;
mod tuning;
