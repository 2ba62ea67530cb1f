//! The kernel's tables of addresses, whose columns are hexadecimal numbers.

use super::{address, key::Key};

/// /proc/net/route: destination, gateway and mask as the machine's own numbers, so that on a little-endian host, which all
/// we know are, the first byte of the address is the last of the number.
pub(super) fn routes(key: &Key, text: &str) -> String {
    by_line(text, '\t', |columns| {
        let mask = columns.get(7).and_then(|mask| number(mask)).unwrap_or(u32::MAX);
        for (at, mask) in [(1, mask), (2, u32::MAX)] {
            if let Some(address) = columns.get(at).and_then(|column| number(column)) {
                // The network of what an address became: the bits of the host were zero and stay so.
                columns[at] = format!("{:08X}", (address::v4(key, address) & mask).swap_bytes());
            }
        }
    })
}

/// /proc/net/ipv6_route (destination, source, next hop, with prefix lengths) and /proc/net/if_inet6.
pub(super) fn routes6(key: &Key, text: &str) -> String {
    by_line(text, ' ', |columns| {
        for at in 0..columns.len() {
            let Some(address) =
                (columns[at].len() == 32).then(|| u128::from_str_radix(&columns[at], 16).ok()).flatten()
            else {
                continue;
            };
            let length = columns.get(at + 1).filter(|next| next.len() == 2);
            let length =
                length.and_then(|length| u32::from_str_radix(length, 16).ok()).filter(|bits| *bits <= 128);
            // In if_inet6 an index follows, which is no length; the address of an interface has bits of its own.
            let is_network = length.is_some_and(|bits| bits == 0 || address.trailing_zeros() >= 128 - bits);
            let made = address::v6(key, address);
            let made = match (is_network, length) {
                (true, Some(0)) => 0,
                (true, Some(bits)) => made >> (128 - bits) << (128 - bits),
                _ => made,
            };
            columns[at] = format!("{made:032x}");
        }
    })
}

/// /proc/net/tcp and tcp6: `address:port` pairs, the address in words of the machine's order.
pub(super) fn sockets(key: &Key, text: &str) -> String {
    by_line(text, ' ', |columns| {
        for column in columns.iter_mut() {
            let Some((address, port)) = column.split_once(':') else { continue };
            let made = match address.len() {
                8 if port.len() == 4 => {
                    number(address).map(|ip| format!("{:08X}", address::v4(key, ip).swap_bytes()))
                }
                32 if port.len() == 4 => words(address).map(|ip| in_words(address::v6(key, ip))),
                _ => None,
            };
            if let Some(made) = made {
                *column = format!("{made}:{port}");
            }
        }
    })
}

/// A number of eight digits with its bytes turned round: the address.
fn number(digits: &str) -> Option<u32> {
    (digits.len() == 8).then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(u32::swap_bytes)
}

fn words(digits: &str) -> Option<u128> {
    (0..4).try_fold(0, |all, at| Some(all << 32 | u128::from(number(digits.get(8 * at..8 * at + 8)?)?)))
}

fn in_words(address: u128) -> String {
    (0..4).map(|at| format!("{:08X}", ((address >> (96 - 32 * at)) as u32).swap_bytes())).collect()
}

/// Changes the columns of each line and leaves what separates them as it is.
fn by_line(text: &str, separator: char, change: impl Fn(&mut Vec<String>)) -> String {
    let lines = text.split('\n').map(|line| {
        let mut parts: Vec<String> = line.split(separator).map(str::to_owned).collect();
        // Columns are the parts that hold something; where they stand is kept.
        let places: Vec<usize> = (0..parts.len()).filter(|at| !parts[*at].is_empty()).collect();
        let mut columns: Vec<String> = places.iter().map(|at| parts[*at].clone()).collect();
        change(&mut columns);
        for (place, column) in places.into_iter().zip(columns) {
            parts[place] = column;
        }
        parts.join(&separator.to_string())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::from([9; 32])
    }

    #[test]
    fn a_gateway_stays_on_its_network_and_the_default_route_one() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
                    eno1\t00000000\tFE7100CB\t0003\t0\t0\t100\t00000000\t0\n\
                    eno1\t007100CB\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\n";
        let made = routes(&key(), text);
        let column = |line: usize, at: usize| {
            made.lines().nth(line).expect("a line").split('\t').nth(at).expect("a column")
        };
        assert_eq!(column(0, 2), "Gateway ", "the header is kept");
        assert_eq!((column(1, 1), column(2, 2)), ("00000000", "00000000"));
        let (gateway, network) = (number(column(1, 2)).expect("one"), number(column(2, 1)).expect("one"));
        assert_ne!(network, 0xcb00_7100);
        assert_eq!(gateway & 0xffff_ff00, network);
    }

    #[test]
    fn a_socket_keeps_its_port_and_a_listener_its_wildcard() {
        let text = "   0: 00000000:0016 00000000:0000 0A\n   1: 0A7100CB:0016 146433C6:D2F0 01\n";
        let made = sockets(&key(), text);
        assert!(made.starts_with("   0: 00000000:0016 00000000:0000 0A\n"), "{made}");
        assert!(made.contains(":0016 ") && made.contains(":D2F0 01") && !made.contains("0A7100CB"), "{made}");
        let mapped = "0000000000000000FFFF00000A7100CB:0016";
        assert!(
            sockets(&key(), mapped).starts_with("0000000000000000FFFF0000"),
            "{}",
            sockets(&key(), mapped)
        );
    }

    #[test]
    fn a_network_of_ipv6_has_no_bits_of_a_host() {
        let text = "20010db8000100000000000000000000 30 00000000000000000000000000000000 00 0000 eth0\n";
        let made = routes6(&key(), text);
        assert!(made.starts_with("fd") && made[12..32].bytes().all(|b| b == b'0'), "{made}");
        assert!(made.ends_with(" 30 00000000000000000000000000000000 00 0000 eth0\n"), "{made}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)[0-9A-F :\t\n]{0,200}|.{0,60}") {
            let _ = (routes(&key(), &text), routes6(&key(), &text), sockets(&key(), &text));
        }

        #[test]
        fn the_words_of_an_address_read_back(address: u128) {
            prop_assert_eq!(words(&in_words(address)), Some(address));
        }
    }
}
