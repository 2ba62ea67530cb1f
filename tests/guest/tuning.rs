//! Single knobs on a real kernel: turned, seen to work, and turned back. Run by scripts/guest/tuning.sh.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{finish, rdma_harness};
use schema::{Knob, KnobRecord, KnobState};

use crate::state::{State, affinity, counts, latency_wish, movable, put_back, queue_vectors, send_datagrams};

/// Emulation is slow; a guest's own limit ends what hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// What the kernel answers while nobody wishes for anything (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const NO_WISH: i32 = 2_000_000_000;

/// A profile of one's own.
fn profile(folder: &Path, knobs: &str) -> String {
    let file = folder.join("own.toml");
    fs::write(&file, format!("about = \"a test's own\"\n\n[tune]\n{knobs}\n")).expect("written");
    file.display().to_string()
}

/// Waits for something that takes a moment; fails with `what` if it never comes.
#[track_caller]
fn await_true(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// A daemon or a program that ends with its test.
struct Started(Child);

impl Started {
    fn new(command: &mut Command) -> Started {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Started(quiet.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn the_sysctls_of_the_guides_are_set_and_turned_back() {
    let before = State::read();
    let applied =
        finish(&mut rdma_harness(&["tune", "apply", "negative-control", "--json"]), LIMIT).expect(0);
    let records: Vec<KnobRecord> = applied.json();
    assert_eq!(records.len(), 11);
    for record in &records {
        let path = format!("/proc/sys/{}", record.item.replace('.', "/"));
        let now = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&now), words(&record.asked), "{path}");
        assert!(matches!(record.state, KnobState::Verified | KnobState::Unchanged), "{record:?}");
    }
    finish(&mut rdma_harness(&["tune", "verify"]), LIMIT).expect(0);
    finish(&mut rdma_harness(&["tune", "restore"]), LIMIT).expect(0);
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn every_queue_of_the_nic_fires_where_it_was_put_and_goes_back() {
    let before = State::read();
    let folder = tempfile::tempdir().expect("a folder");
    let own = profile(folder.path(), "irq_affinity = \"list:1\"");
    let vectors = queue_vectors();
    assert!(vectors.len() > 1, "one queue per CPU, {vectors:?}");
    finish(&mut rdma_harness(&["tune", "apply", &own, "--device", "rxe4"]), LIMIT).expect(0);
    let (lists, earlier): (Vec<String>, Vec<Vec<u64>>) =
        vectors.iter().map(|irq| (affinity(*irq, "smp_affinity"), counts(*irq))).unzip();
    assert!(lists.iter().all(|list| list == "1"), "{lists:?}");
    // The queue that a datagram leaves by is a matter of the CPU that sends it.
    for cpu in 0..3 {
        run_on(cpu, || send_datagrams(200));
    }
    let mut fired = 0;
    for (irq, earlier) in vectors.iter().zip(&earlier) {
        let grown: Vec<u64> = counts(*irq).iter().zip(earlier).map(|(now, then)| now - then).collect();
        if grown.iter().sum::<u64>() == 0 {
            continue;
        }
        fired += 1;
        // At most one interrupt of a vector still goes where it went before: the new CPU holds from the next one on.
        let elsewhere: u64 =
            grown.iter().enumerate().filter(|(cpu, _)| *cpu != 1).map(|(_, count)| count).sum();
        assert!(elsewhere <= 1 && grown[1] > 0, "IRQ {irq} fired on {grown:?}");
        assert_eq!(affinity(*irq, "effective_affinity"), "1");
    }
    assert!(fired > 0, "no queue raised an interrupt");
    finish(&mut rdma_harness(&["tune", "restore"]), LIMIT).expect(0);
    before.assert_is_back();
}

/// Runs something on one CPU.
fn run_on(cpu: usize, what: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu);
            rustix::thread::sched_setaffinity(None, &set).expect("the CPU is there");
            what();
        });
    });
}

/// irqbalance with a short period, settled. Without load it moves nothing by itself; SIGHUP has it place everything anew, as
/// a new interrupt of any device does.
fn settled_irqbalance() -> Started {
    let daemon = Started::new(Command::new("irqbalance").args(["--foreground", "-t", "1"]));
    let lists = || queue_vectors().into_iter().map(|irq| affinity(irq, "smp_affinity")).collect::<Vec<_>>();
    send_datagrams(100);
    await_true("irqbalance never placed a vector", || {
        send_datagrams(20);
        lists().iter().any(|list| !list.contains('-'))
    });
    let mut last = lists();
    await_true("irqbalance never came to rest", || {
        thread::sleep(Duration::from_secs(3));
        std::mem::replace(&mut last, lists()) == last
    });
    daemon
}

/// Turns every queue to CPU 2 while a command has irqbalance place everything anew; what came of it.
fn apply_while_irqbalance_rescans(daemon: &Started, knobs: &str) -> (e2e::Finished, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let own = profile(folder.path(), knobs);
    let seen = folder.path().join("seen");
    let lists: Vec<String> =
        queue_vectors().iter().map(|irq| format!("/proc/irq/{irq}/smp_affinity_list")).collect();
    let script =
        format!("kill -HUP {}; sleep 4; cat {} > {}", daemon.0.id(), lists.join(" "), seen.display());
    let ran = finish(
        &mut rdma_harness(&["tune", "apply", &own, "--device", "rxe4", "--", "sh", "-c", &script]),
        LIMIT,
    );
    let seen = fs::read_to_string(seen)
        .unwrap_or_else(|error| panic!("{error}: {ran:?}"))
        .lines()
        .map(str::to_owned)
        .collect();
    (ran, seen)
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn a_running_irqbalance_moves_vectors_away_and_is_caught_and_a_paused_one_does_not() {
    let before = State::read();
    let (vectors, lists) = movable();
    let daemon = settled_irqbalance();

    let (ran, seen) = apply_while_irqbalance_rescans(&daemon, "irq_affinity = \"list:2\"");
    assert!(seen.iter().any(|list| list != "2"), "irqbalance left them alone: {seen:?}");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("did not stay"), "{}", ran.stderr);
    // What irqbalance moved is a conflict, left to the administrator; here we are that.
    finish(&mut rdma_harness(&["tune", "recover", "--force"]), LIMIT).expect(0);

    let (ran, seen) =
        apply_while_irqbalance_rescans(&daemon, "irqbalance = \"pause\"\nirq_affinity = \"list:2\"");
    assert!(seen.iter().all(|list| list == "2"), "{seen:?}");
    ran.expect(0);
    let state = fs::read_to_string(format!("/proc/{}/stat", daemon.0.id())).expect("it runs");
    assert!(state.contains(") S ") || state.contains(") R "), "irqbalance goes on afterwards: {state}");

    drop(daemon);
    put_back(&vectors, &lists);
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn pm_qos_is_held_and_ends_with_its_holder_even_by_sigkill() {
    let before = State::read();
    let folder = tempfile::tempdir().expect("a folder");
    let own = profile(folder.path(), "pm_qos = \"2us\"");
    assert_eq!(latency_wish(), NO_WISH);
    let holder = Started::new(&mut rdma_harness(&["tune", "apply", &own, "--hold"]));
    await_true("the wish never came", || latency_wish() == 2);
    holder.signal(rustix::process::Signal::KILL);
    await_true("the wish outlived its holder", || latency_wish() == NO_WISH);
    drop(holder);
    // The journal of the killed process is still there, and has nothing to turn back.
    finish(&mut rdma_harness(&["tune", "recover"]), LIMIT).expect(0);
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn an_mtu_of_4200_gives_an_active_mtu_of_4096_while_it_lasts() {
    let before = State::read();
    let folder = tempfile::tempdir().expect("a folder");
    let own = profile(folder.path(), "mtu = 4200\nallow_disruptive = true");
    let active = || {
        let said = finish(Command::new("ibv_devinfo").args(["-d", "rxe0"]), LIMIT).expect(0).stdout;
        let line =
            said.lines().find(|line| line.contains("active_mtu")).expect("a line of the port").to_owned();
        line.split_whitespace().nth(1).expect("a number").to_owned()
    };
    assert_eq!(active(), "1024");
    let other = tempfile::tempdir().expect("a folder");
    let refused = profile(other.path(), "mtu = 4200");
    let without = finish(&mut rdma_harness(&["tune", "apply", &refused, "--device", "rxe0"]), LIMIT);
    assert_ne!(without.code, Some(0), "a disruptive knob without consent: {without:?}");
    before.assert_is_back();
    finish(&mut rdma_harness(&["tune", "apply", &own, "--device", "rxe0"]), LIMIT).expect(0);
    assert_eq!(active(), "4096");
    finish(&mut rdma_harness(&["tune", "restore"]), LIMIT).expect(0);
    assert_eq!(active(), "1024");
    before.assert_is_back();
}

/// The disk's PCI function.
fn disk() -> PathBuf {
    let disk = fs::read_dir("/sys/bus/pci/drivers/nvme").expect("modprobe nvme").flatten();
    let disk =
        disk.map(|entry| entry.path()).find(|path| path.join("msi_irqs").is_dir()).expect("vm -d disk");
    fs::canonicalize(disk).expect("a link to the device")
}

/// `rdma-harness tune` where the one network device is the disk, so that the knob for a NIC's vectors meets managed ones: in
/// a mount namespace of its own, the list of network devices is another.
fn with_the_disk_as_nic(arguments: &[&str]) -> e2e::Finished {
    let program = rdma_harness(&["tune"]);
    let script = format!(
        "mount -t tmpfs tmpfs /sys/class/net && mkdir /sys/class/net/disk0 && ln -s {} /sys/class/net/disk0/device && \
         exec \"$0\" tune \"$@\" --netdev disk0",
        disk().display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).arg(program.get_program()).args(arguments);
    finish(&mut command, LIMIT)
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn a_managed_vector_is_refused_by_name_and_left_out_where_it_may_be() {
    let before = State::read();
    let folder = tempfile::tempdir().expect("a folder");
    let own = profile(folder.path(), "irq_affinity = \"list:0-1\"");
    let refused = with_the_disk_as_nic(&["apply", &own]).expect(3);
    assert!(refused.stderr.contains("(nvme0q1)"), "the vector has a name: {}", refused.stderr);
    before.assert_is_back();
    let own = profile(folder.path(), "irq_affinity = \"list:0-1\"\noptional = [\"irq_affinity\"]");
    let records: Vec<KnobRecord> = with_the_disk_as_nic(&["apply", &own, "--json"]).expect(0).json();
    // The vector of the queue of commands, the first, is not managed; the others are, one per CPU.
    let skipped = records.iter().filter(|record| record.state == KnobState::Skipped).count();
    assert_eq!((skipped, records.len()), (4, 5), "{records:?}");
    assert!(records.iter().all(|record| record.knob == Knob::IrqAffinity), "{records:?}");
    with_the_disk_as_nic(&["restore"]).expect(0);
    before.assert_is_back();
}
