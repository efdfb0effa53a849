//! Type-checks drivers, and what a page in a browser is built from, for the systems they are for, from a system that is none of these.
//!
//! In: the workspace, and a standard library for each target: a rustup target of the project's toolchain, or a distribution's Rust whose
//! package of sources lets cargo make one (Debian: rustc-web, cargo-web, rust-web-src). Out: `ok`, `FAIL` or `SKIPPED: …` for each.
//! Always: the code is type-checked only, so no linker and no vendor's library is needed.
//! Never: fails because a toolchain is missing, or uses one that is older than the workspace asks for.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use crate::source;

/// A crate, its features, and targets whose code differs from that of the system at hand.
struct Platform {
    name: &'static str,
    features: &'static [&'static str],
    targets: &'static [&'static str],
}

const PLATFORMS: &[Platform] = &[
    Platform { name: "unigrad-metal", features: &[], targets: &["aarch64-apple-darwin"] },
    Platform { name: "unigrad-hip", features: &[], targets: &["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"] },
    Platform { name: "unigrad-wgpu", features: &[], targets: &["aarch64-apple-darwin", "x86_64-pc-windows-msvc"] },
    Platform { name: "unigrad-cpu", features: &[], targets: &["aarch64-unknown-linux-gnu"] },
    Platform { name: "unigrad-data", features: &[], targets: &["aarch64-unknown-linux-gnu"] },
    // Browsers.
    Platform { name: "unigrad", features: &["wgpu"], targets: &["wasm32-unknown-unknown"] },
];

/// Where distributions put Rust; rustup's stands before it on the path.
const DISTRIBUTION: [&str; 2] = ["/usr/bin/rustc", "/usr/bin/cargo"];

pub(crate) fn run() -> ExitCode {
    let crates = match source::crates() {
        Ok(crates) => crates,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = false;
    for Platform { name, features, targets } in PLATFORMS {
        if crates.iter().all(|of| of.name != *name) {
            println!("SKIPPED: {name} is no crate of this workspace");
            continue;
        }
        for target in *targets {
            match check(name, features, target) {
                Ok(true) => println!("ok   {name} for {target}"),
                Ok(false) => {
                    println!("FAIL {name} for {target}");
                    failed = true;
                }
                Err(missing) => println!("SKIPPED: {name} for {target}: {missing}"),
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Whether the crate passes; or why that cannot be found out.
fn check(name: &str, features: &[&str], target: &str) -> Result<bool, String> {
    let mut cargo = if has_target(target) { Command::new(source::cargo()) } else { distribution()? };
    // Apart from the workspace's own builds, which another compiler's would replace.
    let folder = source::root().join("target").join("platforms");
    cargo.args(["check", "--quiet", "-p", name, "--target", target, "--target-dir"]).arg(folder);
    if !features.is_empty() {
        cargo.args(["--no-default-features", "--features"]).arg(features.join(","));
    }
    // Nothing of it runs but macros and build scripts.
    cargo.args(["--config", "profile.dev.package.\"*\".opt-level=0", "--config", "profile.dev.opt-level=0"]);
    let status = cargo.current_dir(source::root()).stdin(Stdio::null()).status().map_err(|error| format!("cannot run cargo: {error}"))?;
    Ok(status.success())
}

/// Whether the project's toolchain has the target's standard library.
fn has_target(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = first_line(Command::new(rustc).args(["--print", "target-libdir", "--target", target]));
    // The folder of a target that is not installed is named all the same.
    folder.is_some_and(|folder| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()))
}

/// A cargo that makes the standard library from the distribution's sources.
fn distribution() -> Result<Command, String> {
    let [rustc, cargo] = DISTRIBUTION;
    let help = "the toolchain lacks its standard library (rustup target add), and no distribution's Rust has sources to make it \
                (apt-get install rustc-web cargo-web rust-web-src)";
    let sysroot = first_line(Command::new(rustc).args(["--print", "sysroot"])).ok_or(help)?;
    let sources: PathBuf = [sysroot.as_str(), "lib", "rustlib", "src", "rust", "library", "Cargo.toml"].iter().collect();
    if !sources.exists() || !Path::new(cargo).exists() {
        return Err(help.to_owned());
    }
    let wanted = workspace_version()?;
    let version = first_line(Command::new(rustc).arg("--version")).unwrap_or_default();
    match minor(version.trim_start_matches("rustc ")) {
        Some(found) if Some(found) >= minor(&wanted) => {}
        _ => return Err(format!("{rustc} is `{version}`, the workspace needs {wanted}")),
    }
    let mut command = Command::new(cargo);
    let xtask_sets = ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER"];
    xtask_sets.iter().for_each(|name| {
        command.env_remove(name);
    });
    // `-Z` is for nightly toolchains, but for this variable.
    command.env("RUSTC", rustc).env("RUSTDOC", "/usr/bin/rustdoc").env("RUSTC_BOOTSTRAP", "1");
    command.arg("-Zbuild-std=std,panic_abort");
    Ok(command)
}

/// The `rust-version` of the workspace.
fn workspace_version() -> Result<String, String> {
    let path = source::root().join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let value = text.lines().find_map(|line| line.strip_prefix("rust-version")?.split('"').nth(1));
    value.map(str::to_owned).ok_or_else(|| format!("{} has no rust-version", path.display()))
}

/// `(1, 95)` of `1.95.0 (…)`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', ' ', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn first_line(command: &mut Command) -> Option<String> {
    // Tests of this program have it (`.cargo/config.toml`), and the compiler, which reads it too, cannot run with so small a stack.
    command.env_remove("RUST_MIN_STACK");
    let output = command.current_dir(source::root()).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(minor("1.100.0 (abc 2027-01-01)") > minor("1.95"));
        assert!(minor("1.96.0-nightly") > minor("1.95.2"));
        assert_eq!(minor("unknown"), None);
        assert!(minor(&workspace_version().unwrap()).is_some());
    }

    #[test]
    fn the_systems_own_target_is_there() {
        assert!(!has_target("no-such-target"));
        let host = first_line(Command::new("rustc").args(["--print", "host-tuple"])).unwrap();
        assert!(has_target(&host), "{host}");
    }
}
