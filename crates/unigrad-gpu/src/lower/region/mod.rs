//! Regions and grouped maps: what fusion makes, and what runs most.
//!
//! In: a [`Region`](unigrad_kernel::Region), a target. Out: steps.
//! Always: reductions go through fixed trees, chosen from sizes and target alone; 64-bit arithmetic only where a range needs it.
//! Never: looks at a backend's name.
//!
//! Read `body` first (what a point does), then `schedule` (who does which points).

mod body;
mod lanes;
mod ops;
mod philox;
mod range;

pub(crate) use body::Body;
