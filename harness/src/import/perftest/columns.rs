//! The columns of a table, from its header line.

use crate::import::refusal::{Refusal, shown};

/// What a bandwidth column counts in. Releases before 2024 wrote `MB/sec` over the same MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BandwidthUnit {
    /// 2^20 bytes a second.
    MebibytesPerSec,
    /// 10^9 bits a second.
    GigabitsPerSec,
}

impl BandwidthUnit {
    /// In bits a second.
    pub(super) fn bits_per_sec(self) -> f64 {
        match self {
            BandwidthUnit::MebibytesPerSec => 1_048_576.0 * 8.0,
            BandwidthUnit::GigabitsPerSec => 1e9,
        }
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Message size.
    Bytes,
    /// Messages measured.
    Iterations,
    /// Bandwidth, mean over the run.
    BandwidthAverage(BandwidthUnit),
    /// Messages a second, in millions.
    MessageRate,
    /// Median latency, us.
    Typical,
    /// 99th percentile, us.
    P99,
    /// 99.9th percentile, us.
    P99_9,
    /// A number that is kept and not compared, by the name the fact gets.
    Fact(&'static str),
}

/// Reads a header line.
pub(super) fn columns(line: &str, number: usize) -> Result<Vec<Column>, Refusal> {
    let mut words = line.split_whitespace().peekable();
    let mut columns = Vec::new();
    while let Some(word) = words.next() {
        let mut label = word.to_owned();
        if matches!(word, "BW" | "99%" | "99.9%" | "tps")
            || (word == "MsgRate" && words.peek().is_some_and(|next| next.starts_with("Port")))
        {
            let next = words.next().unwrap_or_default();
            label = format!("{label} {next}");
        }
        let column = column(&label).ok_or_else(|| {
            Refusal::new(
                number,
                format!("column `{}` is none that perftest is known to print", shown(&label)),
            )
        })?;
        columns.push(column);
    }
    Ok(columns)
}

fn column(label: &str) -> Option<Column> {
    let (name, unit) =
        label.split_once('[').map_or((label, ""), |(name, unit)| (name, unit.trim_end_matches(']')));
    let bandwidth = match unit {
        "MB/sec" | "MiB/sec" => Some(BandwidthUnit::MebibytesPerSec),
        "Gb/sec" => Some(BandwidthUnit::GigabitsPerSec),
        _ => None,
    };
    let column = match name {
        "#bytes" => Column::Bytes,
        "#iterations" => Column::Iterations,
        "#sl" => Column::Fact("service_level"),
        "BW peak" => bandwidth.map(|_| Column::Fact("bw_peak"))?,
        "BW average" => Column::BandwidthAverage(bandwidth?),
        "BW Port1" => Column::Fact("bw_port1"),
        "BW Port2" => Column::Fact("bw_port2"),
        "MsgRate" => Column::MessageRate,
        "MsgRate Port1" => Column::Fact("msgrate_port1"),
        "MsgRate Port2" => Column::Fact("msgrate_port2"),
        "t_min" => Column::Fact("t_min_usec"),
        "t_max" => Column::Fact("t_max_usec"),
        "t_typical" => Column::Typical,
        "t_avg" => Column::Fact("t_avg_usec"),
        "t_stdev" => Column::Fact("t_stdev_usec"),
        "99% percentile" => Column::P99,
        "99.9% percentile" => Column::P99_9,
        "tps average" => Column::Fact("tps_average"),
        "CPU_Util" => Column::Fact("cpu_util_percent"),
        _ => return None,
    };
    let in_usec = name.starts_with("t_") || name.ends_with("percentile");
    (!in_usec || unit == "usec").then_some(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_all_releases() {
        let read = |line| columns(line, 1).unwrap();
        let bandwidth =
            read(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]");
        let mib = BandwidthUnit::MebibytesPerSec;
        assert_eq!(
            bandwidth,
            [
                Column::Bytes,
                Column::Iterations,
                Column::Fact("bw_peak"),
                Column::BandwidthAverage(mib),
                Column::MessageRate
            ]
        );
        let ports = " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps] BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]";
        assert_eq!(read(ports).len(), 9);
        let latency = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";
        assert_eq!(read(latency)[7..], [Column::P99, Column::P99_9]);
        assert_eq!(read(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]").len(), 5);
        assert_eq!(read(" #bytes        #iterations       t_avg[usec]    tps average").len(), 4);
    }

    #[test]
    fn an_unknown_column_or_unit_is_refused_by_name() {
        let refused = columns("#bytes BW average[parsec]", 7).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "line 7: column `BW average[parsec]` is none that perftest is known to print"
        );
        assert!(columns("#bytes t_avg[msec]", 1).is_err());
        assert!(columns("#bytes wings", 1).is_err());
    }
}
