//! JSON schemas: what is not supported is refused by keyword and place, everything else is the library's.

use std::collections::HashSet;

use llguidance::api::TopLevelGrammar;
use llguidance::JsonCompileOptions;
use serde_json::{json, Map, Value as Json};

use super::layout::{COUNTED_WHITE, UNCOUNTED_WHITE};
use super::schema_mends::{mend, Multiples};
use super::{read_json, Grammar, JsonLayout, Tail, Vocabulary};

/// Keywords of any draft that restrict a value and are not honoured.
const UNSUPPORTED: [&str; 21] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "$dynamicRef",
    "$recursiveRef",
    "contentSchema",
    "extends",
    "disallow",
    "divisibleBy",
    "x-guidance",
];

/// Keywords whose value is a schema, a list of schemas, schemas by name.
const ONE: [&str; 3] = ["items", "additionalProperties", "additionalItems"];
const LISTS: [&str; 5] = ["anyOf", "allOf", "oneOf", "prefixItems", "items"];
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Behind JSON, in the token that ends it.
const TAIL: &str = r"[\x20\x0A\x0D\x09]{1,64}";

/// No \u: with it a name could be written in several ways, and the library would take one that is spelled otherwise for
/// a property of another schema.
const ESCAPES: &str = "nrbtf\\\"";

/// Compilations that may be spent on finding the place of what another part of the library refuses.
const SEARCH: usize = 64;
const SEARCHED_BYTES: usize = 32 << 10;

pub fn parse(source: &str) -> Result<Json, String> {
    read_json(source)
}

pub fn compile(vocabulary: &Vocabulary, mut schema: Json, layout: &JsonLayout) -> Result<Grammar, String> {
    prepare(&mut schema, "")?;
    let layout = &JsonLayout { balanced: true, ..layout.clone() };
    let counts_depth = layout.is_free();
    if layout.tail == Tail::White {
        let lark = format!("start: json TAIL?\njson: %json {}\nTAIL: /{TAIL}/", laid_out(&schema, layout));
        if let Ok(grammar) = Grammar::of(vocabulary, TopLevelGrammar::from_lark(lark), Tail::White, counts_depth) {
            return Ok(grammar);
        }
    }
    let compile = |schema: &Json| {
        let top = TopLevelGrammar::from_json_schema(laid_out(schema, layout));
        Grammar::of(vocabulary, top, Tail::None, counts_depth)
    };
    compile(&schema).map_err(|message| {
        let place = named_place(&message).unwrap_or_else(|| find_place(&schema, &message, &compile));
        format!("{} (at {})", in_our_words(&message), shown(&place))
    })
}

/// The library tells the definition, where the fault is in one.
fn named_place(message: &str) -> Option<String> {
    let (_, place) = message.split_once("while processing json-schema:///#")?;
    Some(place.split([':', '\n']).next()?.trim().to_owned())
}

fn in_our_words(message: &str) -> &str {
    if message.starts_with("oneOf constraints are not supported") {
        return "oneOf is supported only where it can be told that no value fits two of its schemas";
    }
    if message.starts_with("panic: ") {
        return "it is too large"; // the library asserts that it has numbers left for its symbols
    }
    message.lines().next().unwrap_or(message)
}

/// The schema with the wishes of the layout in it, as the library wants them.
pub fn laid_out(schema: &Json, layout: &JsonLayout) -> Json {
    let mut options = JsonCompileOptions::default();
    if layout.compact {
        options.whitespace_flexible = false;
        options.item_separator = ", ".into();
        options.key_separator = ": ".into();
    }
    options.json_allowed_escapes = Some(ESCAPES.to_owned());
    let free = if layout.balanced { COUNTED_WHITE } else { UNCOUNTED_WHITE };
    let free = (!layout.compact).then(|| free.to_owned());
    options.whitespace_pattern = layout.whitespace_pattern.clone().or(free);
    let mut schema = if schema.is_object() { schema.clone() } else { json!({}) };
    options.apply_to(&mut schema);
    schema
}

/// Where schemas were found in a schema, by pointer, where references lead, and what is summed over all.
#[derive(Default)]
struct Places {
    done: HashSet<String>,
    targets: Vec<String>,
    multiples: Multiples,
}

/// Takes away what asks for nothing and refuses what would not be honoured. `place`: a JSON pointer to the schema.
pub fn prepare(schema: &mut Json, place: &str) -> Result<(), String> {
    let mut places = Places::default();
    prepare_part(schema, place, "", &mut places)?;
    // References lead to schemas in places where otherwise nobody looks for any.
    while let Some(target) = places.targets.pop() {
        if places.done.contains(&target) {
            continue;
        }
        if let Some(part) = schema.pointer_mut(&target) {
            prepare_part(part, place, &target, &mut places)?;
        }
    }
    Ok(())
}

/// `inner`: the pointer from there to this part.
fn prepare_part(schema: &mut Json, outer: &str, inner: &str, places: &mut Places) -> Result<(), String> {
    if !places.done.insert(inner.to_owned()) {
        return Ok(());
    }
    let place = format!("{outer}{inner}");
    let map = match schema {
        Json::Object(map) => map,
        Json::Bool(true) => return Ok(()),
        Json::Bool(false) if !place.is_empty() => return Ok(()),
        Json::Bool(false) => return Err("the schema allows no value".into()),
        _ => return Err(format!("a schema must be an object or a boolean (at {})", shown(&place))),
    };
    mend(map).and_then(|()| places.multiples.add(map)).map_err(|fault| format!("{fault} (at {})", shown(&place)))?;
    for key in map.keys() {
        if UNSUPPORTED.contains(&key.as_str()) {
            return Err(format!("the keyword \"{key}\" is not supported (at {})", shown(&place)));
        }
    }
    check_ref(map, &place)?;
    if let Some((_, target)) = map.get("$ref").and_then(Json::as_str).and_then(|target| target.split_once('#')) {
        places.targets.push(percent_decoded(target));
    }
    let inside = |key: &str, name: &dyn std::fmt::Display| format!("{inner}/{key}/{}", escaped(&name.to_string()));
    for key in ONE {
        if let Some(value @ (Json::Object(_) | Json::Bool(_))) = map.get_mut(key) {
            prepare_part(value, outer, &format!("{inner}/{key}"), places)?;
        }
    }
    for key in LISTS {
        if let Some(Json::Array(list)) = map.get_mut(key) {
            for (index, item) in list.iter_mut().enumerate() {
                prepare_part(item, outer, &inside(key, &index), places)?;
            }
        }
    }
    for key in NAMED {
        if let Some(Json::Object(named)) = map.get_mut(key) {
            for (name, item) in named.iter_mut() {
                prepare_part(item, outer, &inside(key, name), places)?;
            }
        }
    }
    Ok(())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Nothing is fetched.
fn check_ref(map: &Map<String, Json>, place: &str) -> Result<(), String> {
    match map.get("$ref").and_then(Json::as_str) {
        Some(target) if !target.starts_with('#') && target.contains(':') && !map.contains_key("$id") => {
            Err(format!("the $ref {target:?} leads out of the schema (at {})", shown(place)))
        }
        _ => Ok(()),
    }
}

/// Descends to the innermost part that is refused with the same words.
fn find_place(schema: &Json, message: &str, compile: &dyn Fn(&Json) -> Result<Grammar, String>) -> String {
    let (mut part, mut place, mut left) = (schema, String::new(), SEARCH);
    if schema.to_string().len() > SEARCHED_BYTES {
        return place;
    }
    let common: Vec<(&str, &Json)> =
        ["$schema", "$defs", "definitions"].iter().filter_map(|key| Some((*key, schema.get(key)?))).collect();
    'descend: loop {
        for (name, child) in children(part) {
            let Some(map) = child.as_object() else { continue };
            if left == 0 {
                return place;
            }
            left -= 1;
            let mut alone = map.clone();
            for (key, value) in &common {
                alone.entry(key.to_string()).or_insert_with(|| (*value).clone());
            }
            if compile(&Json::Object(alone)).is_err_and(|other| other == message) {
                place.push_str(&name);
                part = child;
                continue 'descend;
            }
        }
        return place;
    }
}

fn children(schema: &Json) -> Vec<(String, &Json)> {
    let mut out = Vec::new();
    for key in ONE {
        if let Some(value @ Json::Object(_)) = schema.get(key) {
            out.push((format!("/{key}"), value));
        }
    }
    for key in LISTS {
        if let Some(Json::Array(list)) = schema.get(key) {
            out.extend(list.iter().enumerate().map(|(index, item)| (format!("/{key}/{index}"), item)));
        }
    }
    for key in NAMED {
        if let Some(Json::Object(named)) = schema.get(key) {
            out.extend(named.iter().map(|(name, item)| (format!("/{key}/{}", escaped(name)), item)));
        }
    }
    out
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn shown(place: &str) -> &str {
    if place.is_empty() {
        "the top"
    } else {
        place
    }
}
