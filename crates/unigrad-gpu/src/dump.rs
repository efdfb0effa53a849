//! What `UNIGRAD_DEBUG=kernels` prints: a kernel as data, its programs in the kernel IR, and their source in the backend's language.
//!
//! In: a kernel as it is about to be launched. Out: text on standard error, in one piece.
//! Always: the regions and IR programs read back from it, since what stands between them are their comments.
//! Never: changes what is compiled; a program that cannot be rendered says why in its source's place.

use crate::{
    Lowered, ProgramArg,
    lower::{ProgramLaunch, Recurrence},
};
use std::fmt::Write;
use unigrad_device::{Config, tell};
use unigrad_ir::{Dialect, Target, render};
use unigrad_kernel::Kernel;

/// Prints the kernel if the settings ask for it.
pub(crate) fn if_asked(device: &str, name: &str, kernel: &Kernel, lowered: &Lowered, target: &Target) {
    if Config::current_or_default().debug.kernels {
        tell(format_args!("{}", text(device, name, kernel, lowered, target)));
    }
}

/// Prints the program for all steps of a recurrence if the settings ask for it.
pub(crate) fn recurrence_if_asked(device: &str, [launches, times]: [usize; 2], recurrence: &Recurrence, target: &Target) {
    let debug = Config::current_or_default().debug;
    if !debug.plan && !debug.kernels {
        return;
    }
    let ProgramLaunch { program, grid, .. } = &recurrence.launch;
    let what = format!("; {device}: {times} steps of {launches} launches as one, grid {grid:?}");
    if !debug.kernels {
        return tell(format_args!("{what}"));
    }
    match render(program, target) {
        Ok(source) => tell(format_args!("{what}\n{program}; {} {:?}\n{}", target.dialect.name(), source.options, source.text)),
        Err(error) => tell(format_args!("{what}\n{program}; not rendered: {error}")),
    }
}

/// The kernel, then each step: grid, arguments, IR and source.
fn text(device: &str, name: &str, kernel: &Kernel, lowered: &Lowered, target: &Target) -> String {
    let n = lowered.steps.len();
    // Writing to a String cannot fail.
    let mut text =
        format!("; {device}: {} {name}, {n} program{} of the driver's own\n{kernel}", kernel.kind(), if n == 1 { "" } else { "s" });
    for (at, bytes) in lowered.scratch.iter().enumerate() {
        let _ = writeln!(text, "; scratch {at}: {bytes} bytes");
    }
    for (at, step) in lowered.steps.iter().enumerate() {
        let args: Vec<String> = step.args.iter().map(arg).collect();
        let _ = writeln!(text, "; program {} of {n}: grid {:?}, {}", at + 1, step.grid, args.join(", "));
        if let Kernel::Custom(custom) = kernel {
            let languages = [target.dialect.name(), Dialect::Ir.name()];
            if let Some((language, source)) = languages.iter().find_map(|name| Some((name, custom.program.text(name)?))) {
                let _ = writeln!(text, "; {language}, by the user\n{source}");
            }
            continue;
        }
        let _ = write!(text, "{}", step.program);
        if target.dialect == Dialect::Ir {
            continue;
        }
        let _ = match render(&step.program, target) {
            Ok(source) => writeln!(text, "; {} {:?}\n{}", target.dialect.name(), source.options, source.text),
            Err(error) => writeln!(text, "; not rendered: {error}"),
        };
    }
    text
}

/// What a parameter gets; of long tables, the length.
fn arg(arg: &ProgramArg) -> String {
    match arg {
        ProgramArg::Arg(at) => format!("a{at}"),
        ProgramArg::Scratch(at) => format!("scratch {at}"),
        ProgramArg::Status => "status".to_owned(),
        ProgramArg::StatusSlot => "status slot".to_owned(),
        ProgramArg::Scalar(at, part) => format!("s{at} {}", format!("{part:?}").to_lowercase()),
        ProgramArg::Word(word) => word.to_string(),
        ProgramArg::Block(words) => format!("block of {} words", words.len()),
        ProgramArg::Table(at) => format!("table of {} buffers", at.len()),
        ProgramArg::ScalarTable(at) => format!("table of {} scalars", at.len()),
        ProgramArg::WordTable(words) => format!("table of {} numbers", words.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower;
    use unigrad_ir::offline_targets;
    use unigrad_kernel::{Region, parse_regions};

    const SUM: &str = "region \"sum\" parallel [4] reduce [300] {
    a0: f32[1200]
    a1: mut f32[4]
    %0 = load f32 a0[300*i0 + i1]
    %1 = sum f32 %0
    store f32 a1[i0], %1
}
";

    #[test]
    fn a_dump_holds_region_programs_and_source_and_reads_back() {
        let kernel = Kernel::Region(SUM.parse::<Region>().unwrap());
        for target in offline_targets() {
            let lowered = lower(&kernel, &target).unwrap();
            let text = text("device:0", "sum", &kernel, &lowered, &target);
            assert!(text.starts_with("; device:0: row sum, 1 program of the driver's own\nregion \"sum\" parallel [4]"), "{text}");
            let region_end = text.find("}\n").unwrap() + 2;
            assert_eq!(parse_regions(&text[..region_end]).unwrap().len(), 1);
            let program = lowered.steps[0].program.to_string();
            assert!(text.contains(&program) && text[region_end..].contains("; program 1 of 1: grid ["), "{text}");
            let source = render(&lowered.steps[0].program, &target).map(|source| source.text);
            assert!(target.dialect == Dialect::Ir || text.ends_with(&format!("{}\n", source.unwrap())), "{text}");
        }
    }
}
