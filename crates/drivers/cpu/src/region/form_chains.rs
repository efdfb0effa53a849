//! Chains from a region's own steps: whatever formula they spell.
//!
//! In: a segment's steps, and what operation makes each slot. Out: one chain in place of many steps; what several operations need, and
//! what others see, is stored, the rest stays in registers.
//! Always: operations are those of the steps, with the same operands; a sum's and a product's operands may change sides.
//! Never: moves a read over a write of the same argument, or a step over one whose value it needs.

use super::chain::{Chain, MAX_PLACES, Out, Spot, Word};
use super::kernels::OpFn;
use super::match_patterns::{Finder, Node, reads};
use super::program::{Compiler, MicroOp, Pass, Segment, Slot, Summand};
use super::steps::Code;
use smallvec::SmallVec;
use unigrad_scalar::{BinaryOp, UnaryOp};

/// Operations of a chain, at most: so deep may a formula be.
const MAX_OPS: usize = 64;

/// The code of an operation with a number or lanes on one side.
fn binary(op: BinaryOp, number: bool, reversed: bool) -> Option<Code> {
    let [lanes, one, lanes_reversed, one_reversed] = match op {
        BinaryOp::Add => [Code::Add, Code::AddU, Code::Add, Code::AddU],
        BinaryOp::Sub => [Code::Sub, Code::SubU, Code::SubR, Code::SubRU],
        BinaryOp::Mul => [Code::Mul, Code::MulU, Code::Mul, Code::MulU],
        BinaryOp::Div => [Code::Div, Code::DivU, Code::DivR, Code::DivRU],
        BinaryOp::Max => [Code::Max, Code::MaxU, Code::MaxR, Code::MaxRU],
        BinaryOp::Min => [Code::Min, Code::MinU, Code::MinR, Code::MinRU],
        BinaryOp::Eq => [Code::Eq, Code::EqU, Code::Eq, Code::EqU],
        BinaryOp::Ne => [Code::Ne, Code::NeU, Code::Ne, Code::NeU],
        BinaryOp::Lt => [Code::Lt, Code::LtU, Code::Gt, Code::GtU],
        BinaryOp::Le => [Code::Le, Code::LeU, Code::Ge, Code::GeU],
        BinaryOp::Gt => [Code::Gt, Code::GtU, Code::Lt, Code::LtU],
        BinaryOp::Ge => [Code::Ge, Code::GeU, Code::Le, Code::LeU],
        BinaryOp::IDiv
        | BinaryOp::Rem
        | BinaryOp::Pow
        | BinaryOp::Atan2
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr => return None,
    };
    Some(match (number, reversed) {
        (false, false) => lanes,
        (true, false) => one,
        (false, true) => lanes_reversed,
        (true, true) => one_reversed,
    })
}

/// The code of an operation; what has none is called.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are calls of their kernels")]
fn unary(op: UnaryOp) -> Option<Code> {
    Some(match op {
        UnaryOp::Neg => Code::Neg,
        UnaryOp::Abs => Code::Abs,
        UnaryOp::Sign => Code::Sign,
        UnaryOp::Relu => Code::Relu,
        UnaryOp::Sqrt => Code::Sqrt,
        UnaryOp::Rsqrt => Code::Rsqrt,
        UnaryOp::Recip => Code::Recip,
        UnaryOp::Exp => Code::Exp,
        _ => return None,
    })
}

/// Whether a step of lanes can be part of a chain.
fn is_link(finder: &Finder<'_>, step: &MicroOp) -> bool {
    let MicroOp::Op { d, .. } = step else { return false };
    finder.lanes[*d as usize]
        && match finder.nodes[*d as usize] {
            Some(Node::Unary(op, _)) => !op.gives_bool(),
            Some(Node::Binary(op, ..)) => binary(op, false, false).is_some(),
            Some(Node::Select(..)) => true,
            None => false,
        }
}

/// Writes the words of some steps.
struct Writer<'a, 'f> {
    finder: &'a Finder<'f>,
    /// The steps' results: the kernel, and reads by other steps of the chain that are left.
    links: Vec<(Slot, OpFn, usize)>,
    words: Vec<Word>,
    places: SmallVec<[Spot; MAX_PLACES]>,
    calls: Vec<OpFn>,
    outs: SmallVec<[Out; 4]>,
    /// Where values are that are stored: results in their slots, others in slots of the chain's own.
    stored: Vec<(Slot, u8)>,
    /// Where masks are, of truth values from inside or outside.
    masks: Vec<(Slot, u8)>,
    own: SmallVec<[u8; 4]>,
    free: Vec<u8>,
    /// Whose value the accumulator is.
    holds: Option<Slot>,
    new_slot: &'a mut dyn FnMut() -> Slot,
}

impl Writer<'_, '_> {
    fn word(&mut self, code: Code, a: u8, b: u8) {
        self.words.push(Word { code, a, b });
        self.holds = None;
    }

    fn link(&self, slot: Slot) -> Option<usize> {
        self.links.iter().position(|link| link.0 == slot)
    }

    fn is_mask(&self, slot: Slot) -> bool {
        matches!(self.finder.nodes[slot as usize], Some(Node::Binary(op, ..)) if op.is_comparison())
    }

    /// Whether the value is in memory.
    fn is_leaf(&self, slot: Slot) -> bool {
        self.link(slot).is_none() || self.stored.iter().any(|(stored, _)| *stored == slot)
    }

    fn is_number(&self, slot: Slot) -> bool {
        !self.finder.lanes[slot as usize]
    }

    fn new_place(&mut self, place: Spot) -> Option<u8> {
        let found = self.places.iter().position(|other| *other == place);
        if found.is_none() && self.places.len() == MAX_PLACES {
            return None;
        }
        let at = found.unwrap_or(self.places.len());
        if found.is_none() {
            self.places.push(place);
        }
        u8::try_from(at).ok()
    }

    /// Where a leaf is.
    fn place(&mut self, slot: Slot) -> Option<u8> {
        match self.stored.iter().find(|(stored, _)| *stored == slot) {
            Some((_, place)) => Some(*place),
            None if self.is_number(slot) => self.new_place(Spot::Number(slot)),
            None => self.new_place(Spot::Lanes(slot, 4)),
        }
    }

    /// A place of the chain's own.
    fn own_place(&mut self) -> Option<u8> {
        if let Some(place) = self.free.pop() {
            return Some(place);
        }
        let slot = (self.new_slot)();
        let place = self.new_place(Spot::Lanes(slot, 4))?;
        self.own.push(place);
        Some(place)
    }

    /// One read of the value is done.
    fn used(&mut self, slot: Slot) {
        let Some(link) = self.link(slot) else { return };
        self.links[link].2 = self.links[link].2.saturating_sub(1);
        if self.links[link].2 == 0
            && let Some((_, place)) = self.stored.iter().find(|(stored, _)| *stored == slot)
            && self.own.contains(place)
        {
            self.free.push(*place);
        }
    }

    /// Brings a value into the accumulator.
    fn get(&mut self, slot: Slot) -> Option<()> {
        if !self.is_leaf(slot) {
            return self.value(slot);
        }
        if self.holds != Some(slot) {
            let place = self.place(slot)?;
            self.word(if self.is_number(slot) { Code::LoadU } else { Code::Load }, place, 0);
        }
        self.used(slot);
        Some(())
    }

    /// The operands of a product of leaves that is computed here only; the first has lanes.
    fn product(&self, slot: Slot) -> Option<(Slot, Slot)> {
        if self.is_leaf(slot) {
            return None;
        }
        match self.finder.nodes[slot as usize] {
            Some(Node::Binary(BinaryOp::Mul, x, y)) if self.is_leaf(x) && self.is_leaf(y) => {
                Some(if self.is_number(x) { (y, x) } else { (x, y) })
            }
            _ => None,
        }
    }

    fn add_product(&mut self, (x, y): (Slot, Slot)) -> Option<()> {
        let (a, b) = (self.place(x)?, self.place(y)?);
        self.word(if self.is_number(y) { Code::MulAddU } else { Code::MulAdd }, a, b);
        self.used(x);
        self.used(y);
        Some(())
    }

    /// Evaluates a value that is not in memory into a place of the chain's own.
    fn aside(&mut self, slot: Slot) -> Option<u8> {
        self.value(slot)?;
        let place = self.own_place()?;
        self.word(Code::Store, place, 0);
        Some(place)
    }

    /// Evaluates a step's value into the accumulator.
    fn value(&mut self, slot: Slot) -> Option<()> {
        match self.finder.nodes[slot as usize]? {
            Node::Unary(op, a) => {
                self.get(a)?;
                match unary(op) {
                    Some(code) => self.word(code, 0, 0),
                    None => {
                        let call = u8::try_from(self.calls.len()).ok()?;
                        self.calls.push(self.links[self.link(slot)?].1);
                        self.word(Code::Call, call, 0);
                    }
                }
            }
            Node::Binary(op, a, b) => {
                if op == BinaryOp::Add {
                    if let Some(product) = self.product(b) {
                        self.get(a)?;
                        return self.add_product(product);
                    }
                    if let Some(product) = self.product(a) {
                        self.get(b)?;
                        return self.add_product(product);
                    }
                }
                match (self.is_leaf(a), self.is_leaf(b)) {
                    (_, true) => {
                        self.get(a)?;
                        let place = self.place(b)?;
                        self.word(binary(op, self.is_number(b), false)?, place, 0);
                        self.used(b);
                    }
                    (true, false) => {
                        self.get(b)?;
                        let place = self.place(a)?;
                        self.word(binary(op, self.is_number(a), true)?, place, 0);
                        self.used(a);
                    }
                    (false, false) => {
                        let place = self.aside(b)?;
                        self.get(a)?;
                        self.word(binary(op, false, false)?, place, 0);
                        self.free.push(place);
                    }
                }
            }
            Node::Select(condition, a, b) => self.select(condition, a, b)?,
        }
        Some(())
    }

    fn select(&mut self, condition: Slot, a: Slot, b: Slot) -> Option<()> {
        let number = self.is_number(condition);
        let by = if number { self.new_place(Spot::Number(condition))? } else { self.mask(condition)? };
        let (kept, other, reversed) = if self.is_leaf(b) { (a, b, false) } else { (b, a, true) };
        let aside = if self.is_leaf(other) { None } else { Some(self.aside(other)?) };
        self.get(kept)?;
        let (place, one) = match aside {
            Some(place) => (place, false),
            None => (self.place(other)?, self.is_number(other)),
        };
        let code = match (number, reversed, one) {
            (false, false, false) => Code::Choose,
            (false, false, true) => Code::ChooseU,
            (false, true, false) => Code::ChooseR,
            (false, true, true) => Code::ChooseRU,
            (true, false, false) => Code::Pick,
            (true, false, true) => Code::PickU,
            (true, true, false) => Code::PickR,
            (true, true, true) => Code::PickRU,
        };
        self.word(code, by, place);
        match aside {
            Some(place) => self.free.push(place),
            None => self.used(other),
        }
        Some(())
    }

    /// Where the mask of truth values is.
    fn mask(&mut self, condition: Slot) -> Option<u8> {
        if let Some((_, place)) = self.masks.iter().find(|(mask, _)| *mask == condition) {
            return Some(*place);
        }
        let from = self.new_place(Spot::Lanes(condition, 1))?;
        self.word(Code::LoadBool, from, 0);
        let place = self.own_place()?;
        self.word(Code::Store, place, 0);
        self.masks.push((condition, place));
        Some(place)
    }

    /// Evaluates a step and stores it, if it is seen from outside or read more than once.
    fn step(&mut self, slot: Slot, seen: bool) -> Option<()> {
        let inside = self.links[self.link(slot)?].2;
        if self.is_mask(slot) {
            self.value(slot)?;
            if inside > 0 {
                let place = self.own_place()?;
                self.word(Code::Store, place, 0);
                self.masks.push((slot, place));
            }
            if seen {
                let place = self.new_place(Spot::Lanes(slot, 1))?;
                self.word(Code::StoreBool, place, 0);
                self.outs.push(Out { slot, place, over: None });
            }
            return Some(());
        }
        if !seen && inside < 2 {
            return Some(());
        }
        self.value(slot)?;
        let place = if seen { self.new_place(Spot::Lanes(slot, 4))? } else { self.own_place()? };
        self.word(Code::Store, place, 0);
        self.stored.push((slot, place));
        self.holds = Some(slot);
        if seen {
            self.outs.push(Out { slot, place, over: None });
        }
        Some(())
    }
}

impl Compiler<'_> {
    /// The chain of some steps, `sum` of which is added up. Nothing if they need too much room.
    fn chain(&mut self, steps: &[&MicroOp], segment: Segment, finder: &Finder<'_>, sum: Option<Slot>) -> Option<Chain> {
        if steps.len() > MAX_OPS {
            return None;
        }
        let mut links: Vec<(Slot, OpFn, usize)> = Vec::with_capacity(steps.len());
        for step in steps {
            let MicroOp::Op { f, d, .. } = step else { return None };
            links.push((*d, *f, 0));
        }
        // Reads by operand, and by step, which is how reads are counted elsewhere.
        let mut by_steps = vec![0; links.len()];
        for at in 0..links.len() {
            let operands = finder.nodes[links[at].0 as usize]?.operands();
            for (link, reads) in links.iter_mut().zip(&mut by_steps) {
                let n = operands.iter().filter(|operand| **operand == link.0).count();
                link.2 += n;
                *reads += usize::from(n > 0);
            }
        }
        let seen: Vec<bool> = links
            .iter()
            .zip(&by_steps)
            .map(|(link, inside)| {
                let uses = finder.uses[link.0 as usize].saturating_sub(usize::from(sum == Some(link.0)));
                finder.kept[link.0 as usize] || uses > *inside
            })
            .collect();
        let tier = self.tier;
        let mut new_slot = || self.slot(segment, 4, true);
        let mut writer = Writer {
            finder,
            links,
            words: Vec::new(),
            places: SmallVec::new(),
            calls: Vec::new(),
            outs: SmallVec::new(),
            stored: Vec::new(),
            masks: Vec::new(),
            own: SmallVec::new(),
            free: Vec::new(),
            holds: None,
            new_slot: &mut new_slot,
        };
        for at in 0..writer.links.len() {
            writer.step(writer.links[at].0, seen[at])?;
        }
        if let Some(sum) = sum {
            writer.get(sum)?;
            writer.word(Code::Sum, 0, 0);
        }
        let Writer { words, places, calls, outs, own, .. } = writer;
        Some(Chain::new(words, places, outs, own, calls, tier))
    }

    /// Puts chains in place of steps, as long as they can be.
    pub(super) fn form_chains(&mut self, steps: Vec<MicroOp>, segment: Segment, finder: &mut Finder<'_>) -> Vec<MicroOp> {
        let mut out = Vec::with_capacity(steps.len());
        let mut open: Vec<MicroOp> = Vec::new();
        for step in steps {
            if is_link(finder, &step) {
                if open.len() == MAX_OPS {
                    self.close(&mut open, segment, finder, &mut out);
                }
                open.push(step);
                continue;
            }
            // What needs none of their values goes before them, but for stores, which may be over what they read.
            let needs = |link: &MicroOp| matches!(link, MicroOp::Op { d, .. } if reads(&step, *d));
            if matches!(step, MicroOp::Store(_)) || open.iter().any(needs) {
                self.close(&mut open, segment, finder, &mut out);
            }
            out.push(step);
        }
        self.close(&mut open, segment, finder, &mut out);
        out
    }

    /// Ends a chain.
    fn close(&mut self, open: &mut Vec<MicroOp>, segment: Segment, finder: &mut Finder<'_>, out: &mut Vec<MicroOp>) {
        // Where all of them need too much room, halves may not.
        let mut parts = vec![std::mem::take(open)];
        while let Some(mut part) = parts.pop() {
            if part.len() < 2 {
                out.append(&mut part);
                continue;
            }
            if let Some(fused) = finder.whole(&part, self.tier) {
                out.push(MicroOp::Fused(Box::new(fused)));
            } else if let Some(chain) = self.chain(&part.iter().collect::<Vec<_>>(), segment, finder, None) {
                out.push(MicroOp::Chain(Box::new(chain)));
            } else {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
        }
    }

    /// Sums of what only they need, in passes that store nothing.
    pub(super) fn chain_sums(&mut self, pass: &mut Pass, segment: Segment, finder: &Finder<'_>) {
        if pass.steps.iter().any(|step| matches!(step, MicroOp::Store(_))) {
            return;
        }
        for r in 0..pass.reductions.len() {
            let root = pass.reductions[r].arg;
            let defines = |step: &MicroOp| matches!(step, MicroOp::Op { d, .. } if *d == root);
            let Some(at) = pass.steps.iter().position(defines) else { continue };
            let others = pass.reductions.iter().enumerate().any(|(other, reduction)| other != r && reduction.reads(root));
            // Beside its definition and this reduction, only later passes may see the value.
            let seen = pass.steps.iter().enumerate().any(|(i, step)| i != at && reads(step, root));
            let sums = pass.reductions[r].sums_f32 && pass.reductions[r].sum.is_none();
            if !sums || others || seen || !is_link(finder, &pass.steps[at]) {
                continue;
            }
            let mut chosen = vec![at];
            for i in (0..at).rev() {
                let MicroOp::Op { d, .. } = &pass.steps[i] else { continue };
                let inside = chosen.iter().filter(|other| reads(&pass.steps[**other], *d)).count();
                let alone = inside > 0 && finder.uses[*d as usize] == inside && !finder.kept[*d as usize];
                if alone && chosen.len() < MAX_OPS && is_link(finder, &pass.steps[i]) {
                    chosen.push(i);
                }
            }
            chosen.reverse();
            let steps: Vec<&MicroOp> = chosen.iter().map(|i| &pass.steps[*i]).collect();
            let Some(chain) = self.chain(&steps, segment, finder, Some(root)) else { continue };
            pass.reductions[r].sum = Some(Summand::Chain(Box::new(chain)));
            let mut i = 0;
            pass.steps.retain(|_| {
                i += 1;
                !chosen.contains(&(i - 1))
            });
        }
    }
}

/// Lets results take the place of operands in the launch's memory: where a result is stored over the very load that is an operand, which
/// nothing else reads, nor the chain once it has written the result.
pub(super) fn find_updates(steps: &mut [MicroOp], loaded_once: impl Fn(u32) -> bool, used_by_reductions: impl Fn(Slot) -> bool) {
    for at in 0..steps.len() {
        let MicroOp::Chain(chain) = &steps[at] else { continue };
        let mut updates: Vec<(usize, usize, Slot)> = Vec::new();
        for (k, out) in chain.outs.iter().enumerate() {
            let found = steps.iter().enumerate().find_map(|(i, step)| {
                let MicroOp::Store(store) = step else { return None };
                (store.s == out.slot && store.same_bytes).then_some((i, store))
            });
            let Some((i, store)) = found else { continue };
            let over = steps.iter().find_map(|step| {
                let MicroOp::Load(load) = step else { return None };
                let is_over = load.in_place && load.mask.is_none() && loaded_once(load.at.arg) && store.at.same_place(&load.at);
                is_over.then_some(load.d)
            });
            let Some(over) = over else { continue };
            let readers = steps.iter().filter(|step| reads(step, over)).count();
            let stores = steps.iter().filter(|step| matches!(step, MicroOp::Store(store) if store.s == out.slot)).count();
            if readers == 2 && stores == 1 && chain.is_done_with(over, out.place) && !used_by_reductions(over) {
                updates.push((k, i, over));
            }
        }
        for (k, i, over) in updates {
            if let MicroOp::Store(store) = &mut steps[i] {
                store.update = true;
            }
            if let MicroOp::Chain(chain) = &mut steps[at] {
                chain.outs[k].over = Some(over);
            }
        }
    }
}
