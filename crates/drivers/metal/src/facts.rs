//! What Metal's numbers and names mean, apart from Metal itself: so that it is tested on every system.

/// What became of a command buffer that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// Memory was not there when the work ran.
    OutOfMemory,
    /// The device is gone, or will not work for this process any more.
    Lost(&'static str),
    /// This work failed; the next may not.
    Work(&'static str),
}

/// A code of `MTLCommandBufferErrorDomain`.
pub(crate) fn failure(code: isize) -> Failure {
    match code {
        2 => Failure::Work("it ran longer than the system lets one command buffer run"),
        3 => Failure::Work("it touched memory that is not there"),
        4 => Failure::Lost("the system revoked this process's access to the GPU after too many failures"),
        7 => Failure::Work("the system does not permit GPU work now, as in the background"),
        8 => Failure::OutOfMemory,
        9 => Failure::Work("it used a resource that was freed"),
        11 => Failure::Lost("the GPU was removed"),
        12 => Failure::Work("a thread's stack overflowed"),
        _ => Failure::Work("the GPU failed"),
    }
}

/// How many workgroups keep a GPU busy. Metal does not tell the number of cores; a chip's name tells its class.
pub(crate) fn compute_units(name: &str, unified: bool) -> u32 {
    let classes = [("Ultra", 64), ("Max", 32), ("Pro", 16)];
    let class = classes.into_iter().find(|(word, _)| name.split_whitespace().any(|part| part == *word));
    match class {
        Some((_, cores)) if name.starts_with("Apple") => cores,
        _ if unified => 8,
        _ => 32,
    }
}

/// Characters of a compiler's log that are kept.
const KEPT: usize = 4000;

/// A log of Metal's compiler, which quotes the lines it means, down to a size for messages.
pub(crate) fn shortened(log: &str) -> String {
    let log = log.trim();
    match log.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", &log[..end]),
        None => log.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_the_device_loses_it() {
        let lost: Vec<isize> = (0..20).filter(|code| matches!(failure(*code), Failure::Lost(_))).collect();
        assert_eq!(lost, [4, 11]);
        assert_eq!(failure(8), Failure::OutOfMemory);
        assert!(matches!(failure(-1), Failure::Work(_)));
    }

    #[test]
    fn names_tell_sizes() {
        let sizes =
            ["Apple M1", "Apple M2 Pro", "Apple M3 Max", "Apple M2 Ultra", "Apple A17 Pro GPU"].map(|name| compute_units(name, true));
        assert_eq!(sizes, [8, 16, 32, 64, 16]);
        assert_eq!(compute_units("AMD Radeon Pro 5500M", false), 32);
        assert_eq!(compute_units("Intel(R) Iris(TM) Plus Graphics", true), 8);
    }

    #[test]
    fn logs_are_cut_between_characters() {
        assert_eq!(shortened(" program_source:3:5: error: é \n"), "program_source:3:5: error: é");
        assert_eq!(shortened(&"é".repeat(KEPT + 1)).chars().count(), KEPT + 1);
    }
}
