//! The kernel cache: what is put comes back or counts as missing, whatever happens to the folder.

use super::*;

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("unigrad-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn cache(&self) -> KernelCache {
        KernelCache::new(&self.0, LIMIT)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).into_iter().flatten().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(text: &str) -> Key {
    Key::of(&[text.as_bytes()])
}

/// Moves an entry's time into the past.
fn age(path: &Path, seconds: u64) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn what_is_put_comes_back() {
    let folder = Folder::new("back");
    let cache = folder.cache();
    assert_eq!(cache.get(key("a")), None);
    cache.put(key("a"), b"program");
    cache.put(key("empty"), b"");
    assert_eq!(cache.get(key("a")).as_deref(), Some(&b"program"[..]));
    assert_eq!(cache.get(key("empty")).as_deref(), Some(&b""[..]));
    assert_eq!(cache.get(key("b")), None);
    cache.put(key("a"), b"newer");
    assert_eq!(folder.cache().get(key("a")).as_deref(), Some(&b"newer"[..]), "another cache of the folder sees it");
    cache.remove(key("a"));
    cache.remove(key("a"));
    assert_eq!(cache.get(key("a")), None);
    assert_eq!(folder.names().len(), 1, "no unfinished entry is left: {:?}", folder.names());
}

#[test]
fn keys_tell_parts_apart() {
    assert_eq!(Key::of(&[b"ab", b"c"]), Key::of(&[b"ab", b"c"]));
    let keys = [Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]), Key::of(&[b"abc"]), Key::of(&[b"abc", b""]), Key::of(&[])];
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key));
    }
    // The published FNV-1a value of "foobar".
    assert_eq!(checksum(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
}

#[test]
fn damaged_entries_are_missing_and_replaced() {
    let folder = Folder::new("damaged");
    let cache = folder.cache();
    let data: Vec<u8> = (0..=255).collect();
    cache.put(key("k"), &data);
    let path = cache.entry(key("k")).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), HEADER + data.len());
    let mut damages: Vec<Vec<u8>> = [0, 1, 8, HEADER - 1, HEADER, whole.len() - 1].map(|n| whole[..n].to_vec()).to_vec();
    for at in [0, 9, 25, 33, HEADER, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        damages.push(flipped);
    }
    damages.push([&whole[..], b"more"].concat());
    for damage in damages {
        fs::write(&path, &damage).unwrap();
        assert_eq!(cache.get(key("k")), None);
        cache.put(key("k"), &data);
        assert_eq!(cache.get(key("k")).as_deref(), Some(&data[..]));
    }
    // An entry under another's name is not that other.
    fs::copy(&path, cache.entry(key("other")).unwrap()).unwrap();
    assert_eq!(cache.get(key("other")), None);
}

#[test]
fn the_longest_unused_go_first_and_strangers_stay() {
    let folder = Folder::new("evict");
    let entry = HEADER as u64 + 100;
    let cache = KernelCache::new(&folder.0, 8 * entry);
    for at in 0..8_u64 {
        cache.put(key(&at.to_string()), &[at as u8; 100]);
        age(&cache.entry(key(&at.to_string())).unwrap(), 1_000_000 - 1000 * at);
    }
    // A read of the oldest makes it the newest.
    assert!(cache.get(key("0")).is_some());
    for stranger in ["notes.txt", "model.kernel", "0123.kernel", "zz345678901234567890123456789012.kernel"] {
        fs::write(folder.0.join(stranger), [0; 100]).unwrap();
    }
    let abandoned = folder.0.join(format!("{:032x}.1-1.{UNFINISHED}", 5));
    let fresh = folder.0.join(format!("{:032x}.2-1.{UNFINISHED}", 6));
    for path in [&abandoned, &fresh] {
        fs::write(path, [0; 100]).unwrap();
    }
    age(&abandoned, 7200);
    cache.put(key("8"), &[8; 100]);
    let kept: Vec<u64> = (0..9).filter(|at| cache.get(key(&at.to_string())).is_some()).collect();
    assert_eq!(kept, [0, 3, 4, 5, 6, 7, 8]);
    assert!(!abandoned.exists() && fresh.exists());
    assert_eq!(folder.names().iter().filter(|name| ours(Path::new(name)).is_none()).count(), 4);
    // What can never fit is not written.
    cache.put(key("large"), &vec![0; 8 * entry as usize]);
    assert_eq!(cache.get(key("large")), None);
    assert!(cache.get(key("8")).is_some());
}

#[test]
fn an_unusable_folder_is_no_cache() {
    let off = KernelCache::off();
    off.put(key("a"), b"x");
    off.remove(key("a"));
    assert_eq!((off.get(key("a")), off.folder()), (None, None));
    // A file where the folder should be: even root cannot make it.
    let folder = Folder::new("file");
    fs::write(&folder.0, b"not a folder").unwrap();
    let cache = KernelCache::new(folder.0.join("below"), LIMIT);
    cache.put(key("a"), b"x");
    assert_eq!(cache.get(key("a")), None);
    assert!(cache.read_only.load(Relaxed));
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn the_environment_chooses_the_folder() {
    let env = |vars: &'static [(&str, &str)]| {
        folder_from(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v))).map(|p| p.to_string_lossy().into_owned())
    };
    assert_eq!(env(&[]), None);
    if cfg!(target_os = "linux") {
        assert_eq!(env(&[("HOME", "/h")]).as_deref(), Some("/h/.cache/unigrad"));
        assert_eq!(env(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]).as_deref(), Some("/x/unigrad"));
        assert_eq!(env(&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")]).as_deref(), Some("/h/.cache/unigrad"));
    }
}

#[cfg(unix)]
#[test]
fn the_folder_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("mode");
    folder.cache().put(key("a"), b"x");
    assert_eq!(fs::metadata(&folder.0).unwrap().permissions().mode() & 0o777, 0o700);
}

/// What each process of the next test does: writes and reads the same keys as the others, and never sees half of an entry.
fn hammer(folder: &Path) {
    let cache = KernelCache::new(folder, LIMIT);
    for round in 0..60_usize {
        let name = key(&(round % 4).to_string());
        let data = vec![(round % 4) as u8; 20_000 + 1000 * (round % 4)];
        cache.put(name, &data);
        assert_eq!(cache.get(name).as_deref(), Some(&data[..]), "round {round}");
    }
    assert!(!cache.read_only.load(Relaxed));
}

#[test]
fn processes_and_threads_share_a_folder() {
    const VARIABLE: &str = "UNIGRAD_TEST_CACHE_HAMMER";
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return hammer(Path::new(&folder));
    }
    let folder = Folder::new("shared");
    let program = std::env::current_exe().unwrap();
    let test = "cache::tests::processes_and_threads_share_a_folder";
    let child = || std::process::Command::new(&program).args(["--exact", test]).env(VARIABLE, &folder.0).output();
    std::thread::scope(|scope| {
        let children: Vec<_> = (0..3).map(|_| scope.spawn(child)).collect();
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| hammer(&folder.0))).collect();
        for child in children {
            let output = child.join().unwrap().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(folder.names().len(), 4, "{:?}", folder.names());
}
