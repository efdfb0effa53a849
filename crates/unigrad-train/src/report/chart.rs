//! Line charts as inline SVG.
//!
//! In: curves of (x, y) in order of x. Out: a card with title, legend, axes and curves, or nothing where no curve has two points.
//! A long curve is drawn as the mean of equal spans, over a band from their least to their greatest value.

use std::fmt::Write;

use super::page;

/// One line of a chart.
pub(super) struct Curve {
    name: String,
    /// `train` or `test`: its colour in the style sheet.
    kind: &'static str,
    points: Vec<(f64, f64)>,
}

impl Curve {
    pub(super) fn new(name: &str, kind: &'static str, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.to_owned(), kind, points }
    }

    /// Whether there is more to see than one dot.
    pub(super) fn is_a_line(&self) -> bool {
        self.finite().nth(1).is_some()
    }

    fn finite(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
}

/// What to draw.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x_label: &'static str,
    /// Whether y is a share, to be written as a percentage and to end at 100%.
    pub(super) percent: bool,
    /// Whether it takes the page's whole width.
    pub(super) wide: bool,
    pub(super) curves: Vec<Curve>,
}

const HEIGHT: f64 = 270.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// A curve of more points than this is drawn by spans.
const SPANS: usize = 300;

/// A curve of more points than this has no dots.
const DOTS: usize = 40;

/// From a range of values to a range of pixels.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }
}

impl Chart {
    pub(super) fn to_html(&self) -> Option<String> {
        if !self.curves.iter().any(Curve::is_a_line) {
            return None;
        }
        let width = if self.wide { 1000.0 } else { 480.0 };
        let (x_low, x_high) = range(self.curves.iter().flat_map(Curve::finite).map(|point| point.0))?;
        let (y_low, y_high) = range(self.curves.iter().flat_map(Curve::finite).map(|point| point.1))?;
        let (x_low, x_high) = if x_low == x_high { (x_low - 1.0, x_high + 1.0) } else { (x_low, x_high) };
        let y_ticks = self.y_ticks(y_low, y_high);
        let (y_low, y_high) = (y_ticks.first().copied()?, y_ticks.last().copied()?);
        let x = Scale { low: x_low, high: x_high, from: LEFT, to: width - RIGHT };
        let y = Scale { low: y_low, high: y_high, from: HEIGHT - BOTTOM, to: TOP };

        let mut svg = format!("<svg viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", page::escape(&self.title));
        self.axes(&mut svg, &x, &y, &y_ticks);
        for curve in &self.curves {
            curve.draw(&mut svg, &x, &y, self);
        }
        svg.push_str("</svg>");
        let named = self.curves.iter().filter(|curve| !curve.name.is_empty() && curve.finite().next().is_some());
        let legend: String =
            named.map(|curve| format!("<span><i class=\"{}\"></i>{}</span>", curve.kind, page::escape(&curve.name))).collect();
        let class = if self.wide { " class=\"wide\"" } else { "" };
        Some(format!("<section{class}><div class=\"legend\">{legend}</div><h2>{}</h2>{svg}</section>", page::escape(&self.title)))
    }

    /// From the last tick below the data to the first above.
    fn y_ticks(&self, low: f64, high: f64) -> Vec<f64> {
        let (low, high) = if low == high { (low - low.abs().max(1e-3) * 0.1, high + high.abs().max(1e-3) * 0.1) } else { (low, high) };
        let step = round_step((high - low) / 5.0);
        let last = (high / step - 1e-9).ceil() as i64;
        let last = if self.percent { last.min((1.0 / step).round() as i64) } else { last };
        let first = ((low / step + 1e-9).floor() as i64).min(last - 1);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    fn axes(&self, svg: &mut String, x: &Scale, y: &Scale, y_ticks: &[f64]) {
        let step = y_ticks.windows(2).next().map_or(1.0, |pair| pair[1] - pair[0]);
        for tick in y_ticks {
            let at = y.at(*tick);
            let _ = write!(svg, "<path class=\"grid\" d=\"M{:.1} {at:.1}H{:.1}\"/>", x.from, x.to);
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x.from - 8.0,
                at + 4.0,
                self.y_text(*tick, step)
            );
        }
        // Epochs and steps are whole, so their ticks are.
        let x_step = round_step((x.high - x.low) / if self.wide { 10.0 } else { 6.0 }).max(1.0);
        let (first, last) = ((x.low / x_step).ceil() as i64, (x.high / x_step).floor() as i64);
        for tick in first..=last {
            let tick = tick as f64 * x_step;
            let (at, foot) = (x.at(tick), y.from);
            let _ = write!(svg, "<path class=\"axis\" d=\"M{at:.1} {foot:.1}v4\"/>");
            let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>", foot + 18.0);
        }
        let _ = write!(svg, "<path class=\"axis\" d=\"M{:.1} {:.1}H{:.1}\"/>", x.from, y.from, x.to);
        let middle = (x.from + x.to) / 2.0;
        let _ = write!(svg, "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", HEIGHT - 5.0, self.x_label);
    }

    fn y_text(&self, value: f64, step: f64) -> String {
        let (value, step, unit) = if self.percent { (value * 100.0, step * 100.0, "%") } else { (value, step, "") };
        let digits = (-(step * 1.000_001).log10().floor()).clamp(0.0, 9.0) as usize;
        if value != 0.0 && !(1e-6..1e6).contains(&step) { format!("{value:.1e}{unit}") } else { format!("{value:.digits$}{unit}") }
    }

    fn value_text(&self, value: f64) -> String {
        if self.percent { super::percent(value) } else { page::number(value) }
    }
}

impl Curve {
    fn draw(&self, svg: &mut String, x: &Scale, y: &Scale, chart: &Chart) {
        if self.points.len() > SPANS {
            return self.draw_spans(svg, x, y);
        }
        let (mut path, mut pen_down) = (String::new(), false);
        for (px, py) in &self.points {
            if !(px.is_finite() && py.is_finite()) {
                pen_down = false;
                continue;
            }
            let _ = write!(path, "{}{:.1} {:.1}", if pen_down { 'L' } else { 'M' }, x.at(*px), y.at(*py));
            pen_down = true;
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"curve {}\" d=\"{path}\"/>", self.kind);
        }
        if self.points.len() <= DOTS {
            for (px, py) in self.finite() {
                let title = format!("{} {px}: {} {}", chart.x_label, page::escape(&self.name), chart.value_text(py));
                let _ = write!(
                    svg,
                    "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\"><title>{title}</title></circle>",
                    self.kind,
                    x.at(px),
                    y.at(py)
                );
            }
        }
    }

    fn draw_spans(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let (mut path, mut above, mut below) = (String::new(), String::new(), Vec::new());
        let size = self.points.len().div_ceil(SPANS);
        for span in self.points.chunks(size) {
            let values = || span.iter().map(|point| point.1).filter(|value| value.is_finite());
            let Some((low, high)) = range(values()) else { continue };
            let mean = values().sum::<f64>() / values().count() as f64;
            let at = x.at(span[span.len() / 2].0);
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{at:.1} {:.1}", y.at(mean));
            let _ = write!(above, "{command}{at:.1} {:.1}", y.at(high));
            below.push(format!("L{at:.1} {:.1}", y.at(low)));
        }
        let below: String = below.into_iter().rev().collect();
        let _ =
            write!(svg, "<path class=\"range {}\" d=\"{above}{below}Z\"/><path class=\"curve {}\" d=\"{path}\"/>", self.kind, self.kind);
    }
}

/// The least and the greatest; nothing for no value.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * 0.999_999).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(percent: bool, points: Vec<(f64, f64)>) -> Chart {
        Chart { title: "t".to_owned(), x_label: "epoch", percent, wide: false, curves: vec![Curve::new("a", "train", points)] }
    }

    #[test]
    fn steps_are_round() {
        for (step, round) in [(0.13, 0.2), (1.0, 1.0), (2.1, 5.0), (0.07, 0.1), (37.0, 50.0)] {
            assert!((round_step(step) - round).abs() < 1e-12, "{step}");
        }
    }

    #[test]
    fn ticks_enclose_the_data_and_shares_end_at_one() {
        let ticks = chart(false, vec![]).y_ticks(0.13, 2.31);
        assert!(ticks[0] <= 0.13 && *ticks.last().unwrap() >= 2.31, "{ticks:?}");
        assert_eq!(chart(true, vec![]).y_ticks(0.91, 1.0).last(), Some(&1.0));
        assert_eq!(chart(true, vec![]).y_ticks(1.0, 1.0).last(), Some(&1.0));
    }

    #[test]
    fn without_two_finite_points_there_is_no_chart() {
        assert!(chart(false, vec![]).to_html().is_none());
        assert!(chart(false, vec![(1.0, 2.0), (2.0, f64::NAN)]).to_html().is_none());
    }

    #[test]
    fn a_value_that_is_not_finite_breaks_the_line() {
        let html = chart(false, vec![(1.0, 1.0), (2.0, f64::INFINITY), (3.0, 0.5)]).to_html().unwrap();
        let path = html.split("class=\"curve train\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 0), "{path}");
    }

    #[test]
    fn a_long_curve_is_no_larger_than_its_spans() {
        let html = chart(false, (0..100_000).map(|step| (f64::from(step), f64::from(step % 7))).collect()).to_html().unwrap();
        assert!(html.len() < 30_000, "{}", html.len());
        assert!(!html.contains("NaN"));
    }
}
