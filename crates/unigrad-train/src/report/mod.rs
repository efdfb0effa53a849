//! The report of a training run: one HTML file that shows how it went, and keeps doing so wherever it is copied.
//!
//! In: figures and pictures, as [`Report`]. Out: the page.
//! Always: one file, no script, nothing loaded from elsewhere; light or dark as the reader's system is; every text is escaped; a
//! section with nothing to show is left out; a value that is not finite leaves a gap in its curve.
//! Never: fails, or grows with the length of the run (long curves are drawn from the mean and range of equal spans).

mod chart;
mod compare;
mod page;
mod png;

use crate::history::EpochRow;
use chart::{Chart, Curve};
pub use compare::compare;
use std::{collections::BTreeSet, fmt::Write, path::Path};
use unigrad_nn::{Result, Schedule, files};
use unigrad_tensor::Device;

/// What a report shows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The page's heading: what was trained.
    pub title: String,
    /// What the run was asked to do, in order.
    pub settings: Vec<(String, String)>,
    /// What it ran on, in order.
    pub machine: Vec<(String, String)>,
    /// What validation is called.
    pub validation_name: String,
    /// One row per epoch, in order.
    pub epochs: Vec<EpochRow>,
    /// Training loss by step, in order.
    pub step_losses: Vec<(u64, f64)>,
    /// The learning rate's factor by step.
    pub schedule: Vec<(u64, f64)>,
    /// How often class `row` was taken for class `column`, for a classifier.
    pub confusion: Option<Vec<Vec<u32>>>,
    /// Names of the classes; where one is missing its number stands.
    pub class_names: Vec<String>,
    /// Test images that were read wrongly, worst first.
    pub mistakes: Vec<Mistake>,
    /// Text that the model wrote, for a language model.
    pub samples: Option<String>,
}

/// One image that the model read wrongly.
#[derive(Clone, Debug, Default)]
pub struct Mistake {
    /// Rows from the top, 0 for paper to 255 for ink.
    pub pixels: Vec<u8>,
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The right class.
    pub truth: usize,
    /// The class the model chose.
    pub predicted: usize,
    /// The probability it gave to its choice, from 0 to 1.
    pub confidence: f64,
}

/// More wrong images than this are counted, not shown.
const MISTAKES_SHOWN: usize = 24;

/// A confusion matrix of more classes than this is not drawn: ten thousand cells are too many to read.
const CLASSES_SHOWN: usize = 40;

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        self.tiles(&mut body);
        self.curves(&mut body);
        self.matrix(&mut body);
        self.pictures(&mut body);
        if let Some(samples) = self.samples.as_deref().filter(|text| !text.is_empty()) {
            section(&mut body, "What the model writes", &format!("<pre>{}</pre>", page::escape(samples)));
        }
        self.epoch_table(&mut body);
        let pairs = [("Settings", &self.settings), ("Machine", &self.machine)];
        let tables: String = pairs.iter().filter(|(_, rows)| !rows.is_empty()).map(|(name, rows)| pair_table(name, rows)).collect();
        if !tables.is_empty() {
            let _ = write!(body, "<div class=\"columns\">{tables}</div>");
        }
        page::page(&self.title, &body)
    }

    fn class(&self, index: usize) -> String {
        self.class_names.get(index).map_or_else(|| index.to_string(), |name| page::escape(name))
    }

    /// Replaces the file at `path` with the page.
    pub fn save(&self, path: &Path) -> Result<()> {
        let page = self.to_html();
        files::replace(path, |file| file.write_all(page.as_bytes()))
    }

    /// The figures a reader looks for first.
    fn tiles(&self, body: &mut String) {
        let Some(last) = self.epochs.last() else { return };
        let val = page::escape(&self.validation_name);
        let mut tiles: Vec<(String, String, String)> = Vec::new();
        if let Some(accuracy) = last.val(ACCURACY) {
            let best = self.epochs.iter().filter_map(|row| row.val(ACCURACY).map(|accuracy| (accuracy, row.epoch)));
            let best = best.fold((accuracy, last.epoch), |best, row| if row.0 > best.0 { row } else { best });
            let note =
                if best.1 == last.epoch { "the best epoch".to_owned() } else { format!("best {} in epoch {}", percent(best.0), best.1) };
            tiles.push((format!("{val} accuracy"), percent(accuracy), note));
        }
        let train_loss = last.train(LOSS).unwrap_or(f64::NAN);
        if let Some(loss) = last.val(LOSS) {
            tiles.push((format!("{val} loss"), page::number(loss), format!("training {}", page::number(train_loss))));
        } else {
            tiles.push(("training loss".to_owned(), page::number(train_loss), "in the last epoch".to_owned()));
        }
        let seconds: f64 = self.epochs.iter().map(|row| row.seconds).sum();
        tiles.push(("time".to_owned(), duration(seconds), format!("{} an epoch", duration(seconds / self.epochs.len() as f64))));
        let steps = self.step_losses.last().map(|(step, _)| format!("{step} steps")).unwrap_or_default();
        tiles.push(("epochs".to_owned(), self.epochs.len().to_string(), steps));
        let tile = |(name, value, note): &(String, String, String)| {
            format!(
                "<div class=\"tile\"><div class=\"name\">{name}</div><div class=\"value\">{value}</div><div class=\"note\">{note}</div></div>"
            )
        };
        let _ = write!(body, "<div class=\"tiles\">{}</div>", tiles.iter().map(tile).collect::<String>());
    }

    /// Names of all metrics of training and validation, the loss first.
    fn metrics(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.epochs.iter().flat_map(|row| row.train.iter().chain(&row.val).map(|(name, _)| name)).collect();
        let mut names: Vec<String> = names.into_iter().cloned().collect();
        names.sort_by_key(|name| (name != LOSS, name != ACCURACY));
        names
    }

    fn curves(&self, body: &mut String) {
        let by_epoch = |value: &dyn Fn(&EpochRow) -> Option<f64>| -> Vec<(f64, f64)> {
            self.epochs.iter().filter_map(|row| value(row).map(|y| (row.epoch as f64, y))).collect()
        };
        let mut charts: Vec<Chart> = Vec::new();
        for name in self.metrics() {
            let train = Curve::new("training", "train", by_epoch(&|row| row.train(&name)));
            let val = Curve::new(&self.validation_name, "test", by_epoch(&|row| row.val(&name)));
            let title = format!("{} by epoch", capitalized(&name));
            charts.push(Chart { title, x_label: "epoch", percent: name == ACCURACY, wide: false, curves: vec![train, val] });
        }
        if let [only] = &mut charts[..] {
            only.wide = true;
        }
        let of_steps = |points: &[(u64, f64)]| points.iter().map(|(step, y)| (*step as f64, *y)).collect();
        let step_chart = |title: &str, points: &[(u64, f64)]| Chart {
            title: title.to_owned(),
            x_label: "step",
            percent: false,
            wide: true,
            curves: vec![Curve::new("", "train", of_steps(points))],
        };
        charts.push(step_chart("Training loss by step", &self.step_losses));
        charts.push(step_chart("Learning rate by step, of its greatest", &self.schedule));
        let drawn: String = charts.iter().filter_map(Chart::to_html).collect();
        if !drawn.is_empty() {
            let _ = write!(body, "<div class=\"columns\">{drawn}</div>");
        }
    }

    fn matrix(&self, body: &mut String) {
        let Some(counts) = self.confusion.as_ref().filter(|counts| !counts.is_empty()) else { return };
        if counts.len() > CLASSES_SHOWN {
            section(body, "Confusion", &format!("<p>{} classes are too many to draw.</p>", counts.len()));
            return;
        }
        let n_columns = counts.iter().map(Vec::len).max().unwrap_or(0);
        let names: String = (0..n_columns).map(|class| format!("<th scope=\"col\">{}</th>", self.class(class))).collect();
        let mut table = format!(
            "<table class=\"matrix\"><thead><tr><td></td><th colspan=\"{n_columns}\">predicted</th><td></td></tr><tr><th>truth</th>{names}<th>recall</th></tr></thead><tbody>"
        );
        for (truth, row) in counts.iter().enumerate() {
            let total: u32 = row.iter().sum();
            let _ = write!(table, "<tr><th scope=\"row\">{}</th>", self.class(truth));
            for predicted in 0..n_columns {
                let count = row.get(predicted).copied().unwrap_or(0);
                if count == 0 {
                    table.push_str("<td class=\"none\">·</td>");
                    continue;
                }
                let share = f64::from(count) / f64::from(total);
                // A single mistake among hundreds must still be seen, so colour does not start from nothing.
                let strength = if truth == predicted { 0.25 + 0.65 * share } else { (0.25 + 4.0 * share).min(0.9) };
                let kind = match (truth == predicted, strength < 0.6) {
                    (true, false) => "hit strong",
                    (true, true) => "hit",
                    (false, _) => "miss",
                };
                let title = format!("{} read as {}: {count} of {total}", self.class(truth), self.class(predicted));
                let _ = write!(table, "<td class=\"{kind}\" style=\"--a:{strength:.2}\" title=\"{title}\">{count}</td>");
            }
            let right = row.get(truth).copied().unwrap_or(0);
            let share = if total == 0 { "–".to_owned() } else { percent(f64::from(right) / f64::from(total)) };
            let _ = write!(table, "<td class=\"share\">{share}</td></tr>");
        }
        table.push_str("</tbody></table>");
        section(body, "Confusion on the test data", &format!("<div class=\"scroll\">{table}</div>"));
    }

    fn pictures(&self, body: &mut String) {
        if self.mistakes.is_empty() {
            return;
        }
        let mut figures = String::new();
        for mistake in self.mistakes.iter().take(MISTAKES_SHOWN) {
            let (truth, predicted) = (self.class(mistake.truth), self.class(mistake.predicted));
            let image = png::grey_data_uri(&mistake.pixels, mistake.width, mistake.height);
            let _ = write!(
                figures,
                "<figure><div class=\"frame\"><img alt=\"a {truth} read as {predicted}\" src=\"{image}\"></div><figcaption><b>{truth}</b> read as <b class=\"wrong\">{predicted}</b><br>{} sure</figcaption></figure>",
                percent(mistake.confidence)
            );
        }
        let all = self.mistakes.len();
        let title =
            if all > MISTAKES_SHOWN { format!("The {MISTAKES_SHOWN} worst of {all} mistakes") } else { "The worst mistakes".to_owned() };
        section(body, &title, &format!("<div class=\"pictures\">{figures}</div>"));
    }

    fn epoch_table(&self, body: &mut String) {
        if self.epochs.is_empty() {
            return;
        }
        let metrics = self.metrics();
        type Value<'a> = Box<dyn Fn(&EpochRow) -> Option<String> + 'a>;
        let mut columns: Vec<(String, Value<'_>)> = vec![("epoch".to_owned(), Box::new(|row| Some(row.epoch.to_string())))];
        let text = |name: &str, x: f64| if name == ACCURACY { percent(x) } else { page::number(x) };
        for name in &metrics {
            if self.epochs.iter().any(|row| row.train(name).is_some()) {
                columns.push((format!("training {}", page::escape(name)), Box::new(move |row| row.train(name).map(|x| text(name, x)))));
            }
            if self.epochs.iter().any(|row| row.val(name).is_some()) {
                let head = page::escape(&format!("{} {name}", self.validation_name));
                columns.push((head, Box::new(move |row| row.val(name).map(|x| text(name, x)))));
            }
        }
        columns.push(("time".to_owned(), Box::new(|row| Some(duration(row.seconds)))));
        let head: String = columns.iter().map(|(name, _)| format!("<th scope=\"col\">{name}</th>")).collect();
        let cells = |row: &EpochRow| -> String {
            columns.iter().map(|(_, value)| format!("<td>{}</td>", value(row).unwrap_or_else(|| "–".to_owned()))).collect()
        };
        let rows: String = self.epochs.iter().map(|row| format!("<tr>{}</tr>", cells(row))).collect();
        let _ = write!(
            body,
            "<section><details><summary>Every epoch</summary><div class=\"scroll\"><table class=\"figures\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details></section>"
        );
    }
}

const LOSS: &str = "loss";
const ACCURACY: &str = "accuracy";

/// What a run runs on, for its report, and how much of the device's memory this process has used at once so far.
pub fn machine(device: &Device) -> Vec<(String, String)> {
    let info = device.info();
    let row = |name: &str, value: String| (name.to_owned(), value);
    let memory = device.memory_stats();
    vec![
        row("device", format!("{} ({})", device.name(), info.name)),
        row("units", info.compute_units.to_string()),
        row("driver", info.version),
        row("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        row("memory, most in use", format!("{:.1} MB", (memory.peak + memory.own) as f64 / 1e6)),
        row("unigrad", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

/// A schedule's factors over `steps` steps, at most a thousand of them.
pub fn schedule_curve(schedule: &Schedule, steps: u64) -> Vec<(u64, f64)> {
    const POINTS: u64 = 1000;
    let points = steps.clamp(1, POINTS);
    let at = |i: u64| (u128::from(i) * u128::from(steps) / u128::from(points)) as u64;
    (0..points).map(|i| (at(i) + 1, schedule.factor(at(i)))).collect()
}

/// With a great first letter.
fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn section(body: &mut String, title: &str, content: &str) {
    let _ = write!(body, "<section><h2>{title}</h2>{content}</section>");
}

fn pair_table(title: &str, rows: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", page::escape(name), page::escape(value))
    };
    format!("<section><h2>{title}</h2><table class=\"pairs\">{}</table></section>", rows.iter().map(row).collect::<String>())
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}%", share * 100.0) } else { "–".to_owned() }
}

fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "–".to_owned();
    }
    if seconds < 1.0 {
        return format!("{:.0} ms", seconds * 1e3);
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours} h {minutes:02} min") } else { format!("{minutes} min {seconds:02} s") }
}

#[cfg(test)]
mod tests;
