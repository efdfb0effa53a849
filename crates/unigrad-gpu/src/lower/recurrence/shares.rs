//! Points of a step, shared out among threads, several of a thread's at once.
//!
//! In: how many points, threads and loads a point has. Out: the points of a thread, in batches whose loads are under way together.
//! Always: each point is some thread's, once; what stands for a point that is not there is one that is, and is told.

use unigrad_ir::{Builder, Value};

/// Points of a thread that are read together at most, and loads of all of them: each load of one point would wait for the stores of the one before.
const MOST_AT_ONCE: u32 = 8;
const MOST_LOADS: u32 = 48;

/// How `count` points are shared out among `by` threads: each has every so manieth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shares {
    count: u32,
    by: u32,
    /// How many of a thread's are done together.
    pub(super) at_once: u32,
}

impl Shares {
    /// Points with so many loads each.
    pub(super) fn of(count: u32, by: u32, loads: u32) -> Shares {
        Shares { count, by, at_once: count.div_ceil(by).min(MOST_AT_ONCE).min(MOST_LOADS / loads.max(1)).max(1) }
    }

    /// Whether a thread does all of its points together.
    pub(super) fn is_one(&self) -> bool {
        self.count <= self.by.saturating_mul(self.at_once)
    }

    /// The points that are done together from one of a thread's on: their numbers, of the last one where there are no more, and whether they are there (`None`: they are).
    pub(super) fn points(&self, b: &mut Builder, from: Value) -> Vec<(Value, Option<Value>)> {
        let points = (0..self.at_once).map(|at| {
            let is_there = if self.is_one() {
                self.by.saturating_mul(at + 1) <= self.count
            } else {
                at == 0 || self.count.is_multiple_of(self.by * self.at_once)
            };
            let point = b.add_const(from, i64::from(at * self.by));
            held_below(b, point, (!is_there).then_some(self.count), None)
        });
        points.collect()
    }

    /// Does all points of the thread whose first one is `first`, as many at once as are read together.
    pub(super) fn each(&self, b: &mut Builder, first: Value, mut body: impl FnMut(&mut Builder, Vec<(Value, Option<Value>)>)) {
        if self.is_one() {
            let points = self.points(b, first);
            body(b, points);
            return;
        }
        let (count, by) = (b.u32(self.count), b.u32(self.by * self.at_once));
        b.repeat(first, count, by, |b, from| {
            let points = self.points(b, from);
            body(b, points);
        });
    }
}

/// A number that is below `limit`, the last one below it if it is not; and whether it was, and `inside` held.
pub(super) fn held_below(b: &mut Builder, number: Value, limit: Option<u32>, inside: Option<Value>) -> (Value, Option<Value>) {
    let Some(limit) = limit else { return (number, inside) };
    let (end, last) = (b.u32(limit), b.u32(limit.saturating_sub(1)));
    let below = b.lt(number, end);
    let number = b.select(below, number, last);
    let both = inside.map_or(below, |inside| b.and(inside, below));
    (number, Some(both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::Signature;
    use unigrad_ir::{
        Target,
        interpret::{Argument, Interpreter, Options, Span},
    };
    use unigrad_kernel::Arg;
    use unigrad_scalar::DType;

    #[test]
    fn every_point_is_done_once() {
        let target = Target::interpreter();
        for by in [1u32, 7, 32] {
            for count in [1, by - 1, by, by + 1, by * MOST_AT_ONCE, by * MOST_AT_ONCE + 1, by * MOST_AT_ONCE * 3, by * 20 - 1]
                .into_iter()
                .filter(|n| *n > 0)
            {
                for loads in [0, 1, 9, MOST_LOADS, 1000] {
                    let shares = Shares::of(count, by, loads);
                    let mut s = Signature::new("shares", [by, 1, 1]);
                    let out = s.arg("out", 0, &Arg { dtype: DType::U32, len: count as usize, write: true });
                    let thread = s.b.thread(0);
                    shares.each(&mut s.b, thread, |b, points| {
                        assert_eq!(points.len(), shares.at_once as usize);
                        for (at, inside) in points {
                            // Reading is allowed at once, wherever it is.
                            let before = b.load(out, at);
                            let more = b.add_const(before, 1);
                            match inside {
                                Some(inside) => b.when(inside, |b| b.store(out, at, more)),
                                None => b.store(out, at, more),
                            }
                        }
                    });
                    let program = s.finish([1, 1, 1]).program;
                    let mut memory = [vec![0; 4 * count as usize]];
                    let span = Span { allocation: 0, offset: 0, len: 4 * count as usize };
                    let options = Options { races: false, ..Options::default() };
                    let interpreter = Interpreter::new(&program, &target).unwrap();
                    interpreter.run([1, 1, 1], &mut memory, &[Argument::Buffer(span)], options).unwrap();
                    let done: Vec<u32> = memory[0].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
                    assert!(done.iter().all(|n| *n == 1), "{shares:?}: {done:?}");
                }
            }
        }
    }
}
