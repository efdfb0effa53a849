//! Descriptions by name: `"relu"`, or `{ dense = { units = 10 } }`.
//!
//! In: what serde reads, JSON and TOML alike. Out: the variant of an enum of settings.
//! Always: a name alone means all settings' defaults; a table has one such name. Errors arise where the wrong key or value stands, so that a format that
//! knows lines tells the line.
//! Never: buffers a value, which would lose its line.

use super::loss::LossSpec;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, VariantAccess, Visitor, value::MapDeserializer},
};
use std::{fmt, marker::PhantomData};

/// An enum of settings, by a name alone or a table of one name.
pub(crate) fn one_of<'de, D: Deserializer<'de>, K: Deserialize<'de>>(deserializer: D, what: &'static str) -> Result<K, D::Error> {
    deserializer.deserialize_any(OneOf { what, also: None, kind: PhantomData }).map(|(kind, _)| kind)
}

/// As [`one_of`], with a text under another key of the table.
pub(crate) fn one_of_and<'de, D: Deserializer<'de>, K: Deserialize<'de>>(
    deserializer: D,
    what: &'static str,
    also: &'static str,
) -> Result<(K, Option<String>), D::Error> {
    deserializer.deserialize_any(OneOf { what, also: Some(also), kind: PhantomData })
}

/// A [`LossSpec`], in a field of a description.
pub(crate) fn loss<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LossSpec, D::Error> {
    one_of(deserializer, "a loss")
}

struct OneOf<K> {
    what: &'static str,
    also: Option<&'static str>,
    kind: PhantomData<K>,
}

impl<'de, K: Deserialize<'de>> Visitor<'de> for OneOf<K> {
    type Value = (K, Option<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by its name, or a table with its name and settings", self.what)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let map = MapDeserializer::new(std::iter::once((name, Nothing)));
        self.visit_map(map)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut kind, mut text) = (None, None);
        let mut known = String::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.also == Some(key.as_str()) {
                text = Some(map.next_value()?);
            } else if kind.is_some() {
                return Err(de::Error::custom(format_args!("{} is one thing, and here are `{known}` and `{key}`", self.what)));
            } else {
                kind = Some(K::deserialize(Variant { key: &key, map: &mut map })?);
                known = key;
            }
        }
        let kind = kind.ok_or_else(|| de::Error::custom(format_args!("the name of {} is missing", self.what)))?;
        Ok((kind, text))
    }
}

/// A key that was read, and the map that its value is in.
struct Variant<'a, A> {
    key: &'a str,
    map: &'a mut A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Variant<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Variant<'_, A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), A::Error> {
        Ok((seed.deserialize(self.key.into_deserializer())?, self))
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Variant<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct NoSettings {}
        self.map.next_value::<NoSettings>().map(|_| ())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.map.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        struct Tuple<V>(usize, V);
        impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Tuple<V> {
            type Value = V::Value;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
                deserializer.deserialize_tuple(self.0, self.1)
            }
        }
        self.map.next_value_seed(Tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        struct Struct<V>(&'static [&'static str], V);
        impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Struct<V> {
            type Value = V::Value;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
                deserializer.deserialize_struct("settings", self.0, self.1)
            }
        }
        self.map.next_value_seed(Struct(fields, visitor))
    }
}

/// A table without entries.
struct Nothing;

impl<'de, E: de::Error> IntoDeserializer<'de, E> for Nothing {
    type Deserializer = MapDeserializer<'de, std::iter::Empty<(&'static str, &'static str)>, E>;

    fn into_deserializer(self) -> Self::Deserializer {
        MapDeserializer::new(std::iter::empty())
    }
}
