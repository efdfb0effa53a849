//! Several runs in one page: their curves over each other, their last and best figures, and the settings in which they differ.
//!
//! In: folders of runs. Out: the page. Always: like a report: one file, nothing loaded from elsewhere, every text escaped.

use super::{
    chart::{Chart, Curve},
    page, pair_table, section,
};
use crate::{history::History, saved::CHECKPOINT};
use std::{collections::BTreeMap, fmt::Write, path::Path};
use unigrad_nn::{Checkpoint, Error, Result};

/// Curves of more runs than this share colours.
const COLOURS: [&str; 8] = ["train", "test", "c2", "c3", "c4", "c5", "c6", "c7"];
/// More runs than this are not drawn over each other.
const MOST: usize = 64;

/// What a run left.
struct Left {
    name: String,
    history: History,
    settings: BTreeMap<String, String>,
}

/// A page that shows several runs, each by its folder or its checkpoint.
pub fn compare<P: AsRef<Path>>(runs: &[P]) -> Result<String> {
    if runs.is_empty() || runs.len() > MOST {
        return Err(Error::argument(format!("{} runs to compare", runs.len()), format!("name from 1 to {MOST} folders of runs")));
    }
    let runs: Vec<Left> = runs.iter().map(|run| read(run.as_ref())).collect::<Result<_>>()?;
    let mut names: Vec<String> = Vec::new();
    for name in runs.iter().flat_map(|run| run.history.names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (name != "val_loss" && name != "loss", name.clone()));
    let mut body = String::new();
    table(&mut body, &runs, &names);
    let mut drawn = String::new();
    for name in &names {
        let curves = runs.iter().zip(COLOURS.iter().cycle()).map(|(run, colour)| Curve::new(&run.name, colour, points(&run.history, name)));
        let percent = name.trim_start_matches("val_") == super::ACCURACY;
        let chart = Chart { title: format!("{name} by epoch"), x_label: "epoch", percent, wide: false, curves: curves.collect() };
        drawn.extend(chart.to_html());
    }
    let steps = runs.iter().zip(COLOURS.iter().cycle()).map(|(run, colour)| {
        let losses = run.history.numbered_losses();
        Curve::new(&run.name, colour, losses.into_iter().map(|(step, loss)| (step as f64, loss)).collect())
    });
    let chart = Chart { title: "Training loss by step".to_owned(), x_label: "step", percent: false, wide: true, curves: steps.collect() };
    drawn.extend(chart.to_html());
    if !drawn.is_empty() {
        let _ = write!(body, "<div class=\"columns\">{drawn}</div>");
    }
    differences(&mut body, &runs);
    Ok(page::page(&format!("unigrad: {} runs", runs.len()), &body))
}

fn read(path: &Path) -> Result<Left> {
    let (folder, file) = if path.is_dir() { (path, path.join(CHECKPOINT)) } else { (path.parent().unwrap_or(path), path.to_owned()) };
    let checkpoint = Checkpoint::load(&file)?;
    let name = folder.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Left { name, history: History::of_checkpoint(&checkpoint)?, settings: checkpoint.texts_below("setting.") })
}

fn points(history: &History, name: &str) -> Vec<(f64, f64)> {
    let Some(values) = history.get(name) else { return Vec::new() };
    let epoch = |at: usize| if name.starts_with("val_") { history.val_epochs.get(at).copied().unwrap_or(at + 1) } else { at + 1 };
    values.iter().enumerate().map(|(at, value)| (epoch(at) as f64, *value)).collect()
}

fn table(body: &mut String, runs: &[Left], names: &[String]) {
    let head: String = names.iter().map(|name| format!("<th scope=\"col\">{}</th>", page::escape(name))).collect();
    let mut rows = String::new();
    for run in runs {
        let cells: String =
            names.iter().map(|name| format!("<td>{}</td>", run.history.last(name).map_or_else(|| "–".to_owned(), page::number))).collect();
        let seconds: f64 = run.history.seconds.iter().sum();
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>{cells}<td>{}</td></tr>",
            page::escape(&run.name),
            run.history.n_epochs(),
            run.history.step_losses.len(),
            super::duration(seconds)
        );
    }
    let html = format!(
        "<div class=\"scroll\"><table class=\"figures\"><thead><tr><th>run</th><th>epochs</th><th>steps</th>{head}<th>time</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    section(body, "Last figures", &html);
}

/// Settings that not all runs share.
fn differences(body: &mut String, runs: &[Left]) {
    let mut tables = String::new();
    for run in runs {
        let differs = |name: &String, value: &String| runs.iter().any(|other| other.settings.get(name) != Some(value));
        let rows: Vec<(String, String)> =
            run.settings.iter().filter(|(name, value)| differs(name, value)).map(|(name, value)| (name.clone(), value.clone())).collect();
        if !rows.is_empty() {
            tables.push_str(&pair_table(&page::escape(&run.name), &rows));
        }
    }
    if !tables.is_empty() {
        let _ = write!(body, "<div class=\"columns\">{tables}</div>");
    }
}
