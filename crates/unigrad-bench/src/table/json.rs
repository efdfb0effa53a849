//! A table as JSON: what `--json` prints, `--save` keeps and a page is made of again.
//!
//! In: tables; files of any content. Out: JSON; tables, or an error with the field that is wrong.
//! Always: a row has every field that the page shows, derived ones too; reading takes what was measured and derives the rest again.

use super::{
    ceilings::Ceilings,
    row::{Measured, Outcome, Precision, RowResult, Table},
};
use crate::file::{environment_from_json, environment_to_json};
use serde_json::{Map, Value, json};
use std::path::Path;
use unigrad_tensor::{Error, Result};

const FORMAT: &str = "unigrad-bench-table";
const VERSION: u64 = 1;
/// A table has some 60 rows.
const MOST_BYTES: u64 = 16 << 20;
const MOST_ROWS: usize = 10_000;

type Wrong = String;

pub(super) fn measured_to_json(measured: &Measured) -> Value {
    let Measured { ms, waited_ms, min_ms, reps, device_ms, first_s, cold_s, peak_bytes, watts, others, note } = measured;
    json!({
        "ms": ms, "waited_ms": waited_ms, "min_ms": min_ms, "reps": reps, "device_ms": device_ms, "first_step_s": first_s,
        "first_step_cold_s": cold_s, "peak_bytes": peak_bytes, "watts": watts, "others": others, "note": note,
    })
}

fn number(value: &Value, field: &str) -> Result<f64, Wrong> {
    value[field].as_f64().filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| format!("{field}: no number from 0 on"))
}

fn maybe(value: &Value, field: &str) -> Result<Option<f64>, Wrong> {
    if value[field].is_null() { Ok(None) } else { number(value, field).map(Some) }
}

fn text(value: &Value, field: &str) -> Result<String, Wrong> {
    value[field].as_str().map(str::to_owned).ok_or_else(|| format!("{field}: no text"))
}

pub(super) fn measured_from_json(value: &Value) -> Result<Measured, Wrong> {
    Ok(Measured {
        ms: number(value, "ms")?,
        waited_ms: number(value, "waited_ms")?,
        min_ms: number(value, "min_ms")?,
        reps: number(value, "reps")? as usize,
        device_ms: maybe(value, "device_ms")?,
        first_s: number(value, "first_step_s")?,
        cold_s: maybe(value, "first_step_cold_s")?,
        peak_bytes: number(value, "peak_bytes")? as u64,
        watts: maybe(value, "watts")?,
        others: number(value, "others")?,
        note: text(value, "note")?,
    })
}

/// A row with its rate, the part of its ceiling and joules.
pub fn row_to_json(row: &RowResult, ceilings: &Ceilings) -> Value {
    let mut fields = json!({
        "workload": row.name, "section": row.section, "size": row.size, "divisor": row.divisor, "flops": row.flops, "bytes": row.bytes,
        "items": row.items, "item": row.item, "precision": row.precision.name(),
    });
    let more = match &row.outcome {
        Outcome::Measured(measured) => {
            let (rate, fraction) = (row.rate(), row.fraction(ceilings));
            let mut more = measured_to_json(measured);
            more["throughput"] = json!(rate.as_ref().map(|(rate, _)| rate));
            more["unit"] = json!(rate.map(|(_, unit)| unit));
            more["of_ceiling"] = json!(fraction.map(|(part, _)| part));
            more["ceiling"] = json!(fraction.map(|(_, bound)| bound.to_string()));
            more["joules"] = json!(row.joules());
            more
        }
        Outcome::Skipped(why) => json!({ "skipped": why }),
        Outcome::Failed(why) => json!({ "failed": why }),
    };
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}

fn row_from_json(value: &Value) -> Result<RowResult, Wrong> {
    let precision = text(value, "precision")?;
    let precision = Precision::ALL.into_iter().find(|known| known.name() == precision);
    let outcome = match (value["skipped"].as_str(), value["failed"].as_str()) {
        (Some(why), _) => Outcome::Skipped(why.to_owned()),
        (None, Some(why)) => Outcome::Failed(why.to_owned()),
        (None, None) => Outcome::Measured(measured_from_json(value)?),
    };
    Ok(RowResult {
        name: text(value, "workload")?,
        section: text(value, "section")?,
        size: text(value, "size")?,
        divisor: number(value, "divisor")? as usize,
        flops: number(value, "flops")?,
        bytes: number(value, "bytes")?,
        items: number(value, "items")?,
        item: text(value, "item")?,
        precision: precision.ok_or("precision: none that is known")?,
        outcome,
    })
}

fn ceilings_to_json(ceilings: &Ceilings) -> Value {
    let product =
        |(precision, (rate, size)): (Precision, (f64, usize))| (precision.name().to_owned(), json!({ "gflop_per_s": rate, "size": size }));
    let products: Map<String, Value> = Precision::ALL.into_iter().zip(ceilings.products).map(product).collect();
    json!({
        "copy_gb_per_s": ceilings.copy, "map_gb_per_s": ceilings.map, "read_gb_per_s": ceilings.read, "products": products,
        "fma_gflop_per_s": ceilings.fma,
    })
}

fn ceilings_from_json(value: &Value) -> Result<Ceilings, Wrong> {
    let mut products = [(0.0, 0); 4];
    for (known, precision) in products.iter_mut().zip(Precision::ALL) {
        let product = &value["products"][precision.name()];
        let wrong = |wrong| format!("products.{}.{wrong}", precision.name());
        *known = (number(product, "gflop_per_s").map_err(wrong)?, number(product, "size").map_err(wrong)? as usize);
    }
    Ok(Ceilings {
        copy: number(value, "copy_gb_per_s")?,
        map: number(value, "map_gb_per_s")?,
        read: number(value, "read_gb_per_s")?,
        products,
        fma: maybe(value, "fma_gflop_per_s")?,
    })
}

/// The whole table; without its rows, what is told first.
pub fn to_json(table: &Table) -> Value {
    let rows: Vec<Value> = table.rows.iter().map(|row| row_to_json(row, &table.ceilings)).collect();
    json!({
        "format": FORMAT, "version": VERSION, "date": table.date, "place": environment_to_json(&table.environment),
        "ceilings": ceilings_to_json(&table.ceilings), "rows": rows,
    })
}

/// Writes a table.
pub fn save_table(table: &Table, path: impl AsRef<Path>) -> Result<()> {
    let text = to_json(table).to_string();
    unigrad_nn::files::replace(path.as_ref(), |file| file.write_all(text.as_bytes()))
}

/// Reads a table.
pub fn load_table(path: impl AsRef<Path>) -> Result<Table> {
    let path = path.as_ref();
    let help = "use a file that `bench table --save` of this version wrote";
    let text = unigrad_nn::files::read_at_most(path, MOST_BYTES)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| Error::format(path, format!("is no JSON: {error}"), help))?;
    parse(&value).map_err(|wrong| Error::format(path, wrong, help))
}

fn parse(value: &Value) -> Result<Table, Wrong> {
    for (field, wanted) in [("format", json!(FORMAT)), ("version", json!(VERSION))] {
        if value[field] != wanted {
            return Err(format!("{field}: {} is not {wanted}", value[field]));
        }
    }
    let rows =
        value["rows"].as_array().filter(|rows| rows.len() <= MOST_ROWS).ok_or_else(|| format!("rows: no list of at most {MOST_ROWS}"))?;
    let row = |(at, row)| row_from_json(row).map_err(|wrong| format!("rows[{at}].{wrong}"));
    Ok(Table {
        environment: environment_from_json(&value["place"]).map_err(|wrong| format!("place.{wrong}"))?,
        date: text(value, "date")?,
        ceilings: ceilings_from_json(&value["ceilings"]).map_err(|wrong| format!("ceilings.{wrong}"))?,
        rows: rows.iter().enumerate().map(row).collect::<Result<_, _>>()?,
    })
}
