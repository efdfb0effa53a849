//! Settings that choose devices and what becomes of their memory, and names of devices. Settings are the process's, so these tests go one after the other.

use std::{
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use unigrad_device::{
    By, Config, Device, Discovery, Driver, Error, Info, MemoryPool, OpenDevice, Power, Preference, register, register_left_out,
    register_names,
    testing::{Failure, Faults, FaultyDriver, NullDriver, Operation},
};

fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn apply(config: Config) {
    config.apply();
}

/// Two GPUs in hardware, of which one takes little power, and a processor: null devices that say so.
struct Pretended {
    backend: &'static str,
    rank: u32,
    features: &'static [&'static str],
    opens: bool,
}

impl Driver for Pretended {
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn discover(&self) -> Discovery {
        let features = self.features.iter().map(|feature| (*feature).to_owned()).collect();
        let info = Info { backend: self.backend, rank: self.rank, features, memory_total: 1 << 30, ..Info::default() };
        Discovery { devices: vec![info], problem: None }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        if !self.opens {
            let asked = format!("{}:{ordinal}", self.backend);
            return Err(Error::NotAvailable { asked, cause: "a test says so".to_owned(), help: "ask another".to_owned() });
        }
        NullDriver { memory: 1 << 30 }.open(ordinal)
    }

    fn starting_batch(&self, info: &Info) -> usize {
        if info.memory_total > 8 << 30 { 256 } else { 128 }
    }
}

fn machine() {
    register(Pretended { backend: "broken", rank: 1, features: &[], opens: false });
    register(Pretended { backend: "fast", rank: 2, features: &["f16"], opens: true });
    register(Pretended { backend: "frugal", rank: 300, features: &["unified memory"], opens: true });
    register(Pretended { backend: "processor", rank: Info::PROCESSOR, features: &[], opens: true });
    register_names("fast", "Fast (of a test)", &["swift"]);
    register_left_out("absent", "build with `--features absent`");
    register_names("absent", "Absent", &["away"]);
}

#[test]
fn devices_have_several_names() {
    let _alone = alone();
    apply(Config::default());
    machine();
    let open = |name: &str| Device::open(name).map(|device| device.name());
    for name in ["fast", "fast:0", "swift", "SWIFT:0", " Swift "] {
        assert_eq!(open(name).unwrap(), "fast:0", "{name}");
    }
    // The broken one is the machine's first GPU by rank: asked for by its place, it is refused and not passed over.
    assert!(open("gpu").unwrap_err().to_string().contains("a test says so"));
    assert_eq!(open("gpu:1").unwrap(), "fast:0");
    assert_eq!(open("GPU:2").unwrap(), "frugal:0");
    let error = open("gpu:3").unwrap_err().to_string();
    assert!(error.contains("3 GPUs in hardware") && error.contains("fast:0"), "{error}");
    assert_eq!(open("auto").unwrap(), Device::best().unwrap().name());
    assert_eq!(open("auto").unwrap(), "fast:0");
    apply(Config { device: Some("processor".to_owned()), ..Config::default() });
    assert_eq!(open("auto").unwrap(), "processor:0", "the setting says so, and a call names none");
    apply(Config { device: Some(" Auto".to_owned()), ..Config::default() });
    assert_eq!(Device::best().unwrap().name(), "fast:0");
    apply(Config { device: Some("swift".to_owned()), ..Config::default() });
    assert_eq!(Device::best().unwrap().name(), "fast:0");
    apply(Config::default());
    let by = |name: &str| Device::select(&Preference { by: By::Backend(name.to_owned()), bytes: 0 }).map(Device::name);
    assert_eq!(by("Swift").unwrap(), "fast:0");
    assert!(open("away:0").unwrap_err().to_string().contains("--features absent"));
    for wrong in ["auto:0", "gpu:x", "gpu:", ":0", ""] {
        assert!(matches!(open(wrong), Err(Error::NotAvailable { .. })), "{wrong}");
    }
    let opened = unigrad_device::testing::block_on(Device::open_async("swift:0")).unwrap();
    assert_eq!(opened.name(), "fast:0");
}

#[test]
fn little_power_is_preferred_where_the_settings_say_so() {
    let _alone = alone();
    machine();
    apply(Config { power: Power::Efficiency, ..Config::default() });
    assert_eq!(Device::best().unwrap().name(), "frugal:0");
    assert_eq!(Device::open("gpu").unwrap().name(), "frugal:0");
    let best = Device::summary().best().cloned().unwrap();
    assert!(best.device == "frugal:0" && best.why.contains("little power"), "{best:?}");
    apply(Config::default());
    assert_eq!(Device::best().unwrap().name(), "fast:0");
}

#[test]
fn a_fallback_is_taken_only_if_asked_for_and_is_remembered() {
    let _alone = alone();
    machine();
    let faults = Faults::default();
    register(FaultyDriver::new("fails-later", NullDriver { memory: 0 }, faults.clone()));
    apply(Config::default());
    let missing = ["broken:0", "absent:0", "fast:7", "gpu:9"];
    for name in missing {
        assert!(Device::open(name).is_err(), "{name}");
    }
    let before = Device::fallbacks().len();
    apply(Config { fallback: Some("processor".to_owned()), ..Config::default() });
    for (at, name) in missing.iter().enumerate() {
        assert_eq!(Device::open(name).unwrap().name(), "processor:0");
        assert_eq!(Device::open(name).unwrap().name(), "processor:0");
        let all = Device::fallbacks();
        assert_eq!(all.len(), before + at + 1, "once each: {all:?}");
        let last = all.last().unwrap();
        assert!(last.asked == *name && last.got == "processor:0" && last.cause.contains("help:"), "{last:?}");
    }
    // A name that makes no sense is no missing device.
    for wrong in ["", "fast:x", "typo"] {
        assert!(Device::open(wrong).is_err(), "{wrong}");
    }
    // A device that is lost is opened again; where that fails too, the fallback is what is left.
    let device = Device::open("fails-later").unwrap();
    faults.fail(Operation::Synchronize, 0, Failure::Lost);
    assert!(matches!(device.synchronize(), Err(Error::DeviceLost { .. })));
    faults.fail(Operation::Open, 0, Failure::Refused);
    assert_eq!(Device::open("fails-later").unwrap().name(), "processor:0");
    assert_eq!(Device::open("fails-later").unwrap().name(), "fails-later:0", "it is back");
    // Both reasons are told where the fallback is not there either.
    apply(Config { fallback: Some("broken".to_owned()), ..Config::default() });
    let error = Device::open("absent:0").unwrap_err().to_string();
    assert!(error.contains("--features absent") && error.contains("a test says so") && error.contains("UNIGRAD_FALLBACK"), "{error}");
    apply(Config::default());
}

#[test]
fn drivers_say_with_how_many_examples_to_begin() {
    machine();
    let info = |backend, memory_total| Info { backend, memory_total, ..Info::default() };
    assert_eq!(info("fast", 8 << 30).starting_batch(), 128);
    assert_eq!(info("fast", (8 << 30) + 1).starting_batch(), 256);
    assert_eq!(info("of no driver", 1 << 40).starting_batch(), 32);
}

#[test]
fn idle_memory_goes_back() {
    let _alone = alone();
    apply(Config::default());
    register(FaultyDriver::new("idle", NullDriver { memory: 0 }, Faults::default()));
    let device = Device::open("idle").unwrap();
    let wait = |reserved: u64| {
        let begin = Instant::now();
        while device.memory_stats().reserved != reserved && begin.elapsed() < Duration::from_secs(8) {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(device.memory_stats().reserved, reserved);
    };
    device.set_memory_pool(MemoryPool::Idle(Duration::from_millis(20)));
    let kept = device.allocate(4096).unwrap();
    drop(device.allocate(1 << 20).unwrap());
    wait(4096);
    drop(kept);
    wait(0);
    // A long time keeps it; a new policy is heeded at once, though the watcher sleeps.
    device.set_memory_pool(MemoryPool::Idle(Duration::from_secs(3600)));
    drop(device.allocate(1 << 20).unwrap());
    assert_eq!(device.memory_stats().reserved, 1 << 20);
    device.set_memory_pool(MemoryPool::Idle(Duration::from_millis(5)));
    wait(0);
    device.set_memory_pool(MemoryPool::On);
    drop(device.allocate(1 << 20).unwrap());
    std::thread::sleep(Duration::from_millis(40));
    assert_eq!(device.memory_stats().reserved, 1 << 20);
}

/// Set for the process that [`a_device_that_is_nearly_full_is_told_once`] starts.
const CHILD: &str = "UNIGRAD_TEST_NEARLY_FULL";

#[test]
fn a_device_that_is_nearly_full_is_told_once() {
    if std::env::var_os(CHILD).is_some() {
        register(FaultyDriver::new("limited", NullDriver { memory: 1 << 20 }, Faults::default()));
        let device = Device::open("limited").unwrap();
        let part = || device.allocate((1 << 20) / 64).unwrap();
        let first: Vec<_> = (0..57).map(|_| part()).collect();
        eprintln!("at 89 %");
        let more: Vec<_> = (0..3).map(|_| part()).collect();
        eprintln!("at 94 %");
        drop((first, more));
        device.clear_cache();
        let _again: Vec<_> = (0..62).map(|_| part()).collect();
        return;
    }
    let own = std::env::current_exe().unwrap();
    let arguments = ["--exact", "a_device_that_is_nearly_full_is_told_once", "--nocapture"];
    let output = Command::new(own).args(arguments).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let (before, after) = said.split_once("at 89 %").unwrap();
    let (between, after) = after.split_once("at 94 %").unwrap();
    let count = |text: &str| text.matches("warning: limited:0: 9").count();
    assert_eq!([count(before), count(between), count(after)], [0, 1, 0], "{said}");
    assert!(between.contains("of 1048576 bytes") && between.contains("help: use a smaller batch"), "{said}");
}
