//! Counters of an RDMA device: the standard ones of a port (`counters/`) and the driver's own (`hw_counters/`), one file
//! each. Which there are depends on driver, firmware and kernel; a software device has no standard ones.

use std::time::Duration;

use crate::{sysroot::Sysroot, value::Value};

/// The file among `hw_counters/` that is no counter: how long their values are kept, in ms.
const LIFESPAN: &str = "lifespan";

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// The name of its file; may hold blanks.
    pub name: String,
    /// In the driver's unit: `port_xmit_data` and `port_rcv_data` count words of four bytes. Not applicable where the
    /// device says `N/A (no PMA)`.
    pub value: Value<u64>,
}

/// The standard counters of a port; absent for rxe and siw.
pub fn standard(sysroot: &Sysroot, device: &str, port_num: u8) -> Value<Vec<Counter>> {
    read_all(sysroot, &format!("{}/counters", port_folder(device, port_num)))
}

/// The driver's own counters of a port.
pub fn of_driver(sysroot: &Sysroot, device: &str, port_num: u8) -> Value<Vec<Counter>> {
    read_all(sysroot, &driver_folder(device, port_num))
}

/// The driver's own counters of the whole device; absent where all are of a port.
pub fn of_device(sysroot: &Sysroot, device: &str) -> Value<Vec<Counter>> {
    read_all(sysroot, &format!("/sys/class/infiniband/{device}/hw_counters"))
}

/// How old a value of the driver's counters may be: two readings within it can give the same value.
pub fn lifespan(sysroot: &Sysroot, device: &str, port_num: u8) -> Value<Duration> {
    let path = format!("{}/{LIFESPAN}", driver_folder(device, port_num));
    sysroot.read(&path).parse(|text| number(&text, &path)).map(Duration::from_millis)
}

fn port_folder(device: &str, port_num: u8) -> String {
    format!("/sys/class/infiniband/{device}/ports/{port_num}")
}

fn driver_folder(device: &str, port_num: u8) -> String {
    format!("{}/hw_counters", port_folder(device, port_num))
}

fn read_all(sysroot: &Sysroot, folder: &str) -> Value<Vec<Counter>> {
    sysroot.list(folder).map(|names| {
        let counters = names.into_iter().filter(|name| name != LIFESPAN);
        counters.map(|name| Counter { value: read(sysroot, &format!("{folder}/{name}")), name }).collect()
    })
}

fn read(sysroot: &Sysroot, path: &str) -> Value<u64> {
    sysroot.read(path).and_then(|text| match text.trim() {
        "" => Value::NotApplicable(format!("{path}: empty")),
        none if none.starts_with("N/A") => Value::NotApplicable(format!("{path}: `{none}`")),
        text => Value::Known(text.to_owned()).parse(|text| number(&text, path)),
    })
}

fn number(text: &str, path: &str) -> Result<u64, String> {
    text.trim()
        .parse()
        .map_err(|error| format!("{path}: `{}`: {error}", text.chars().take(40).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing_tree::tree;

    const PORT: &str = "/sys/class/infiniband/mlx5_0/ports/1";

    #[test]
    fn a_counter_without_a_value_is_no_zero() {
        let (_dir, host) = tree(&[
            (&format!("{PORT}/counters/port_xmit_data"), "2880761508848\n"),
            (&format!("{PORT}/counters/symbol_error"), "N/A (no PMA)\n"),
            (&format!("{PORT}/counters/link_downed"), "\n"),
            (&format!("{PORT}/counters/odd"), "-1\n"),
        ]);
        let counters = standard(&host, "mlx5_0", 1).known().expect("counters");
        let value = |name: &str| &counters.iter().find(|counter| counter.name == name).expect(name).value;
        assert_eq!(value("port_xmit_data"), &Value::Known(2_880_761_508_848));
        assert!(matches!(value("symbol_error"), Value::NotApplicable(_)));
        assert!(matches!(value("link_downed"), Value::NotApplicable(_)));
        assert!(matches!(value("odd"), Value::Unreadable(_)));
        assert_eq!(of_driver(&host, "mlx5_0", 1), Value::Absent);
    }

    #[test]
    fn names_may_hold_blanks_and_the_lifespan_is_none_of_them() {
        let (_dir, host) = tree(&[
            (&format!("{PORT}/hw_counters/Nak Sequence Error"), "4\n"),
            (&format!("{PORT}/hw_counters/lifespan"), "10\n"),
            ("/sys/class/infiniband/mlx5_0/hw_counters/completed_cmds", "7\n"),
        ]);
        let counters = of_driver(&host, "mlx5_0", 1).known().expect("counters");
        assert_eq!(counters, [Counter { name: "Nak Sequence Error".into(), value: Value::Known(4) }]);
        assert_eq!(lifespan(&host, "mlx5_0", 1), Value::Known(Duration::from_millis(10)));
        assert_eq!(of_device(&host, "mlx5_0").known().expect("counters")[0].value, Value::Known(7));
    }

    proptest! {
        #[test]
        fn no_text_is_taken_for_a_number_it_is_not(text in "(?s).{0,30}") {
            let (_dir, host) = tree(&[(&format!("{PORT}/counters/x"), &text)]);
            let value = standard(&host, "mlx5_0", 1).known().expect("listed").remove(0).value;
            prop_assert_eq!(value.known(), text.trim().parse().ok());
        }
    }
}
