//! Which devices there are: the list of drivers, discovery, opening by name.
//!
//! In: drivers, once per process; names. Out: open devices, one per name.
//! Always: a name is honoured or refused, and a refusal says what there is instead. Only `best` chooses, and it never chooses a
//! software implementation of a GPU interface.
//! Never: knows which drivers exist; the facade registers them.

use crate::{Background, Config, Device, Driver, Error, Info, Link, OpenDevice, Power, Preference, end, in_background, tell};
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Default)]
struct Registry {
    drivers: Vec<Arc<dyn Driver>>,
    /// By id.
    open: Vec<Device>,
    /// Drivers that this program was built without, and how to build it with them.
    left_out: Vec<(&'static str, &'static str)>,
    /// Other names of backends.
    names: Vec<Names>,
    /// What was taken instead of what was asked for.
    fallbacks: Vec<Fallback>,
}

static REGISTRY: RwLock<Registry> =
    RwLock::new(Registry { drivers: Vec::new(), open: Vec::new(), left_out: Vec::new(), names: Vec::new(), fallbacks: Vec::new() });

/// How a backend is called besides its own name.
#[derive(Clone, Copy, Debug)]
struct Names {
    backend: &'static str,
    title: &'static str,
    aliases: &'static [&'static str],
}

/// A device that was taken in place of another, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// What was asked for.
    pub asked: String,
    /// What was given.
    pub got: String,
    /// Why, with what would help.
    pub cause: String,
}

/// More fallbacks than this are not kept: a program that asks again and again has been told.
const MAX_FALLBACKS: usize = 256;

/// Any GPU, the best first.
const GPU: &str = "gpu";
/// What [`Device::best`] gives.
const AUTO: &str = "auto";

/// Why the devices of a backend that was left out are not there.
const LEFT_OUT: &str = "not compiled into this program";

/// What a machine has, and why it does not have more.
#[derive(Clone, Debug, Default)]
pub struct Available {
    /// Every device of every driver, the one that [`Device::best`] would take first.
    pub devices: Vec<Info>,
    /// Drivers that found nothing, or less than expected.
    pub problems: Vec<Problem>,
}

/// Why a driver found nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The driver's name.
    pub backend: &'static str,
    /// What is missing.
    pub cause: String,
    /// What would help.
    pub help: String,
}

impl Info {
    /// The name that opens the device: `cpu:0`.
    pub fn device(&self) -> String {
        format!("{}:{}", self.backend, self.ordinal)
    }

    /// The examples per training step to begin with, where nothing is known of the model; its driver says it (256 on large CUDA devices).
    ///
    /// ```
    /// # use unigrad_device::Info;
    /// assert_eq!(Info { backend: "of no driver", ..Info::default() }.starting_batch(), 32);
    /// ```
    pub fn starting_batch(&self) -> usize {
        drivers().iter().find(|driver| driver.backend() == self.backend).map_or(32, |driver| driver.starting_batch(self))
    }
}

/// Adds a driver. Returns false, and changes nothing, if one of that name is there already.
pub fn register(driver: impl Driver + 'static) -> bool {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.drivers.iter().any(|d| d.backend() == driver.backend()) {
        return false;
    }
    registry.drivers.push(Arc::new(driver));
    true
}

/// Says that this program was built without a driver, and what builds it in; a caller that asks for its devices is told. Does nothing where the
/// driver is registered.
///
/// ```
/// unigrad_device::register_left_out("abacus", "build with `--features abacus`");
/// let error = unigrad_device::Device::open("abacus:0").unwrap_err().to_string();
/// assert!(error.contains("not compiled into this program") && error.contains("--features abacus"));
/// ```
pub fn register_left_out(backend: &'static str, help: &'static str) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.left_out.iter().all(|(name, _)| *name != backend) {
        registry.left_out.push((backend, help));
    }
}

/// Names a backend for people, and gives it other names that [`Device::open`] takes. The first names count.
///
/// ```
/// unigrad_device::register_names("abacus", "Abacus (wood)", &["beads"]);
/// unigrad_device::register_left_out("abacus", "build with `--features abacus`");
/// let error = unigrad_device::Device::open("beads:0").unwrap_err().to_string();
/// assert!(error.contains("--features abacus"));
/// ```
pub fn register_names(backend: &'static str, title: &'static str, aliases: &'static [&'static str]) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.names.iter().all(|names| names.backend != backend) {
        registry.names.push(Names { backend, title, aliases });
    }
}

/// A backend by one of its names, in any case.
pub(crate) fn backend_of(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let known = registry.names.iter().find(|names| names.aliases.contains(&name.as_str()));
    known.map_or(name, |names| names.backend.to_owned())
}

/// How a backend is called, for people.
pub(crate) fn title_of(backend: &str) -> String {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    registry.names.iter().find(|names| names.backend == backend).map_or_else(|| backend.to_owned(), |names| names.title.to_owned())
}

/// Remembers what was taken instead of what was asked for, and says it once.
pub(crate) fn note_fallback(asked: &str, got: Device, cause: &str) {
    let fallback = Fallback { asked: asked.to_owned(), got: got.to_string(), cause: cause.to_owned() };
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.fallbacks.contains(&fallback) || registry.fallbacks.len() >= MAX_FALLBACKS {
        return;
    }
    registry.fallbacks.push(fallback);
    drop(registry);
    tell(format_args!("unigrad: using {got} because of: {cause}"));
}

fn left_out() -> Vec<(&'static str, &'static str)> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let is_here = |backend: &str| registry.drivers.iter().any(|driver| driver.backend() == backend);
    registry.left_out.iter().filter(|(backend, _)| !is_here(backend)).copied().collect()
}

fn drivers() -> Vec<Arc<dyn Driver>> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner).drivers.clone()
}

fn refuse(asked: &str, cause: impl Into<String>, help: impl Into<String>) -> Error {
    Error::NotAvailable { asked: asked.to_owned(), cause: cause.into(), help: help.into() }
}

/// What to write instead, in one line.
pub(crate) fn choices() -> String {
    if drivers().is_empty() {
        return "no driver is registered: `register` each before the first device is opened".to_owned();
    }
    let available = Device::all();
    if available.devices.is_empty() {
        return "no driver found a device".to_owned();
    }
    let names: Vec<String> = available.devices.iter().map(Info::device).collect();
    format!("this machine has {}", names.join(", "))
}

impl Device {
    /// What the machine has. Asks every driver, opens nothing.
    pub fn all() -> Available {
        let mut available = Available::default();
        for driver in drivers() {
            let found = driver.discover();
            available.devices.extend(found.devices);
            if let Some((cause, help)) = found.problem {
                available.problems.push(Problem { backend: driver.backend(), cause, help });
            }
        }
        let problem = |(backend, help): (&'static str, &str)| Problem { backend, cause: LEFT_OUT.to_owned(), help: help.to_owned() };
        available.problems.extend(left_out().into_iter().map(problem));
        available.devices.sort_by_key(|info| (info.software, info.rank, info.ordinal));
        available
    }

    /// The device of this name, in any case: `cpu`, `cuda:0`, without an ordinal the backend's first. Opened once per process. Backends have other names
    /// (`rocm`, `vulkan`); `gpu` is the machine's best GPU, `gpu:1` its second; `auto` is what [`Device::best`] gives.
    ///
    /// A device that is missing, or that does not open, is an error, unless [`Config::fallback`] names another one.
    pub fn open(name: &str) -> Result<Device, Error> {
        // A setting that is wrong is told before a device is opened.
        let config = Config::current()?;
        if matches!(resolve(name)?, Asked::Best) {
            return Device::best();
        }
        match (exactly(name), &config.fallback) {
            (Err(error), Some(fallback)) if !matches!(error, Error::OtherProcess { .. }) => fall_back(name, error, fallback),
            (opened, _) => opened,
        }
    }

    /// As [`Device::open`], without blocking. In a browser its devices can be opened in no other way; then [`Device::open`] finds them too.
    pub fn open_async(name: &str) -> Background<Result<Device, Error>> {
        if let Ok(Asked::Of(driver, ordinal)) = resolve(name) {
            let ordinal = ordinal.unwrap_or(0);
            let name = format!("{}:{ordinal}", driver.backend());
            if cached(&name).is_none()
                && let Some(opening) = driver.open_async(ordinal)
            {
                return Background::of(async move { adopt(opening.await?, name) });
            }
        }
        let name = name.to_owned();
        in_background(move || Device::open(&name))
    }

    /// The device that `UNIGRAD_DEVICE` names, if it names one; else the machine's best that is not a software implementation.
    pub fn best() -> Result<Device, Error> {
        if let Some(name) = Config::current()?.device.as_ref().filter(|name| !name.trim().eq_ignore_ascii_case(AUTO)) {
            return Device::open(name).map_err(|error| {
                let Error::NotAvailable { asked, cause, help } = error else { return error };
                refuse(&format!("UNIGRAD_DEVICE={asked}"), cause, help)
            });
        }
        Device::select(&Preference::default())
    }

    /// What was given in place of what was asked for, so far, and why: by [`Config::fallback`], or because a better device did not open.
    pub fn fallbacks() -> Vec<Fallback> {
        REGISTRY.read().unwrap_or_else(PoisonError::into_inner).fallbacks.clone()
    }

    /// How the machine's devices are connected, per backend that tells.
    pub fn topology() -> Vec<(&'static str, Vec<Link>)> {
        let links = drivers().into_iter().map(|driver| (driver.backend(), driver.topology()));
        links.filter(|(_, links)| !links.is_empty()).collect()
    }

    /// Every device opened so far.
    pub fn opened() -> Vec<Device> {
        REGISTRY.read().unwrap_or_else(PoisonError::into_inner).open.clone()
    }

    /// The open device with this [`Device::id`].
    pub fn from_id(id: u32) -> Option<Device> {
        REGISTRY.read().unwrap_or_else(PoisonError::into_inner).open.get(id as usize).copied()
    }
}

/// What a name asks for.
enum Asked {
    /// What [`Device::best`] gives.
    Best,
    /// The machine's n-th GPU.
    Gpu(usize),
    /// A device of a backend.
    Of(Arc<dyn Driver>, Option<usize>),
    /// One of a backend that this program was built without.
    LeftOut(Error),
}

fn resolve(name: &str) -> Result<Asked, Error> {
    let asked = name.trim().to_ascii_lowercase();
    if asked.is_empty() || asked.starts_with(':') {
        return Err(refuse(&format!("device {name:?}"), "the name of a backend is missing", choices()));
    }
    let (backend, ordinal) = match asked.split_once(':') {
        Some((backend, ordinal)) => match ordinal.parse::<usize>() {
            Ok(ordinal) => (backend, Some(ordinal)),
            Err(_) => {
                return Err(refuse(name, format!("`{ordinal}` is not a device number"), format!("write `{backend}:0`; {}", choices())));
            }
        },
        None => (asked.as_str(), None),
    };
    match (backend, ordinal) {
        (AUTO, None) => return Ok(Asked::Best),
        (GPU, ordinal) => return Ok(Asked::Gpu(ordinal.unwrap_or(0))),
        _ => {}
    }
    let backend = backend_of(backend);
    let Some(driver) = drivers().into_iter().find(|d| d.backend() == backend) else {
        if let Some((backend, help)) = left_out().into_iter().find(|(name, _)| *name == backend) {
            return Ok(Asked::LeftOut(refuse(name, format!("{backend} is {LEFT_OUT}"), help)));
        }
        return Err(refuse(name, format!("there is no backend named `{backend}`"), choices()));
    };
    Ok(Asked::Of(driver, ordinal))
}

/// The device of a name, or why it cannot be had.
pub(crate) fn exactly(name: &str) -> Result<Device, Error> {
    match resolve(name)? {
        Asked::Best => Device::select(&Preference::default()),
        Asked::Gpu(at) => gpu(name, at),
        Asked::LeftOut(error) => Err(error),
        Asked::Of(driver, ordinal) => open_of(&*driver, ordinal),
    }
}

/// Whether a name asks for something that was found; nothing is opened.
pub(crate) fn is_found(name: &str, available: &Available) -> bool {
    match resolve(name) {
        Ok(Asked::Best) => true,
        Ok(Asked::Gpu(at)) => available.devices.iter().filter(|info| info.is_gpu()).count() > at,
        Ok(Asked::Of(driver, ordinal)) => {
            let backend = driver.backend();
            available.devices.iter().any(|info| info.backend == backend && ordinal.is_none_or(|ordinal| info.ordinal == ordinal))
        }
        Ok(Asked::LeftOut(_)) | Err(_) => false,
    }
}

/// Opens a backend's device.
fn open_of(driver: &dyn Driver, ordinal: Option<usize>) -> Result<Device, Error> {
    let backend = driver.backend();
    let ordinal = match ordinal {
        Some(ordinal) => ordinal,
        None if cached(&format!("{backend}:0")).is_some() => 0,
        None => driver.discover().devices.first().map_or(0, |info| info.ordinal),
    };
    let name = format!("{backend}:{ordinal}");
    if let Some(device) = cached(&name) {
        device.here()?;
        return Ok(device);
    }
    let found = driver.discover();
    if !found.devices.iter().any(|info| info.ordinal == ordinal) {
        return Err(match found.problem {
            Some((cause, help)) => refuse(&name, cause, format!("{help}, or choose another device: {}", choices())),
            None => refuse(&name, format!("{backend} has {} devices", found.devices.len()), choices()),
        });
    }
    adopt(driver.open(ordinal)?, name)
}

/// The machine's `at`-th GPU.
fn gpu(asked: &str, at: usize) -> Result<Device, Error> {
    let available = Device::all();
    let gpus: Vec<&Info> = by_preference(available.devices.iter().filter(|info| info.is_gpu()).collect());
    match gpus.get(at) {
        Some(info) => exactly(&info.device()),
        None => {
            let problems = available.problems.iter().map(|p| format!("; {}: {} ({})", p.backend, p.cause, p.help));
            let cause = format!("this machine has {} GPUs in hardware{}", gpus.len(), problems.collect::<String>());
            Err(refuse(asked, cause, choices()))
        }
    }
}

/// Devices in the order in which they are taken: theirs, but those of little power first where [`Config::power`] says so.
pub(crate) fn by_preference(mut devices: Vec<&Info>) -> Vec<&Info> {
    if Config::current_or_default().power == Power::Efficiency {
        devices.sort_by_key(|info| !info.is_low_power());
    }
    devices
}

/// The device that the user wants where another one cannot be had.
fn fall_back(asked: &str, error: Error, fallback: &str) -> Result<Device, Error> {
    match exactly(fallback) {
        Ok(device) => {
            note_fallback(asked, device, &error.to_string());
            Ok(device)
        }
        // The reason why the first was asked for is told first.
        Err(second) => Err(refuse(asked, format!("{error}; and in its place {second}"), "set UNIGRAD_FALLBACK to a device that is there")),
    }
}

fn cached(name: &str) -> Option<Device> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    registry.open.iter().rev().find(|d| d.name() == name && !d.is_lost()).copied()
}

/// Makes a driver's device the one of its name.
fn adopt(open: Arc<dyn OpenDevice>, name: String) -> Result<Device, Error> {
    let config = Config::current()?;
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been faster; then its device is the one.
    if let Some(device) = registry.open.iter().rev().find(|d| d.name() == name && !d.is_lost()) {
        return Ok(*device);
    }
    let id = u32::try_from(registry.open.len()).map_err(|_| refuse(&name, "too many devices were opened", "start a new process"))?;
    let device = Device::leak(id, name, open);
    device.set_memory_cap(config.memory_cap);
    device.set_memory_pool(config.memory_pool);
    registry.open.push(device);
    end::wait_for_devices();
    Ok(device)
}
