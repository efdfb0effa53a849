//! `train csv`, `train images`, `train config` and `predict` as a user runs them, on tables and images that the test makes.

mod support;

use std::{fs, path::Path};
use support::{Folder, refused, run, stdout, text};

/// What a command that ends well prints.
fn ok(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {} {}", stdout(&output), String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

/// Rows whose kind follows from two columns; the answer is the third.
fn table(path: &Path) {
    let mut lines = "colour,petal,kind\n".to_owned();
    for i in 0..90 {
        let petal = ((i * 37) % 90) as f64 / 10.0;
        let colour = ["red", "blue", "white"][i % 3];
        let kind = if petal > 4.5 {
            "rose"
        } else if colour == "red" {
            "iris"
        } else {
            "lily"
        };
        lines += &format!("{colour},{petal},{kind}\n");
    }
    fs::write(path, lines).unwrap();
}

/// A grey PNG of 8x8 pixels, uncompressed.
fn png(path: &Path, pixels: impl Fn(usize, usize) -> u8) {
    let crc = |bytes: &[u8]| {
        !bytes
            .iter()
            .fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())))
    };
    let mut rows: Vec<u8> = Vec::new();
    for y in 0..8 {
        rows.push(0);
        rows.extend((0..8).map(|x| pixels(y, x)));
    }
    let adler = rows.iter().fold((1u32, 0u32), |(a, b), byte| ((a + u32::from(*byte)) % 65521, (b + a + u32::from(*byte)) % 65521));
    let n = rows.len() as u16;
    let mut data = vec![0x78, 0x01, 1];
    data.extend(n.to_le_bytes());
    data.extend((!n).to_le_bytes());
    data.extend(&rows);
    data.extend((adler.1 << 16 | adler.0).to_be_bytes());
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [0, 0, 0, 8, 0, 0, 0, 8, 8, 0, 0, 0, 0];
    for (name, content) in [(b"IHDR", &header[..]), (b"IDAT", &data), (b"IEND", &[])] {
        file.extend((content.len() as u32).to_be_bytes());
        let named = [&name[..], content].concat();
        file.extend(&named);
        file.extend(crc(&named).to_be_bytes());
    }
    fs::write(path, file).unwrap();
}

const CPU: [&str; 2] = ["--device", "cpu"];

#[test]
fn a_table_is_learned_and_answered() {
    let folder = Folder::new("csv");
    let (data, out) = (folder.path("data.csv"), folder.path("out"));
    table(&data);
    let train = ["train", "csv", "--data", text(&data), "--target", "kind", "--epochs", "60", "--lr", "0.01", "--out", text(&out)];
    let output = ok(&[&train[..], &CPU].concat());
    let last = output.lines().last().unwrap().to_owned();
    let accuracy: f64 =
        output.lines().rev().find_map(|line| line.strip_prefix("test accuracy ")).unwrap_or_else(|| panic!("{last}")).parse().unwrap();
    assert!(accuracy > 0.85, "{output}");
    for name in ["model.safetensors", "checkpoint.safetensors", "metrics.csv", "report.html"] {
        assert!(out.join(name).exists(), "{name}");
    }
    // New rows, other order of columns, no target.
    let new = folder.path("new.csv");
    fs::write(&new, "petal,colour\n8.5,red\n1.0,red\n1.0,blue\n").unwrap();
    let model = out.join("model.safetensors");
    let answers = ok(&["predict", "--model", text(&model), text(&new), "--device", "cpu"]);
    let classes: Vec<&str> = answers.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(answers.lines().next(), Some("input,row,class,probability"));
    assert_eq!(classes, ["rose", "iris", "lily"], "{answers}");
    let file = folder.path("answers.csv");
    ok(&["predict", "--model", text(&model), text(&new), "--out", text(&file), "--device", "cpu"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), answers);
    let json = ok(&["predict", "--model", text(&model), text(&new), "--json", "--device", "cpu"]);
    assert!(json.lines().count() == 3 && json.contains("\"class\":\"rose\""), "{json}");
    // What it does not know is told with its line.
    fs::write(&new, "petal,colour\n8.5,red\n1.0,green\n").unwrap();
    refused(&["predict", "--model", text(&model), text(&new), "--device", "cpu"], &["new.csv", "line 3", "green"]);
    fs::write(&new, "petal\n8.5\n").unwrap();
    refused(&["predict", "--model", text(&model), text(&new), "--device", "cpu"], &["colour"]);
    // A number is answered in its own unit.
    let number = folder.path("number");
    let train = ["train", "csv", "--data", text(&data), "--target", "petal", "--epochs", "1", "--hidden", "8", "--out", text(&number)];
    ok(&[&train[..], &CPU].concat());
    let answers = ok(&["predict", "--model", text(&number.join("model.safetensors")), text(&data), "--device", "cpu"]);
    let mean = answers.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<f64>().unwrap()).sum::<f64>() / 90.0;
    assert!(answers.starts_with("input,row,number\n") && (2.0..7.0).contains(&mean), "{mean}");
}

#[test]
fn several_numbers_are_learned_and_answered() {
    let folder = Folder::new("several");
    let (data, out) = (folder.path("data.csv"), folder.path("out"));
    let rows: Vec<String> = (0..60).map(|i| format!("{i},{},{}", 3 * i + 1000, -i)).collect();
    fs::write(&data, format!("x,\"far, up\",down\n{}\n", rows.join("\n"))).unwrap();
    let train = ["train", "csv", "--data", text(&data), "--target", "far, up", "--target", "down", "--epochs", "60", "--lr", "0.01"];
    let output = ok(&[&train[..], &["--out", text(&out)], &CPU].concat());
    assert!(output.contains("`far, up`, `down` are numbers"), "{output}");
    let new = folder.path("new.csv");
    fs::write(&new, "x\n10\n40\n").unwrap();
    let model = out.join("model.safetensors");
    let answers = ok(&["predict", "--model", text(&model), text(&new), "--device", "cpu"]);
    assert_eq!(answers.lines().next(), Some("input,row,\"far, up\",down"));
    let numbers: Vec<f64> =
        answers.lines().skip(1).flat_map(|line| line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>()).collect();
    // Each in its own unit.
    for (x, wanted) in numbers.iter().zip([1030.0, -10.0, 1120.0, -40.0]) {
        assert!((x - wanted).abs() < 10.0, "{answers}");
    }
    let json = ok(&["predict", "--model", text(&model), text(&new), "--json", "--device", "cpu"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(line["numbers"]["down"].as_f64(), Some(numbers[1]), "{json}");
    // What interrupts is resumed with the same targets only, and categories are no numbers.
    let other = ["train", "csv", "--data", text(&data), "--target", "down", "--resume", "--out", text(&out)];
    refused(&[&other[..], &CPU].concat(), &["--target"]);
    table(&data);
    let other = folder.path("mixed");
    let mixed = ["train", "csv", "--data", text(&data), "--target", "petal", "--target", "colour", "--out", text(&other)];
    refused(&[&mixed[..], &CPU].concat(), &["`colour`", "only numbers are answered together"]);
}

#[test]
fn images_are_learned_and_answered() {
    let folder = Folder::new("images");
    let (data, out) = (folder.path("data"), folder.path("out"));
    for class in ["columns", "rows"] {
        fs::create_dir_all(data.join(class)).unwrap();
        for i in 0..12usize {
            let stripe = move |at: usize| if (at + i).is_multiple_of(4) { 250 - i as u8 } else { i as u8 };
            png(&data.join(class).join(format!("{i}.png")), |y, x| stripe(if class == "rows" { y } else { x }));
        }
    }
    let train =
        ["train", "images", text(&data), "--size", "8", "--grey", "--epochs", "15", "--lr", "0.01", "--batch", "8", "--out", text(&out)];
    let output = ok(&[&train[..], &CPU].concat());
    assert!(output.contains("test accuracy 1.0000"), "{output}");
    let (model, one) = (out.join("model.safetensors"), data.join("rows/3.png"));
    let answers = ok(&["predict", "--model", text(&model), text(&one), text(&data.join("columns/5.png")), "--device", "cpu"]);
    let classes: Vec<&str> = answers.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(classes, ["rows", "columns"], "{answers}");
    let damaged = folder.path("damaged.png");
    fs::write(&damaged, &fs::read(&one).unwrap()[..60]).unwrap();
    refused(&["predict", "--model", text(&model), text(&damaged), "--device", "cpu"], &["damaged.png"]);
    refused(&["train", "images", text(&folder.path("nowhere")), "--out", text(&out)], &["nowhere"]);
}

#[test]
fn a_file_describes_a_run() {
    let folder = Folder::new("config");
    let (file, out) = (folder.path("run.toml"), folder.path("out"));
    let good = "data = \"digits\"\ndevice = \"cpu\"\n[network]\nlayers = [\"flatten\", { dense = { units = 32 } }, \"relu\", \"output\"]\n\
        [optimizer.adamw]\nlr = 5e-3\n[train]\nmax_epochs = 2\nvalidation_split = 0.2\n";
    fs::write(&file, good).unwrap();
    let output = ok(&["train", "config", text(&file), "--out", text(&out)]);
    let accuracy: f64 = output.lines().find_map(|line| line.strip_prefix("test accuracy ")).unwrap().parse().unwrap();
    assert!(accuracy > 0.8 && out.join("model.safetensors").exists(), "{output}");
    for (from, to, parts) in [
        ("units", "unit", &["run.toml: line 4: unknown field `unit`", "did you mean `units`?"][..]),
        ("5e-3", "\"fast\"", &["run.toml: line 6: invalid type"]),
        ("digits", "digts", &["run.toml: line 1", "did you mean `digits`?"]),
        (
            "\"flatten\", ",
            "{ conv2d = { channels = 2, kernel = 9 } }, ",
            &["layer 0 (conv2d) does not fit an input of shape [batch, 1, 8, 8]"],
        ),
    ] {
        fs::write(&file, good.replace(from, to)).unwrap();
        refused(&["train", "config", text(&file), "--out", text(&folder.path("other"))], parts);
    }
    // What it learned from were pictures: files of pictures are answered.
    let digit = folder.path("digit.png");
    png(&digit, |y, x| if x == 3 && y > 0 { 255 } else { 0 });
    let answers = ok(&["predict", "--model", text(&out.join("model.safetensors")), text(&digit), "--device", "cpu"]);
    assert!(answers.starts_with("input,class,probability\n") && answers.lines().count() == 2, "{answers}");
    refused(&["predict", "--model", text(&out.join("model.safetensors")), "x.csv", "--device", "cpu"], &["x.csv"]);
}

#[test]
fn arrays_are_learned_and_answered() {
    let folder = Folder::new("arrays");
    let idx = |name: &str, kind: u8, shape: &[u32], bytes: &[u8]| {
        let path = folder.path(name);
        let sizes = shape.iter().flat_map(|size| size.to_be_bytes());
        fs::write(&path, [0, 0, kind, shape.len() as u8].into_iter().chain(sizes).chain(bytes.iter().copied()).collect::<Vec<u8>>())
            .unwrap();
        path
    };
    // The class is the column that is bright; pictures are no squares.
    let pictures = |n: usize| (0..n).flat_map(|at| (0..12).map(move |i| if i % 3 == at % 3 { 200u8 } else { 10 })).collect::<Vec<u8>>();
    let inputs = idx("inputs", 8, &[60, 4, 3], &pictures(60));
    let targets = idx("targets", 8, &[60], &(0..60).map(|at| at % 3).collect::<Vec<u8>>());
    let (file, out) = (folder.path("run.toml"), folder.path("out"));
    let config = format!(
        "device = \"cpu\"\n[data.idx]\ninputs = {:?}\ntargets = {:?}\n[network]\nlayers = [\"flatten\", \"output\"]\n[optimizer.adam]\nlr = 0.1\n\
         [train]\nmax_epochs = 20\n",
        text(&inputs),
        text(&targets)
    );
    fs::write(&file, config).unwrap();
    ok(&["train", "config", text(&file), "--out", text(&out)]);
    let model = out.join("model.safetensors");
    let new = idx("new", 8, &[5, 4, 3], &pictures(5));
    let answers = ok(&["predict", "--model", text(&model), text(&new), "--device", "cpu"]);
    let classes: Vec<&str> = answers.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(classes, ["0", "1", "2", "0", "1"], "{answers}");
    // Two numbers for each: dark and bright rows.
    let numbers = |n: usize| (0..n).flat_map(|at| [at as f32 % 3.0, -(at as f32 % 3.0)]).flat_map(f32::to_be_bytes).collect::<Vec<u8>>();
    let two = idx("two", 13, &[60, 2], &numbers(60));
    let of_numbers = fs::read_to_string(&file).unwrap().replace(text(&targets), text(&two));
    fs::write(&file, of_numbers).unwrap();
    let out = folder.path("numbers");
    ok(&["train", "config", text(&file), "--out", text(&out)]);
    let answers = ok(&["predict", "--model", text(&out.join("model.safetensors")), text(&new), "--device", "cpu"]);
    let lines: Vec<Vec<&str>> = answers.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["input", "row", "number 1", "number 2"]);
    for (at, line) in lines[1..].iter().enumerate() {
        let (first, second): (f64, f64) = (line[2].parse().unwrap(), line[3].parse().unwrap());
        assert!((first - (at % 3) as f64).abs() < 0.3 && (first + second).abs() < 0.6, "{answers}");
    }
    let other = idx("other", 8, &[5, 3, 4], &pictures(5));
    refused(&["predict", "--model", text(&model), text(&other), "--device", "cpu"], &["other", "[1, 3, 4]", "[1, 4, 3]"]);
    refused(&["predict", "--model", text(&model), text(&file), "--device", "cpu"], &["run.toml"]);
}

#[test]
fn nan_is_missing_where_it_is_said() {
    let folder = Folder::new("nan");
    let (data, out) = (folder.path("data.csv"), folder.path("out"));
    let rows: String =
        (0..40).map(|i| format!("{},{}\n", if i == 3 { "nan".to_owned() } else { i.to_string() }, ["a", "b"][i % 2])).collect();
    fs::write(&data, format!("x,kind\n{rows}")).unwrap();
    let train = ["train", "csv", "--data", text(&data), "--target", "kind", "--epochs", "1", "--out", text(&out), "--device", "cpu"];
    refused(&train, &["data.csv", "line 5", "nan_is_missing"]);
    ok(&[&train[..], &["--nan-is-missing"]].concat());
    // A file without names, read so by both commands.
    fs::write(&data, rows.replace("nan", "1")).unwrap();
    let by_number = ["train", "csv", "--data", text(&data), "--target", "column 2", "--no-header", "--epochs", "1", "--out", text(&out)];
    ok(&[&by_number[..], &["--device", "cpu"]].concat());
    let answers = ok(&["predict", "--model", text(&out.join("model.safetensors")), text(&data), "--no-header", "--device", "cpu"]);
    assert_eq!(answers.lines().count(), 41);
}

#[test]
fn wrong_tables_are_told_with_their_place() {
    let folder = Folder::new("wrong");
    let (data, out) = (folder.path("data.csv"), folder.path("out"));
    table(&data);
    let train = |target: &str, parts: &[&str]| {
        refused(&["train", "csv", "--data", text(&data), "--target", target, "--out", text(&out), "--device", "cpu"], parts);
    };
    train("kinds", &["kind"]);
    fs::write(&data, "a,b\n1,2\n3\n").unwrap();
    train("b", &["data.csv", "line 3"]);
    fs::write(&data, "a,b\n").unwrap();
    train("b", &["data.csv"]);
    fs::write(&data, "a,b\n1,x\n2,x\n3,x\n").unwrap();
    train("b", &["one class only"]);
    assert!(!out.join("model.safetensors").exists());
}

#[test]
fn every_help_has_an_example() {
    let (mut commands, mut seen) = (vec![Vec::<String>::new()], Vec::new());
    while let Some(command) = commands.pop() {
        let asked: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = ok(&asked);
        assert!(help.contains("Example"), "{command:?}: {help}");
        // A line of the list is a command's name and what it is for, which may go on in lines that are further in.
        let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let names = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let below = names.filter(|name| !name.is_empty() && *name != "help");
        commands.extend(below.map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
        seen.push(command.join(" "));
    }
    for known in ["", "bench", "compare", "devices", "inspect", "predict", "train", "train config", "train csv", "train gpt"] {
        assert!(seen.iter().any(|command| command == known), "`{known}` is not among {seen:?}");
    }
}
