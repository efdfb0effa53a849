//! Numbers per axis: one for all, or a list.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};
use std::fmt;

/// A number for each spatial axis: one for all of them, or a list with one each. In files: `3`, or `[3, 5]`.
///
/// ```
/// use unigrad_train::network::Sizes;
/// assert_eq!(Sizes::from(3).per_axis(2), Some(vec![3, 3]));
/// assert_eq!(Sizes::from([3, 5]).per_axis(2), Some(vec![3, 5]));
/// assert_eq!(Sizes::from([3, 5]).per_axis(3), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<usize>);

impl Sizes {
    /// As many as there are axes; `None` if the list has another length.
    pub fn per_axis(&self, n: usize) -> Option<Vec<usize>> {
        match self.0.as_slice() {
            [one] => Some(vec![*one; n]),
            all => (all.len() == n).then(|| all.to_vec()),
        }
    }

    /// The numbers as they were given.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl From<usize> for Sizes {
    fn from(size: usize) -> Sizes {
        Sizes(vec![size])
    }
}

impl<const N: usize> From<[usize; N]> for Sizes {
    fn from(sizes: [usize; N]) -> Sizes {
        Sizes(sizes.to_vec())
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "{one}"),
            all => write!(f, "{all:?}"),
        }
    }
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

/// More axes than any layer has.
pub(super) const MAX_AXES: usize = 8;

fn size<E: de::Error>(value: i64) -> Result<usize, E> {
    usize::try_from(value).map_err(|_| E::custom(format_args!("{value} is no size: it is below 0")))
}

fn list<'de, A: SeqAccess<'de>>(mut sequence: A) -> Result<Sizes, A::Error> {
    let mut sizes = Vec::new();
    while let Some(value) = sequence.next_element::<i64>()? {
        if sizes.len() == MAX_AXES {
            return Err(de::Error::custom(format_args!("more than {MAX_AXES} sizes")));
        }
        sizes.push(size(value)?);
    }
    if sizes.is_empty() { Err(de::Error::custom("an empty list of sizes")) } else { Ok(Sizes(sizes)) }
}

struct OfSizes;

impl<'de> Visitor<'de> for OfSizes {
    type Value = Sizes;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size, or a list with one size for each axis")
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Sizes, E> {
        size(value).map(Sizes::from)
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Sizes, E> {
        usize::try_from(value).map(Sizes::from).map_err(|_| E::custom(format_args!("{value} is too large for a size")))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Sizes, A::Error> {
        list(sequence)
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sizes, D::Error> {
        deserializer.deserialize_any(OfSizes)
    }
}

/// A factor for each spatial axis: one for all of them, or a list with one each. In files: `2.0`, or `[2.0, 1.5]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors(Vec<f64>);

impl Factors {
    /// As many as there are axes; `None` if the list has another length.
    pub fn per_axis(&self, n: usize) -> Option<Vec<f64>> {
        match self.0.as_slice() {
            [one] => Some(vec![*one; n]),
            all => (all.len() == n).then(|| all.to_vec()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<f64> for Factors {
    fn from(factor: f64) -> Factors {
        Factors(vec![factor])
    }
}

impl<const N: usize> From<[f64; N]> for Factors {
    fn from(factors: [f64; N]) -> Factors {
        Factors(factors.to_vec())
    }
}

impl Serialize for Factors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Factors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Factors, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Factors;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a factor, or a list with one factor for each axis")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Factors, E> {
                Ok(Factors::from(value as f64))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Factors, E> {
                Ok(Factors::from(value as f64))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Factors, E> {
                Ok(Factors::from(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Factors, A::Error> {
                let mut factors = Vec::new();
                while let Some(factor) = sequence.next_element::<f64>()? {
                    if factors.len() == MAX_AXES {
                        return Err(de::Error::custom(format_args!("more than {MAX_AXES} factors")));
                    }
                    factors.push(factor);
                }
                if factors.is_empty() { Err(de::Error::custom("an empty list of factors")) } else { Ok(Factors(factors)) }
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// What stands around an input before windows slide over it. In files: `1`, `[1, 2]`, or `"same"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// So many on both sides of each axis.
    Of(Sizes),
    /// As many as keep the sizes, with a stride of 1; where that is odd, one more stands behind, as in PyTorch.
    Same,
}

impl Default for Padding {
    fn default() -> Padding {
        Padding::Of(Sizes::from(0))
    }
}

impl From<usize> for Padding {
    fn from(size: usize) -> Padding {
        Padding::Of(Sizes::from(size))
    }
}

impl<const N: usize> From<[usize; N]> for Padding {
    fn from(sizes: [usize; N]) -> Padding {
        Padding::Of(Sizes::from(sizes))
    }
}

impl Serialize for Padding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Padding::Of(sizes) => sizes.serialize(serializer),
            Padding::Same => serializer.serialize_str("same"),
        }
    }
}

impl<'de> Deserialize<'de> for Padding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Padding, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Padding;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size, a list with one size for each axis, or \"same\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Padding, E> {
                OfSizes.visit_i64(value).map(Padding::Of)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Padding, E> {
                OfSizes.visit_u64(value).map(Padding::Of)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Padding, E> {
                if text == "same" { Ok(Padding::Same) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Padding, A::Error> {
                list(sequence).map(Padding::Of)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
