//! The fuzzer finds what it looks for: inputs that are known to fail, each in its own way.

use std::process::Command;

fn fuzz(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fuzz")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_way_to_fail_is_seen() {
    let path = std::env::temp_dir().join(format!("unigrad-fuzzer-{}", std::process::id()));
    let ways = [(0, ""), (1, "wrong"), (2, "panicked: "), (3, ""), (4, ""), (5, "bytes of memory")];
    for (way, says) in ways {
        std::fs::write(&path, [0, 0, way, 0]).unwrap();
        let (code, output) = fuzz(&["--part", "known", "--input", path.to_str().unwrap()]);
        // Those that end the process have no status of their own.
        let wanted = [Some(0), Some(1), Some(1), None, None, Some(1)][usize::from(way)];
        assert!(code == wanted && output.contains(says), "{way}: {code:?} {output}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_failing_case_is_made_small_and_again() {
    // The first that is no hang, which would take its ten seconds.
    let wrong = |seed: &u64| fuzz(&["--part", "known", "--seed", &seed.to_string(), "--case", "0"]);
    let seed = (0..100).find(|seed| seed % 9 != 6 && wrong(seed).1.contains("FAIL known: wrong")).unwrap();
    let (code, output) = fuzz(&["--part", "known", "--seed", &seed.to_string(), "--seconds", "0"]);
    assert_eq!(code, Some(1), "{output}");
    let shown = output.lines().find(|line| line.contains(".small")).unwrap();
    assert!(shown.contains("(1 bytes") && output.contains(&format!("--part known --seed {seed} --case 0")), "{output}");
    let small = shown.trim().split(' ').next().unwrap();
    assert_eq!(std::fs::read(small).unwrap(), [1]);
    assert!(output.contains("1 failures"), "{output}");
}

#[test]
fn what_is_asked_for_must_be_there() {
    for arguments in [&["--part", "nothing"][..], &["--seconds", "nan"], &["--seed", "-1"], &["--loud"], &["--case", "1"]] {
        let (code, output) = fuzz(arguments);
        assert!(code == Some(2) && output.contains("cargo xtask fuzz"), "{arguments:?}: {output}");
    }
    let (code, output) = fuzz(&["--part", "idx", "--seconds", "0.2", "--seed", "5"]);
    assert!(code == Some(0) && output.contains("idx: ") && output.contains(" 0 failures"), "{output}");
}
