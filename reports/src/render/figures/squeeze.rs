//! Makes a drawing small: neighbours of one style become one `<path>`, with short relative steps instead of coordinates.
//!
//! The order of the shapes stays, so what lies on top stays on top. What is not a shape, as text, passes as it is.

use std::fmt::Write as _;

/// The drawing, one element a line as plotters writes it, in fewer bytes.
pub(super) fn squeeze(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len() / 2);
    let mut style = String::new();
    for line in svg.lines().map(str::trim_end).filter(|line| !is_tick(line)) {
        match shape(line) {
            Some((its_style, path)) if its_style == style => out.push_str(&path),
            Some((its_style, path)) => {
                close(&mut out, &mut style);
                let _ = write!(out, "<path {its_style} d=\"{path}");
                style = its_style;
            }
            None => {
                close(&mut out, &mut style);
                out.push_str(&line.replace(" text-anchor=\"start\"", "").replace(" font-size=\"25\"", ""));
            }
        }
    }
    close(&mut out, &mut style);
    out
}

fn close(out: &mut String, style: &mut String) {
    if !style.is_empty() {
        out.push_str("\"/>");
        style.clear();
    }
}

/// A short stroke at an axis: the grid line that starts there says as much.
fn is_tick(line: &str) -> bool {
    let stroke = line.starts_with("<polyline") && line.contains("class=\"s-muted\"");
    let ends = attribute(line, "points").filter(|_| stroke).and_then(points);
    matches!(ends.as_deref(), Some([from, to]) if from.0.abs_diff(to.0) + from.1.abs_diff(to.1) <= 5)
}

/// The style of a shape as attributes, and its outline as path data.
fn shape(line: &str) -> Option<(String, String)> {
    let get = |name: &str| attribute(line, name);
    let number = |name: &str| get(name)?.parse::<i32>().ok();
    let class = get("class")?;
    let opacity = get("opacity").map_or_else(String::new, |opacity| format!(" opacity=\"{opacity}\""));
    let filled = class.starts_with("f-");
    let width = get("stroke-width").filter(|_| !filled);
    let width = width.map_or_else(String::new, |width| format!(" stroke-width=\"{width}\""));
    let style = format!("class=\"{class}\"{opacity}{width}");
    let tag = line.strip_prefix('<')?.split(' ').next()?;
    match tag {
        "line" => {
            let (from, to) = ((number("x1")?, number("y1")?), (number("x2")?, number("y2")?));
            Some((style, steps(&[from, to])))
        }
        "polyline" => Some((style, steps(&points(get("points")?)?))),
        "polygon" => Some((style, steps(&points(get("points")?)?) + "z")),
        "rect" => {
            let (w, h) = (number("width")?, number("height")?);
            Some((style, format!("M{} {}h{w}v{h}h{}z", number("x")?, number("y")?, -w)))
        }
        "circle" => {
            let (x, y, r) = (number("cx")?, number("cy")?, number("r")?);
            match class.strip_prefix("f-") {
                // A disc is a dot of a round pen: a tenth of the bytes of two arcs.
                Some(paint) => Some((
                    format!(
                        "class=\"s-{paint}\"{opacity} stroke-width=\"{}\" stroke-linecap=\"round\"",
                        2 * r
                    ),
                    format!("M{x} {y}h0"),
                )),
                None => {
                    let arcs = format!("a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0z", 2 * r, -2 * r);
                    Some((style, format!("M{} {y}{arcs}", x - r)))
                }
            }
        }
        _ => None,
    }
}

fn attribute<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let from = line.find(&format!(" {name}=\""))? + name.len() + 3;
    line[from..].split('"').next()
}

fn points(text: &str) -> Option<Vec<(i32, i32)>> {
    let point = |pair: &str| {
        let (x, y) = pair.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    text.split_whitespace().map(point).collect()
}

/// A move to the first point, and a step to each other that is not where the last one was.
fn steps(points: &[(i32, i32)]) -> String {
    let Some((mut x, mut y)) = points.first().copied() else { return String::new() };
    let mut path = format!("M{x} {y}");
    let mut last = ' ';
    for (to_x, to_y) in &points[1..] {
        let (dx, dy) = (to_x - x, to_y - y);
        let is = match (dx, dy) {
            (0, 0) => continue,
            (_, 0) => 'h',
            (0, _) => 'v',
            _ => 'l',
        };
        let number = |n: i32, first: bool| if first || n < 0 { n.to_string() } else { format!(" {n}") };
        let fresh = is != last;
        if fresh {
            path.push(is);
        }
        match is {
            'h' => path.push_str(&number(dx, fresh)),
            'v' => path.push_str(&number(dy, fresh)),
            _ => {
                path.push_str(&number(dx, fresh));
                path.push_str(&number(dy, false));
            }
        }
        (x, y, last) = (*to_x, *to_y, is);
    }
    if last == ' ' {
        // All in one place: a dot, where the line has round ends.
        path.push_str("h0");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn neighbours_of_one_style_are_one_path() {
        let svg = "<line class=\"s-grid\" stroke-width=\"2\" x1=\"10\" y1=\"90\" x2=\"10\" y2=\"5\"/>\n\
                   <line class=\"s-grid\" stroke-width=\"2\" x1=\"20\" y1=\"90\" x2=\"20\" y2=\"5\"/>\n\
                   <text x=\"1\" y=\"2\" text-anchor=\"start\" font-size=\"25\" class=\"f-ink\">\n\
                   one &lt; two\n</text>\n\
                   <polyline fill=\"none\" opacity=\"0.5\" class=\"s-base\" stroke-width=\"3\" points=\"1,1 4,5 4,2 9,2 \"/>";
        assert_eq!(
            squeeze(svg),
            "<path class=\"s-grid\" stroke-width=\"2\" d=\"M10 90v-85M20 90v-85\"/>\
             <text x=\"1\" y=\"2\" class=\"f-ink\">one &lt; two</text>\
             <path class=\"s-base\" opacity=\"0.5\" stroke-width=\"3\" d=\"M1 1l3 4v-3h5\"/>"
        );
    }

    #[test]
    fn marks_keep_their_shape() {
        let svg = "<circle cx=\"20\" cy=\"30\" r=\"10\" class=\"f-base\" stroke=\"none\" stroke-width=\"1\"/>\n\
                   <polygon class=\"f-base\" points=\"5,0 9,4 5,8 1,4 \"/>\n\
                   <rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" class=\"f-margin\" stroke=\"none\"/>";
        assert_eq!(
            squeeze(svg),
            "<path class=\"s-base\" stroke-width=\"20\" stroke-linecap=\"round\" d=\"M20 30h0\"/>\
             <path class=\"f-base\" d=\"M5 0l4 4-4 4-4-4z\"/>\
             <path class=\"f-margin\" d=\"M1 2h3v4h-3z\"/>"
        );
        assert_eq!(steps(&[(7, 8), (7, 8)]), "M7 8h0");
        let ring =
            "<circle cx=\"20\" cy=\"30\" r=\"9\" fill=\"none\" class=\"s-control\" stroke-width=\"3\"/>";
        let drawn =
            "<path class=\"s-control\" stroke-width=\"3\" d=\"M11 30a9 9 0 1 0 18 0a9 9 0 1 0 -18 0z\"/>";
        assert_eq!(squeeze(ring), drawn);
        assert_eq!(
            squeeze("<polyline fill=\"none\" class=\"s-muted\" stroke-width=\"2\" points=\"184,9 189,9 \"/>"),
            ""
        );
    }
}
