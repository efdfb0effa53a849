//! Numbers of nodes, in an order in which they can be done.
//!
//! In: the numbers of a node's inputs. Out: a greater one, which no other node has.
//! Always: a thread takes many at once, so that most nodes cost no locked instruction; a node's number is greater than those of its inputs, whichever
//! threads made them. What a thread makes after it has asked for [`next_id`] has that number or a greater one, and what it made before has a smaller one.

use crate::NodeId;
use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

/// So many a thread takes at once.
const MANY: u64 = 64;

/// The first that no thread has taken. 0 is none.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Numbers from the first up to the last, which is not among them.
#[derive(Clone, Copy)]
struct Taken {
    first: NodeId,
    end: NodeId,
}

thread_local! {
    static TAKEN: Cell<Taken> = const { Cell::new(Taken { first: 0, end: 0 }) };
}

/// A number greater than this one.
#[inline]
pub(crate) fn after(newest: NodeId) -> NodeId {
    let Taken { first, end } = TAKEN.get();
    if newest < first && first < end {
        TAKEN.set(Taken { first: first + 1, end });
        return first;
    }
    take()
}

/// The first of numbers that the thread takes: those that were there when it learned of any node are smaller.
#[cold]
#[inline(never)]
fn take() -> NodeId {
    let first = NEXT.fetch_add(MANY, Ordering::Relaxed);
    TAKEN.set(Taken { first: first + 1, end: first + MANY });
    first
}

/// The id of the thread's next node, unless other threads make some before: smaller ones were there before, or are made by others.
pub fn next_id() -> NodeId {
    let Taken { first, end } = TAKEN.replace(Taken { first: 0, end: 0 });
    // What is left goes back, if nothing was taken after it.
    match NEXT.compare_exchange(end, first, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => first,
        Err(next) => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashSet, sync::mpsc, thread};

    #[test]
    fn numbers_are_greater_than_those_they_come_from_and_differ() {
        const THREADS: usize = 8;
        const EACH: usize = 20 * MANY as usize;
        // Each thread takes what the one before it made as an input now and then.
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| mpsc::channel::<NodeId>()).unzip();
        let all: Vec<NodeId> = thread::scope(|scope| {
            let handles: Vec<_> = receivers
                .into_iter()
                .enumerate()
                .map(|(at, receiver)| {
                    let next = senders[(at + 1) % THREADS].clone();
                    scope.spawn(move || {
                        let (mut own, mut newest) = (Vec::new(), 0);
                        for i in 0..EACH {
                            let given = receiver.try_recv().unwrap_or(0);
                            let id = after(given.max(newest));
                            assert!(id > given && id > newest);
                            own.push(id);
                            newest = if i % 5 == 0 { 0 } else { id };
                            if i % 3 == 0 {
                                next.send(id).unwrap_or(());
                            }
                        }
                        own
                    })
                })
                .collect();
            handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
        });
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), THREADS * EACH);
    }

    #[test]
    fn the_next_one_parts_what_was_from_what_comes() {
        for n in [1, 2, MANY - 1, MANY, MANY + 1, 3 * MANY] {
            let before: Vec<NodeId> = (0..n).map(|_| after(0)).collect();
            let next = next_id();
            let then: Vec<NodeId> = (0..n).map(|_| after(0)).collect();
            assert!(before.iter().all(|id| *id < next) && then.iter().all(|id| *id >= next), "{n}");
        }
    }
}
