//! What one schema says, as the library understands it: keywords that ask for nothing are taken away, those that the
//! library would honour in part only are said otherwise or refused. Nothing here looks into the schemas inside.

use regex_syntax::hir::{Hir, HirKind};
use serde_json::{json, Map, Value as Json};

type Schema = Map<String, Json>;

const COUNTS: [&str; 6] = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];
const NUMBERS: [&str; 3] = ["const", "enum", "multipleOf"];
const LOWER_BOUNDS: [&str; 2] = ["minimum", "exclusiveMinimum"];
const UPPER_BOUNDS: [&str; 2] = ["maximum", "exclusiveMaximum"];
/// Keywords that the library applies one by one, as they come; all others of a schema belong together.
const IN_PLACE: [&str; 6] = ["const", "enum", "allOf", "anyOf", "oneOf", "$ref"];

/// The first of these brings those after it to life.
const HELPERS: [(&str, [&str; 2]); 2] = [("if", ["then", "else"]), ("contains", ["minContains", "maxContains"])];

/// Beginnings of the days that there are: the library takes February 29 in any year.
const DAY: &str = "^(?:[0-9]{4}-(?:0[13-9]|1[0-2])-|[0-9]{4}-02-(?:[01]|2[0-8])|\
    (?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// No year 0, which calendars of programs do not have.
const YEAR: &str = "^(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-";
/// No leap seconds, because there is one on few days and at one time of the day only.
const TIME: &str = "^.{5}:[0-5]";
const TIME_AFTER_DAY: &str = "^.{16}:[0-5]";

/// Objects of more take the library time that grows with the square.
const MOST_PROPERTIES: usize = 2000;
/// Each is compared with each.
const MOST_PATTERNS: usize = 32;
/// A number's regular expression has a state for each remainder.
const MOST_REMAINDERS: u64 = 20_000;

/// What numbers of one schema are to be multiples of, as whole numbers of 10^-places.
#[derive(Default)]
pub struct Multiples {
    common: u64,
    places: u32,
}

pub fn mend(map: &mut Schema) -> Result<(), String> {
    for (first, helpers) in HELPERS {
        if !map.contains_key(first) {
            map.retain(|key, _| !helpers.contains(&key.as_str()));
        }
    }
    map.retain(|key, value| !asks_for_nothing(key, value));
    check_numbers(map)?;
    narrow_bounds(map);
    check_texts(map)?;
    whole_counts(map);
    check_least_properties(map)?;
    check_sizes(map)?;
    // It counts behind a list of items only; elsewhere the library would forget prefixItems over it.
    if !map.get("items").is_some_and(Json::is_array) {
        map.shift_remove("additionalItems");
    }
    if let Some(name) = map.shift_remove("$dynamicAnchor") {
        map.entry("$anchor").or_insert(name);
    }
    narrow_format(map);
    bring_together(map);
    Ok(())
}

fn asks_for_nothing(key: &str, value: &Json) -> bool {
    match key {
        "uniqueItems" => value == &Json::Bool(false),
        "unevaluatedItems" | "unevaluatedProperties" | "propertyNames" | "contentSchema" => {
            value == &Json::Bool(true) || value == &json!({})
        }
        "dependencies" | "dependentRequired" | "dependentSchemas" => value == &json!({}),
        _ => false,
    }
}

/// 2.0 is a count, too.
fn whole_counts(map: &mut Schema) {
    for key in COUNTS {
        let Some(count) = map.get(key).filter(|count| count.is_f64()).and_then(Json::as_f64) else { continue };
        if count >= 0.0 && count.fract() == 0.0 && count < 1e15 {
            map[key] = json!(count as u64);
        }
    }
}

/// The library reckons in doubles.
fn check_numbers(map: &Schema) -> Result<(), String> {
    for key in NUMBERS {
        if let Some(number) = map.get(key).and_then(inexact) {
            return Err(format!("the number {number} of \"{key}\" has too many digits"));
        }
    }
    Ok(())
}

/// Bounds move inwards to the next double.
fn narrow_bounds(map: &mut Schema) {
    for (keys, is_upper) in [(LOWER_BOUNDS, false), (UPPER_BOUNDS, true)] {
        for key in keys {
            let Some(exact) = map.get(key).and_then(inexact).and_then(whole) else { continue };
            let near = exact as f64;
            let is_outside = if is_upper { near as i128 > exact } else { (near as i128) < exact };
            let bits = near.to_bits();
            // Of doubles of one sign, bits count up away from zero.
            let inner = if (near > 0.0) == is_upper { bits - 1 } else { bits + 1 };
            let bound = if is_outside { f64::from_bits(inner) } else { near } as i128;
            map[key] = i64::try_from(bound).map_or_else(|_| json!(bound as u64), |bound| json!(bound));
        }
    }
}

fn whole(number: &Json) -> Option<i128> {
    number.as_i64().map(i128::from).or(number.as_u64().map(i128::from))
}

fn inexact(value: &Json) -> Option<&Json> {
    match value {
        Json::Number(_) => whole(value).is_some_and(|exact| exact as f64 as i128 != exact).then_some(value),
        Json::Array(items) => items.iter().find_map(inexact),
        Json::Object(members) => members.values().find_map(inexact),
        _ => None,
    }
}

/// Without \u there is no way to write most control characters, and the library would leave them out.
fn check_texts(map: &Schema) -> Result<(), String> {
    let names = map.get("patternProperties").and_then(Json::as_object);
    let faulty = match () {
        () if map.get("const").is_some_and(has_control) => "const",
        () if map.get("enum").is_some_and(has_control) => "enum",
        () if map.get("pattern").and_then(Json::as_str).is_some_and(wants_control) => "pattern",
        () if names.is_some_and(|names| names.keys().any(|name| wants_control(name))) => "patternProperties",
        () => return Ok(()),
    };
    Err(format!("\"{faulty}\" with control characters is not supported"))
}

/// A class with others beside them merely has none of them.
fn wants_control(pattern: &str) -> bool {
    fn visit(part: &Hir) -> bool {
        match part.kind() {
            HirKind::Literal(literal) => std::str::from_utf8(&literal.0).is_ok_and(is_control),
            HirKind::Repetition(repetition) => visit(&repetition.sub),
            HirKind::Capture(capture) => visit(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(visit),
            _ => false,
        }
    }
    regex_syntax::parse(pattern).is_ok_and(|parsed| visit(&parsed))
}

fn has_control(value: &Json) -> bool {
    match value {
        Json::String(text) => is_control(text),
        Json::Array(items) => items.iter().any(has_control),
        Json::Object(members) => members.values().any(has_control),
        _ => false,
    }
}

fn is_control(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t' | '\x08' | '\x0c'))
}

/// The library counts members, and one name may be written twice. What is required cannot be: those, and one more, are
/// different names.
fn check_least_properties(map: &Schema) -> Result<(), String> {
    let required = map.get("required").and_then(Json::as_array).map_or(0, Vec::len) as u64;
    match map.get("minProperties").and_then(Json::as_u64) {
        Some(least) if least > required + 1 => Err(format!(
            "\"minProperties\" is supported up to one more than there are \"required\" properties (found {least}, {required})"
        )),
        _ => Ok(()),
    }
}

fn check_sizes(map: &Schema) -> Result<(), String> {
    let length = |key: &str| map.get(key).map_or(0, |value| value.as_object().map_or(0, Map::len));
    let required = map.get("required").and_then(Json::as_array).map_or(0, Vec::len);
    let sizes = [
        ("properties", length("properties"), MOST_PROPERTIES),
        ("required", required, MOST_PROPERTIES),
        ("patternProperties", length("patternProperties"), MOST_PATTERNS),
    ];
    match sizes.iter().find(|(_, found, most)| found > most) {
        Some((key, found, most)) => Err(format!("\"{key}\" has more than {most} entries (found {found})")),
        None => Ok(()),
    }
}

impl Multiples {
    /// Where several hold for one number, it is a multiple of all of them.
    pub fn add(&mut self, map: &Schema) -> Result<(), String> {
        let Some(number) = map.get("multipleOf").and_then(Json::as_f64).filter(|number| *number > 0.0) else {
            return Ok(());
        };
        let text = format!("{number}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let refused = || format!("the numbers of \"multipleOf\" have too many common remainders (found {number})");
        let mut one: u64 = format!("{whole}{fraction}").parse().map_err(|_| refused())?;
        let mut places = fraction.len() as u32;
        if self.common == 0 {
            self.common = one;
        }
        // Of the same unit.
        for (value, own, other) in [(&mut one, places, self.places), (&mut self.common, self.places, places)] {
            let factor = 10_u64.checked_pow(other.saturating_sub(own));
            *value = factor.and_then(|factor| value.checked_mul(factor)).ok_or_else(refused)?;
        }
        places = places.max(self.places);
        self.common = (self.common / greatest_divisor(self.common, one)).checked_mul(one).ok_or_else(refused)?;
        while places > 0 && self.common % 10 == 0 {
            self.common /= 10;
            places -= 1;
        }
        self.places = places;
        if self.common > MOST_REMAINDERS {
            return Err(refused());
        }
        Ok(())
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_divisor(b, a % b)
    }
}

fn narrow_format(map: &mut Schema) {
    let patterns: &[&str] = match map.get("format").and_then(Json::as_str) {
        Some("date") => &[YEAR, DAY],
        Some("time") => &[TIME],
        Some("date-time") => &[YEAR, DAY, TIME_AFTER_DAY],
        _ => return,
    };
    let mut all = map.shift_remove("allOf").unwrap_or_else(|| json!([]));
    if let Json::Array(all) = &mut all {
        all.extend(patterns.iter().map(|pattern| json!({"type": "string", "pattern": pattern})));
    }
    map.insert("allOf".into(), all);
}

/// The library looks at runs of keywords between those that it applies in place, and would read `additionalProperties`
/// without the `patternProperties` of another run. They all move to `properties`, because those give the order.
fn bring_together(map: &mut Schema) {
    let is_plain = |key: &String| !IN_PLACE.contains(&key.as_str());
    let Some(place) = map.keys().position(|key| key == "properties").or_else(|| map.keys().position(is_plain)) else {
        return;
    };
    let all: Vec<(String, Json)> = std::mem::take(map).into_iter().collect();
    let (before, after) = all.split_at(place);
    let in_place = |part: &[(String, Json)]| -> Vec<_> { part.iter().filter(|(key, _)| !is_plain(key)).cloned().collect() };
    let (first, last) = (in_place(before), in_place(after));
    map.extend(first);
    map.extend(all.into_iter().filter(|(key, _)| is_plain(key)));
    map.extend(last);
}
