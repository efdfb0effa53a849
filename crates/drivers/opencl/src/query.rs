//! Questions to OpenCL objects, with answers as Rust values.
//!
//! Always: a question that a driver does not know is `None`, never a guess; texts end before their NUL.

use crate::api::{Api, Code, Handle};
use std::ffi::c_void;

/// Names of what is asked, with the numbers of the OpenCL headers.
pub(crate) mod name {
    pub(crate) const PLATFORM_VERSION: u32 = 0x0901;
    pub(crate) const PLATFORM_NAME: u32 = 0x0902;

    pub(crate) const DEVICE_TYPE: u32 = 0x1000;
    pub(crate) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
    pub(crate) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
    pub(crate) const DEVICE_MAX_WORK_ITEM_SIZES: u32 = 0x1005;
    pub(crate) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
    pub(crate) const DEVICE_MAX_PARAMETER_SIZE: u32 = 0x1017;
    pub(crate) const DEVICE_MEM_BASE_ADDR_ALIGN: u32 = 0x1019;
    pub(crate) const DEVICE_SINGLE_FP_CONFIG: u32 = 0x101b;
    pub(crate) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101f;
    pub(crate) const DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
    pub(crate) const DEVICE_ENDIAN_LITTLE: u32 = 0x1026;
    pub(crate) const DEVICE_AVAILABLE: u32 = 0x1027;
    pub(crate) const DEVICE_COMPILER_AVAILABLE: u32 = 0x1028;
    pub(crate) const DEVICE_NAME: u32 = 0x102b;
    pub(crate) const DEVICE_VENDOR: u32 = 0x102c;
    pub(crate) const DRIVER_VERSION: u32 = 0x102d;
    pub(crate) const DEVICE_VERSION: u32 = 0x102f;
    pub(crate) const DEVICE_EXTENSIONS: u32 = 0x1030;
    pub(crate) const DEVICE_DOUBLE_FP_CONFIG: u32 = 0x1032;
    pub(crate) const DEVICE_HOST_UNIFIED_MEMORY: u32 = 0x1035;
    pub(crate) const DEVICE_COMPUTE_CAPABILITY_MAJOR_NV: u32 = 0x4000;
    pub(crate) const DEVICE_COMPUTE_CAPABILITY_MINOR_NV: u32 = 0x4001;
    pub(crate) const DEVICE_WARP_SIZE_NV: u32 = 0x4003;
    pub(crate) const DEVICE_PCI_BUS_ID_NV: u32 = 0x4008;
    pub(crate) const DEVICE_PCI_SLOT_ID_NV: u32 = 0x4009;
    pub(crate) const DEVICE_PCI_DOMAIN_ID_NV: u32 = 0x400a;
    pub(crate) const DEVICE_BOARD_NAME_AMD: u32 = 0x4038;
    pub(crate) const DEVICE_GLOBAL_FREE_MEMORY_AMD: u32 = 0x4039;
    pub(crate) const DEVICE_WAVEFRONT_WIDTH_AMD: u32 = 0x4043;
    pub(crate) const DEVICE_SUB_GROUP_SIZES_INTEL: u32 = 0x4108;
    pub(crate) const DEVICE_PCI_BUS_INFO_KHR: u32 = 0x410f;

    pub(crate) const PROGRAM_BINARY_SIZES: u32 = 0x1165;
    pub(crate) const PROGRAM_BINARIES: u32 = 0x1166;
    pub(crate) const PROGRAM_BUILD_LOG: u32 = 0x1183;
    pub(crate) const KERNEL_NUM_ARGS: u32 = 0x1191;
    pub(crate) const KERNEL_WORK_GROUP_SIZE: u32 = 0x11b0;
    pub(crate) const KERNEL_LOCAL_MEM_SIZE: u32 = 0x11b2;
    pub(crate) const KERNEL_PRIVATE_MEM_SIZE: u32 = 0x11b4;
    pub(crate) const EVENT_COMMAND_EXECUTION_STATUS: u32 = 0x11d3;
    pub(crate) const PROFILING_COMMAND_END: u32 = 0x1283;
}

/// Asks for the size, then for the bytes; `ask` is one `clGet…Info` with its object.
pub(crate) fn bytes(mut ask: impl FnMut(usize, *mut c_void, *mut usize) -> i32) -> Result<Vec<u8>, Code> {
    let mut size = 0;
    Code::check(ask(0, std::ptr::null_mut(), &mut size))?;
    let mut data = vec![0; size];
    if size > 0 {
        Code::check(ask(size, data.as_mut_ptr().cast(), std::ptr::null_mut()))?;
    }
    Ok(data)
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// Bytes as a number of 4 or 8 bytes (a `size_t` is one of the two).
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => bytes.try_into().ok().map(|b| u32::from_ne_bytes(b).into()),
        8 => bytes.try_into().ok().map(u64::from_ne_bytes),
        _ => None,
    }
}

/// Bytes as `size_t`s.
pub(crate) fn sizes(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(size_of::<usize>()).filter_map(number).collect()
}

/// Bytes as `cl_uint`s.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).filter_map(|b| b.try_into().ok().map(u32::from_ne_bytes)).collect()
}

/// A platform.
#[derive(Clone, Copy)]
pub(crate) struct Platform {
    pub(crate) api: &'static Api,
    pub(crate) handle: Handle,
}

impl Platform {
    pub(crate) fn text(self, what: u32) -> String {
        // SAFETY: the handle is a platform that the library gave; `bytes` passes room of the size it states.
        let answer = bytes(|size, data, needed| unsafe { (self.api.clGetPlatformInfo)(self.handle, what, size, data, needed) });
        answer.map(|b| text(&b)).unwrap_or_default()
    }

    /// Its devices of every type.
    pub(crate) fn devices(self) -> Result<Vec<Device>, Code> {
        const ALL: u64 = 0xffff_ffff;
        let handles = list(|room, data, count| {
            // SAFETY: the handle is a platform that the library gave; `list` passes room for as many as it states.
            unsafe { (self.api.clGetDeviceIDs)(self.handle, ALL, room, data, count) }
        });
        match handles {
            Err(Code::DEVICE_NOT_FOUND) => Ok(Vec::new()),
            other => Ok(other?.into_iter().map(|handle| Device { api: self.api, handle }).collect()),
        }
    }
}

/// All platforms.
pub(crate) fn platforms(api: &'static Api) -> Result<Vec<Platform>, Code> {
    // SAFETY: `list` passes room for as many as it states.
    let handles = list(|room, data, count| unsafe { (api.clGetPlatformIDs)(room, data, count) });
    match handles {
        Err(Code::PLATFORM_NOT_FOUND) => Ok(Vec::new()),
        other => Ok(other?.into_iter().map(|handle| Platform { api, handle }).collect()),
    }
}

fn list(ask: impl Fn(u32, *mut Handle, *mut u32) -> i32) -> Result<Vec<Handle>, Code> {
    let mut count = 0;
    Code::check(ask(0, std::ptr::null_mut(), &mut count))?;
    let mut handles = vec![std::ptr::null_mut(); count as usize];
    if count > 0 {
        let mut found = 0;
        Code::check(ask(count, handles.as_mut_ptr(), &mut found))?;
        handles.truncate(found as usize);
    }
    handles.retain(|handle| !handle.is_null());
    Ok(handles)
}

/// A device.
#[derive(Clone, Copy)]
pub(crate) struct Device {
    pub(crate) api: &'static Api,
    pub(crate) handle: Handle,
}

// SAFETY: platform and device handles are valid in every thread for the process's life.
unsafe impl Send for Device {}
// SAFETY: as above; OpenCL's queries are thread-safe.
unsafe impl Sync for Device {}

impl Device {
    pub(crate) fn bytes(self, what: u32) -> Option<Vec<u8>> {
        // SAFETY: the handle is a device that the library gave; `bytes` passes room of the size it states.
        bytes(|size, data, needed| unsafe { (self.api.clGetDeviceInfo)(self.handle, what, size, data, needed) }).ok()
    }

    pub(crate) fn text(self, what: u32) -> String {
        self.bytes(what).map(|b| text(&b)).unwrap_or_default()
    }

    pub(crate) fn number(self, what: u32) -> Option<u64> {
        self.bytes(what).and_then(|b| number(&b))
    }

    pub(crate) fn flag(self, what: u32) -> bool {
        self.number(what).is_some_and(|n| n != 0)
    }

    pub(crate) fn has(self, extension: &str) -> bool {
        self.extensions().iter().any(|e| e == extension)
    }

    /// Domain, bus, device and function on PCI, where there is an extension that tells.
    pub(crate) fn pci_address(self) -> Option<[u32; 4]> {
        if self.has("cl_khr_pci_bus_info")
            && let Some(Ok(address)) = self.bytes(name::DEVICE_PCI_BUS_INFO_KHR).map(|b| words(&b).try_into())
        {
            return Some(address);
        }
        if !self.has("cl_nv_device_attribute_query") {
            return None;
        }
        let number = |what| self.number(what).and_then(|n| u32::try_from(n).ok());
        // A slot is a device and a function.
        let (bus, slot) = (number(name::DEVICE_PCI_BUS_ID_NV)?, number(name::DEVICE_PCI_SLOT_ID_NV)?);
        // Drivers from before the question have one domain.
        Some([number(name::DEVICE_PCI_DOMAIN_ID_NV).unwrap_or(0), bus, slot >> 3, slot & 7])
    }

    pub(crate) fn extensions(self) -> Vec<String> {
        self.text(name::DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect()
    }
}
