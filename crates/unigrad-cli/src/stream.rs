//! Standard output: where results go, and what becomes of a command whose results cannot go there.
//!
//! In: lines. Out: the lines, or the exit status of a command that lost some.
//! Always: a command that lost a line does not end with 0: a reader that went away (`unigrad devices | head`) ends it without a word and with
//! the status that a shell gives to others in its place; a full disk, or an output that was closed from the beginning, is told, with 1. A slow
//! reader is waited for, also where the stream does not wait itself. Control characters are spelled.
//! Never: panics. Standard error is written by [`tell`], whose failures are ignored.

use std::{
    fmt,
    io::{self, ErrorKind, Write},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use unigrad::device::printable;
pub(crate) use unigrad::device::tell;

/// 128 and the number of SIGPIPE.
const READER_LEFT: u8 = 141;

/// Why a line was lost.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);
/// Whether the command goes on without its output: its files are worth more.
static GOES_ON: AtomicBool = AtomicBool::new(false);

fn lost() -> MutexGuard<'static, Option<io::Error>> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a line that is lost does not end the command at once, only with its status.
pub(crate) fn go_on_without_output() {
    GOES_ON.store(true, Relaxed);
}

/// Writes a line.
pub(crate) fn line(line: fmt::Arguments<'_>) {
    let mut first = lost();
    if first.is_some() {
        return;
    }
    let text = format!("{line}\n");
    let result = if start::OUTPUT_IS_CLOSED.load(Relaxed) {
        Err(io::Error::other("it was closed before the program began"))
    } else {
        patiently(printable(&text).as_bytes())
    };
    if let Err(error) = result {
        *first = Some(error);
        drop(first);
        if !GOES_ON.load(Relaxed) {
            std::process::exit(i32::from(status_of_loss().unwrap_or(1)));
        }
    }
}

/// Writes all of it, to the system.
fn patiently(mut text: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let mut flushed = false;
    while !flushed {
        let result = if text.is_empty() { output.flush().map(|()| flushed = true) } else { output.write(text).map(|n| text = &text[n..]) };
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A pipe that is set not to wait, and is full.
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The status of a command that lost a line, which is told here; `None` if none was lost.
fn status_of_loss() -> Option<u8> {
    let lost = lost();
    let error = lost.as_ref()?;
    if error.kind() == ErrorKind::BrokenPipe {
        return Some(READER_LEFT);
    }
    let files = if GOES_ON.load(Relaxed) { "; the command's files are complete" } else { "" };
    tell(format_args!("error: standard output cannot be written: {error}{files}\n help: send it to a file or a program that takes it"));
    Some(1)
}

/// What a command that did its work ends with.
pub(crate) fn status() -> u8 {
    status_of_loss().unwrap_or(0) // DEFAULT: nothing was lost
}

/// What the standard library hides: in place of a closed stream it opens one that takes everything and keeps nothing.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple"))]
mod start {
    use std::{ffi::c_int, sync::atomic::AtomicBool};

    pub(super) static OUTPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

    const OUTPUT: c_int = 1;
    const F_GETFD: c_int = 1;

    unsafe extern "C" {
        fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    }

    extern "C" fn look() {
        // SAFETY: asks for the flags of a descriptor, and changes nothing; one that is closed is an answer too.
        let flags = unsafe { fcntl(OUTPUT, F_GETFD) };
        OUTPUT_IS_CLOSED.store(flags == -1, std::sync::atomic::Ordering::Relaxed);
    }

    // Run before the standard library's own beginning.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple")))]
mod start {
    pub(super) static OUTPUT_IS_CLOSED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
}
