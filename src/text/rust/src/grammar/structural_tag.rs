//! Structural tags: free text in which certain beginnings oblige to what follows them.
//!
//! Both forms of SGLang: `structures` with `triggers`, and the newer `format`, of which a tree of constant texts, schemas,
//! regular expressions, grammars, sequences, choices and tags is understood. Special tokens in texts stand for themselves.

use std::fmt::Write;

use llguidance::api::TopLevelGrammar;
use serde_json::{json, Value as Json};

use super::{choice::literal, read_json, schema, JsonLayout, Tail, Vocabulary, MAX_NESTING};

pub fn read(vocabulary: &Vocabulary, source: &str, layout: &JsonLayout) -> Result<TopLevelGrammar, String> {
    let tag = read_json(source)?;
    let mut writer = Writer { vocabulary, layout, lark: String::new(), count: 0 };
    let start = if tag.get("structures").is_some() {
        writer.old(&tag)?
    } else {
        let format = tag.get("format").ok_or("there is neither \"structures\" nor \"format\"")?;
        writer.format(format, "/format", 0, None)?
    };
    let tail = if layout.tail == Tail::Any { writer.free_text(&[]) } else { String::new() };
    Ok(TopLevelGrammar::from_lark(format!("start: {start} {tail}\n{}", writer.lark)))
}

struct Writer<'a> {
    vocabulary: &'a Vocabulary,
    layout: &'a JsonLayout,
    lark: String,
    count: usize,
}

/// A text cut at special tokens.
enum Part<'t> {
    Text(&'t str),
    Special(u32),
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn rule(&mut self, body: &str) -> String {
        let name = self.name("r");
        let _ = writeln!(self.lark, "{name}: {body}");
        name
    }

    fn regex_rule(&mut self, regex: &str) -> String {
        let name = self.name("T");
        let _ = writeln!(self.lark, "{name}: /{}/", llguidance::regex_to_lark(regex, ""));
        name
    }

    fn parts<'t>(&self, text: &'t str) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text[at..];
            let special =
                self.vocabulary.specials().filter(|special| rest.starts_with(special)).max_by_key(|s| s.len());
            match special.and_then(|special| Some((special.len(), self.vocabulary.special(special)?))) {
                Some((size, id)) if size > 0 => {
                    if begin < at {
                        parts.push(Part::Text(&text[begin..at]));
                    }
                    parts.push(Part::Special(id));
                    at += size;
                    begin = at;
                }
                _ => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        if begin < at {
            parts.push(Part::Text(&text[begin..at]));
        }
        parts
    }

    fn constant(&mut self, text: &str) -> String {
        let parts: Vec<String> = self
            .parts(text)
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => Json::from(text).to_string(),
                Part::Special(id) => format!("<[{id}]>"),
            })
            .collect();
        if parts.is_empty() {
            return "\"\"".into();
        }
        parts.join(" ")
    }

    fn json(&mut self, schema: &Json, place: &str) -> Result<String, String> {
        let mut schema = schema.clone();
        schema::prepare(&mut schema, place)?;
        let schema = schema::laid_out(&schema, self.layout);
        Ok(self.rule(&format!("%json {schema}")))
    }

    /// Text in which none of `others` occurs, up to the end of all.
    fn free_text(&mut self, others: &[String]) -> String {
        let name = self.name("T");
        let without = self.without(others);
        let _ = writeln!(self.lark, "{name}: /(?s:.)+/{without}");
        format!("{name}?")
    }

    /// Text in which none of `others` occurs, up to and with `end`.
    fn text_until(&mut self, end: &str, others: &[String]) -> String {
        if self.starts_special(end) {
            return format!("{} {}", self.free_text(others), self.constant(end));
        }
        let name = self.name("r");
        let without = self.without(others);
        let _ = writeln!(self.lark, "{name}[suffix={}]: /(?s:.)*/{without}", Json::from(end));
        name
    }

    fn without(&self, others: &[String]) -> String {
        let texts: Vec<String> =
            others.iter().filter(|text| !self.starts_special(text)).map(|text| literal(text)).collect();
        if texts.is_empty() {
            return String::new();
        }
        let found = llguidance::regex_to_lark(&format!("(?s:.)*(?:{})(?s:.)*", texts.join("|")), "");
        format!(" & ~/{found}/")
    }

    fn starts_special(&self, text: &str) -> bool {
        matches!(self.parts(text).first(), Some(Part::Special(_)))
    }

    /// {"structures": [{"begin", "schema", "end"}], "triggers": [...]}
    fn old(&mut self, tag: &Json) -> Result<String, String> {
        let triggers = texts(tag, "triggers", "the top")?;
        let structures = tag["structures"].as_array().ok_or("structures: a list is expected")?;
        let mut tags = Vec::new();
        for (index, structure) in structures.iter().enumerate() {
            let place = format!("/structures/{index}");
            let begin = text(structure, "begin", &place)?;
            let end = text(structure, "end", &place)?;
            let schema = structure.get("schema").cloned().unwrap_or_else(|| json!({}));
            let body = self.json(&schema, &format!("{place}/schema"))?;
            let end = self.constant(end);
            tags.push(Tag { begin: begin.to_owned(), body: format!("{body} {end}") });
        }
        let style = TagStyle { at_least_one: false, stops_after_first: false };
        self.dispatch(&tags, &triggers, style, "/structures", None)
    }

    /// Free text; after each trigger, one of the tags whose beginnings start with it.
    fn dispatch(
        &mut self,
        tags: &[Tag],
        triggers: &[String],
        style: TagStyle,
        place: &str,
        end: Option<&str>,
    ) -> Result<String, String> {
        if triggers.iter().any(String::is_empty) || triggers.is_empty() {
            return Err(format!("a trigger is expected, and none may be empty (at {place})"));
        }
        for tag in tags {
            if !triggers.iter().any(|trigger| tag.begin.starts_with(trigger.as_str())) {
                return Err(format!("no trigger leads to the tag that begins with {:?} (at {place})", tag.begin));
            }
        }
        let mut options = Vec::new();
        for trigger in triggers {
            let mut after = Vec::new();
            for tag in tags.iter().filter(|tag| tag.begin.starts_with(trigger.as_str())) {
                let rest = self.constant(&tag.begin[trigger.len()..]);
                after.push(format!("{rest} {}", tag.body));
            }
            if after.is_empty() {
                return Err(format!("no tag begins with the trigger {trigger:?} (at {place})"));
            }
            let after = self.rule(&after.join(" | "));
            let others: Vec<String> =
                triggers.iter().filter(|other| *other != trigger).cloned().chain(end.map(str::to_owned)).collect();
            let before = self.text_until(trigger, &others);
            options.push(format!("{before} {after}"));
        }
        let one = self.rule(&options.join(" | "));
        let rest = match (style.stops_after_first, end) {
            (true, Some(end)) => self.constant(end),
            (true, None) => String::new(),
            (false, Some(end)) => self.text_until(end, triggers),
            (false, None) => self.free_text(triggers),
        };
        Ok(match (style.at_least_one, style.stops_after_first) {
            (true, true) => self.rule(&format!("{one} {rest}")),
            (true, false) => self.rule(&format!("({one})+ {rest}")),
            (false, false) => self.rule(&format!("({one})* {rest}")),
            (false, true) => {
                let none = match end {
                    Some(end) => self.text_until(end, triggers),
                    None => self.free_text(triggers),
                };
                self.rule(&format!("{one} {rest} | {none}"))
            }
        })
    }

    /// With the end of the surrounding tag, because free text must know where it stops.
    fn format(&mut self, format: &Json, place: &str, depth: usize, end: Option<&str>) -> Result<String, String> {
        if depth > MAX_NESTING {
            return Err(format!("formats are nested more than {MAX_NESTING} deep"));
        }
        let body = match text(format, "type", place)? {
            "any_text" => {
                return Ok(match end {
                    Some(end) => self.text_until(end, &[]),
                    None => self.free_text(&[]),
                })
            }
            "triggered_tags" => {
                let tags = self.tags(format, place, depth)?;
                let triggers = texts(format, "triggers", place)?;
                return self.dispatch(&tags, &triggers, TagStyle::of(format), place, end);
            }
            "or" => {
                let mut options = Vec::new();
                for (index, element) in elements(format, place)?.iter().enumerate() {
                    options.push(self.format(element, &format!("{place}/elements/{index}"), depth + 1, end)?);
                }
                return Ok(self.rule(&options.join(" | ")));
            }
            "sequence" => {
                let elements = elements(format, place)?;
                let mut parts = Vec::new();
                for (index, element) in elements.iter().enumerate() {
                    let place = format!("{place}/elements/{index}");
                    let is_last = index + 1 == elements.len();
                    if !is_last && matches!(element["type"].as_str(), Some("any_text" | "triggered_tags")) {
                        return Err(format!("free text must be the last of a sequence (at {place})"));
                    }
                    parts.push(self.format(element, &place, depth + 1, end.filter(|_| is_last))?);
                }
                return Ok(self.rule(&parts.join(" ")));
            }
            "const_string" => {
                let value = text(format, "value", place)?;
                self.constant(value)
            }
            "json_schema" => {
                let schema = format.get("json_schema").ok_or(format!("json_schema is missing (at {place})"))?;
                self.json(schema, &format!("{place}/json_schema"))?
            }
            "regex" => {
                let pattern = text(format, "pattern", place)?;
                super::check_nesting(pattern)?;
                self.regex_rule(pattern)
            }
            "tag" => {
                let tag = self.tag(format, place, depth)?;
                let begin = self.constant(&tag.begin);
                self.rule(&format!("{begin} {}", tag.body))
            }
            "tags_with_separator" => {
                let separator = self.constant(text(format, "separator", place)?);
                let mut options = Vec::new();
                for tag in &self.tags(format, place, depth)? {
                    options.push(format!("{} {}", self.constant(&tag.begin), tag.body));
                }
                let one = self.rule(&options.join(" | "));
                let style = TagStyle::of(format);
                let more = if style.stops_after_first { String::new() } else { format!(" ({separator} {one})*") };
                let optional = if style.at_least_one { "" } else { "?" };
                self.rule(&format!("({one}{more}){optional}"))
            }
            "optional" | "star" | "plus" => {
                let content = format.get("content").ok_or(format!("content is missing (at {place})"))?;
                if matches!(content["type"].as_str(), Some("any_text" | "triggered_tags")) {
                    return Err(format!("free text cannot be repeated (at {place})"));
                }
                let one = self.format(content, &format!("{place}/content"), depth + 1, None)?;
                let times = match format["type"].as_str() {
                    Some("optional") => "?",
                    Some("star") => "*",
                    _ => "+",
                };
                self.rule(&format!("({one}){times}"))
            }
            kind => return Err(format!("the format \"{kind}\" is not supported (at {place})")),
        };
        Ok(match end {
            Some(end) => format!("{body} {}", self.constant(end)),
            None => body,
        })
    }

    fn tags(&mut self, format: &Json, place: &str, depth: usize) -> Result<Vec<Tag>, String> {
        let tags = format["tags"].as_array().filter(|tags| !tags.is_empty());
        let tags = tags.ok_or(format!("tags: a list is expected (at {place})"))?;
        let places = (0..tags.len()).map(|index| format!("{place}/tags/{index}"));
        tags.iter().zip(places).map(|(tag, place)| self.tag(tag, &place, depth + 1)).collect()
    }

    fn tag(&mut self, tag: &Json, place: &str, depth: usize) -> Result<Tag, String> {
        let begin = text(tag, "begin", place)?.to_owned();
        let end = text(tag, "end", place)?.to_owned();
        if end.is_empty() {
            return Err(format!("end: a text that is not empty is expected (at {place})"));
        }
        let content = tag.get("content").ok_or(format!("content is missing (at {place})"))?;
        let body = self.format(content, &format!("{place}/content"), depth + 1, Some(end.as_str()))?;
        Ok(Tag { begin, body })
    }
}

/// What follows the beginning of a tag includes its end.
struct Tag {
    begin: String,
    body: String,
}

#[derive(Clone, Copy)]
struct TagStyle {
    at_least_one: bool,
    stops_after_first: bool,
}

impl TagStyle {
    fn of(format: &Json) -> TagStyle {
        let flag = |name: &str| format.get(name).and_then(Json::as_bool).unwrap_or(false);
        TagStyle { at_least_one: flag("at_least_one"), stops_after_first: flag("stop_after_first") }
    }
}

fn elements<'t>(format: &'t Json, place: &str) -> Result<&'t Vec<Json>, String> {
    let elements = format.get("elements").and_then(Json::as_array).filter(|elements| !elements.is_empty());
    elements.ok_or(format!("elements: a list is expected (at {place})"))
}

fn text<'t>(value: &'t Json, name: &str, place: &str) -> Result<&'t str, String> {
    value.get(name).and_then(Json::as_str).ok_or(format!("{name}: a text is expected (at {place})"))
}

fn texts(value: &Json, name: &str, place: &str) -> Result<Vec<String>, String> {
    let list =
        value.get(name).and_then(Json::as_array).ok_or(format!("{name}: a list of texts is expected (at {place})"))?;
    let texts: Option<Vec<String>> = list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.ok_or(format!("{name}: a list of texts is expected (at {place})"))
}
