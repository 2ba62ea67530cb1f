//! Cuts GID tables short: rxe has 1,024 entries a port and mlx5 256, nearly all of them empty. One empty entry is kept behind
//! the last that is used, for what reading it gives.

use std::collections::BTreeMap;

use super::tree::{Entry, Tree};

/// Leaves out the empty entries of every port's table but the first behind the used ones.
pub(super) fn cut_short(tree: &mut Tree) {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    for (path, entry) in &tree.entries {
        if let (Some((port, index)), Entry::File { bytes, .. }) = (gid(path), entry)
            && bytes.iter().any(|byte| byte.is_ascii_hexdigit() && *byte != b'0')
        {
            let most = used.entry(port.to_owned()).or_default();
            *most = (*most).max(index + 1);
        }
    }
    let is_beyond = |path: &str| {
        let row = gid(path).or_else(|| attribute(path));
        row.is_some_and(|(port, index)| index > used.get(port).copied().unwrap_or_default())
    };
    tree.entries.retain(|path, _| !is_beyond(path));
    tree.missed.retain(|path, _| !is_beyond(path));
}

/// Port and index of `.../ports/1/gids/7`.
fn gid(path: &str) -> Option<(&str, usize)> {
    let (port, index) = path.rsplit_once("/gids/")?;
    Some((port, index.parse().ok()?))
}

/// The same of `.../ports/1/gid_attrs/types/7`.
fn attribute(path: &str) -> Option<(&str, usize)> {
    let (port, rest) = path.split_once("/gid_attrs/")?;
    Some((port, rest.rsplit_once('/')?.1.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::patterns::Kind;

    #[test]
    fn one_empty_entry_is_kept_and_a_gap_is_too() {
        let mut tree = Tree::default();
        let port = "/sys/devices/virtual/infiniband/rxe0/ports/1";
        for index in 0..1024 {
            let gid = if [0, 3].contains(&index) { "fe80::1\n" } else { "0000:0000\n" };
            let bytes = gid.as_bytes().to_vec();
            tree.entries
                .insert(format!("{port}/gids/{index}"), Entry::File { bytes, mode: 0o444, kind: Kind::Text });
            if index > 0 {
                tree.missed.insert(format!("{port}/gid_attrs/types/{index}"), 22);
            }
        }
        cut_short(&mut tree);
        assert_eq!(tree.entries.len(), 5, "0 to 3, and the first empty one behind them");
        assert_eq!(
            tree.missed.keys().last().map(String::as_str),
            Some(&*format!("{port}/gid_attrs/types/4"))
        );
    }

    #[test]
    fn an_empty_table_keeps_one_entry() {
        let mut tree = Tree::default();
        for index in 0..3 {
            let entry = Entry::File { bytes: b"0000\n".to_vec(), mode: 0o444, kind: Kind::Text };
            tree.entries.insert(format!("/p/gids/{index}"), entry);
        }
        cut_short(&mut tree);
        assert_eq!(tree.entries.len(), 1);
    }
}
