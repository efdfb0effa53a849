//! Random numbers on the host, by counter: data order, augmentation, initial weights.
//!
//! In: a seed and a stream (what the numbers are for). Out: the same numbers on every machine, whatever the threads do.
//! Always: Philox4x32-10, the generator that devices use too; a stream can be entered at any position.

/// The four words of Philox4x32-10 for a counter and a key.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut c = counter;
    let mut k = key;
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// The words at `index` of the sequence that begins at `offset` under `seed`.
pub fn words(seed: u64, offset: u64, index: u64) -> [u32; 4] {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let ([i0, i1], [o0, o1]) = (halves(index), halves(offset));
    philox([i0, i1, o0, o1], halves(seed))
}

/// A sequence of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
    stream: u64,
    /// Words used so far.
    position: u64,
    block: [u32; 4],
}

impl Rng {
    /// The sequence `stream` of `seed`. Different streams are independent.
    pub fn new(seed: u64, stream: u64) -> Rng {
        Rng { seed, stream, position: 0, block: [0; 4] }
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        let lane = (self.position % 4) as usize;
        if lane == 0 {
            self.block = words(self.seed, self.stream, self.position / 4);
        }
        self.position += 1;
        self.block[lane]
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// A number in `0..n`, without bias; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n <= 1 {
            return 0;
        }
        // Values above the last multiple of n would make small results likelier.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let x = self.next_u64();
            if x < limit {
                return (x % n) as usize;
            }
        }
    }

    /// A number in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A number of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The numbers below `n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // The test vectors that come with Random123.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn moments_and_ranges() {
        let mut rng = Rng::new(1, 2);
        let n = 20_000;
        let normals: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = normals.iter().sum::<f64>() / n as f64;
        let var = normals.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.03 && (var - 1.0).abs() < 0.05, "{mean} {var}");
        assert!((0..1000).all(|_| rng.below(7) < 7));
        let mut order = rng.permutation(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
