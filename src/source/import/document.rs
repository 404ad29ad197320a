//! [`Value`]: a JSON document whose words are those of its text. `serde_json`'s own takes a table of 632 bytes for each object.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Flag(bool),
    Number(Number),
    Word(Cow<'a, str>),
    List(Box<[Value<'a>]>),
    Object(Box<[Field<'a>]>),
}

pub(super) type Field<'a> = (Cow<'a, str>, Value<'a>);

impl<'a> Value<'a> {
    /// The value of a field; of several of one name the last counts.
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.fields().iter().rfind(|(field, _)| field == name).map(|(_, value)| value)
    }

    pub(super) fn fields(&self) -> &[Field<'a>] {
        if let Self::Object(fields) = self { fields } else { &[] }
    }

    pub(super) fn list(&self) -> Option<&[Value<'a>]> {
        if let Self::List(values) = self { Some(values) } else { None }
    }

    pub(super) fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    pub(super) fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    /// Takes a field's list out of an object; its values go one by one as they are used.
    pub(super) fn take_list(&mut self, name: &str) -> Option<Vec<Value<'a>>> {
        let Self::Object(fields) = self else { return None };
        match fields.iter_mut().rfind(|(field, _)| field == name) {
            Some((_, Value::List(values))) => Some(std::mem::take(values).into_vec()),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value<'de>, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_borrowed_str<E: Error>(self, word: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Word(Cow::Borrowed(word)))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Value<'de>, E> {
        Ok(Value::Word(Cow::Owned(word.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Value::List(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), value)) = entries.next_entry()? {
            fields.push((name, value));
        }
        Ok(Value::Object(fields.into()))
    }
}

/// A field's name, in the text where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde_json() {
        let text = r#"{"a":[1,-2,3.5,true,null,"\u0041b","c"],"\u0062":{"c":{}},"a":18446744073709551615}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value.get("a").and_then(Value::number), Some(u64::MAX), "the last of two");
        let Value::Object(fields) = &value else { panic!("{value:?}") };
        let number = |text: &str| Value::Number(text.parse::<Number>().unwrap());
        let words = ["Ab", "c"].map(|word| Value::Word(word.into()));
        let list = [number("1"), number("-2"), number("3.5"), Value::Flag(true), Value::Null]
            .into_iter()
            .chain(words);
        assert_eq!(fields[0].1, Value::List(list.collect()));
        assert!(value.get("b").and_then(|value| value.get("c")).is_some());
        assert!(matches!(fields[2].0, Cow::Borrowed("a")), "no copy of a word of the text");
        for wrong in ["{", "[1,]", "{\"a\" 1}", "1e999"] {
            let plain = serde_json::from_str::<serde_json::Value>(wrong).unwrap_err().to_string();
            assert_eq!(serde_json::from_str::<Value>(wrong).unwrap_err().to_string(), plain);
        }
    }

    #[test]
    fn a_field_takes_little_more_than_its_text() {
        assert_eq!(size_of::<Field>(), 48);
    }
}
