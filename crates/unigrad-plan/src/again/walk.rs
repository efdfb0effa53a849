//! The walk: launches as they run, within a budget of bytes alive, with what is dropped on the way and made again.
//!
//! In: launches, recipes, a budget. Out: launches that run one after the other, with new nodes for what is made again.
//! Always: what a launch reads is there when it runs; what is read next is not dropped. Never: looks at places.

use super::recipes::Recipes;
use crate::group::{reads, writes};
use crate::ir::Id;
use crate::lower::Launch;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far a chain of values that are not there is looked at before it counts as too long.
const MAX_CHAIN: usize = 64;
/// How many candidates are looked at again before one is dropped.
const MAX_LOOKS: usize = 64;
/// A value that is needed within so many launches is dropped only if others cost twice as much.
const NEAR: f64 = 16.0;
/// Launches that run again, for each launch of the plan.
const MOST_AGAIN: usize = 3;

/// What a walk gives.
pub(super) struct Walked {
    pub(super) launches: Vec<Launch>,
    /// What each new node is like, in the order of their numbers.
    pub(super) clones: Vec<Id>,
}

struct Walk<'a> {
    recipes: &'a Recipes,
    budget: usize,
    used: usize,
    /// By node: where its value is now, how many of its uses are behind, how many of the next launches need it.
    place: Vec<Id>,
    is_there: Vec<bool>,
    behind: Vec<u32>,
    needed: Vec<u32>,
    /// What may be dropped, the cheapest first, as it was when it was put there.
    candidates: BinaryHeap<Reverse<(u64, Id)>>,
    first_clone: usize,
    out: Walked,
    n_again: usize,
}

/// Walks through the launches. `None` if too much would run again.
pub(super) fn walk(recipes: &Recipes, launches: &[Launch], n_nodes: usize, budget: usize) -> Option<Walked> {
    let mut walk = Walk {
        recipes,
        budget,
        used: 0,
        place: (0..n_nodes as Id).collect(),
        is_there: vec![false; n_nodes],
        behind: vec![0; n_nodes],
        needed: vec![0; n_nodes],
        candidates: BinaryHeap::new(),
        first_clone: n_nodes,
        out: Walked { launches: Vec::with_capacity(launches.len()), clones: Vec::new() },
        n_again: 0,
    };
    let most = launches.len().saturating_mul(MOST_AGAIN);
    for (at, launch) in launches.iter().enumerate() {
        walk.step(launch, at)?;
        if walk.n_again > most {
            return None;
        }
    }
    Some(walk.out)
}

impl Walk<'_> {
    fn bytes(&self, id: Id) -> usize {
        self.recipes.known[id as usize].bytes
    }

    /// The next launch of the plan that reads a value.
    fn next_use(&self, id: Id) -> Option<usize> {
        self.recipes.known[id as usize].uses.get(self.behind[id as usize] as usize).map(|at| *at as usize)
    }

    /// What a launch reads of the arena, each once.
    fn of_arena(&self, launch: &Launch) -> SmallVec<[Id; 8]> {
        let mut ids: SmallVec<[Id; 8]> = reads(launch).filter(|id| self.bytes(*id) > 0).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// One launch of the plan, after what it needs and is not there.
    fn step(&mut self, launch: &Launch, at: usize) -> Option<()> {
        let inputs = self.of_arena(launch);
        let again = self.missing(&inputs, at)?;
        inputs.iter().for_each(|id| self.needed[*id as usize] += 1);
        for (recipe, _) in &again {
            self.recipes.all[*recipe as usize].reads.iter().for_each(|id| self.needed[*id as usize] += 1);
        }
        for (recipe, id) in again {
            if !self.is_there[id as usize] {
                self.run_again(recipe, at);
            }
            for id in &self.recipes.all[recipe as usize].reads {
                self.release(*id, at);
            }
        }
        let mut outputs: SmallVec<[Id; 4]> = writes(launch).filter(|id| self.bytes(*id) > 0 && !self.is_there[*id as usize]).collect();
        outputs.sort_unstable();
        outputs.dedup();
        let new: usize = outputs.iter().map(|id| self.bytes(*id)).sum();
        self.make_room(new.saturating_sub(self.recipes.inherited[at]), at);
        for id in &outputs {
            self.is_there[*id as usize] = true;
        }
        self.used += new;
        let args = launch.args.iter().map(|id| self.place[*id as usize]).collect();
        self.out.launches.push(Launch { args, ..launch.clone() });
        let uses = |id: &Id| self.recipes.known[*id as usize].uses.as_slice();
        for id in &inputs {
            let is_behind = uses(id).get(self.behind[*id as usize] as usize).is_some_and(|next| *next as usize <= at);
            self.behind[*id as usize] += u32::from(is_behind);
        }
        for id in inputs.iter().copied() {
            self.release(id, at);
        }
        for id in outputs {
            self.settle(id, at);
        }
        Some(())
    }

    /// The recipes that make what is not there, in an order in which they can run, and what each is for.
    fn missing(&self, inputs: &[Id], at: usize) -> Option<Vec<(u32, Id)>> {
        let mut order = Vec::new();
        let mut done: FxHashSet<Id> = FxHashSet::default();
        let mut stack: Vec<(Id, Option<u32>)> =
            inputs.iter().rev().filter(|id| !self.is_there[**id as usize]).map(|id| (*id, None)).collect();
        while let Some((id, recipe)) = stack.pop() {
            if let Some(recipe) = recipe {
                order.push((recipe, id));
                continue;
            }
            if !done.insert(id) {
                continue;
            }
            let recipe = self.recipes.for_value(id, at, |read| self.is_there[read as usize])?;
            stack.push((id, Some(recipe)));
            let below = self.recipes.all[recipe as usize].reads.iter().rev();
            stack.extend(below.filter(|read| !self.is_there[**read as usize]).map(|read| (*read, None)));
        }
        Some(order)
    }

    /// Runs a recipe: what it makes of values that are needed and not there is there; the rest goes at once.
    fn run_again(&mut self, recipe: u32, at: usize) {
        let recipe = &self.recipes.all[recipe as usize];
        let new: usize = recipe.writes.iter().map(|id| self.bytes(*id)).sum();
        self.make_room(new, at);
        let mut launch = recipe.launch.clone();
        let mut renamed: SmallVec<[(Id, Id); 4]> = SmallVec::new();
        for id in &recipe.writes {
            renamed.push((*id, (self.first_clone + self.out.clones.len()) as Id));
            self.out.clones.push(*id);
        }
        for id in &mut launch.args {
            let new = renamed.iter().find(|(old, _)| old == id);
            *id = new.map_or(self.place[*id as usize], |(_, new)| *new);
        }
        self.out.launches.push(launch);
        self.n_again += 1;
        for (id, new) in renamed {
            let is_wanted = self.needed[id as usize] > 0 || self.next_use(id).is_some();
            if self.bytes(id) > 0 && !self.is_there[id as usize] && is_wanted {
                self.is_there[id as usize] = true;
                self.place[id as usize] = new;
                self.used += self.bytes(id);
                self.settle(id, at);
            }
        }
    }

    /// One of the next launches that need a value has run.
    fn release(&mut self, id: Id, at: usize) {
        self.needed[id as usize] = self.needed[id as usize].saturating_sub(1);
        self.settle(id, at);
    }

    /// What is not needed any more goes; what is needed later may be dropped.
    fn settle(&mut self, id: Id, at: usize) {
        if self.needed[id as usize] > 0 || !self.is_there[id as usize] {
            return;
        }
        if self.next_use(id).is_none() && self.recipes.known[id as usize].last_use <= at {
            self.drop_value(id);
        } else if let Some(price) = self.price(id, at) {
            self.candidates.push(Reverse((price.to_bits(), id)));
        }
    }

    fn drop_value(&mut self, id: Id) {
        self.is_there[id as usize] = false;
        self.used -= self.bytes(id);
    }

    /// What it costs per byte to drop a value and to make it again; `None` if it cannot be.
    fn price(&self, id: Id, at: usize) -> Option<f64> {
        let known = &self.recipes.known[id as usize];
        let next = self.next_use(id)?;
        if !known.is_large || !self.is_there[id as usize] || self.needed[id as usize] > 0 || next <= at || known.until < next {
            return None;
        }
        // What will be there then, as far as nothing else is dropped.
        let stays = |read: Id| read != id && self.is_there[read as usize] && self.recipes.known[read as usize].last_use >= next;
        let mut stack: SmallVec<[Id; 16]> = SmallVec::from_slice(&[id]);
        let mut seen: SmallVec<[Id; 16]> = SmallVec::new();
        let mut ran: SmallVec<[u32; 16]> = SmallVec::new();
        let (mut cost, mut bytes) = (0.0, known.bytes);
        while let Some(value) = stack.pop() {
            if seen.contains(&value) {
                continue;
            }
            if seen.len() == MAX_CHAIN {
                return None;
            }
            seen.push(value);
            let recipe = self.recipes.for_value(value, next, stays)?;
            if ran.contains(&recipe) {
                continue;
            }
            ran.push(recipe);
            let recipe = &self.recipes.all[recipe as usize];
            // What is made again for another value's sake costs nothing; what comes with it is dropped as well.
            let others = || recipe.writes.iter().filter(|other| **other != value && self.bytes(**other) > 0);
            let comes_anyway =
                others().any(|other| !self.is_there[*other as usize] && self.next_use(*other).is_some_and(|use_| use_ <= next));
            if !comes_anyway {
                cost += recipe.cost;
            }
            if value == id {
                bytes += others()
                    .filter(|other| self.next_use(**other).is_some_and(|use_| use_ > at))
                    .map(|other| self.bytes(*other))
                    .sum::<usize>();
            }
            if !comes_anyway {
                stack.extend(recipe.reads.iter().copied().filter(|read| !stays(*read)));
            }
        }
        Some(cost / bytes as f64 * (1.0 + NEAR / (next - at) as f64))
    }

    /// Drops values until so many bytes more are within the budget, or nothing is left to drop.
    fn make_room(&mut self, more: usize, at: usize) {
        let mut looks = 0;
        while self.used + more > self.budget {
            let Some(Reverse((price, id))) = self.candidates.pop() else { return };
            let Some(now) = self.price(id, at).map(f64::to_bits) else { continue };
            // Prices change with what else is there.
            if now > price && looks < MAX_LOOKS && self.candidates.peek().is_some_and(|Reverse((other, _))| *other < now) {
                looks += 1;
                self.candidates.push(Reverse((now, id)));
                continue;
            }
            looks = 0;
            self.drop_value(id);
        }
    }
}
