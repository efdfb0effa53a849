//! The compiler: graph to fused kernels to a plan, and the plan cache.
//!
//! In: live expressions ([`Capture`]). Out: a [`Plan`]: kernels, what each is called on, and where everything lives.
//! The way: `capture` (walk, key) → `build` (composites apart, loops step by step in `unroll`, duplicates gone; `commit`: assignments guarded) → `step_sums`, `transpose` (cheaper forms) → `fuse`
//! (clusters) → `lower` with `emit` (kernels) → `relayout`, `copies` (results where their readers want them) → `group` (equal maps together) → `memory` (offsets; `bases`: arguments begin where they are read), within a `limit` by `chunks` (wide rows) and `again` (launches that run twice) → `peak`.
//! Always: the same graph gives the same plan; what cannot happen is an error (`internal`), never a default. Never: runs anything, or knows what device the plan is for.

#![warn(clippy::wildcard_enum_match_arm)]

mod affine;
mod again;
mod ancestors;
mod arena;
mod bases;
mod build;
mod cache;
mod capture;
mod channels_last;
mod chunks;
mod commit;
mod conv;
mod copies;
mod cross;
mod emit;
mod float8;
mod fuse;
mod group;
mod in_concatenation;
mod in_place;
mod index;
mod internal;
mod ir;
mod join;
mod library_words;
mod limit;
mod lower;
mod materialize;
mod max_pool;
mod memory;
mod peak;
mod permutes;
mod physical;
mod plan;
mod prologue;
mod relayout;
mod simplify;
mod step_sums;
mod sum;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transpose;
mod unroll;
mod update;

pub use cache::PlanCache;
pub use capture::{Capture, resolve, resolved};
pub use commit::ScalarCheck;
pub use memory::BufferPlace;
pub use peak::{Alive, Peak};
pub use plan::{Options, Plan, PlannedLaunch, plan};
