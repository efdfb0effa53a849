//! The peak: at which launch most of a plan's arena is in use, and by what.
//!
//! In: launches in order, with a place for every buffer. Out: the bytes that are alive at the fullest launch, and the largest of them with what made
//! each.
//! Always: of the arena alone; results in memory of their own are told beside it. What takes another one's place over is counted once.
//! Never: changes a place.

use crate::group::writes;
use crate::ir::{Id, Ir};
use crate::lower::Launch;
use crate::memory::{BufferPlace, Layout};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use unigrad_graph::Origin;

/// How many buffers are listed.
const LISTED: usize = 10;

/// What is alive at the fullest launch of a plan.
#[derive(Clone, Debug, Default)]
pub struct Peak {
    /// The launch, as the plan counts them, from 0.
    pub launch: usize,
    /// Bytes alive in the arena then.
    pub bytes: usize,
    /// The largest buffers there, largest first.
    pub largest: Vec<Alive>,
    /// Bytes of results that have memory of their own, and take over no input's.
    pub results: usize,
}

/// A buffer that is alive at the peak.
#[derive(Clone, Debug)]
pub struct Alive {
    /// Its bytes.
    pub bytes: usize,
    /// What made it, and which launch that was, as the plan counts them, from 0.
    pub made_by: String,
    /// See [`Alive::made_by`].
    pub made_at: usize,
    /// The last launch that uses it.
    pub used_until: usize,
    /// Where the user wrote what made it.
    pub origin: Origin,
}

/// A buffer in the arena, by launches as they are before copies are left out.
struct Block {
    id: Id,
    bytes: usize,
    made_at: usize,
}

/// What is in the arena as launches are walked, by offset.
#[derive(Default)]
struct Walk {
    there: FxHashMap<usize, Block>,
    bytes: usize,
}

impl Walk {
    /// The launch writes: what is new comes, in the place of what lent it.
    fn begin(&mut self, ir: &Ir, launch: &Launch, at: usize, layout: &Layout) -> Result<(), String> {
        for id in writes(launch) {
            // A part's memory is that of the whole.
            let id = layout.inside.place(id).0;
            let Some(BufferPlace::Arena(offset)) = layout.place.get(&id) else { continue };
            let bytes = ir.bytes(id)?;
            if bytes == 0 || self.there.get(offset).is_some_and(|block| block.id == id) {
                continue;
            }
            self.bytes += bytes;
            if let Some(lender) = self.there.insert(*offset, Block { id, bytes, made_at: at }) {
                self.bytes -= lender.bytes;
            }
        }
        Ok(())
    }

    /// The launch is over: what it was the last to use goes.
    fn end(&mut self, launch: &Launch, at: usize, layout: &Layout, last_use: &FxHashMap<Id, usize>) {
        for id in launch.args.iter().map(|id| layout.inside.place(*id).0).filter(|id| last_use.get(id) == Some(&at)) {
            let Some(BufferPlace::Arena(offset)) = layout.place.get(&id) else { continue };
            if self.there.get(offset).is_some_and(|block| block.id == id)
                && let Some(block) = self.there.remove(offset)
            {
                self.bytes -= block.bytes;
            }
        }
    }
}

/// The peak of a plan.
pub(crate) fn of(ir: &Ir, launches: &[Launch], outputs: &[Id], layout: &Layout) -> Result<Peak, String> {
    let last_use = layout.inside.last_use(launches);
    let (mut walk, mut fullest) = (Walk::default(), (0, 0));
    for (at, launch) in launches.iter().enumerate() {
        walk.begin(ir, launch, at, layout)?;
        if walk.bytes > fullest.0 {
            fullest = (walk.bytes, at);
        }
        walk.end(launch, at, layout, &last_use);
    }
    let (bytes, peak) = fullest;
    let mut walk = Walk::default();
    for (at, launch) in launches.iter().enumerate().take(peak + 1) {
        walk.begin(ir, launch, at, layout)?;
        if at < peak {
            walk.end(launch, at, layout, &last_use);
        }
    }
    // As the plan counts them: without copies that are left out.
    let mut counted = Vec::with_capacity(launches.len());
    let mut next = 0;
    for needless in &layout.needless {
        counted.push(next);
        next += usize::from(!needless);
    }
    let mut blocks: Vec<Block> = walk.there.into_values().collect();
    blocks.sort_by_key(|block| (std::cmp::Reverse(block.bytes), block.made_at, block.id));
    let alive = |block: &Block| {
        let used_until = last_use.get(&block.id).copied().unwrap_or(block.made_at); // DEFAULT: what is not read is used by its maker
        let made = launches.get(block.made_at);
        Alive {
            bytes: block.bytes,
            made_by: made.map_or_else(String::new, |launch| launch.name.clone()), // DEFAULT: every block was made by a launch
            made_at: counted.get(block.made_at).copied().unwrap_or(block.made_at), // DEFAULT: as above
            used_until: counted.get(used_until).copied().unwrap_or(used_until),   // DEFAULT: as above
            origin: ir.node(block.id).origin,
        }
    };
    let (mut results, mut seen) = (0, FxHashSet::default());
    for (at, id) in outputs.iter().enumerate() {
        if seen.insert(*id) && layout.donated.get(at) == Some(&None) {
            results += ir.bytes(*id)?;
        }
    }
    let launch = counted.get(peak).copied().unwrap_or_default(); // DEFAULT: a plan without launches has its peak at none
    Ok(Peak { launch, bytes, largest: blocks.iter().take(LISTED).map(alive).collect(), results })
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: usize| crate::plan::bytes(bytes as f64);
        write!(f, "peak: {} alive in the arena at launch {}, results beside it {}", size(self.bytes), self.launch + 1, size(self.results))?;
        for alive in &self.largest {
            let Alive { bytes, made_by, made_at, used_until, origin } = alive;
            let path = origin.file();
            let file = path.rsplit_once(['/', '\\']).map_or(path, |(_, file)| file);
            let name: String = made_by.chars().take(34).collect();
            let until = format!("to {}", used_until + 1);
            write!(f, "\n      {:>9}  {:>4} {until:<8} {name:<34} {file}:{}", size(*bytes), made_at + 1, origin.line())?;
        }
        Ok(())
    }
}
