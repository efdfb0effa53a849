//! The texts: tests that write what they render are run, from the same binaries that `cargo xtask test` runs.
//!
//! Always: everything is built as for `cargo test --workspace`: packages chosen one by one would be built once more each, with other features of
//! what they depend on.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::source;

/// Test binaries that write what they render (package's folder, name), and the tests to run of each; all if none.
const COLLECTORS: &[(&str, &str, &[&str])] = &[
    ("crates/unigrad-ir", "compile", &["programs_are_collected_for_other_compilers"]),
    (
        "crates/unigrad-gpu",
        "unigrad_gpu",
        &[
            "lower::contract::tests::rounded_products_render",
            "lower::contract::tests::products_by_tensor_maps_render",
            "lower::contract::tests::products_with_sums_render",
        ],
    ),
    ("crates/unigrad-gpu", "indexed", &["kernels_are_collected_for_other_compilers"]),
    ("crates/unigrad-testing", "ops", &[]),
    ("crates/unigrad-testing", "oracle", &[]),
    ("crates/unigrad-testing", "plans", &[]),
];

/// A program that cargo built: the folder of its package, its name, where it is.
pub(crate) struct Built {
    folder: PathBuf,
    name: String,
    pub(crate) path: PathBuf,
}

/// Builds the tests and examples of the workspace.
pub(crate) fn build() -> Result<Vec<Built>, String> {
    let output = Command::new(source::cargo())
        .current_dir(source::root())
        .args(["test", "--workspace", "--no-run", "--quiet", "--message-format=json"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo test: {e}"))?;
    let messages = source::messages(&output.stdout);
    if !output.status.success() {
        let words: Vec<String> = messages.iter().filter_map(|message| Some(message["message"]["rendered"].as_str()?.to_owned())).collect();
        return Err(format!("the tests do not build\n{}", words.join("\n")));
    }
    let read = |message: serde_json::Value| {
        // An example can be built as a test too.
        if message["target"]["kind"][0] == "example" && message["profile"]["test"] == true {
            return None;
        }
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Built { folder, name: message["target"]["name"].as_str()?.to_owned(), path: message["executable"].as_str()?.into() })
    };
    Ok(messages.into_iter().filter_map(read).collect())
}

/// One of them.
pub(crate) fn find<'a>(built: &'a [Built], folder: &str, name: &str) -> Result<&'a Built, String> {
    let folder = source::root().join(folder);
    built.iter().find(|one| one.folder == folder && one.name == name).ok_or_else(|| format!("{}: no `{name}` was built", folder.display()))
}

/// Runs the tests that write their texts to `folder`.
pub(crate) fn collect(built: &[Built], folder: &Path) -> Result<(), String> {
    for (package, name, tests) in COLLECTORS {
        let test = find(built, package, name)?;
        let output = Command::new(&test.path)
            // Where cargo starts it.
            .current_dir(&test.folder)
            .args(*tests)
            .env("UNIGRAD_COLLECT_KERNELS", folder)
            // Kernels are the same for all devices, and the CPU has them soonest.
            .env("UNIGRAD_TEST_DEVICES", "cpu")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{}: {e}", test.path.display()))?;
        if !output.status.success() {
            return Err(format!("the tests that render failed: {package}, {name}\n{}", String::from_utf8_lossy(&output.stdout)));
        }
    }
    Ok(())
}
