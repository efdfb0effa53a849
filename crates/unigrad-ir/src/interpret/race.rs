//! Which threads touched an element last: finds accesses that no barrier orders.
//!
//! Two accesses of one element conflict if different threads make them, at least one writes, they are not both atomic, and no barrier of
//! their workgroup lies between. Accesses of different workgroups are never ordered.
//! A cell remembers the last writer and the last reader, or that there were several; what several hide is their names, never a conflict.

/// The latest write and the latest read of one element; zero means none.
pub(super) type Cell = [u64; 2];

const ATOMIC: u64 = 1;
const THREAD: u32 = 1;
const THREAD_BITS: u32 = 11;
const EPOCH: u32 = THREAD + THREAD_BITS;
const EPOCH_BITS: u32 = 21;
const GROUP: u32 = EPOCH + EPOCH_BITS;
/// Stands for more than one thread of a group.
const MANY: u64 = (1 << THREAD_BITS) - 1;
/// Stands for more than one group.
const MANY_GROUPS: u64 = (1 << (64 - GROUP)) - 1;
/// Barriers that a workgroup can pass while races are looked for.
pub(super) const MAX_EPOCH: u64 = (1 << EPOCH_BITS) - 1;

/// What a thread does with an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
    /// Of memory that is read by atomic operations.
    AtomicRead,
    AtomicUpdate,
}

/// The other side of a conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Other {
    /// Its group (linear), if it is one.
    pub(super) group: Option<u64>,
    /// Its thread (linear), if it is one.
    pub(super) thread: Option<u64>,
    /// Whether it wrote.
    pub(super) wrote: bool,
}

/// Group (from 1), barriers passed, thread: packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Me(u64);

impl Me {
    /// The stamp of thread 0 of a group in an epoch.
    pub(super) fn new(group: u64, epoch: u64) -> Me {
        Me(((group + 1) << GROUP) | (epoch << EPOCH))
    }

    #[inline(always)]
    pub(super) fn thread(self, thread: usize) -> Me {
        Me(self.0 | ((thread as u64) << THREAD))
    }
}

#[inline(always)]
fn group(stamp: u64) -> u64 {
    stamp >> GROUP
}

#[inline(always)]
fn epoch(stamp: u64) -> u64 {
    (stamp >> EPOCH) & MAX_EPOCH
}

#[inline(always)]
fn thread(stamp: u64) -> u64 {
    (stamp >> THREAD) & MANY
}

/// Whether what left `stamp` happened before what `me` does now, or is `me` itself.
#[inline(always)]
fn ordered(stamp: u64, me: Me) -> bool {
    stamp == 0 || (group(stamp) == group(me.0) && (epoch(stamp) < epoch(me.0) || thread(stamp) == thread(me.0)))
}

/// A stamp for both.
#[inline(always)]
fn join(stamp: u64, me: u64) -> u64 {
    if stamp == 0 || ordered(stamp, Me(me)) {
        me
    } else if group(stamp) != group(me) {
        me | (MANY_GROUPS << GROUP)
    } else {
        me | (MANY << THREAD)
    }
}

/// Notes an access, or tells which other it conflicts with.
#[inline(always)]
pub(super) fn touch(cell: &mut Cell, me: Me, access: Access) -> Result<(), Other> {
    let [written, read] = *cell;
    if !ordered(written, me) {
        let atomic = matches!(access, Access::AtomicRead | Access::AtomicUpdate) && written & ATOMIC != 0;
        if !atomic {
            return Err(other(written, true));
        }
    }
    match access {
        Access::Read => cell[1] = join(read, me.0),
        Access::AtomicRead => {}
        Access::Write | Access::AtomicUpdate => {
            if !ordered(read, me) {
                return Err(other(read, false));
            }
            let flag = if access == Access::AtomicUpdate { ATOMIC } else { 0 };
            cell[0] = join(written & !ATOMIC, me.0) | flag;
        }
    }
    Ok(())
}

/// Whether an element was written by this group at all.
#[inline(always)]
pub(super) fn written_by(cell: &Cell, me: Me) -> bool {
    group(cell[0]) == group(me.0)
}

/// Whether an element was last read by this group.
#[inline(always)]
pub(super) fn read_by(cell: &Cell, me: Me) -> bool {
    group(cell[1]) == group(me.0)
}

#[cold]
fn other(stamp: u64, wrote: bool) -> Other {
    let (group, thread) = (group(stamp), thread(stamp));
    Other { group: (group != MANY_GROUPS).then(|| group - 1), thread: (thread != MANY && group != MANY_GROUPS).then_some(thread), wrote }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(accesses: &[(u64, u64, usize, Access)]) -> Result<(), Other> {
        let mut cell = [0; 2];
        accesses.iter().try_for_each(|(group, epoch, thread, access)| touch(&mut cell, Me::new(*group, *epoch).thread(*thread), *access))
    }

    #[test]
    fn conflicts() {
        use Access::*;
        assert!(run(&[(0, 0, 1, Write), (0, 0, 1, Read), (0, 0, 1, Write)]).is_ok());
        assert!(run(&[(0, 0, 1, Write), (0, 1, 2, Read), (0, 2, 1, Write)]).is_ok());
        assert!(run(&[(0, 0, 1, Read), (0, 0, 2, Read), (1, 0, 2, Read)]).is_ok());
        assert!(run(&[(0, 0, 1, AtomicUpdate), (0, 0, 2, AtomicUpdate), (5, 0, 2, AtomicUpdate), (0, 0, 0, AtomicRead)]).is_ok());
        let first = Other { group: Some(0), thread: Some(1), wrote: true };
        assert_eq!(run(&[(0, 0, 1, Write), (0, 0, 2, Read)]), Err(first));
        assert_eq!(run(&[(0, 0, 1, Write), (0, 0, 2, Write)]), Err(first));
        assert_eq!(run(&[(0, 0, 1, Write), (1, 3, 1, Read)]), Err(first));
        assert_eq!(run(&[(0, 0, 1, Write), (0, 0, 2, AtomicUpdate)]), Err(first));
        // The writer itself is the last reader, but not the only one.
        assert!(run(&[(0, 0, 2, Read), (0, 0, 1, Read), (0, 0, 1, Write)]).is_err());
        assert!(run(&[(0, 0, 2, Read), (1, 0, 1, Read), (1, 1, 1, Write)]).is_err());
        assert!(run(&[(0, 0, 2, AtomicUpdate), (0, 0, 1, AtomicUpdate), (0, 0, 1, Read)]).is_err());
    }
}
