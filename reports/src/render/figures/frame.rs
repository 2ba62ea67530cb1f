//! The paper all figures are drawn on: label of simulation, legend, axes and grid, in one style.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    RenderError,
    axis::Axis,
    paint::{Paint, repaint},
    squeeze::squeeze,
};

/// Width of every figure, in units of its view box; about two to a pixel on a desk.
pub(super) const WIDTH: u32 = 1600;
/// Text size, in the same units.
const TEXT: f64 = 31.0;
/// Height of the lines above the plot: the label of simulation, the legend.
const HEAD: i32 = 96;
/// Height of each further row of the legend.
const LEGEND_ROW: i32 = 40;

/// A chart over two axes.
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
/// What a drawing step returns.
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// How a mark looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A filled disc.
    Disc,
    /// A filled diamond.
    Diamond,
    /// An open circle.
    Ring,
    /// A filled square: an area.
    Square,
}

/// Everything of a figure but its data.
pub(super) struct Frame<'f> {
    /// Height in units of the view box.
    pub(super) height: u32,
    /// Width of the labels on the left.
    pub(super) left: u32,
    /// Width of what stands on the right of the plot.
    pub(super) right: u32,
    /// The label of simulation; none for real devices.
    pub(super) simulated: Option<&'f str>,
    /// What the colours and marks mean.
    pub(super) legend: Vec<(Mark, Paint, String)>,
    /// Horizontal axis.
    pub(super) x: Axis,
    /// Vertical axis.
    pub(super) y: Axis,
}

/// A text in the style of the figures.
pub(super) fn text(paint: Paint, horizontal: HPos) -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&paint.rgb()).pos(Pos::new(horizontal, VPos::Center))
}

/// A line in the style of the figures.
pub(super) fn line(paint: Paint, opacity: f64, width: u32) -> ShapeStyle {
    ShapeStyle { color: paint.rgb().mix(opacity), filled: false, stroke_width: width }
}

impl Frame<'_> {
    /// Draws the frame, then the data; the result is the inside of an `<svg>` of [`WIDTH`] by `height`.
    pub(super) fn draw(
        &self,
        name: &str,
        data: impl FnOnce(&mut Chart<'_, '_>) -> Drawn,
    ) -> Result<String, RenderError> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, self.height)).into_drawing_area();
            self.draw_on(&area, data)
                .and_then(|()| area.present())
                .map_err(|cause| RenderError::Figure { name: name.into(), cause: cause.to_string() })?;
        }
        Ok(squeeze(&repaint(inside(&svg))))
    }

    fn draw_on(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        data: impl FnOnce(&mut Chart<'_, '_>) -> Drawn,
    ) -> Drawn {
        self.draw_head(area)?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(HEAD + LEGEND_ROW * self.legend_places().last().map_or(0, |(row, _)| *row))
            .margin_right(self.right)
            .margin_bottom(8)
            .set_label_area_size(LabelAreaPosition::Left, self.left)
            .set_label_area_size(LabelAreaPosition::Bottom, if self.x.title.is_empty() { 50 } else { 92 })
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let mut mesh = chart.configure_mesh();
        mesh.axis_style(line(Paint::Muted, 1.0, 2))
            .bold_line_style(line(Paint::Grid, 1.0, 2))
            .light_line_style(TRANSPARENT)
            .label_style(text(Paint::Muted, HPos::Center))
            .axis_desc_style(text(Paint::Ink, HPos::Center));
        if !self.x.title.is_empty() {
            mesh.x_desc(self.x.title.as_str());
        }
        if !self.y.title.is_empty() {
            mesh.y_desc(self.y.title.as_str());
        }
        mesh.draw()?;
        data(&mut chart)
    }

    fn draw_head(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        if let Some(simulated) = self.simulated {
            let text = text(Paint::Simulated, HPos::Left);
            area.draw(&Text::new(shortened(simulated), (16, 20), text))?;
        }
        for ((shape, paint, name), (row, x)) in self.legend.iter().zip(self.legend_places()) {
            let y = 64 + row * LEGEND_ROW;
            let at = (x + 12, y);
            match shape {
                Mark::Disc => area.draw(&Circle::new(at, 11, paint.rgb().filled()))?,
                Mark::Ring => area.draw(&Circle::new(at, 10, line(*paint, 1.0, 3)))?,
                Mark::Diamond => area.draw(&Polygon::new(diamond(at, 13), paint.rgb().filled()))?,
                Mark::Square => {
                    area.draw(&Rectangle::new([(x, y - 12), (x + 24, y + 12)], paint.rgb().filled()))?
                }
            }
            area.draw(&Text::new(name.clone(), (x + 36, y), text(Paint::Ink, HPos::Left)))?;
        }
        Ok(())
    }

    /// Row and left edge of each entry of the legend: many variants, or long names, take more than one row.
    fn legend_places(&self) -> Vec<(i32, i32)> {
        let (mut row, mut x) = (0, self.left as i32);
        let mut places = Vec::new();
        for (_, _, name) in &self.legend {
            let wide = 90 + (name.chars().count() as f64 * TEXT * 0.46) as i32;
            if x + wide > WIDTH as i32 && x > self.left as i32 {
                (row, x) = (row + 1, self.left as i32);
            }
            places.push((row, x));
            x += wide;
        }
        places
    }
}

/// The corners of a diamond around a point, in units of the view box.
fn diamond((x, y): (i32, i32), radius: i32) -> Vec<(i32, i32)> {
    vec![(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)]
}

/// A mark at a place of the chart.
pub(super) fn mark(chart: &Chart<'_, '_>, shape: Mark, paint: Paint, at: (f64, f64)) -> Drawn {
    let here = EmptyElement::at(at);
    let area = chart.plotting_area();
    match shape {
        Mark::Disc => area.draw(&(here + Circle::new((0, 0), 10, paint.rgb().filled()))),
        Mark::Ring => area.draw(&(here + Circle::new((0, 0), 9, line(paint, 1.0, 3)))),
        Mark::Diamond => area.draw(&(here + Polygon::new(diamond((0, 0), 13), paint.rgb().filled()))),
        Mark::Square => area.draw(&(here + Rectangle::new([(-12, -12), (12, 12)], paint.rgb().filled()))),
    }
}

/// The area between two lines.
pub(super) fn band(chart: &Chart<'_, '_>, low: &[(f64, f64)], high: &[(f64, f64)], paint: Paint) -> Drawn {
    let outline: Vec<(f64, f64)> = low.iter().chain(high.iter().rev()).copied().collect();
    chart.plotting_area().draw(&Polygon::new(outline, paint.rgb().mix(0.2).filled()))
}

/// A label of simulation that fits; the caption has all of it.
fn shortened(label: &str) -> String {
    const MOST: usize = 104;
    if label.chars().count() <= MOST {
        return label.to_owned();
    }
    label.chars().take(MOST - 1).chain(['…']).collect()
}

/// What stands between the `<svg>` tags.
fn inside(svg: &str) -> &str {
    let from = svg.find('>').map_or(0, |open| open + 1);
    let to = svg.rfind("</svg>").unwrap_or(svg.len());
    &svg[from..to]
}
