//! Plans on the trees of hosts that differ in how they boot.

use std::{fs, path::Path};

use host::Sysroot;
use pretty_assertions::assert_eq;

use super::*;

/// A host of eight CPUs with this os-release, command line and further files, which hold what is given or nothing.
fn tree(release: &str, cmdline: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Sysroot) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let basics = [
        ("/etc/os-release", release),
        ("/proc/cmdline", cmdline),
        ("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n"),
        ("/sys/devices/system/cpu/present", "0-7\n"),
        ("/sys/devices/system/cpu/isolated", "\n"),
        ("/sys/devices/system/cpu/nohz_full", "(null)\n"),
    ];
    for (path, text) in basics.iter().chain(files) {
        let file = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(file, text).expect("written");
    }
    let sysroot = Sysroot::new(dir.path());
    (dir, sysroot)
}

const RHEL_9: &str = "NAME=\"Red Hat Enterprise Linux\"\nID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n";
const RHEL_8: &str = "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"8.10\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 8.10 (Ootpa)\"\n";
const FEDORA_COREOS: &str = "ID=fedora\nVARIANT_ID=coreos\nPRETTY_NAME=\"Fedora CoreOS 40\"\n";
const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
const UBUNTU: &str = "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nID_LIKE=debian\n";
const SLES: &str = "ID=\"sles\"\nID_LIKE=\"suse\"\nPRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\n";

#[track_caller]
fn commands(host: &Sysroot, item: &str, value: &str) -> (Vec<String>, Vec<String>) {
    let plan = plan(host, item, value, None).expect("a plan");
    (plan.commands, plan.undo)
}

#[test]
fn rhel_and_fedora_change_their_entries_with_grubby_whatever_the_firmware() {
    for release in [RHEL_8, RHEL_9] {
        let (_dir, host) =
            tree(release, "ro crashkernel=1G", &[("/usr/sbin/grubby", ""), ("/sys/firmware/efi/x", "")]);
        let (set, undo) = commands(&host, "isolcpus", "2-3");
        assert_eq!(set, ["grubby --update-kernel=ALL --args=\"isolcpus=2-3\""]);
        assert_eq!(undo, ["grubby --update-kernel=ALL --remove-args=\"isolcpus=2-3\""]);
    }
}

#[test]
fn a_word_that_is_there_is_replaced_and_put_back() {
    let (_dir, host) = tree(RHEL_9, "ro isolcpus=7 quiet", &[("/usr/sbin/grubby", "")]);
    let (set, undo) = commands(&host, "isolcpus", "2-3");
    assert_eq!(set, ["grubby --update-kernel=ALL --remove-args=\"isolcpus=7\" --args=\"isolcpus=2-3\""]);
    assert_eq!(undo, ["grubby --update-kernel=ALL --remove-args=\"isolcpus=2-3\" --args=\"isolcpus=7\""]);
    let (set, undo) = commands(&host, "isolcpus", "7");
    assert!(set.is_empty() && undo.is_empty(), "it stands there as it is wanted: {set:?} {undo:?}");
}

#[test]
fn ibm_z_writes_its_loader_after_grubby() {
    let (_dir, host) = tree(RHEL_9, "ro", &[("/etc/zipl.conf", ""), ("/usr/sbin/grubby", "")]);
    assert_eq!(commands(&host, "isolcpus", "2").0.last().map(String::as_str), Some("zipl"));
}

#[test]
fn an_ostree_host_changes_its_deployment() {
    let (_dir, host) = tree(
        FEDORA_COREOS,
        "ostree=/x nohz_full=1",
        &[("/run/ostree-booted", ""), ("/usr/bin/rpm-ostree", "")],
    );
    let (set, undo) = commands(&host, "nohz_full", "2-3");
    assert_eq!(set, ["rpm-ostree kargs --delete-if-present=nohz_full=1 --append-if-missing=nohz_full=2-3"]);
    assert_eq!(undo, ["rpm-ostree kargs --delete-if-present=nohz_full=2-3 --append-if-missing=nohz_full=1"]);
}

#[test]
fn a_bootc_host_without_rpm_ostree_changes_its_image() {
    let (_dir, host) = tree(FEDORA_COREOS, "", &[("/run/ostree-booted", "")]);
    let (set, _) = commands(&host, "iommu", "pt");
    assert_eq!(
        set[1],
        "RUN echo 'kargs = [\"iommu=pt\"]' > /usr/lib/bootc/kargs.d/90-rdma-harness-iommu.toml"
    );
}

#[test]
fn debian_and_ubuntu_get_a_drop_in_that_is_taken_away_again() {
    for release in [DEBIAN, UBUNTU] {
        let (_dir, host) = tree(release, "ro quiet", &[("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n")]);
        let (set, undo) = commands(&host, "irqaffinity", "0-1");
        let file = "/etc/default/grub.d/90-rdma-harness-irqaffinity.cfg";
        assert_eq!(
            set,
            [
                "mkdir -p /etc/default/grub.d".to_owned(),
                format!(
                    "echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT irqaffinity=0-1\"' > {file}"
                ),
                "update-grub".to_owned(),
            ]
        );
        assert_eq!(undo, [format!("rm {file}"), "update-grub".to_owned()]);
    }
}

#[test]
fn on_debian_a_word_is_replaced_in_the_file_that_holds_it() {
    let files = [
        ("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
        ("/etc/default/grub.d/50-cloud.cfg", "GRUB_CMDLINE_LINUX=\"intel_idle.max_cstate=9\"\n"),
    ];
    let (_dir, host) = tree(UBUNTU, "quiet intel_idle.max_cstate=9", &files);
    let (set, undo) = commands(&host, "intel_idle.max_cstate", "1");
    let file = "/etc/default/grub.d/50-cloud.cfg";
    assert_eq!(
        set,
        [
            format!("sed -i 's/intel_idle\\.max_cstate=9/intel_idle.max_cstate=1/' {file}"),
            "update-grub".to_owned()
        ]
    );
    assert_eq!(undo[0], format!("sed -i 's/intel_idle\\.max_cstate=1/intel_idle.max_cstate=9/' {file}"));
}

#[test]
fn the_sed_of_a_plan_sets_and_its_undo_gives_back_the_file_byte_for_byte() {
    let before = "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"console=ttyS0\"\n";
    let files = [("/etc/default/grub", before), ("/usr/bin/grub2-mkconfig", "")];
    let (dir, host) = tree("ID=azurelinux\n", "console=ttyS0", &files);
    let (set, undo) = commands(&host, "intel_idle.max_cstate", "1");
    assert_eq!(set[1], "grub2-mkconfig -o /boot/grub2/grub.cfg");
    let file = dir.path().join("etc/default/grub");
    sed(&set[0], &file);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"intel_idle.max_cstate=1 console=ttyS0\"\n"
    );
    sed(&undo[0], &file);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

/// Runs the expression of a planned sed on this file.
#[track_caller]
fn sed(command: &str, file: &Path) {
    let expression = command.split('\'').nth(1).expect("a quoted expression");
    let status =
        std::process::Command::new("sed").args(["-i", expression]).arg(file).status().expect("sed runs");
    assert!(status.success(), "{command}");
}

#[test]
fn sles_has_pbl() {
    let (_dir, host) = tree(SLES, "splash=silent", &[("/etc/default/grub", "")]);
    let (set, undo) = commands(&host, "isolcpus", "managed_irq,domain,2-3");
    assert_eq!(set, ["pbl --add-option isolcpus=managed_irq,domain,2-3 --config"]);
    assert_eq!(undo, ["pbl --del-option isolcpus --config"]);
}

#[test]
fn a_loader_that_is_not_known_and_a_container_are_told_in_words() {
    let (_dir, host) = tree("ID=weird\nPRETTY_NAME=\"Weird 1\"\n", "ro", &[]);
    let known = plan(&host, "isolcpus", "2", None).unwrap();
    assert!(known.by.starts_with("Weird 1: its boot loader is not one we know"), "{}", known.by);
    assert!(known.commands.iter().all(|line| line.starts_with('#')), "{:?}", known.commands);
    let (_dir, host) = tree(UBUNTU, "ro", &[("/etc/default/grub", ""), ("/.dockerenv", "")]);
    assert!(plan(&host, "isolcpus", "2", None).unwrap().by.contains("this is a container"));
}

#[test]
fn what_holds_is_read_from_the_kernel_and_not_from_the_command_line() {
    let (_dir, host) = tree(DEBIAN, "isolcpus=2,3", &[("/sys/devices/system/cpu/isolated", "2-3\n")]);
    let held = plan(&host, "isolcpus", "2, 3", None).unwrap();
    assert!(held.holds && held.commands.is_empty(), "2, 3 is 2-3: {held:?}");
    assert_eq!(held.after_reboot, "after the reboot /sys/devices/system/cpu/isolated reads 2-3");

    let (_dir, host) = tree(DEBIAN, "nohz_full=2-3", &[]);
    let lost = plan(&host, "nohz_full", "2-3", None).unwrap();
    assert_eq!((lost.holds, lost.now.value.as_deref()), (false, Some("")), "it was ignored: (null)");
    assert!(lost.commands.is_empty(), "the word is there; adding it again would not help");
}

#[test]
fn flags_are_looked_for_on_the_command_line() {
    let (_dir, host) =
        tree(DEBIAN, "isolcpus=managed_irq,domain,2-3", &[("/sys/devices/system/cpu/isolated", "2-3")]);
    assert!(plan(&host, "isolcpus", "managed_irq,domain,2-3", None).unwrap().holds);
    assert!(plan(&host, "isolcpus", "2-3", None).unwrap().holds);
    assert!(!plan(&host, "isolcpus", "nohz,domain,2-3", None).unwrap().holds);
}

#[test]
fn the_iommu_is_asked_at_the_device() {
    let group = "/sys/class/infiniband/mlx5_0/device/iommu_group/type";
    for (kind, holds) in [("identity\n", true), ("DMA-FQ\n", false)] {
        let (_dir, host) = tree(RHEL_9, "iommu=pt", &[(group, kind)]);
        let plan = plan(&host, "iommu", "pt", Some("mlx5_0")).unwrap();
        assert_eq!((plan.holds, plan.now.at.as_str()), (holds, group));
        assert!(plan.after_reboot.ends_with("reads identity"), "{}", plan.after_reboot);
    }
    let (_dir, host) = tree(RHEL_9, "", &[("/sys/class/infiniband/mlx5_0/device/numa_node", "0")]);
    let plan = plan(&host, "iommu", "pt", Some("mlx5_0")).unwrap();
    assert!(plan.holds && plan.now.value.is_none(), "no IOMMU translates: {plan:?}");
}

#[test]
fn arm_spells_the_pass_through_its_own_way() {
    let (_dir, host) =
        tree(UBUNTU, "ro", &[("/proc/cpuinfo", "CPU implementer\t: 0x41\n"), ("/etc/default/grub", "")]);
    assert_eq!(plan(&host, "iommu", "pt", None).unwrap().wanted, "iommu.passthrough=1");
}

#[test]
fn a_firmware_setting_names_the_cards_address_and_is_never_known_to_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/fixtures/two-socket-mlx5");
    let host = Sysroot::new(root);
    let plan = plan(&host, "nvconfig", "PCI_WR_ORDERING=1", Some("mlx5_0")).unwrap();
    assert_eq!(plan.commands[1], "mstconfig -y -d 0000:c1:00.0 set PCI_WR_ORDERING=1");
    assert_eq!(plan.now.at, "mstconfig -d 0000:c1:00.0 -e query PCI_WR_ORDERING");
    assert!(!plan.holds && plan.now.value.is_none());
    let error = super::plan(&host, "nvconfig", "PCI_WR_ORDERING=1", None).unwrap_err();
    assert!(error.to_string().contains("name the RDMA device"), "{error}");
    let error = super::plan(&host, "nvconfig", "PCI_WR_ORDERING=1", Some("mlx5_9")).unwrap_err();
    assert!(error.to_string().contains("no RDMA device mlx5_9"), "{error}");
}

#[test]
fn a_wrong_item_or_value_says_what_to_write() {
    let (_dir, host) = tree(DEBIAN, "", &[]);
    for (item, value, says) in [
        ("isolcpu", "2", "is not one of isolcpus, nohz_full"),
        ("isolcpus", "two", "is not a number"),
        ("isolcpus", "", "names no CPU"),
        ("isolcpus", "2-9", "this host has no CPU 8; it has 0-7"),
        ("isolcpus", "0-7", "names every CPU"),
        ("isolcpus", "fast,2", "`fast` is not a number"),
        ("nohz_full", "0-3", "the boot CPU"),
        ("iommu", "passthrough", "write one of pt, off"),
        ("processor.max_cstate", "10", "a number from 0 to 9"),
        ("nvconfig", "PCI_WR_ORDERING", "write NAME=VALUE"),
        ("nvconfig", "A=$(reboot)", "write NAME=VALUE"),
    ] {
        let error = plan(&host, item, value, Some("mlx5_0")).expect_err(value).to_string();
        assert!(error.contains(says), "{item} = {value}: {error}");
    }
}

static RHEL: std::sync::LazyLock<(tempfile::TempDir, Sysroot)> =
    std::sync::LazyLock::new(|| tree(RHEL_9, "", &[]));

proptest::proptest! {
    #[test]
    fn no_value_panics_and_what_is_taken_needs_no_quoting(item in "isolcpus|nohz_full|iommu|nvconfig", value in "[ -~]{0,20}") {
        if let Ok(plan) = plan(&RHEL.1, &item, &value, None) {
            proptest::prop_assert!(plan.wanted.bytes().all(|b| b.is_ascii_alphanumeric() || b"_=,-:/.".contains(&b)), "{}", plan.wanted);
        }
    }
}
