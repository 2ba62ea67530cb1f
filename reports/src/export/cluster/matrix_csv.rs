//! The matrices of a cluster as CSV: a row a requester and measure, a column a responder, as spreadsheets and numpy take them.

use std::fmt::Write as _;

use crate::{
    cluster::ClusterReport,
    export::{csv::quoted, night::series::fabric},
};

/// All measures, one below the other (RFC 4180). A cell is the median of a pair's valid runs in `unit`; empty where there is none.
pub fn matrix_csv(report: &ClusterReport) -> String {
    let names: Vec<String> = report.nodes.iter().map(|node| quoted(&node.name)).collect();
    let mut text = format!("fabric,workload,msg_bytes,metric,unit,requester,{}\n", names.join(","));
    for matrix in &report.matrices {
        let measure = &matrix.measure;
        let head = format!(
            "{},{},{},{},{}",
            report.head.fabric.map_or("", fabric),
            quoted(&measure.name),
            measure.msg_bytes.get(),
            measure.metric,
            matrix.unit
        );
        for (name, row) in names.iter().zip(&matrix.values) {
            let cells: Vec<String> =
                row.iter().map(|cell| cell.map_or_else(String::new, |value| value.to_string())).collect();
            let _ = writeln!(text, "{head},{name},{}", cells.join(","));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster_report;

    #[test]
    fn a_cell_is_where_its_names_say() {
        let report = cluster_report();
        let text = matrix_csv(&report);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let heads = reader.headers().unwrap().clone();
        let column = heads.iter().position(|name| name == "node6").unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows.len(), report.nodes.len() * report.matrices.len());
        let row = rows.iter().find(|row| &row[3] == "p99" && &row[5] == "node1").unwrap();
        assert_eq!(row[column].parse::<f64>().unwrap(), report.matrices[3].values[0][5].unwrap());
        assert!(rows.iter().all(|row| row.get(13) == Some("")), "node8 never came");
    }
}
