//! Who writes this host's boot entries: the distribution, and the program it has for that.

use host::Sysroot;

/// How the boot entries are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loader {
    /// The distribution as it calls itself.
    system: String,
    /// What is done to change them.
    pub(super) way: Way,
}

/// A way of changing boot entries; `change.rs` has the commands of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// An ostree host: the deployment carries its own arguments.
    RpmOstree,
    /// A bootc host without rpm-ostree: the arguments come with the image.
    BootcImage,
    /// Fedora and RHEL, with and without BLS entries, BIOS and UEFI alike. On IBM Z the loader is written anew.
    Grubby { installed: bool, zipl: bool },
    /// Debian and Ubuntu: drop-in files for GRUB's defaults.
    UpdateGrub,
    /// SLES and openSUSE.
    Pbl,
    /// GRUB's defaults file, and this command after it.
    GrubDefaults { regenerate: String },
    /// Not known; the text says what was found.
    Unknown(String),
}

/// Finds out.
pub(super) fn detect(sysroot: &Sysroot) -> Loader {
    let release = OsRelease::read(sysroot);
    Loader { way: way(sysroot, &release), system: release.name }
}

fn way(sysroot: &Sysroot, release: &OsRelease) -> Way {
    let has = |program: &str| {
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin"]
            .iter()
            .any(|dir| sysroot.exists(format!("{dir}/{program}")))
    };
    if ["/run/.containerenv", "/.dockerenv"].iter().any(|mark| sysroot.exists(mark)) {
        return Way::Unknown("this is a container; the command line is its host's".into());
    }
    if sysroot.exists("/run/ostree-booted") {
        return if has("rpm-ostree") { Way::RpmOstree } else { Way::BootcImage };
    }
    if has("transactional-update") {
        return Way::GrubDefaults { regenerate: "transactional-update grub.cfg".into() };
    }
    if release.is(&["rhel", "fedora", "centos"]) {
        return Way::Grubby { installed: has("grubby"), zipl: sysroot.exists("/etc/zipl.conf") };
    }
    let grub = sysroot.exists("/etc/default/grub");
    if grub && release.is(&["debian", "ubuntu"]) {
        return Way::UpdateGrub;
    }
    if grub && release.is(&["suse", "opensuse", "sles"]) {
        return Way::Pbl;
    }
    match grub {
        true if has("grub2-mkconfig") => {
            Way::GrubDefaults { regenerate: "grub2-mkconfig -o /boot/grub2/grub.cfg".into() }
        }
        true => Way::GrubDefaults { regenerate: "grub-mkconfig -o /boot/grub/grub.cfg".into() },
        false => Way::Unknown("its boot loader is not one we know (there is no /etc/default/grub)".into()),
    }
}

impl Loader {
    /// The distribution and its tool, in a few words.
    pub(super) fn describe(&self) -> String {
        let tool = match &self.way {
            Way::RpmOstree => "rpm-ostree",
            Way::BootcImage => "the bootc image",
            Way::Grubby { .. } => "grubby",
            Way::UpdateGrub => "update-grub",
            Way::Pbl => "pbl",
            Way::GrubDefaults { regenerate } => regenerate,
            Way::Unknown(why) => why,
        };
        format!("{}: {tool}", self.system)
    }
}

/// What /etc/os-release says of the distribution.
#[derive(Debug, Default)]
struct OsRelease {
    /// `PRETTY_NAME`, or what there is instead.
    name: String,
    /// `ID`, then the words of `ID_LIKE`.
    ids: Vec<String>,
}

impl OsRelease {
    fn read(sysroot: &Sysroot) -> Self {
        let text =
            ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|file| sysroot.read(file).known());
        Self::parse(&text.unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let field = |key: &str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
            value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned()).unwrap_or_default()
        };
        let ids = format!("{} {}", field("ID"), field("ID_LIKE"));
        let name = [field("PRETTY_NAME"), field("ID")].into_iter().find(|name| !name.is_empty());
        OsRelease {
            name: name.unwrap_or_else(|| "unknown distribution".into()),
            ids: ids.split_whitespace().map(str::to_owned).collect(),
        }
    }

    fn is(&self, families: &[&str]) -> bool {
        self.ids.iter().any(|id| families.contains(&id.as_str()))
    }
}
