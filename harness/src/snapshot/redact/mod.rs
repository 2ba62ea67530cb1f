//! Makes what was taken fit for strangers' eyes: what names the host, its devices, its users' network or its parts becomes a
//! token, the same one wherever it stands, so that what was equal is still equal.

mod address;
mod key;
mod pci;
mod tables;
mod text;

use host::Sysroot;
use key::Key;
use text::Of;

use super::patterns::Kind;

/// Files of dmidecode's that hold serial numbers; only root may read them, and they are never taken.
const SERIALS: [&str; 4] = ["product_serial", "board_serial", "chassis_serial", "product_uuid"];
/// A serial number that is shorter may be a word of its own ("None").
const SHORTEST_SERIAL: usize = 6;

/// What one snapshot replaces, and by what.
pub(super) struct Redactor {
    key: Key,
    /// The host's names, in lower case.
    names: Vec<String>,
    /// Its domain with the dot before it.
    domain: Option<String>,
    /// Serial numbers, wherever they may stand.
    serials: Vec<String>,
}

impl Redactor {
    /// Of a host, with a new key.
    pub(super) fn of(sysroot: &Sysroot) -> Result<Redactor, getrandom::Error> {
        let name = sysroot.read("/proc/sys/kernel/hostname").known().unwrap_or_default();
        let serials =
            SERIALS.iter().filter_map(|file| sysroot.read(format!("/sys/class/dmi/id/{file}")).known());
        let serials = serials.filter(|serial| {
            serial.len() >= SHORTEST_SERIAL && serial.bytes().any(|byte| byte.is_ascii_digit())
        });
        Ok(Redactor::new(Key::random()?, &name, serials.collect()))
    }

    fn new(key: Key, host_name: &str, serials: Vec<String>) -> Redactor {
        let name = host_name.trim().to_ascii_lowercase();
        let (short, domain) = match name.split_once('.') {
            Some((short, domain)) => (short.to_owned(), Some(format!(".{domain}"))),
            None => (name.clone(), None),
        };
        // A number would be replaced where it counts something.
        let names =
            [name, short].into_iter().filter(|name| name.bytes().any(|byte| byte.is_ascii_alphabetic()));
        let names = names.filter(|name| name != "localhost").collect();
        Redactor { key, names, domain, serials }
    }

    /// With a known key.
    #[cfg(test)]
    pub(super) fn with_key(key: [u8; 32], host_name: &str, serials: Vec<String>) -> Redactor {
        Redactor::new(Key::from(key), host_name, serials)
    }

    /// What becomes of a file.
    pub(super) fn file(&self, kind: Kind, bytes: &[u8]) -> Vec<u8> {
        let text = || String::from_utf8_lossy(bytes);
        let made = match kind {
            Kind::Verbatim => return bytes.to_vec(),
            Kind::PciConfig => return pci::redacted(&self.key, bytes),
            Kind::Text => text::redacted(self, &text(), Of::Text),
            Kind::Addresses => text::redacted(self, &text(), Of::Network),
            Kind::Routes => tables::routes(&self.key, &text()),
            Kind::Routes6 => tables::routes6(&self.key, &text()),
            Kind::Sockets => tables::sockets(&self.key, &text()),
            Kind::PortId => self.key.hex("port", bytes.trim_ascii(), bytes.trim_ascii().len()) + "\n",
        };
        made.into_bytes()
    }

    /// What becomes of a path or of what a link points to: devices may be named after a MAC or a UUID.
    pub(super) fn path(&self, path: &str) -> String {
        text::redacted(self, path, Of::Path)
    }
}
