//! Settings of the process: from the environment, or from the program.
//!
//! | variable | field | meaning |
//! |---|---|---|
//! | `UNIGRAD_DEVICE` | [`Config::device`] | the device that [`crate::Device::best`] gives: `cuda:0`, `cpu`, … |
//! | `UNIGRAD_DEBUG` | [`Config::debug`] | `plan`: print every new plan and each launch with its time; `steps`: the launches only; `kernels`: each kernel that is compiled, as a region, in kernel IR and in the source that is rendered; `leaks`: at the end, memory that was not freed |
//! | `UNIGRAD_FALLBACK` | [`Config::fallback`] | a device, `cpu` for instance, that is taken where the one that was asked for is missing or does not open; [`crate::Device::fallbacks`] tells when that happened; by default such a request is refused |
//! | `UNIGRAD_POWER` | [`Config::power`] | `performance`: [`crate::Device::best`] takes the fastest device; `efficiency`: an integrated or low-power GPU before others |
//! | `UNIGRAD_MEMORY_POOL` | [`Config::memory_pool`] | `on`: freed memory waits for reuse; `off`: it goes back to the driver at once; a size such as `2G`: at most so much waits; a time such as `30s`: it waits until the device's memory has not been asked for or freed for so long |
//! | `UNIGRAD_MEMORY_CAP` | [`Config::memory_cap`] | the most that the process takes of each device: bytes, or `512M`, `2G` |
//! | `UNIGRAD_ACTIVATION_LIMIT` | [`Config::activation_limit`] | the most that an evaluation keeps between its launches, activations among it: bytes, or `512M`, `2G`; beyond it rows of logits are made by chunks, where a head widens its rows, and values are dropped and made again, the cheapest first. What is made again has the same bits; a head by chunks adds the gradients of its weights up in another order, in `f32`. Where that is not enough, a line on standard error says so. By default there is no limit |
//! | `UNIGRAD_CACHE_DIR` | [`Config::cache_dir`] | folder of compiled kernels, or `off`; by default the user's cache folder |
//! | `UNIGRAD_THREADS` | [`Config::threads`] | threads of the CPU device, 1 to 1024 |
//! | `UNIGRAD_PRODUCTS` | [`Config::products`] | `own`: matrix products never by a vendor's library; `library`: by it wherever it can; by default where the driver's rule says that it wins |
//! | `UNIGRAD_KERNELS` | [`Config::kernels`] | what GPU programs are made of: `portable`: nothing in a language's own words (on NVIDIA GPUs, matrix instructions with asynchronous copies); `plain`: no matrix instructions and no exchange between neighbouring threads either; by default all that the device has. To find what a fast path changes |
//! | `UNIGRAD_ALLOW_TF32` | [`Config::allow_tf32`] | `on`: matrix products of `f32`, and attention, may round their operands to TF32 (10 bits of mantissa instead of 23) where a library, or a program of matrix instructions, is faster with it; `off`, the default: never |
//! | `UNIGRAD_REPRODUCIBLE` | [`Config::reproducible`] | `on`: how a vendor's library does a product follows from its shape alone; `off`, the default: of the algorithms that the library puts first the fastest is taken, by time, once for a shape and kind of device, and kept on disk and in checkpoints; another one may add in another order, so that processes may differ in the last bits. On a CPU without AMX, `off` measures whether pairs of `bf16` are faster than `f32` |
//! | `UNIGRAD_HALF_COPIES` | [`Config::half_copies`] | `on`: a parameter that automatic mixed precision reads as a half has a copy in that type, which its update writes, so that no product casts it; `off`, the default: it is cast where it is read, and takes no memory for a copy |
//! | `UNIGRAD_COLUMNS` | [`Config::columns_apart`] | `apart`: on a GPU, sums down the columns of what rows are made of, as the gradients of a norm's weights, and sums of a product's operand, as a bias's gradient, are launches of their own; `rows`, the default: they are added up while the rows are walked over, or the product is made. Their last bits may differ |
//! | `UNIGRAD_SCALARS` | [`Config::scalars`] | what numbers that differ from run to run reach a GPU's programs by: `block`: from memory that each run fills; `values`: with each launch; by default what suits the driver |
//! | `UNIGRAD_REPLAY` | [`Config::replay`] | `off`: a plan's launches are queued one by one each time; `on`, the default: what runs often is kept by the driver, where it can (CUDA graphs), and queued by one call, in which launches that touch no memory in common may run side by side, and a launch is made ready while the one before it ends; `serial`: kept, but each is launched after the end of the one before |
//! | `UNIGRAD_CHANNELS` | [`Config::channels`] | `first`, `last`: where convolutions and what follows them have their channels in memory, whatever the dtype; by default last for `f16` and `bf16` on devices whose kernels want that (NVIDIA from `sm_80` on). Shapes and results stay as they are |
//! | `UNIGRAD_WGPU_MATRICES` | – | `on`, or `off`: no matrix instructions on Vulkan, where wgpu's interface to them is experimental |
//! | `UNIGRAD_OPENCL_LIBRARY`, `UNIGRAD_HIP_LIBRARY`, `UNIGRAD_NVML_LIBRARY` | – | the library that the driver loads instead of those it looks for |
//! | `UNIGRAD_CPU_TIER` | – | `baseline`, `avx2`, `avx512`, `avx512bf16` (products of `bf16` by pairs), `amx` (by tiles): the most that the CPU device uses; by default all that the processor has, and of the last three what multiplies `bf16` fastest |
//!
//! Always: what the program sets with [`Config::apply`] counts, then the environment, then the default.
//! Never: is read again after its first use; an ill-formed value, one that is not UTF-8 among them, is an error when the first device is opened,
//! not a default. Paths may have any bytes.

use crate::Error;
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use unigrad_kernel::Channels;

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debug {
    /// Every new plan, and each launch with its time.
    pub plan: bool,
    /// Each launch with its time.
    pub steps: bool,
    /// Each kernel when it is compiled: the region (or other kernel), its programs in the kernel IR, and their rendered source.
    pub kernels: bool,
    /// When the process ends, memory that tensors still own, by tag.
    pub leaks: bool,
}

/// What happens with memory that a tensor gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryPool {
    /// It waits for reuse until the device runs out, or [`crate::Device::clear_cache`].
    #[default]
    On,
    /// It goes back to the driver.
    Off,
    /// At most so many bytes wait.
    Limit(u64),
    /// It waits for reuse until nothing was allocated or freed on the device for so long.
    Idle(Duration),
}

/// What a device is chosen for, where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// Speed.
    #[default]
    Performance,
    /// Little power: an integrated or low-power GPU, where there is one, before all others.
    Efficiency,
}

/// Where compiled kernels are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheDir {
    /// In the user's cache folder.
    #[default]
    Default,
    /// Nowhere.
    Off,
    /// Here.
    At(PathBuf),
}

/// What does matrix products, on devices whose driver can use a vendor's library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// The library where it wins, by the driver's rule.
    #[default]
    Auto,
    /// The driver's own kernels.
    Own,
    /// The library wherever it can.
    Library,
}

/// What GPU programs are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// All that the device has.
    #[default]
    Auto,
    /// Nothing in a language's own words, for instructions of one vendor.
    Portable,
    /// Neither these nor matrix instructions, nor exchange between neighbouring threads.
    Plain,
}

/// How numbers that differ from run to run (scalars, positions, seeds) reach the programs of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scalars {
    /// As suits the driver.
    #[default]
    Auto,
    /// From a block of memory that each run fills.
    Block,
    /// By value, with each launch.
    Values,
}

/// Whether drivers keep the launches of what runs often, to queue them by one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// Where they can.
    #[default]
    On,
    /// Where they can, and each launch begins after the end of the one before it: without branches and programmatic dependent launch.
    Serial,
    /// Never.
    Off,
}

/// Settings of the process; see the module's table.
///
/// ```
/// use unigrad_device::{Config, MemoryPool};
/// let config = Config { memory_pool: MemoryPool::Limit(1 << 30), ..Config::from_env()? };
/// config.apply(); // before the first device is opened
/// # Ok::<(), unigrad_device::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// What [`crate::Device::best`] gives.
    pub device: Option<String>,
    /// The device that [`crate::Device::open`] and [`crate::Device::best`] give where the one that was named is missing or does not open.
    pub fallback: Option<String>,
    /// What [`crate::Device::best`] prefers.
    pub power: Power,
    /// What is printed.
    pub debug: Debug,
    /// What happens with memory that a tensor gave back.
    pub memory_pool: MemoryPool,
    /// Bytes that the process takes of each device at most.
    pub memory_cap: Option<u64>,
    /// Bytes that an evaluation keeps between its launches at most, as far as rows can be made by chunks, and values again, instead. Counts for evaluations from then on.
    pub activation_limit: Option<u64>,
    /// Where compiled kernels are kept.
    pub cache_dir: CacheDir,
    /// Threads of the CPU device.
    pub threads: Option<usize>,
    /// What does matrix products.
    pub products: Products,
    /// What GPU programs are made of. Counts for devices that are opened from then on.
    pub kernels: Kernels,
    /// How run-time scalars reach the programs of a GPU.
    pub scalars: Scalars,
    /// Whether launches are kept and replayed. Counts for evaluations from then on.
    pub replay: Replay,
    /// Where convolutions have their channels in memory; `None`: as suits the device.
    pub channels: Option<Channels>,
    /// Whether matrix products of `f32` may round their operands to TF32: 10 bits of mantissa, a relative error of 2⁻¹¹ an operand, sums in `f32`.
    /// Counts for evaluations from then on; see [`Config::set_allow_tf32`].
    pub allow_tf32: bool,
    /// Whether a library's way of doing a product is chosen by its shape alone, and never by time, so that processes have the same bits. Counts for
    /// products that are compiled from then on.
    pub reproducible: bool,
    /// Whether the update of a parameter that automatic mixed precision reads as a half writes it in that type as well: half as much memory again as the
    /// parameter takes, for one cast instead of one for each product. Counts for updates from then on.
    pub half_copies: bool,
    /// Whether sums down columns have launches of their own where a GPU would add them up with the rows that it reads, or with the product whose operand they
    /// are of. Counts for evaluations that are planned from then on.
    pub columns_apart: bool,
}

/// More threads than any processor has; a process cannot start many more.
pub const MAX_THREADS: usize = 1024;

static CURRENT: RwLock<Option<Arc<Config>>> = RwLock::new(None);

impl Config {
    /// What the environment says.
    pub fn from_env() -> Result<Config, Error> {
        // By name: in a browser the environment cannot be listed.
        Config::read(SETTINGS.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))))
    }

    fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Config, Error> {
        let mut settings: Vec<(String, String)> = Vec::new();
        let mut config = Config::default();
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            match value.to_str() {
                _ if name == CACHE_DIR => config.cache_dir = cache_dir(&value),
                Some(text) if text.trim().is_empty() => {}
                Some(text) => settings.push((name.to_owned(), text.trim().to_owned())),
                None => return Err(refuse(name, &value.to_string_lossy(), "write it in UTF-8")),
            }
        }
        let get = |name: &str| settings.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
        config.device = get("UNIGRAD_DEVICE");
        config.fallback = get("UNIGRAD_FALLBACK").filter(|name| !matches!(name.to_ascii_lowercase().as_str(), "off" | "0" | "false"));
        if let Some(text) = get("UNIGRAD_POWER") {
            config.power = match text.to_ascii_lowercase().as_str() {
                "performance" => Power::Performance,
                "efficiency" => Power::Efficiency,
                _ => return Err(refuse("UNIGRAD_POWER", &text, "write `performance` or `efficiency`")),
            };
        }
        if let Some(text) = get("UNIGRAD_DEBUG") {
            for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                match word {
                    "plan" => config.debug = Debug { plan: true, steps: true, ..config.debug },
                    "steps" => config.debug.steps = true,
                    "kernels" => config.debug.kernels = true,
                    "leaks" => config.debug.leaks = true,
                    _ => {
                        let help = "write `plan`, `steps`, `kernels`, `leaks`, or several with commas between";
                        return Err(refuse("UNIGRAD_DEBUG", &text, help));
                    }
                }
            }
        }
        if let Some(text) = get("UNIGRAD_MEMORY_POOL") {
            config.memory_pool = match text.to_ascii_lowercase().as_str() {
                "on" | "1" | "true" => MemoryPool::On,
                "off" | "0" | "false" => MemoryPool::Off,
                limit => match (parse_seconds(limit), parse_bytes(limit)) {
                    (Some(time), _) => MemoryPool::Idle(time),
                    (None, Some(bytes)) => MemoryPool::Limit(bytes),
                    (None, None) => {
                        let help = "write `on`, `off`, a size such as `2G`, or a time such as `30s`";
                        return Err(refuse("UNIGRAD_MEMORY_POOL", &text, help));
                    }
                },
            };
        }
        if let Some(text) = get("UNIGRAD_MEMORY_CAP") {
            let bytes =
                parse_bytes(&text).ok_or_else(|| refuse("UNIGRAD_MEMORY_CAP", &text, "write a number of bytes, or `512M`, `2G`"))?;
            config.memory_cap = Some(bytes);
        }
        if let Some(text) = get("UNIGRAD_ACTIVATION_LIMIT") {
            let help = "write a number of bytes, or `512M`, `2G`";
            config.activation_limit = Some(parse_bytes(&text).ok_or_else(|| refuse("UNIGRAD_ACTIVATION_LIMIT", &text, help))?);
        }
        if let Some(text) = get("UNIGRAD_THREADS") {
            let threads = text.parse().ok().filter(|n: &usize| (1..=MAX_THREADS).contains(n));
            let help = format!("write a number of threads, 1 to {MAX_THREADS}");
            config.threads = Some(threads.ok_or_else(|| refuse("UNIGRAD_THREADS", &text, &help))?);
        }
        if let Some(text) = get("UNIGRAD_PRODUCTS") {
            config.products = match text.to_ascii_lowercase().as_str() {
                "auto" => Products::Auto,
                "own" => Products::Own,
                "library" => Products::Library,
                _ => return Err(refuse("UNIGRAD_PRODUCTS", &text, "write `auto`, `own` or `library`")),
            };
        }
        if let Some(text) = get("UNIGRAD_KERNELS") {
            config.kernels = match text.to_ascii_lowercase().as_str() {
                "auto" => Kernels::Auto,
                "portable" => Kernels::Portable,
                "plain" => Kernels::Plain,
                _ => return Err(refuse("UNIGRAD_KERNELS", &text, "write `auto`, `portable` or `plain`")),
            };
        }
        if let Some(text) = get("UNIGRAD_SCALARS") {
            config.scalars = match text.to_ascii_lowercase().as_str() {
                "auto" => Scalars::Auto,
                "block" => Scalars::Block,
                "values" => Scalars::Values,
                _ => return Err(refuse("UNIGRAD_SCALARS", &text, "write `auto`, `block` or `values`")),
            };
        }
        if let Some(text) = get("UNIGRAD_ALLOW_TF32") {
            config.allow_tf32 = is_on("UNIGRAD_ALLOW_TF32", &text)?;
        }
        if let Some(text) = get("UNIGRAD_REPRODUCIBLE") {
            config.reproducible = is_on("UNIGRAD_REPRODUCIBLE", &text)?;
        }
        if let Some(text) = get("UNIGRAD_HALF_COPIES") {
            config.half_copies = is_on("UNIGRAD_HALF_COPIES", &text)?;
        }
        if let Some(text) = get("UNIGRAD_COLUMNS") {
            config.columns_apart = match text.to_ascii_lowercase().as_str() {
                "apart" => true,
                "rows" => false,
                _ => return Err(refuse("UNIGRAD_COLUMNS", &text, "write `rows` or `apart`")),
            };
        }
        if let Some(text) = get("UNIGRAD_REPLAY") {
            config.replay = match text.to_ascii_lowercase().as_str() {
                "on" | "1" | "true" => Replay::On,
                "serial" => Replay::Serial,
                "off" | "0" | "false" => Replay::Off,
                _ => return Err(refuse("UNIGRAD_REPLAY", &text, "write `on`, `serial` or `off`")),
            };
        }
        if let Some(text) = get("UNIGRAD_CHANNELS") {
            config.channels = match text.to_ascii_lowercase().as_str() {
                "auto" => None,
                "first" => Some(Channels::First),
                "last" => Some(Channels::Last),
                _ => return Err(refuse("UNIGRAD_CHANNELS", &text, "write `auto`, `first` or `last`")),
            };
        }
        // Drivers read these two where they need them; what is no value is told here all the same.
        for (name, values) in
            [("UNIGRAD_WGPU_MATRICES", &["on", "off"][..]), ("UNIGRAD_CPU_TIER", &["baseline", "avx2", "avx512", "avx512bf16", "amx"])]
        {
            if let Some(text) = get(name).filter(|text| !values.contains(&text.as_str())) {
                return Err(refuse(name, &text, &format!("write `{}`", values.join("` or `"))));
            }
        }
        Ok(config)
    }

    /// Makes these the process's settings, instead of the environment's. What was decided by earlier ones (an open device's threads, the
    /// cache's folder after its first use) stays.
    pub fn apply(self) {
        *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(self));
    }

    /// Allows or forbids TF32 from here on, with all other settings as they are; gives the setting before. As PyTorch's
    /// `torch.backends.cuda.matmul.allow_tf32`, it is off at first.
    ///
    /// ```
    /// use unigrad_device::Config;
    /// let before = Config::set_allow_tf32(true)?;
    /// assert!(!before && Config::current()?.allow_tf32);
    /// # Ok::<(), unigrad_device::Error>(())
    /// ```
    pub fn set_allow_tf32(allowed: bool) -> Result<bool, Error> {
        let current = Config::current()?;
        Config { allow_tf32: allowed, ..(*current).clone() }.apply();
        Ok(current.allow_tf32)
    }

    /// The settings that count.
    pub fn current() -> Result<Arc<Config>, Error> {
        if let Some(config) = &*CURRENT.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(Config::from_env()?);
        Ok(Arc::clone(CURRENT.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(config)))
    }

    /// The settings that count; the defaults where the environment's are ill-formed, which opening a device reports.
    pub fn current_or_default() -> Arc<Config> {
        Config::current().unwrap_or_default()
    }
}

const CACHE_DIR: &str = "UNIGRAD_CACHE_DIR";

/// What is read here. Names of libraries are paths, and their drivers'.
const SETTINGS: [&str; 20] = [
    "UNIGRAD_DEVICE",
    "UNIGRAD_FALLBACK",
    "UNIGRAD_POWER",
    "UNIGRAD_DEBUG",
    "UNIGRAD_MEMORY_POOL",
    "UNIGRAD_MEMORY_CAP",
    "UNIGRAD_ACTIVATION_LIMIT",
    CACHE_DIR,
    "UNIGRAD_THREADS",
    "UNIGRAD_PRODUCTS",
    "UNIGRAD_KERNELS",
    "UNIGRAD_SCALARS",
    "UNIGRAD_ALLOW_TF32",
    "UNIGRAD_REPRODUCIBLE",
    "UNIGRAD_HALF_COPIES",
    "UNIGRAD_COLUMNS",
    "UNIGRAD_REPLAY",
    "UNIGRAD_CHANNELS",
    "UNIGRAD_WGPU_MATRICES",
    "UNIGRAD_CPU_TIER",
];

/// What is no value of a setting.
fn refuse(name: &str, text: &str, help: &str) -> Error {
    Error::NotAvailable { asked: format!("{name}={text}"), cause: "not a value of this setting".to_owned(), help: help.to_owned() }
}

/// What a switch says.
fn is_on(name: &str, text: &str) -> Result<bool, Error> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" => Ok(true),
        "off" | "0" | "false" => Ok(false),
        _ => Err(refuse(name, text, "write `on` or `off`")),
    }
}

/// A path, `off`, or nothing.
fn cache_dir(value: &OsStr) -> CacheDir {
    match value.to_str().map(str::trim) {
        Some("") => CacheDir::Default,
        Some(text) if text.eq_ignore_ascii_case("off") => CacheDir::Off,
        Some(text) => CacheDir::At(text.into()),
        None => CacheDir::At(value.into()),
    }
}

/// `30s`, `0.5 s`; at most a day.
fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.trim().parse().ok()?;
    (seconds > 0.0 && seconds <= 86400.0).then(|| Duration::from_secs_f64(seconds))
}

/// `4096`, `512M`, `2 GiB`.
fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("4096"), Some(4096));
        assert_eq!(parse_bytes("512M"), Some(512 << 20));
        assert_eq!(parse_bytes("2 GiB"), Some(2 << 30));
        assert_eq!(parse_bytes("-1"), None);
        assert_eq!(parse_bytes("1T"), None);
        assert_eq!(parse_bytes("99999999999G"), None);
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Config, Error> {
        Config::read(pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_utf8_is_refused_or_a_path() {
        use std::os::unix::ffi::OsStringExt;
        let read = |name: &str| Config::read([(OsString::from(name), OsString::from_vec(b"/x\xff".to_vec()))]);
        // Every setting that the module's table names.
        let table = include_str!("config.rs").lines().take_while(|line| line.starts_with("//!"));
        let names: Vec<&str> = table.flat_map(|line| line.split('`')).filter(|word| word.starts_with("UNIGRAD_")).collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names.into_iter().filter(|name| !name.ends_with("_LIBRARY")) {
            assert!(SETTINGS.contains(&name), "{name} is not read");
            match read(name) {
                Ok(config) => assert!(matches!(config.cache_dir, CacheDir::At(_)), "{name}"),
                Err(error) => assert!(name != CACHE_DIR && error.to_string().contains(&format!("{name}=/x")), "{error}"),
            }
        }
    }

    #[test]
    fn the_environment_is_read_or_refused() {
        assert_eq!(read(&[]).unwrap(), Config::default());
        let all = [
            ("UNIGRAD_DEVICE", " cpu:0 "),
            ("UNIGRAD_FALLBACK", "cpu"),
            ("UNIGRAD_POWER", "Efficiency"),
            ("UNIGRAD_DEBUG", "plan, kernels,leaks"),
            ("UNIGRAD_MEMORY_POOL", "2G"),
            ("UNIGRAD_MEMORY_CAP", "1M"),
            ("UNIGRAD_ACTIVATION_LIMIT", "2M"),
            ("UNIGRAD_CACHE_DIR", "off"),
            ("UNIGRAD_THREADS", "3"),
            ("UNIGRAD_PRODUCTS", "own"),
            ("UNIGRAD_KERNELS", "plain"),
            ("UNIGRAD_ALLOW_TF32", "on"),
            ("UNIGRAD_REPRODUCIBLE", "on"),
            ("UNIGRAD_HALF_COPIES", "on"),
            ("UNIGRAD_SCALARS", "block"),
            ("UNIGRAD_REPLAY", "off"),
            ("UNIGRAD_CHANNELS", "last"),
            ("UNIGRAD_COLUMNS", "apart"),
        ];
        let wanted = Config {
            device: Some("cpu:0".to_owned()),
            fallback: Some("cpu".to_owned()),
            power: Power::Efficiency,
            debug: Debug { plan: true, steps: true, kernels: true, leaks: true },
            memory_pool: MemoryPool::Limit(2 << 30),
            memory_cap: Some(1 << 20),
            activation_limit: Some(2 << 20),
            cache_dir: CacheDir::Off,
            threads: Some(3),
            products: Products::Own,
            kernels: Kernels::Plain,
            scalars: Scalars::Block,
            replay: Replay::Off,
            channels: Some(Channels::Last),
            allow_tf32: true,
            reproducible: true,
            half_copies: true,
            columns_apart: true,
        };
        assert_eq!(read(&all).unwrap(), wanted);
        let idle = |text| read(&[("UNIGRAD_MEMORY_POOL", text)]).map(|config| config.memory_pool);
        assert_eq!(idle("30s").unwrap(), MemoryPool::Idle(Duration::from_secs(30)));
        assert_eq!(idle("0.5 s").unwrap(), MemoryPool::Idle(Duration::from_millis(500)));
        assert_eq!(read(&[("UNIGRAD_FALLBACK", "off")]).unwrap().fallback, None);
        for (name, value) in [
            ("UNIGRAD_MEMORY_POOL", "-1s"),
            ("UNIGRAD_MEMORY_POOL", "0s"),
            ("UNIGRAD_MEMORY_POOL", "NaNs"),
            ("UNIGRAD_POWER", "much"),
            ("UNIGRAD_DEBUG", "loud"),
            ("UNIGRAD_MEMORY_POOL", "much"),
            ("UNIGRAD_MEMORY_CAP", "x"),
            ("UNIGRAD_ACTIVATION_LIMIT", "half"),
            ("UNIGRAD_THREADS", "0"),
            ("UNIGRAD_THREADS", "100000"),
            ("UNIGRAD_WGPU_MATRICES", "maybe"),
            ("UNIGRAD_CPU_TIER", "AVX2"),
            ("UNIGRAD_PRODUCTS", "mine"),
            ("UNIGRAD_COLUMNS", "off"),
            ("UNIGRAD_KERNELS", "fast"),
            ("UNIGRAD_ALLOW_TF32", "some"),
            ("UNIGRAD_REPRODUCIBLE", "mostly"),
            ("UNIGRAD_HALF_COPIES", "some"),
            ("UNIGRAD_SCALARS", "few"),
            ("UNIGRAD_REPLAY", "twice"),
            ("UNIGRAD_CHANNELS", "middle"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}")) && error.contains("help: write"), "{error}");
        }
    }
}
