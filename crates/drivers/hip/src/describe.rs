//! What a GPU is: its facts for people ([`Info`]) and for lowering ([`Target`]).
//!
//! Always: asks for attributes by number, which versions 5 to 7 share; the architecture's name is looked for in the properties'
//! bytes, since the structure around it differs.

use crate::{
    BACKEND,
    api::{Api, Code, GetProperties, folders},
};
use std::ffi::CStr;
use unigrad_device::{Info, Link};
use unigrad_ir::{Dialect, FragmentShape, Target};
use unigrad_scalar::DType;

/// Numbers of `hipDeviceAttribute_t`.
mod attribute {
    pub(super) const INTEGRATED: i32 = 16;
    pub(super) const MAX_GRID: [i32; 3] = [29, 30, 31];
    pub(super) const MAX_THREADS_PER_BLOCK: i32 = 56;
    pub(super) const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 57;
    pub(super) const MULTIPROCESSORS: i32 = 63;
    pub(super) const SHARED_PER_BLOCK: i32 = 74;
    pub(super) const WARP_SIZE: i32 = 87;
}

/// More than any version's `hipDeviceProp_t` has (792 bytes in version 5, 1472 in 6).
const PROPERTIES: usize = 16 << 10;

/// A GPU, by what the runtime calls it.
#[derive(Clone, Debug)]
pub(crate) struct Gpu {
    pub(crate) ordinal: usize,
    pub(crate) device: i32,
    name: String,
    /// `gfx90a:sramecc+:xnack-`; empty if unknown.
    pub(crate) architecture: String,
    total: u64,
    wave: u32,
    compute_units: u32,
    threads: u32,
    /// Threads that a compute unit has at a time, where the runtime tells.
    pub(crate) threads_per_unit: Option<u32>,
    grid: [u32; 3],
    shared_bytes: u32,
    integrated: bool,
}

/// Whether one GPU can reach another's memory.
pub(crate) fn can_access(api: &Api, device: i32, peer: i32) -> bool {
    let mut can = 0;
    // SAFETY: pointer to a local.
    let asked = unsafe { (api.runtime.hipDeviceCanAccessPeer)(&mut can, device, peer) };
    Code::check(asked).is_ok() && can != 0
}

/// How the GPUs are connected. The runtime does not say by what.
pub(crate) fn links(api: &Api) -> Vec<Link> {
    let gpus: Vec<Gpu> = (0..count(api).unwrap_or(0)).filter_map(|ordinal| gpu(api, ordinal).ok()).collect();
    let pairs = gpus.iter().flat_map(|from| gpus.iter().filter(|to| to.ordinal != from.ordinal).map(move |to| (from, to)));
    let link = |(from, to): (&Gpu, &Gpu)| Link {
        from: from.ordinal,
        to: to.ordinal,
        peer_access: can_access(api, from.device, to.device),
        kind: String::new(),
    };
    pairs.map(link).collect()
}

/// How many GPUs there are.
pub(crate) fn count(api: &Api) -> Result<usize, Code> {
    let mut count = 0;
    // SAFETY: pointer to a local.
    let status = unsafe {
        // The runtime says here, too, that there is no device: the count is what is asked.
        (api.runtime.hipInit)(0);
        (api.runtime.hipGetDeviceCount)(&mut count)
    };
    match Code::check(status) {
        Err(Code::NO_DEVICE) => Ok(0),
        other => other.map(|()| usize::try_from(count).unwrap_or(0)),
    }
}

/// Asks for everything about one GPU.
pub(crate) fn gpu(api: &Api, ordinal: usize) -> Result<Gpu, Code> {
    let runtime = &api.runtime;
    let (mut device, mut total, mut name) = (0, 0, [0; 256]);
    let number = i32::try_from(ordinal).map_err(|_| Code::NONSENSE)?;
    // SAFETY: pointers to locals, the name's with its length.
    unsafe {
        Code::check((runtime.hipDeviceGet)(&mut device, number))?;
        Code::check((runtime.hipDeviceTotalMem)(&mut total, device))?;
        Code::check((runtime.hipDeviceGetName)(name.as_mut_ptr(), name.len() as i32 - 1, device))?;
    }
    let ask = |what| {
        let mut value = 0;
        // SAFETY: pointer to a local.
        Code::check(unsafe { (runtime.hipDeviceGetAttribute)(&mut value, what, device) })?;
        u32::try_from(value).map_err(|_| Code::NONSENSE)
    };
    let mut grid = [0; 3];
    for (extent, what) in grid.iter_mut().zip(attribute::MAX_GRID) {
        *extent = ask(what)?;
    }
    // SAFETY: filled with zeros at first, so the name ends within the array.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().trim().to_owned();
    Ok(Gpu {
        ordinal,
        device,
        name,
        architecture: api.properties.map(|get| architecture(get, device)).unwrap_or_default(),
        total: total as u64,
        wave: ask(attribute::WARP_SIZE).ok().filter(|n| n.is_power_of_two() && *n <= 64).ok_or(Code::NONSENSE)?,
        compute_units: ask(attribute::MULTIPROCESSORS)?.max(1),
        threads: ask(attribute::MAX_THREADS_PER_BLOCK)?.max(1),
        threads_per_unit: ask(attribute::MAX_THREADS_PER_MULTIPROCESSOR).ok().filter(|n| *n > 0),
        grid,
        shared_bytes: ask(attribute::SHARED_PER_BLOCK)?,
        // Not every version answers.
        integrated: ask(attribute::INTEGRATED).is_ok_and(|n| n != 0),
    })
}

/// `gcnArchName` of the properties.
fn architecture(get: GetProperties, device: i32) -> String {
    let mut bytes = vec![0_u8; PROPERTIES];
    // SAFETY: more room than any version fills, aligned as the allocator aligns large blocks.
    match unsafe { get(bytes.as_mut_ptr().cast(), device) } {
        // Past the device's own name, which is the first field and may be `gfx…` too, without the features.
        0 => find_architecture(&bytes[256..]).or_else(|| find_architecture(&bytes[..256])).unwrap_or_default(),
        _ => String::new(),
    }
}

/// The text that begins with `gfx` and a number.
fn find_architecture(bytes: &[u8]) -> Option<String> {
    let starts = bytes.windows(4).enumerate().filter(|(_, w)| w.starts_with(b"gfx") && w[3].is_ascii_hexdigit());
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || b":+-_".contains(b);
    starts.map(|(at, _)| bytes[at..].iter().copied().take_while(is_part).map(char::from).collect::<String>()).next()
}

impl Gpu {
    pub(crate) fn info(&self, api: &Api) -> Info {
        let mut version = 0;
        // SAFETY: pointer to a local. A runtime that does not say keeps 0.
        unsafe { (api.runtime.hipRuntimeGetVersion)(&mut version) };
        let mut features = vec![format!("wave {}", self.wave), "f16".to_owned(), "f64".to_owned()];
        if !self.architecture.is_empty() {
            features.insert(0, self.architecture.clone());
        }
        if self.integrated {
            features.push("unified memory".to_owned());
        }
        features.extend(libraries());
        Info {
            backend: BACKEND,
            ordinal: self.ordinal,
            name: self.name.clone(),
            version: format!("HIP {}.{}", version / 10_000_000, version / 100_000 % 100),
            memory_total: self.total,
            memory_free: 0,
            compute_units: self.compute_units as usize,
            features,
            software: false,
            // After CUDA, before everything else.
            rank: 100,
            limits: vec![
                ("threads per group", self.threads.into()),
                ("shared memory bytes", self.shared_bytes.into()),
                ("groups along x", self.grid[0].into()),
            ],
        }
    }

    pub(crate) fn target(&self) -> Target {
        // The runtime counts threads of a grid in 32 bits, per axis.
        let groups = u32::MAX / self.threads;
        Target {
            dialect: Dialect::Hip,
            arch: self.architecture.split(':').next().unwrap_or_default().to_owned(),
            max_threads: self.threads,
            max_grid: [self.grid[0].min(groups), self.grid[1].min(65_535), self.grid[2].min(65_535)],
            shared_bytes: self.shared_bytes as usize,
            subgroup: Some(self.wave),
            compute_units: self.compute_units,
            max_buffers: 256,
            max_param_bytes: 4096,
            max_buffer_bytes: self.total,
            f64: true,
            i64: true,
            f16: true,
            atomic_f32: true,
            atomic_i64: true,
            tables: true,
            overlapping: true,
            vectors: true,
            scalars_in_block: false,
            own_words: true,
            workgroup: None,
            fragments: fragments(&self.architecture),
        }
    }
}

/// Matrix instructions of an architecture that the renderer spells: MFMA of gfx9 (CDNA), WMMA of gfx11 (RDNA 3).
fn fragments(architecture: &str) -> Vec<FragmentShape> {
    let shape = |k, input| FragmentShape { m: 16, n: 16, k, input, sum: DType::F32 };
    let (f16, bf16, f32) = (shape(16, DType::F16), shape(16, DType::BF16), shape(4, DType::F32));
    match architecture.split(':').next().unwrap_or_default() {
        "gfx908" => vec![f16, f32],
        "gfx90a" | "gfx940" | "gfx941" | "gfx942" | "gfx950" => vec![f16, bf16, f32],
        name if name.starts_with("gfx11") => vec![f16, bf16],
        _ => Vec::new(),
    }
}

/// Libraries of matrix products that are installed. rocBLAS does large ones (`blas`), and may itself use hipBLASLt.
fn libraries() -> Vec<String> {
    let there = |name: &str| {
        let starts = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(name);
        folders().iter().any(|folder| std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|e| starts(&e))))
    };
    let libraries = if cfg!(windows) {
        [("rocblas", "rocBLAS"), ("hipblaslt", "hipBLASLt")]
    } else {
        [("librocblas.so", "rocBLAS"), ("libhipblaslt.so", "hipBLASLt")]
    };
    libraries.iter().filter(|(file, _)| there(file)).map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::find_architecture;

    #[test]
    fn the_architecture_is_found_among_bytes() {
        let mut bytes = vec![0_u8; 600];
        assert_eq!(find_architecture(&bytes), None);
        bytes[100..107].copy_from_slice(b"gfx stu");
        assert_eq!(find_architecture(&bytes), None);
        bytes[300..323].copy_from_slice(b"gfx90a:sramecc+:xnack-\0");
        assert_eq!(find_architecture(&bytes).as_deref(), Some("gfx90a:sramecc+:xnack-"));
        assert_eq!(find_architecture(&bytes[300..306]).as_deref(), Some("gfx90a"));
        assert_eq!(find_architecture(&bytes[..303]), None);
    }
}
