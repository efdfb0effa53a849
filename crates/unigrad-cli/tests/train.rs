//! The command as a user runs it: training, its files, and what happens with bad input.

mod support;

use std::fs;
use support::{Folder, refused, run, stdout, text, unigrad};

#[test]
fn digits_train_and_leave_their_files() {
    let folder = Folder::new("digits");
    let out = folder.path("out");
    let output = run(&["train", "digits", "--model", "mlp", "--epochs", "4", "--out", text(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = stdout(&output);
    let last = lines.lines().last().unwrap();
    let accuracy: f64 = last.strip_prefix("test accuracy ").unwrap().parse().unwrap();
    assert!(accuracy > 0.7, "{lines}");
    assert_eq!(lines.lines().filter(|l| l.starts_with("epoch ")).count(), 4);
    assert_eq!(fs::read_to_string(out.join("metrics.csv")).unwrap().lines().count(), 5);
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("<svg"));
    assert!(out.join("model.safetensors").exists());
    // Nothing but the files that were promised.
    assert_eq!(fs::read_dir(&out).unwrap().count(), 4);
    let quiet = run(&["train", "digits", "--model", "mlp", "--epochs", "1", "--quiet", "--out", text(&out)]);
    assert_eq!(stdout(&quiet).lines().count(), 1);
    let json = run(&["train", "digits", "--model", "mlp", "--epochs", "1", "--json", "--out", text(&out)]);
    let values: Vec<serde_json::Value> = stdout(&json).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(values.last().unwrap()["test_accuracy"].is_f64());
    // Two runs in one page.
    let other = folder.path("other");
    assert!(run(&["train", "digits", "--model", "mlp", "--epochs", "2", "--quiet", "--out", text(&other)]).status.success());
    let page = folder.path("compare.html");
    let output = run(&["compare", text(&out), text(&other), "--out", text(&page)]);
    assert!(output.status.success() && stdout(&output).contains("2 runs"), "{}", String::from_utf8_lossy(&output.stderr));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("val_accuracy by epoch") && html.contains("other"));
    refused(&["compare", text(&folder.path("nowhere"))], &["nowhere"]);
}

#[test]
fn bad_input_is_refused_with_cause_and_remedy() {
    let folder = Folder::new("bad");
    let path = |name: &str| folder.path(name);
    let write = |name: &str, bytes: &[u8]| {
        fs::write(path(name), bytes).unwrap();
        path(name)
    };
    refused(&["train", "mnist", "--data", text(&path("nowhere"))], &["nowhere", "cannot be read"]);
    fs::create_dir(path("empty")).unwrap();
    refused(&["train", "mnist", "--data", text(&path("empty"))], &["missing train-images-idx3-ubyte"]);
    fs::create_dir(path("mnist")).unwrap();
    write("mnist/t10k-labels-idx1-ubyte", &[0, 0, 8, 1, 0, 0, 0, 2, 1, 2]);
    write("mnist/t10k-images-idx3-ubyte", &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 9]);
    refused(&["train", "mnist", "--data", text(&path("mnist"))], &["t10k-images", "truncated", "2 bytes of data, and there are 1"]);
    write("mnist/t10k-images-idx3-ubyte", b"not an IDX file");
    refused(&["train", "mnist", "--data", text(&path("mnist"))], &["wrong magic"]);
    let file = write("file", b"x");
    refused(&["train", "digits", "--out", text(&file.join("below"))], &["cannot be written"]);
    refused(&["train", "digits", "--device", "abacus", "--out", text(&path("o"))], &["abacus", "cpu:0"]);
    refused(&["train", "digits", "--lr", "-1"], &["learning rate"]);
    refused(&["train", "digits", "--resume", "--out", text(&path("never"))], &["no checkpoint"]);
    refused(&["train", "gpt", "--text", text(&path("no.txt"))], &["no.txt"]);
    let short = write("short.txt", b"to be or not to be");
    refused(&["train", "gpt", "--text", text(&short), "--out", text(&path("o"))], &["too few for a context of 256"]);
    refused(&["train", "gpt", "--text", text(&short), "--ctx", "4", "--dim", "10", "--heads", "4", "--out", text(&path("o"))], &["heads"]);
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = Folder::new("damaged");
    let out = folder.path("out");
    let base = ["train", "digits", "--model", "mlp", "--out", text(&out)];
    assert!(run(&[&base[..], &["--epochs", "1"]].concat()).status.success());
    let checkpoint = out.join("checkpoint.safetensors");
    let whole = fs::read(&checkpoint).unwrap();
    let model = fs::read(out.join("model.safetensors")).unwrap();
    let resume = [&base[..], &["--resume"]].concat();
    fs::write(&checkpoint, &whole[..whole.len() - 10]).unwrap();
    refused(&resume, &["checkpoint.safetensors", "truncated"]);
    fs::write(&checkpoint, [&whole[..], b"more"].concat()).unwrap();
    refused(&resume, &["oversized"]);
    fs::write(&checkpoint, b"PK\x03\x04 something else").unwrap();
    refused(&resume, &["wrong magic"]);
    // A whole file, but no training run's.
    fs::write(&checkpoint, &model).unwrap();
    refused(&resume, &["has no value"]);
    assert_eq!(fs::read(out.join("model.safetensors")).unwrap(), model, "what was saved is unharmed");
}

#[test]
fn a_loss_that_is_no_number_stops_the_run() {
    let folder = Folder::new("nan");
    let out = folder.path("out");
    let args = ["train", "digits", "--model", "mlp", "--epochs", "2", "--lr", "1e38", "--out", text(&out)];
    refused(&args, &["the loss is", "in step", "first not finite", "not-finite.safetensors", "learning rate"]);
    assert!(out.join("not-finite.safetensors").exists());
}

#[test]
fn a_tiny_gpt_trains_and_writes() {
    let folder = Folder::new("gpt");
    let sonnets = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/sonnets.txt");
    let out = folder.path("out");
    let args = ["train", "gpt", "--text", sonnets, "--layers", "1", "--heads", "2", "--dim", "16", "--ctx", "16"];
    let output = run(&[&args[..], &["--steps", "120", "--sample", "20", "--out", text(&out)]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout(&output).contains("sample:"));
    assert!(stdout(&output).lines().last().unwrap().starts_with("test loss "));
    assert!(out.join("report.html").exists());
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../goldens/gpt_tiny_losses.json");
    let output = run(&["train", "gpt", "--text", sonnets, "--golden", golden]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn devices_are_listed() {
    let output = run(&["devices", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(value["devices"].as_array().unwrap().iter().any(|d| d["device"] == "cpu:0"));
    assert!(stdout(&run(&["devices", "-v"])).contains("cpu:0"));
}

#[test]
fn devices_tell_of_settings_that_are_wrong() {
    for (name, value) in [("UNIGRAD_DEVICE", "nope:3"), ("UNIGRAD_DEBUG", "loud"), ("UNIGRAD_CPU_TIER", "fast")] {
        let list = |option: &[&str]| stdout(&unigrad(&[&["devices"], option].concat()).env(name, value).output().unwrap());
        let text = list(&[]);
        assert!(text.contains(&format!("Error: {name}={value}: ")) && text.contains("CPU") && !text.contains("Chosen"), "{text}");
        let value_of: serde_json::Value = serde_json::from_str(&list(&["--json"])).unwrap();
        assert!(value_of["error"].as_str().is_some_and(|error| error.contains(name)), "{value_of}");
    }
    let text = stdout(&unigrad(&["devices"]).env("UNIGRAD_DEVICE", "CPU").output().unwrap());
    assert!(text.contains("Chosen device: CPU (UNIGRAD_DEVICE)"), "{text}");
}

#[test]
fn some_steps_are_profiled() {
    let folder = Folder::new("profile");
    let (out, file) = (folder.path("out"), folder.path("run.toml"));
    let config =
        "data = \"digits\"\ndevice = \"cpu\"\n[network]\nlayers = [\"flatten\", \"output\"]\n[train]\nmax_epochs = 1\nprofile = 3\n";
    fs::write(&file, config).unwrap();
    let digits: &[&str] = &["train", "digits", "--model", "mlp", "--epochs", "1", "--profile", "4", "--device", "cpu", "--out"];
    for (args, steps) in [(digits, "4"), (&["train", "config", text(&file), "--out"], "3")] {
        let output = run(&[args, &[text(&out)]].concat());
        let shown = stdout(&output);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for part in [&format!("profile of {steps} steps."), "devices busy", "kernel", "profile.html (memory over time)"] {
            assert!(shown.contains(part), "no {part:?} in {shown}");
        }
        for name in ["profile.html", "trace.json", "kernels.txt"] {
            assert!(fs::metadata(out.join(name)).unwrap().len() > 100, "{name}");
            fs::remove_file(out.join(name)).unwrap();
        }
    }
    // A run that is over before the profile begins says so.
    let long = ["train", "digits", "--model", "mlp", "--epochs", "1", "--batch", "1024", "--profile", "4", "--out", text(&out)];
    assert!(stdout(&run(&long)).contains("no profile"));
    let json = run(&["train", "digits", "--model", "mlp", "--epochs", "1", "--profile", "2", "--json", "--out", text(&out)]);
    let line =
        stdout(&json).lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).find(|line| line["event"] == "profile");
    assert!(line.is_some_and(|line| line["steps"] == 2 && line["verdict"].is_string()));
    refused_status(&["train", "digits", "--profile", "0"]);
    let help = stdout(&run(&["train", "digits", "--help"]));
    assert!(help.contains("--profile <N>") && help.contains("unigrad train digits --epochs 1 --profile 20"), "{help}");
}

/// Arguments that make no sense have an exit status of their own.
fn refused_status(args: &[&str]) {
    assert_eq!(run(args).status.code(), Some(2), "{args:?}");
}
