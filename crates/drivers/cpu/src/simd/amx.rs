//! Whether this process may use AMX.
//!
//! In: nothing. Out: yes, where the processor has tiles of `bf16` and Linux lets the process keep them. Always: asks for the permission once; it holds for all
//! threads. Never: assumes that a processor's feature is the process's: the tiles' state is 8 KiB that the system must be ready to save, which it refuses to
//! where a thread has too small a stack for signals, and a virtual machine's system may not know it.
//! (Linux, Documentation/arch/x86/xstate.rst.)

use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::ffi::c_long;
use std::sync::OnceLock;

/// Bits of leaf 7's EDX.
const AMX_BF16: u32 = 1 << 22;
const AMX_TILE: u32 = 1 << 24;
/// The states of tiles, of their shape and their data, that the system has switched on.
const STATES: u64 = 1 << 17 | 1 << 18;
const DATA: c_long = 18;
const SYS_ARCH_PRCTL: c_long = 158;
const ARCH_REQ_XCOMP_PERM: c_long = 0x1023;

pub(super) fn is_usable() -> bool {
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| has_tiles() && is_permitted())
}

fn has_tiles() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    let features = __cpuid_count(7, 0).edx;
    features & AMX_BF16 != 0 && features & AMX_TILE != 0 && states() & STATES == STATES
}

fn states() -> u64 {
    #[target_feature(enable = "xsave")]
    unsafe fn read() -> u64 {
        // SAFETY: the caller's; register 0 exists wherever the instruction does.
        unsafe { _xgetbv(0) }
    }
    // SAFETY: the system has switched the instruction on (OSXSAVE).
    unsafe { read() }
}

fn is_permitted() -> bool {
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    // SAFETY: this call takes numbers alone, and what it refuses is as it was.
    unsafe { syscall(SYS_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, DATA) == 0 }
}
