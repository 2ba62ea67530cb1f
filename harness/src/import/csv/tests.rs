use pretty_assertions::assert_eq;
use proptest::prelude::*;
use schema::{Bytes, Metric};

use super::*;

const TABLE: &str = "\
time,scenario,workload,msg_bytes,metric,value,unit,requester_host,responder_host,configuration.firmware,fact.operator
2026-03-01T02:00:00Z,allpairs,write,64Ki,bandwidth,98.1,Gb/s,node1,node2,20.31,night shift
2026-03-02T02:00:00Z,allpairs,write,65536,p50,1.03,us,node1,node2,20.32,
2026-03-03,allpairs,write,8,p99,,us,node1,node2,20.32,
";

fn refused(text: &str) -> String {
    read(text, &[]).unwrap_err().to_string()
}

#[test]
fn a_table_reads_with_units_configuration_and_gaps() {
    let log = read(TABLE, &[]).unwrap();
    let [first, second, gap] = &log.measurements[..] else { panic!("{log:?}") };
    assert_eq!(first.values, [(Metric::Bandwidth, Some(98.1e9))]);
    assert_eq!((first.msg_bytes, second.msg_bytes), (Bytes(65_536), Bytes(65_536)));
    assert_eq!(first.at_unix_ms, Some(1_772_330_400_000));
    assert_eq!(first.requester.host, "node1");
    assert_eq!(first.configuration.0["firmware"], "20.31");
    assert_eq!(first.facts["operator"], "night shift");
    assert_eq!((first.engine.as_str(), first.variant.as_str()), ("csv", "default"));
    assert_eq!(second.values, [(Metric::P50, Some(1_030.0))]);
    assert_eq!(gap.values, [(Metric::P99, None)]);
    assert_eq!((gap.line, gap.failure.as_deref()), (4, Some("the table has no value")));
}

#[test]
fn columns_get_our_names() {
    let table = TABLE.replace("value", "busbw").replace("fact.operator", "operator");
    let names = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    };
    let renamed = names(&[("busbw", "value"), ("operator", "fact.operator")]);
    assert_eq!(read(&table, &renamed), read(TABLE, &[]));
    let wrong = read(&table, &names(&[("bw", "value")])).unwrap_err();
    assert!(
        wrong.why.starts_with("there is no column `bw` to rename; the columns are time, scenario"),
        "{wrong}"
    );
}

#[test]
fn what_is_not_understood_is_refused_at_its_line_and_column() {
    let unknown = refused(&TABLE.replace("fact.operator", "operator"));
    assert!(
        unknown.starts_with("line 1: column `operator` is unknown; known are time, scenario"),
        "{unknown}"
    );
    assert!(refused("time,scenario\n1,2\n").starts_with("line 1: no column msg_bytes, metric, value, unit"));
    assert_eq!(refused(&TABLE.replace("98.1", "fast")), "line 2: value: `fast` is no number");
    assert!(refused(&TABLE.replace("98.1", "0")).starts_with("line 2: value: `0` is no measurement"));
    assert!(
        refused(&TABLE.replace("Gb/s", "Gbit")).starts_with("line 2: unit: unit `Gbit` is none of bandwidth")
    );
    assert!(refused(&TABLE.replace("p50", "median")).starts_with("line 3: metric: unknown metric `median`"));
    assert!(refused(&TABLE.replace("2026-03-02T02", "March")).starts_with("line 3: time:"));
    assert!(refused(&TABLE.replace("64Ki", "64k")).starts_with("line 2: msg_bytes:"));
    assert!(
        refused(&TABLE.replace(",night shift", "")).starts_with("line 2: 10 fields where the header has 11")
    );
    assert!(refused(&TABLE.replace("value", "unit")).starts_with("line 1: column `unit` is there twice"));
    assert_eq!(refused(TABLE.lines().next().unwrap()), "line 1: a header and no row");
    assert!(refused("").starts_with("line 1"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,300}", at in 0usize..400, with in "[\",\n\r a-z0-9.]{0,6}") {
        let _ = read(&text, &[]);
        let at = at.min(TABLE.len());
        let torn = format!("{}{with}{}", &TABLE[..at], &TABLE[at..]);
        if let Err(refused) = read(&torn, &[]) {
            prop_assert!(refused.line >= 1 && refused.line <= torn.lines().count() + 1, "{}", refused);
        }
    }
}
