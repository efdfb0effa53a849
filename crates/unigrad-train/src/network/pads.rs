//! Padding before and after each axis: one number for all, one for each axis, or a pair for each.

use super::sizes::MAX_AXES;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};
use std::fmt;

/// How much is put before and after each spatial axis; below 0, how much is cut. In files: `1`, `[1, 2]` (for each axis), `[[1, 2], [0, 1]]` (before and
/// after, for each axis).
///
/// ```
/// use unigrad_train::network::Pads;
/// assert_eq!(Pads::from(1).per_axis(2), Some(vec![(1, 1), (1, 1)]));
/// assert_eq!(serde_json::from_str::<Pads>("[3, [0, -1]]").unwrap().per_axis(2), Some(vec![(3, 3), (0, -1)]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pads(Vec<(i64, i64)>);

impl Pads {
    /// As many pairs as there are axes; `None` if the list has another length.
    pub fn per_axis(&self, n: usize) -> Option<Vec<(i64, i64)>> {
        match self.0.as_slice() {
            [one] => Some(vec![*one; n]),
            all => (all.len() == n).then(|| all.to_vec()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<i64> for Pads {
    fn from(pad: i64) -> Pads {
        Pads(vec![(pad, pad)])
    }
}

impl<const N: usize> From<[(i64, i64); N]> for Pads {
    fn from(pads: [(i64, i64); N]) -> Pads {
        Pads(pads.to_vec())
    }
}

/// One axis: a number, or a pair.
struct Side((i64, i64));

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (before, after) = self.0;
        if before == after { before.serialize(serializer) } else { self.0.serialize(serializer) }
    }
}

struct OfSide;

impl<'de> Visitor<'de> for OfSide {
    type Value = Side;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a pair of numbers: before and after an axis")
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Side, E> {
        Ok(Side((value, value)))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Side, E> {
        let value = i64::try_from(value).map_err(|_| E::custom(format_args!("{value} is too large for a padding")))?;
        Ok(Side((value, value)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Side, A::Error> {
        let (Some(before), Some(after), None) =
            (sequence.next_element::<i64>()?, sequence.next_element::<i64>()?, sequence.next_element::<i64>()?)
        else {
            return Err(de::Error::custom("a pair of other than two numbers: before and after an axis"));
        };
        Ok(Side((before, after)))
    }
}

impl<'de> Deserialize<'de> for Side {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Side, D::Error> {
        deserializer.deserialize_any(OfSide)
    }
}

impl Serialize for Pads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [(before, after)] if before == after => before.serialize(serializer),
            all => serializer.collect_seq(all.iter().map(|pair| Side(*pair))),
        }
    }
}

impl<'de> Deserialize<'de> for Pads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pads, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Pads;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a list with a number or a pair (before, after) for each axis")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Pads, E> {
                OfSide.visit_i64(value).map(|side| Pads(vec![side.0]))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Pads, E> {
                OfSide.visit_u64(value).map(|side| Pads(vec![side.0]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Pads, A::Error> {
                let mut pads = Vec::new();
                while let Some(Side(pair)) = sequence.next_element()? {
                    if pads.len() == MAX_AXES {
                        return Err(de::Error::custom(format_args!("padding of more than {MAX_AXES} axes")));
                    }
                    pads.push(pair);
                }
                if pads.is_empty() { Err(de::Error::custom("an empty list of paddings")) } else { Ok(Pads(pads)) }
            }
        }
        deserializer.deserialize_any(Any)
    }
}
