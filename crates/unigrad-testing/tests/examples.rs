//! The core's examples, as programs, on every device that a program can have: they end well, and print what they print on the CPU.

use std::path::PathBuf;
use std::process::Command;
use unigrad_testing::devices;

/// Where cargo puts the examples of the build that this test is in.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn output(program: &PathBuf, device: &str) -> Result<String, String> {
    let output = Command::new(program).env("UNIGRAD_DEVICE", device).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Numbers may differ as sums in other orders do; everything else is the same.
fn alike(a: &str, b: &str) -> bool {
    let words = |text: &str| text.split(|c: char| c.is_whitespace() || "[],".contains(c)).map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (words(a), words(b));
    let near = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 2e-3 * (1.0 + a.abs().max(b.abs())),
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(near)
}

fn check(name: &str) {
    let program = program(name);
    if !program.exists() {
        println!("SKIPPED: {name} is not built: `cargo test` without `--test` builds examples");
        return;
    }
    let expected = output(&program, "cpu").unwrap();
    // The interpreter is no device of programs: only tests register it.
    let here = devices().into_iter().map(|device| device.name().to_owned()).filter(|name| !name.starts_with("interpreter"));
    let mut wrong = Vec::new();
    for device in here {
        match output(&program, &device) {
            Ok(got) if alike(&got, &expected) => println!("{name} on {device}: as on the CPU"),
            Ok(got) => wrong.push(format!("FAIL {name} on {device} prints\n{got}\nand on the CPU\n{expected}")),
            Err(error) => wrong.push(format!("FAIL {name} on {device}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn regression() {
    check("regression");
}

#[test]
fn own_optimizer() {
    check("own_optimizer");
}

#[test]
fn own_driver() {
    check("own_driver");
}

#[test]
fn derivatives() {
    check("derivatives");
}

#[test]
fn custom_kernel() {
    check("custom_kernel");
}

#[test]
fn every_backend() {
    check("every_backend");
}

/// Its figures are times: that it ends well, with all its tables, is what is looked at.
#[test]
fn showcase() {
    let program = program("showcase");
    if !program.exists() {
        println!("SKIPPED: showcase is not built: `cargo test` without `--test` builds examples");
        return;
    }
    let output = Command::new(program).arg("0.01").env("UNIGRAD_DEVICE", "cpu").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["copy", "GFLOP/s", "mlp_10_20_20_1_forward", "sgd_4M_in_8", "% of copy", "milliseconds of a step", "section", "bound by"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// A few epochs on the digits that ship.
#[test]
fn mnist() {
    let program = program("mnist");
    if !program.exists() {
        println!("SKIPPED: mnist is not built: `cargo test` without `--test` builds examples");
        return;
    }
    let output = Command::new(program).args(["digits", "6"]).env("UNIGRAD_DEVICE", "cpu").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let right = text.split("validation accuracy ").nth(1).and_then(|rest| rest.trim().strip_suffix('%')?.parse::<f64>().ok());
    assert!(right.is_some_and(|right| right > 80.0), "{text}");
}

#[test]
fn fine_tune() {
    check("fine_tune");
}

#[test]
fn trainer() {
    check("trainer");
}

#[test]
fn gan() {
    check("gan");
}

#[test]
fn lr_finder() {
    check("lr_finder");
}

#[test]
fn profiling() {
    check("profiling");
}

/// Its figures are times: that it reads its images, takes its steps and tells both is what is looked at.
#[test]
fn image_loading() {
    let program = program("image_loading");
    if !program.exists() {
        println!("SKIPPED: image_loading is not built: `cargo test` without `--test` builds examples");
        return;
    }
    let output = Command::new(&program).args(["-", "2", "2"]).env("UNIGRAD_DEVICE", "cpu").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in
        ["128 images; the loader alone, 2 threads: ", " ms a batch of 64", " ms a step on a batch that is there, ", " ms with the loader: "]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let none = Command::new(&program).env("UNIGRAD_DEVICE", "cpu").output().unwrap();
    assert!(!none.status.success() && String::from_utf8_lossy(&none.stderr).contains("image_loading FOLDER"));
}

/// Its figures are times. What it computes it compares with loops by itself, on each device; a file that is not there is said, and replaced.
#[test]
fn llama_decode() {
    let program = program("llama_decode");
    if !program.exists() {
        println!("SKIPPED: llama_decode is not built: `cargo test` without `--test` builds examples");
        return;
    }
    let here = devices().into_iter().map(|device| device.name().to_owned()).filter(|name| !name.starts_with("interpreter"));
    for device in here {
        let run = |arguments: &[&str]| {
            let output = Command::new(&program).args(arguments).env("UNIGRAD_DEVICE", &device).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{device}: {text}{}", String::from_utf8_lossy(&output.stderr));
            text
        };
        let text = run(&["--tokens", "72"]);
        let parts =
            ["SKIPPED", "loops: ", "replayed: ", "recorded for each token: ", "the same 72 tokens", "4 sequences: ", "64 tokens at once: "];
        for part in parts {
            assert!(text.contains(part), "{device}: no {part:?} in {text}");
        }
        assert!(run(&["no/such.bin", "--tokens", "3"]).contains("SKIPPED: no/such.bin"), "{device}");
    }
    // What is no model is an error, not a panic: an empty file, sizes that do not divide, weights that end early.
    let path = std::env::temp_dir().join(format!("llama_decode_{}.bin", std::process::id()));
    let header = |numbers: [i32; 7]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    for bytes in
        [Vec::new(), header([8, 8, 1, 3, 1, 9, 9]), header([8, 8, 1, 0, 0, 9, 9]), header([8, 8, 1, 2, 1, 9, 9]), header([1 << 20; 7])]
    {
        std::fs::write(&path, &bytes).unwrap();
        let output = Command::new(&program).arg(&path).env("UNIGRAD_DEVICE", "cpu").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && !error.contains("panicked"), "{} bytes: {error}", bytes.len());
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn array_optimizer() {
    check("array_optimizer");
}

/// Those that train longer than devices without hardware are to be waited for. Each checks what it has learned, and prints whether it has.
#[test]
fn those_that_learn() {
    for name in ["images", "lstm_text", "transformer", "vae", "gradient_penalty", "custom_layer", "custom_dataset"] {
        let program = program(name);
        if !program.exists() {
            println!("SKIPPED: {name} is not built: `cargo test` without `--test` builds examples");
            continue;
        }
        let printed = output(&program, "cpu").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(printed.contains(": true") && !printed.contains(": false"), "{name} prints\n{printed}");
        println!("{name}:\n{printed}");
    }
}

#[test]
fn what_differs_is_seen() {
    assert!(alike("loss 0.1001\n[1.0, 2]", "loss 0.1002 [1.0, 2]".replace(" [", "\n[").as_str()));
    assert!(!alike("loss 0.10", "loss 0.12") && !alike("loss 1", "cost 1") && !alike("loss 1", "loss 1 2") && !alike("x 1", "x NaN"));
}
