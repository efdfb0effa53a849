//! Tables that are right, and every way in which one is wrong.

use super::*;
use crate::array;
use unigrad_nn::Result;

fn csv(text: &str) -> Result<Csv> {
    Csv::from_bytes(text.as_bytes(), "t.csv", &CsvOptions::default())
}

fn fails<T: std::fmt::Debug>(result: Result<T>, wanted: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
    assert!(error.contains("t.csv") && error.contains("help:"), "{error}");
}

#[test]
fn every_type_is_guessed_and_encoded() -> Result<()> {
    let text = "id,x,ok,kind,when,label\n1,0.5,yes,b,2024-01-02,cat\n2,1.5,no,a,2024-01-03,dog\n3,,yes,NA,2024-01-04,cat\n";
    let table = csv(text)?;
    fails(TableSchema::fit(&table, &TableOptions::new().target("label")), "column `when` has dates");
    let options = TableOptions::new().target("label").ignore("when").standardize(false);
    let schema = TableSchema::fit(&table, &options)?;
    assert_eq!(schema.feature_names(), ["id", "x", "x is missing", "ok", "kind=a", "kind=b", "kind is missing"]);
    assert_eq!((schema.task(), schema.classes()), (Some(Task::Classification), &["cat".to_owned(), "dog".to_owned()][..]));
    let rows = [[1.0f32, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0], [2.0, 1.5, 0.0, 0.0, 1.0, 0.0, 0.0], [3.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]];
    assert_eq!(schema.features(&table)?, array(&rows.concat(), &[3, 7])?);
    assert_eq!(schema.targets(&table)?, array(&[0i64, 1, 0], &[3])?);
    let again = TableSchema::from_json(&schema.to_json()?, "m")?;
    assert_eq!(again, schema);
    let by_index = TableSchema::fit(&table, &options.clone().categories(Categories::Index).missing(Missing::Mean).ignore("id"))?;
    assert_eq!(by_index.features(&table)?, array(&[0.5f32, 1.0, 2.0, 1.5, 0.0, 1.0, 1.0, 1.0, 1.0], &[3, 3])?);
    let by_mode = TableSchema::fit(&table, &options.clone().missing(Missing::Mode).ignore("id").ignore("kind"))?;
    assert_eq!(by_mode.features(&table)?, array(&[0.5f32, 1.0, 1.5, 0.0, 0.5, 1.0], &[3, 2])?);
    fails(TableSchema::fit(&table, &options.missing(Missing::Error)), "line 4, column `x`: no value");
    Ok(())
}

#[test]
fn numbers_are_scaled_by_what_was_learned() -> Result<()> {
    let table = csv("x,y\n1,100\n2,200\n3,300\n4,400.5\n")?;
    let schema = TableSchema::fit_rows(&table, &[0, 2], &TableOptions::new().target("y").standardize_target(true).task(Task::Regression))?;
    assert_eq!(schema.features(&table)?, array(&[-1.0f32, 0.0, 1.0, 2.0], &[4, 1])?);
    assert_eq!(schema.targets(&table)?, array(&[-1.0f32, 0.0, 1.0, 2.005], &[4])?);
    assert_eq!(schema.unscale(2.005), 400.5);
    // What does not vary is not divided by 0.
    let schema = TableSchema::fit_rows(&table, &[1], &TableOptions::new())?;
    assert_eq!(schema.features(&table)?.shape, [4, 2]);
    assert!(TableSchema::fit_rows(&table, &[], &TableOptions::new()).is_err());
    assert!(TableSchema::fit_rows(&table, &[4], &TableOptions::new()).is_err());
    Ok(())
}

#[test]
fn several_targets_are_numbers_together() -> Result<()> {
    let table = csv("x,y,z,k\n1,100,1,u\n2,200,0,v\n3,300,1,u\n")?;
    let options = TableOptions::new().target("z").target("y").ignore("k").standardize_target(true);
    let schema = TableSchema::fit(&table, &options)?;
    // Few whole numbers would be classes alone. The order is that in which they are named.
    assert_eq!((schema.task(), schema.target_names(), schema.n_outputs()), (Some(Task::Regression), vec!["z", "y"], 2));
    assert_eq!((schema.feature_names(), schema.classes().len()), (vec!["x".to_owned()], 0));
    let targets = schema.targets(&table)?;
    assert_eq!(targets.shape, [3, 2]);
    let second = targets.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect::<Vec<_>>();
    let mut rows: Vec<f64> = second.iter().map(|x| f64::from(*x)).collect();
    rows.chunks_mut(2).for_each(|row| schema.unscale_all(row));
    rows.iter().zip([1.0, 100.0, 0.0, 200.0, 1.0, 300.0]).for_each(|(x, wanted)| assert!((x - wanted).abs() < 1e-4, "{rows:?}"));
    let again = TableSchema::from_json(&schema.to_json()?, "m")?;
    assert_eq!(again, schema);
    // A file for one target stays what it was, and other counts contradict the version.
    let one = TableSchema::fit(&table, &TableOptions::new().target("y"))?.to_json()?;
    assert!(one.contains("\"version\":1") && !one.contains("further"), "{one}");
    fails(TableSchema::from_json(&one.replacen("\"version\":1", "\"version\":2", 1), "t.csv"), "version 2 with 1 targets");
    fails(TableSchema::from_json(&schema.to_json()?.replacen("\"version\":2", "\"version\":1", 1), "t.csv"), "version 1 with 2 targets");
    fails(TableSchema::from_json(&schema.to_json()?.replacen("\"name\":\"y\"", "\"name\":\"z\"", 1), "t.csv"), "contradict themselves");
    fails(TableSchema::fit(&table, &options.clone().target("y")), "column `y` is a target twice");
    fails(TableSchema::fit(&table, &options.clone().task(Task::Classification)), "the task is a classification");
    fails(TableSchema::fit(&table, &TableOptions::new().target("y").target("k")), "the target `k` is one of 2 and has categories");
    fails(schema.targets(&csv("x,y,z\n1,2,\n")?), "line 2, column `z`: no value");
    fails(schema.targets(&csv("x,z\n1,2\n")?), "there is no column `y`");
    // What other rows taught may not fit a number: an infinite target would be learned from.
    let near = TableSchema::fit(&csv("x,y\n1,1\n2,1.001\n")?, &TableOptions::new().target("y").standardize_target(true))?;
    fails(near.targets(&csv("x,y\n1,3e38\n")?), "line 2, column `y`: `3e38` is too far from the mean");
    Ok(())
}

#[test]
fn the_task_is_guessed() -> Result<()> {
    let of = |cells: &[&str]| -> Result<Option<Task>> {
        let text = cells.iter().enumerate().fold("x,y\n".to_owned(), |text, (at, cell)| format!("{text}{at},{cell}\n"));
        Ok(TableSchema::fit(&csv(&text)?, &TableOptions::new().target("y"))?.task())
    };
    let (classes, number) = (Some(Task::Classification), Some(Task::Regression));
    assert_eq!((of(&["0", "1", "1"])?, of(&["0", "1", "2"])?, of(&["0", "1.5"])?), (classes, number, number));
    assert_eq!((of(&["0", "1", "2"].repeat(5))?, of(&["yes", "no"])?, of(&["a", "b", "c"])?), (classes, classes, classes));
    // Classes of numbers are in the order of numbers.
    let text = (0..55).fold("x,y\n".to_owned(), |text, at| format!("{text}{at},{}\n", at % 11));
    let schema = TableSchema::fit(&csv(&text)?, &TableOptions::new().target("y"))?;
    assert_eq!(schema.classes()[9..], ["9", "10"]);
    Ok(())
}

#[test]
fn what_is_wrong_is_named_with_its_line() -> Result<()> {
    fails(csv(""), "the file is empty");
    fails(csv("a,b\n"), "there is a header, and no rows");
    fails(csv("a,b\n1,2\n\n3\n"), "line 4 has 1 cell, and the first line has 2");
    fails(csv("a,b\r\n\r\n1,2\r\n\r\n\r\n3\r\n"), "line 6 has 1 cell, and the first line has 2");
    fails(csv("a,b\n1,2,3\n"), "line 2 has 3 cells");
    fails(csv("a,b,a\n1,2,3\n"), "line 1: columns 1 and 3 are both named `a`");
    let bytes = b"a,b\n1,2\n3,\xff\n";
    fails(Csv::from_bytes(bytes, "t.csv", &CsvOptions::default()), "line 3, column 2: no UTF-8 from byte 0");
    fails(csv("size,price\n1,2\n")?.column("prise"), "such as `price`, `size`");
    fails(TableSchema::fit(&csv("a,b\n1,2\n")?, &TableOptions::new().target("c")), "there is no column `c`");
    fails(TableSchema::fit(&csv("a,b\n1,2\n")?, &TableOptions::new().ignore("c")), "there is no column `c`");
    fails(TableSchema::fit(&csv("a\n1\n")?, &TableOptions::new().target("a")), "no columns are left");
    fails(TableSchema::fit(&csv("a,b\n1,inf\n")?, &TableOptions::new()), "line 2, column `b`: `inf` is no finite f32");
    fails(TableSchema::fit(&csv("a,b\n1,1e39\n")?, &TableOptions::new()), "`1e39` is no finite f32");
    fails(TableSchema::fit(&csv("a,b\n1,2\n2,NaN\n")?, &TableOptions::new()), "line 3, column `b`: `NaN` is no finite number");
    assert_eq!(TableSchema::fit(&csv("a,b\n1,2\n2,NaN\n")?, &TableOptions::new().nan_is_missing())?.n_features(), 3);
    fails(TableSchema::fit(&csv("a,y\n1,2\n2,\n")?, &TableOptions::new().target("y")), "line 3, column `y`: no value");
    // One wrong cell among numbers is a mistake, and not a category.
    let text = (0..20).fold("a\n".to_owned(), |text, at| format!("{text}{}\n", if at == 7 { "1o".to_owned() } else { at.to_string() }));
    fails(TableSchema::fit(&csv(&text)?, &TableOptions::new()), "line 9, column `a`: `1o` is no number, and 19 of 20 cells");
    let known = TableOptions::new().column_type("a", ColumnType::Category);
    assert_eq!(TableSchema::fit(&csv(&text)?, &known)?.n_features(), 20);
    let text = (0..300).fold("a\n".to_owned(), |text, at| format!("{text}w{at}\n"));
    fails(TableSchema::fit(&csv(&text)?, &TableOptions::new()), "column `a` has texts");
    fails(TableSchema::fit(&csv(&text)?, &known), "300 categories");
    // At prediction.
    let schema = TableSchema::fit(&csv("kind,ok,y\nred,yes,1.5\nblue,no,2\n")?, &TableOptions::new().target("y"))?;
    fails(schema.features(&csv("kind\nred\n")?), "there is no column `ok`");
    fails(schema.features(&csv("kind,ok\nred,yes\nrad,no\n")?), "line 3, column `kind`: `rad` is none of the 2 categories");
    fails(schema.features(&csv("kind,ok\nred,maybe\n")?), "`maybe` is not yes or no");
    fails(schema.features(&csv("kind,ok\n,yes\n")?), "line 2, column `kind`: no value");
    fails(schema.targets(&csv("kind,ok\nred,yes\n")?), "there is no column `y`");
    let schema = TableSchema::fit(&csv("kind,y\nred,a\nblue,b\n")?, &TableOptions::new().target("y").unknown(Unknown::Ignore))?;
    assert_eq!(schema.features(&csv("kind\nrad\n")?)?, array(&[0.0f32, 0.0], &[1, 2])?);
    fails(schema.targets(&csv("kind,y\nred,c\n")?), "`c` is none of the 2 classes");
    Ok(())
}

#[test]
fn options_of_files() -> Result<()> {
    let read = |text: &str, options: &CsvOptions| Csv::from_bytes(text.as_bytes(), "t.csv", options);
    let plain = CsvOptions::default();
    let semicolon = CsvOptions { delimiter: b';', has_header: false, ..plain.clone() };
    let table = read("1;2,5\n", &semicolon)?;
    assert_eq!((table.names(), table.cell(0, 1)), (&["column 1".to_owned(), "column 2".to_owned()][..], "2,5"));
    let unquoted = CsvOptions { quote: None, ..plain.clone() };
    assert_eq!(read("a\n\"x\n", &unquoted)?.cell(0, 0), "\"x");
    assert_eq!(read("\u{feff}a, b\r\n 1 ,\"x\ny\"\r\n2,z\r\n", &plain)?.names(), ["a", "b"]);
    let table = read("a,b\n1,\"x\ny\"\n2,z\n", &plain)?;
    assert_eq!((table.cell(0, 1), table.line(1), table.cell(9, 9)), ("x\ny", 4, ""));
    assert_eq!(read(",a\n0,1\n", &plain)?.names(), ["column 1", "a"]);
    let path = std::env::temp_dir().join(format!("unigrad-csv-{}", std::process::id()));
    std::fs::write(&path, "a\n1\n").map_err(|e| unigrad_nn::Error::write(&path, e))?;
    assert_eq!(Csv::read(&path, &plain)?.n_rows(), 1);
    assert!(Csv::read(&path, &CsvOptions { max_bytes: 3, ..plain.clone() }).is_err());
    std::fs::remove_file(&path).map_err(|e| unigrad_nn::Error::write(&path, e))?;
    assert!(Csv::read(&path, &plain).is_err());
    Ok(())
}

#[test]
fn schemas_that_contradict_themselves_are_refused() -> Result<()> {
    let good = TableSchema::fit(&csv("a,k,y\n1,u,2.5\n2,v,3\n")?, &TableOptions::new().target("y"))?.to_json()?;
    for (from, to) in [
        ("\"version\":1", "\"version\":3"),
        ("\"std\":\"0.5\"", "\"std\":\"0\""),
        ("\"fill\":\"1.5\"", "\"fill\":\"1e999\""),
        ("[\"u\",\"v\"]", "[\"v\",\"u\"]"),
        ("\"kind\":\"number\"", "\"kind\":\"nothing\""),
        ("{", ""),
    ] {
        assert!(good.contains(from), "{good}");
        fails(TableSchema::from_json(&good.replacen(from, to, 1), "t.csv"), "");
    }
    Ok(())
}

#[test]
fn what_does_not_vary_is_not_scaled_by_rounding() -> Result<()> {
    // The mean of 39 times 0.1 is another number.
    let text = format!("x,y\n{}", (0..39).map(|i| format!("0.1,{i}\n")).collect::<String>());
    let schema = TableSchema::fit(&csv(&text)?, &TableOptions::new().ignore("y"))?;
    assert_eq!(schema.features(&csv(&text)?)?, array(&[0.0f32; 39], &[39, 1])?);
    assert_eq!(schema.features(&csv("x,y\n1.1,0\n")?)?, array(&[1.0f32], &[1, 1])?);
    Ok(())
}
