//! Ranks: an order in which clusters can run, kept while they merge.
//!
//! In: which clusters read which, then pairs that are to be one. Out: whether a pair can be one, with no other cluster that needs the one and is
//! needed by the other.
//! Always: whatever reads has a greater rank than what it reads, so no cycle can arise, and only ranks between the pair's are looked at; after
//! [`FAR`] looks a pair is refused, so that merging stays linear in a graph of any form. (The order of Pearce and Kelly, "A dynamic topological
//! sort algorithm for directed acyclic graphs", ACM JEA 11, 2007, for joined nodes instead of new edges.)

use super::seen::Seen;
use smallvec::SmallVec;

/// Edges that are looked at for a pair in each direction, at most.
const FAR: usize = 512;

/// Indices of clusters, which may have gone into others.
pub(super) type Edges = SmallVec<[u32; 4]>;

pub(super) struct Ranks {
    rank: Vec<u32>,
    /// What each cluster reads, and what reads it.
    below: Vec<Edges>,
    above: Vec<Edges>,
    /// The cluster that a cluster has gone into; itself while it is alive.
    into: Vec<u32>,
    seen: Seen,
}

impl Ranks {
    /// Of clusters that read only clusters of smaller indices: those that are listed, which may be listed twice.
    pub(super) fn new(below: Vec<Edges>) -> Ranks {
        let n = below.len() as u32;
        let mut above = vec![Edges::new(); below.len()];
        for (reader, below) in below.iter().enumerate() {
            below.iter().for_each(|producer| above[*producer as usize].push(reader as u32));
        }
        Ranks { rank: (0..n).collect(), below, above, into: (0..n).collect(), seen: Seen::default() }
    }

    /// The cluster that a cluster is in now.
    fn alive(&mut self, index: u32) -> u32 {
        let mut at = index;
        while self.into[at as usize] != at {
            let next = self.into[at as usize];
            self.into[at as usize] = self.into[next as usize];
            at = next;
        }
        at
    }

    /// Makes two clusters one, of the index `keep`. False, and nothing changed, if a third one is between them (or too much is to be looked at to
    /// know), or if one reads the other and must not (`apart`).
    pub(super) fn join(&mut self, keep: usize, gone: usize, apart: bool) -> bool {
        let (keep, gone) = (keep as u32, gone as u32);
        let is_first = self.rank[keep as usize] < self.rank[gone as usize];
        let (first, last) = if is_first { (keep, gone) } else { (gone, keep) };
        let Some(before) = self.between(first, last, false, apart) else { return false };
        if before.is_empty() {
            // All that the later one needs runs before the earlier one.
            self.rank[keep as usize] = self.rank[first as usize];
        } else {
            let Some(after) = self.between(last, first, true, apart) else { return false };
            // Those that the later one needs go before both, and those that need the earlier one after them: all in the places that they had.
            let mut places: Vec<u32> = before.iter().chain(&after).chain([&first, &last]).map(|index| self.rank[*index as usize]).collect();
            places.sort_unstable();
            let order = before.iter().chain([&keep]).chain(&after);
            order.zip(places).for_each(|(index, place)| self.rank[*index as usize] = place);
        }
        self.into[gone as usize] = keep;
        for edges in [&mut self.below, &mut self.above] {
            let (mut more, mut all) = (std::mem::take(&mut edges[gone as usize]), std::mem::take(&mut edges[keep as usize]));
            // What thousands read is not copied for each of them.
            if more.len() > all.len() {
                std::mem::swap(&mut more, &mut all);
            }
            all.extend(more);
            edges[keep as usize] = all;
        }
        true
    }

    /// By rank, the clusters of ranks between the two that `end` needs, or with `upward` those that need it. `None` if the other one is among what
    /// they lead to.
    fn between(&mut self, other: u32, end: u32, upward: bool, apart: bool) -> Option<Vec<u32>> {
        self.seen.empty(self.rank.len());
        let mut found = Vec::new();
        let (mut at, mut n_looks, mut next) = (end, 0, 0);
        loop {
            for i in 0..self.edges(at, upward).len() {
                n_looks += 1;
                if n_looks > FAR {
                    return None;
                }
                let edge = self.edges(at, upward)[i];
                let to = self.alive(edge);
                if to == other {
                    if at == end && !apart {
                        continue;
                    }
                    return None;
                }
                let (rank, bound) = (self.rank[to as usize], self.rank[other as usize]);
                let is_between = if upward { rank < bound } else { rank > bound };
                if is_between && to != end && self.seen.insert(to as usize) {
                    found.push(to);
                }
            }
            match found.get(next) {
                Some(index) => at = *index,
                None => break,
            }
            next += 1;
        }
        found.sort_unstable_by_key(|index| self.rank[*index as usize]);
        Some(found)
    }

    fn edges(&self, of: u32, upward: bool) -> &Edges {
        if upward { &self.above[of as usize] } else { &self.below[of as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    /// A small generator of numbers.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % n
        }
    }

    /// Whether `to` needs `from` by way of another one (or at all, if `direct`), in a graph of sets of nodes.
    fn depends(below: &[Edges], set_of: &[usize], to: usize, from: usize, direct: bool) -> bool {
        let reads = |set: usize| -> Vec<usize> {
            let nodes = (0..below.len()).filter(|node| set_of[*node] == set);
            nodes.flat_map(|node| below[node].iter().map(|b| set_of[*b as usize])).filter(|read| *read != set).collect()
        };
        let mut seen = vec![false; below.len()];
        let mut stack: Vec<usize> = reads(to).into_iter().filter(|read| direct || *read != from).collect();
        while let Some(set) = stack.pop() {
            if set == from {
                return true;
            }
            if !std::mem::replace(&mut seen[set], true) {
                stack.extend(reads(set));
            }
        }
        false
    }

    #[test]
    fn what_is_joined_never_waits_for_itself() {
        let mut numbers = Numbers(1);
        for round in 0..300 {
            let n = 3 + numbers.below(30);
            let below: Vec<Edges> =
                (0..n).map(|i| (0..numbers.below(4)).filter(|_| i > 0).map(|_| numbers.below(i.max(1)) as u32).collect()).collect();
            let mut ranks = Ranks::new(below.clone());
            let mut set_of: Vec<usize> = (0..n).collect();
            for _ in 0..4 * n {
                let (a, b) = (set_of[numbers.below(n)], set_of[numbers.below(n)]);
                let apart = numbers.below(2) == 0;
                if a == b {
                    continue;
                }
                let free = !depends(&below, &set_of, a, b, apart) && !depends(&below, &set_of, b, a, apart);
                assert_eq!(ranks.join(a, b, apart), free, "round {round}: {a} with {b}");
                if free {
                    set_of.iter_mut().filter(|set| **set == b).for_each(|set| *set = a);
                }
                for node in 0..n {
                    for read in below[node].iter().map(|read| set_of[*read as usize]).filter(|read| *read != set_of[node]) {
                        assert!(ranks.rank[read] < ranks.rank[set_of[node]], "round {round}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_far_is_refused() {
        let chain = |n: usize| (0..n as u32).map(|i| if i == 0 { smallvec![] } else { smallvec![i - 1] }).collect::<Vec<Edges>>();
        // The last reads its neighbour and the first: all others are between.
        let mut below = chain(2 * FAR);
        below.push(smallvec![0, 2 * FAR as u32 - 1]);
        assert!(!Ranks::new(below).join(0, 2 * FAR, false));
        // Beside a chain that neither reads, it is free.
        let mut below = chain(2 * FAR);
        below.push(smallvec![0]);
        assert!(Ranks::new(below).join(0, 2 * FAR, false));
        // Two ends of chains from one beginning need too many looks.
        let mut below = chain(FAR + 2);
        let end = below.len();
        below.push(smallvec![end as u32 - 1]);
        below.extend([smallvec![0], smallvec![end as u32]]);
        assert!(!Ranks::new(below).join(1, end + 2, false));
    }
}
