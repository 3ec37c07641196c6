//! Methods of Python's str, dict and list that chat templates call. Methods that would change their object do not
//! exist, as in Jinja's immutable sandbox.

use minijinja::value::{Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use crate::memory;
use crate::python_ops::{collect, str_format};
use crate::python_text::to_str;

/// The engine's hook for methods: ours first, then those of minijinja-contrib.
pub fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    memory::check()?;
    let (args, kwargs) = split_kwargs(args);
    let result = match value.kind() {
        ValueKind::String => string_method(value.as_str().unwrap_or_default(), method, args, &kwargs)?,
        ValueKind::Map => map_method(value, method, args)?,
        ValueKind::Seq | ValueKind::Iterable => list_method(value, method, args)?,
        _ => None,
    };
    match result {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn split_kwargs(args: &[Value]) -> (&[Value], Option<Kwargs>) {
    match args.split_last() {
        Some((last, rest)) if last.is_kwargs() => (rest, Kwargs::try_from(last.clone()).ok()),
        _ => (args, None),
    }
}

fn error(message: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.to_owned())
}

/// Argument `index`, by position or by name; None if absent or Python's None.
fn argument(args: &[Value], index: usize, kwargs: &Option<Kwargs>, name: &str) -> Option<Value> {
    let named = kwargs.as_ref().and_then(|kwargs| kwargs.get::<Option<Value>>(name).ok().flatten());
    args.get(index).cloned().or(named).filter(|value| !value.is_none() && !value.is_undefined())
}

fn text_argument(args: &[Value], index: usize, method: &str) -> Result<String, Error> {
    let text = args.get(index).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| error(&format!("{method}() needs a string as argument {}", index + 1)))
}

/// What Python's `str.isspace` calls space.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

pub fn strip<'a>(text: &'a str, chars: Option<&str>, left: bool, right: bool) -> &'a str {
    let is_stripped = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let text = if left { text.trim_start_matches(is_stripped) } else { text };
    if right {
        text.trim_end_matches(is_stripped)
    } else {
        text
    }
}

fn string_method(text: &str, method: &str, args: &[Value], kwargs: &Option<Kwargs>) -> Result<Option<Value>, Error> {
    let value = match method {
        "strip" | "lstrip" | "rstrip" => {
            let chars = argument(args, 0, kwargs, "chars");
            let chars = match &chars {
                Some(chars) => Some(chars.as_str().ok_or_else(|| error("strip() needs a string"))?),
                None => None,
            };
            Value::from(strip(text, chars, method != "rstrip", method != "lstrip"))
        }
        "split" | "rsplit" => split(text, method, args, kwargs)?,
        "splitlines" => {
            let keep = argument(args, 0, kwargs, "keepends").is_some_and(|keep| keep.is_true());
            Value::from(split_lines(text, keep).into_iter().map(Value::from).collect::<Vec<_>>())
        }
        "replace" => {
            let (old, new) = (text_argument(args, 0, method)?, text_argument(args, 1, method)?);
            let most = argument(args, 2, kwargs, "count").and_then(|n| n.as_i64()).unwrap_or(-1);
            Value::from(replace(text, &old, &new, most)?)
        }
        "join" => join(text, args)?,
        "partition" | "rpartition" => partition(text, &text_argument(args, 0, method)?, method == "rpartition"),
        "removeprefix" => {
            let prefix = text_argument(args, 0, method)?;
            Value::from(text.strip_prefix(prefix.as_str()).unwrap_or(text))
        }
        "removesuffix" => {
            let suffix = text_argument(args, 0, method)?;
            Value::from(text.strip_suffix(suffix.as_str()).unwrap_or(text))
        }
        "index" | "rindex" => {
            let part = text_argument(args, 0, method)?;
            let at = if method == "index" { text.find(&part) } else { text.rfind(&part) };
            let at = at.ok_or_else(|| error("substring not found"))?;
            Value::from(text[..at].chars().count())
        }
        "capitalize" => Value::from(capitalize(text)),
        "title" => Value::from(title(text)),
        "casefold" => Value::from(text.to_lowercase()),
        "swapcase" => Value::from(swap_case(text)),
        "zfill" | "center" | "ljust" | "rjust" => pad(text, method, args)?,
        "isdecimal" => Value::from(!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())),
        "istitle" => Value::from(text.chars().any(char::is_uppercase) && title(text) == text),
        "format" => {
            let mut all = args.to_vec();
            if let Some(kwargs) = kwargs {
                all.push(Value::from(kwargs.clone()));
            }
            Value::from(str_format(text, &all)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn split(text: &str, method: &str, args: &[Value], kwargs: &Option<Kwargs>) -> Result<Value, Error> {
    let separator = argument(args, 0, kwargs, "sep");
    let most = argument(args, 1, kwargs, "maxsplit").and_then(|n| n.as_i64()).unwrap_or(-1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let parts = match &separator {
        Some(separator) => {
            let separator = separator.as_str().ok_or_else(|| error("split() needs a string"))?;
            split_at(text, separator, most, method == "rsplit")?
        }
        None if method == "split" => split_space(text, most),
        None => rsplit_space(text, most),
    };
    Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
}

fn join(separator: &str, args: &[Value]) -> Result<Value, Error> {
    let list = args.first().ok_or_else(|| error("join() needs a list"))?;
    let mut out = String::new();
    for (index, item) in list.try_iter()?.checked().enumerate() {
        let item = item?;
        let item = item.as_str().ok_or_else(|| error("join() needs a list of strings"))?;
        memory::check_string(out.len().checked_add(item.len() + separator.len()))?;
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(item);
    }
    Ok(Value::from(out))
}

fn split_at(text: &str, separator: &str, most: usize, from_right: bool) -> Result<Vec<String>, Error> {
    if separator.is_empty() {
        return Err(error("empty separator"));
    }
    let limit = most.saturating_add(1);
    let mut parts: Vec<String> = if from_right {
        text.rsplitn(limit, separator).map(str::to_owned).collect()
    } else {
        text.splitn(limit, separator).map(str::to_owned).collect()
    };
    if from_right {
        parts.reverse();
    }
    Ok(parts)
}

fn split_space(text: &str, most: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest.trim_end_matches(is_space).to_owned());
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

fn rsplit_space(text: &str, most: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest.trim_start_matches(is_space).to_owned());
            break;
        }
        let start = rest.char_indices().rev().find(|(_, c)| is_space(*c)).map_or(0, |(i, c)| i + c.len_utf8());
        parts.push(rest[start..].to_owned());
        rest = rest[..start].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// `str.splitlines`: all of Python's line boundaries, "\r\n" as one.
pub fn split_lines(text: &str, keep_ends: bool) -> Vec<String> {
    let is_boundary =
        |c| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (end, next) = match rest.find(is_boundary) {
            None => (rest.len(), rest.len()),
            Some(at) if rest[at..].starts_with("\r\n") => (at, at + 2),
            Some(at) => (at, at + rest[at..].chars().next().map_or(1, char::len_utf8)),
        };
        lines.push(rest[..if keep_ends { next } else { end }].to_owned());
        rest = &rest[next..];
    }
    lines
}

/// `str.replace`; a negative `most` replaces all.
pub fn replace(text: &str, old: &str, new: &str, most: i64) -> Result<String, Error> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    let count = found.min(most);
    memory::check_string(count.checked_mul(new.len()).and_then(|grown| grown.checked_add(text.len())))?;
    Ok(text.replacen(old, new, count))
}

fn partition(text: &str, separator: &str, from_right: bool) -> Value {
    let at = if from_right { text.rfind(separator) } else { text.find(separator) };
    let parts = match at {
        Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
        None if from_right => ["", "", text],
        None => [text, "", ""],
    };
    Value::from(Tuple::from(parts.map(Value::from)))
}

pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    first + &chars.as_str().to_lowercase()
}

fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    for c in text.chars() {
        if is_inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        is_inside = c.is_alphabetic();
    }
    out
}

fn swap_case(text: &str) -> String {
    let swap = |c: char| {
        if c.is_uppercase() {
            c.to_lowercase().collect::<String>()
        } else {
            c.to_uppercase().collect()
        }
    };
    text.chars().map(swap).collect()
}

fn pad(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let width = args.first().and_then(Value::as_i64).ok_or_else(|| error("a width must be an integer"))?;
    let width = usize::try_from(width).unwrap_or(0);
    let fill = match args.get(1) {
        Some(fill) => {
            fill.as_str().and_then(|fill| fill.chars().next()).ok_or_else(|| error("a fill must be one character"))?
        }
        None => ' ',
    };
    let missing = width.saturating_sub(text.chars().count());
    memory::check_string(missing.checked_mul(4).and_then(|bytes| bytes.checked_add(text.len())))?;
    let fills = |count: usize| std::iter::repeat_n(fill, count).collect::<String>();
    let padded = match method {
        "zfill" => {
            let sign_bytes = usize::from(text.starts_with(['+', '-']));
            let (sign, digits) = text.split_at(sign_bytes);
            format!("{sign}{}{digits}", "0".repeat(missing))
        }
        "ljust" => format!("{text}{}", fills(missing)),
        "rjust" => format!("{}{text}", fills(missing)),
        _ => {
            // CPython puts the odd fill on the left when both the gap and the width are odd.
            let left = missing / 2 + (missing & width & 1);
            format!("{}{text}{}", fills(left), fills(missing - left))
        }
    };
    Ok(Value::from(padded))
}

fn map_method(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "get" => {
            let key = args.first().ok_or_else(|| error("get() needs a key"))?;
            let found = value.as_object().and_then(|map| map.get_value(key));
            Ok(Some(found.unwrap_or_else(|| args.get(1).cloned().unwrap_or_else(|| Value::from(())))))
        }
        "copy" => Ok(Some(value.clone())),
        _ => Ok(None),
    }
}

fn list_method(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "copy" => Ok(Some(value.clone())),
        "count" => {
            let wanted = args.first().ok_or_else(|| error("count() needs a value"))?;
            Ok(Some(Value::from(collect(value)?.iter().filter(|item| *item == wanted).count())))
        }
        "index" => {
            let wanted = args.first().ok_or_else(|| error("index() needs a value"))?;
            let at = collect(value)?.iter().position(|item| item == wanted);
            at.map(|at| Some(Value::from(at))).ok_or_else(|| match to_str(wanted) {
                Ok(wanted) => error(&format!("{wanted} is not in list")),
                Err(error) => error,
            })
        }
        "append" | "extend" | "insert" | "pop" | "remove" | "sort" | "reverse" | "clear" => {
            Err(error(&format!("'{method}' would change the list: templates may not change their input")))
        }
        _ => Ok(None),
    }
}
