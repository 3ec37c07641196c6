//! What one schema says, as the library understands it: keywords that ask for nothing are taken away, those that the
//! library would honour in part only are said otherwise or refused. Nothing here looks into the schemas inside.

use serde_json::{json, Map, Value as Json};

type Schema = Map<String, Json>;

const COUNTS: [&str; 6] = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];
const NUMBERS: [&str; 7] =
    ["const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
/// Keywords that the library applies one by one, as they come; all others of a schema belong together.
const IN_PLACE: [&str; 6] = ["const", "enum", "allOf", "anyOf", "oneOf", "$ref"];

/// The first of these brings those after it to life.
const HELPERS: [(&str, [&str; 2]); 2] = [("if", ["then", "else"]), ("contains", ["minContains", "maxContains"])];

/// Beginnings of the days that there are: the library takes February 29 in any year.
const DAY: &str = "^(?:[0-9]{4}-(?:0[13-9]|1[0-2])-|[0-9]{4}-02-(?:[01]|2[0-8])|\
    (?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// No leap seconds, because there is one on few days and at one time of the day only.
const TIME: &str = "^.{5}:[0-5]";
const TIME_AFTER_DAY: &str = "^.{16}:[0-5]";

pub fn mend(map: &mut Schema) -> Result<(), String> {
    for (first, helpers) in HELPERS {
        if !map.contains_key(first) {
            map.retain(|key, _| !helpers.contains(&key.as_str()));
        }
    }
    map.retain(|key, value| !asks_for_nothing(key, value));
    check_numbers(map)?;
    whole_counts(map);
    check_least_properties(map)?;
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

fn inexact(value: &Json) -> Option<&Json> {
    match value {
        Json::Number(number) => {
            let exact = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            exact.is_some_and(|exact| exact as f64 as i128 != exact).then_some(value)
        }
        Json::Array(items) => items.iter().find_map(inexact),
        Json::Object(members) => members.values().find_map(inexact),
        _ => None,
    }
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

fn narrow_format(map: &mut Schema) {
    let patterns: &[&str] = match map.get("format").and_then(Json::as_str) {
        Some("date") => &[DAY],
        Some("time") => &[TIME],
        Some("date-time") => &[DAY, TIME_AFTER_DAY],
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
