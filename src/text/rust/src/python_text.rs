//! Template values as Python writes them: `str()`, `repr()` and `json.dumps()`.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use unicode_categories::UnicodeCategories;

use crate::memory;

/// `str(value)`: strings as they are, everything else as `repr`; undefined is empty.
pub fn append_str(value: &Value, out: &mut String) -> Result<(), Error> {
    if let Some(text) = value.as_str() {
        memory::check_string(out.len().checked_add(text.len()))?;
        out.push_str(text);
        Ok(())
    } else if value.is_undefined() {
        Ok(())
    } else {
        append_repr(value, out)
    }
}

pub fn to_str(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    append_str(value, &mut out)?;
    Ok(out)
}

/// `repr(value)`.
fn append_repr(value: &Value, out: &mut String) -> Result<(), Error> {
    memory::check_string(Some(out.len()))?;
    match value.kind() {
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => append_string_repr(value.as_str().unwrap_or_default(), out),
        ValueKind::Seq | ValueKind::Iterable => {
            let is_tuple = value.is_tuple();
            let mut count = 0;
            out.push(if is_tuple { '(' } else { '[' });
            for item in value.try_iter()?.checked() {
                if count > 0 {
                    out.push_str(", ");
                }
                append_repr(&item?, out)?;
                count += 1;
            }
            if is_tuple && count == 1 {
                out.push(',');
            }
            out.push(if is_tuple { ')' } else { ']' });
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter()?.enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                append_repr(&key, out)?;
                out.push_str(": ");
                append_repr(&value.get_item(&key)?, out)?;
            }
            out.push('}');
        }
        _ => {
            let _ = write!(out, "{value}");
        }
    }
    Ok(())
}

fn number(value: &Value) -> String {
    if value.is_integer() {
        value.to_string()
    } else {
        f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float_repr)
    }
}

/// The shortest digits that read back as the same float, with Python's rule for the exponent.
pub fn float_repr(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{x}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn append_string_repr(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c == ' ' || !(c.is_other() || c.is_separator()) => out.push(c),
            c => {
                let code = c as u32;
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02x}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// The keyword arguments of `json.dumps` that chat templates may pass.
pub struct JsonStyle {
    pub ensure_ascii: bool,
    pub indent: Option<String>,
    pub item_separator: String,
    pub key_separator: String,
    pub sort_keys: bool,
}

/// `json.dumps(value)`; an error for what Python cannot serialise.
pub fn to_json(value: &Value, style: &JsonStyle) -> Result<String, Error> {
    let mut out = String::new();
    append_json(value, style, 0, &mut out)?;
    Ok(out)
}

fn append_json(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    memory::check_string(Some(out.len()))?;
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&json_number(value)),
        ValueKind::String => append_json_string(value.as_str().unwrap_or_default(), style.ensure_ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let mut count = 0;
            out.push('[');
            for item in value.try_iter()?.checked() {
                begin_item(count, depth + 1, style, out);
                append_json(&item?, style, depth + 1, out)?;
                count += 1;
            }
            end_items(count, depth, style, out);
            out.push(']');
        }
        ValueKind::Map => append_json_object(value, style, depth, out)?,
        kind => {
            let name = if kind == ValueKind::Undefined { "Undefined".into() } else { kind.to_string() };
            let message = format!("Object of type {name} is not JSON serializable");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    }
    Ok(())
}

fn append_json_object(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut keys: Vec<Value> = value.try_iter()?.collect();
    if style.sort_keys {
        keys.sort();
    }
    out.push('{');
    for (index, key) in keys.iter().enumerate() {
        begin_item(index, depth + 1, style, out);
        let name = match key.kind() {
            ValueKind::String => key.as_str().unwrap_or_default().to_owned(),
            ValueKind::None => "null".into(),
            ValueKind::Bool => {
                if key.is_true() {
                    "true".into()
                } else {
                    "false".into()
                }
            }
            ValueKind::Number => json_number(key),
            kind => {
                let message = format!("keys must be str, int, float, bool or None, not {kind}");
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
        };
        append_json_string(&name, style.ensure_ascii, out);
        out.push_str(&style.key_separator);
        append_json(&value.get_item(key)?, style, depth + 1, out)?;
    }
    end_items(keys.len(), depth, style, out);
    out.push('}');
    Ok(())
}

fn begin_item(index: usize, depth: usize, style: &JsonStyle, out: &mut String) {
    if index > 0 {
        out.push_str(&style.item_separator);
    }
    new_line(depth, style, out);
}

fn end_items(count: usize, depth: usize, style: &JsonStyle, out: &mut String) {
    if count > 0 {
        new_line(depth, style, out);
    }
}

fn new_line(depth: usize, style: &JsonStyle, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        for _ in 0..depth {
            out.push_str(indent);
        }
    }
}

fn json_number(value: &Value) -> String {
    match number(value).as_str() {
        "nan" => "NaN".into(),
        "inf" => "Infinity".into(),
        "-inf" => "-Infinity".into(),
        text => text.into(),
    }
}

fn append_json_string(text: &str, ensure_ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ensure_ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
