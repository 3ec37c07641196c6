//! Filters, tests and functions where Jinja2 (with what Hugging Face adds) and the engine differ.

use std::cell::RefCell;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::memory;
use crate::python_methods::{self, split_lines};
use crate::python_ops::{self, collect};
use crate::python_text::{self, append_str, to_str, JsonStyle};

thread_local! {
    /// The message of `raise_exception`, kept apart from the engine's decorations.
    static RAISED: RefCell<Option<String>> = const { RefCell::new(None) };
    /// What `strftime_now` calls now, seconds since 1970; None asks the clock.
    static NOW: RefCell<Option<i64>> = const { RefCell::new(None) };
}

pub fn take_raised() -> Option<String> {
    RAISED.with(|raised| raised.borrow_mut().take())
}

pub fn set_now(now: Option<i64>) {
    NOW.with(|cell| *cell.borrow_mut() = now);
}

pub fn register(env: &mut Environment<'static>) {
    env.add_filter("tojson", tojson);
    env.add_filter("string", |value: &Value| to_str(value));
    env.add_filter("join", join);
    env.add_filter("replace", replace);
    env.add_filter("indent", indent);
    env.add_filter("list", list);
    env.add_filter("first", |value: &Value| end_item(value, |items| items.first().cloned()));
    env.add_filter("last", |value: &Value| end_item(value, |items| items.last().cloned()));
    env.add_filter("length", length);
    env.add_filter("count", length);
    env.add_filter("trim", trim);
    env.add_filter("capitalize", |value: &Value| to_str(value).map(|text| python_methods::capitalize(&text)));
    env.add_filter("format", |format: &Value, args: Rest<Value>| python_ops::printf(&to_str(format)?, &args));
    env.add_filter("center", center);
    env.add_filter("escape", escape);
    env.add_filter("e", escape);
    env.add_filter("wordcount", |value: &Value| to_str(value).map(|text| word_count(&text)));
    env.add_filter("items", items);
    env.add_filter("default", default);
    env.add_filter("d", default);

    env.add_test("sequence", |value: &Value| is_sequence(value) || value.is_undefined());
    env.add_test("iterable", |value: &Value| is_sequence(value) || value.is_undefined());
    env.add_test("callable", |value: &Value| is_callable(value));

    env.add_function("raise_exception", raise_exception);
    env.add_function("strftime_now", strftime_now);
    env.add_function("range", range);
    env.add_function("cycler", |items: Rest<Value>| minijinja_contrib::globals::cycler(items.to_vec()));
    env.add_function("joiner", minijinja_contrib::globals::joiner);
}

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::String | ValueKind::Map | ValueKind::Bytes)
}

fn is_callable(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Plain)
}

/// `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`, positional as well.
fn tojson(value: &Value, args: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let argument = |index: usize, name: &str| -> Result<Value, Error> {
        let named: Option<Value> = kwargs.get(name)?;
        Ok(args.get(index).cloned().or(named).unwrap_or_else(|| Value::from(())))
    };
    let ensure_ascii = argument(0, "ensure_ascii")?.is_true();
    let indent = argument(1, "indent")?;
    let separators = argument(2, "separators")?;
    let sort_keys = argument(3, "sort_keys")?.is_true();
    kwargs.assert_all_used()?;

    let indent = match indent.kind() {
        ValueKind::None | ValueKind::Undefined => None,
        ValueKind::String => indent.as_str().map(str::to_owned),
        _ => {
            let width = indent.as_i64().ok_or_else(|| error("tojson: indent must be an integer or a string"))?;
            let width = usize::try_from(width).unwrap_or(0);
            memory::check_string(width.checked_mul(256))?;
            Some(" ".repeat(width))
        }
    };
    let (item_separator, key_separator) = if separators.is_none() || separators.is_undefined() {
        (if indent.is_none() { ", " } else { "," }.to_owned(), ": ".to_owned())
    } else {
        match collect(&separators)?.as_slice() {
            [item, key] => (to_str(item)?, to_str(key)?),
            _ => return Err(error("tojson: separators must be a pair of strings")),
        }
    };
    python_text::to_json(value, &JsonStyle { ensure_ascii, indent, item_separator, key_separator, sort_keys })
}

fn join(value: &Value, separator: Option<&Value>, kwargs: Kwargs) -> Result<String, Error> {
    let named: Option<Value> = kwargs.get("d")?;
    let attribute: Option<Value> = kwargs.get("attribute")?;
    kwargs.assert_all_used()?;
    let separator = match separator.cloned().or(named) {
        Some(separator) => to_str(&separator)?,
        None => String::new(),
    };
    let mut out = String::new();
    if value.is_undefined() {
        return Ok(out);
    }
    for (index, item) in iterate(value)?.into_iter().enumerate() {
        if index > 0 {
            memory::check_string(out.len().checked_add(separator.len()))?;
            out.push_str(&separator);
        }
        match &attribute {
            Some(attribute) => append_str(&item.get_item(attribute)?, &mut out)?,
            None => append_str(&item, &mut out)?,
        }
    }
    Ok(out)
}

/// What a Python `for` would yield: the characters of a string, the keys of a dict.
fn iterate(value: &Value) -> Result<Vec<Value>, Error> {
    match value.as_str() {
        Some(text) => {
            memory::check_list(Some(text.len()))?;
            Ok(text.chars().map(Value::from).collect())
        }
        None => collect(value),
    }
}

fn list(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Ok(Value::from(Vec::<Value>::new()));
    }
    iterate(value).map(Value::from)
}

/// The first or last item; undefined for none, as for an undefined list.
fn end_item(value: &Value, pick: impl Fn(&[Value]) -> Option<Value>) -> Result<Value, Error> {
    if value.is_undefined() {
        return Ok(Value::UNDEFINED);
    }
    Ok(pick(&iterate(value)?).unwrap_or(Value::UNDEFINED))
}

fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    match value.kind() {
        ValueKind::Iterable => collect(value).map(|items| items.len()),
        kind => value.len().ok_or_else(|| error(format!("object of type {kind} has no length"))),
    }
}

fn items(value: &Value) -> Result<Value, Error> {
    use minijinja::value::Tuple;
    if value.is_undefined() {
        return Ok(Value::from(Vec::<Value>::new()));
    }
    if value.kind() != ValueKind::Map {
        return Err(error("Can only get item pairs from a mapping."));
    }
    let mut pairs = Vec::new();
    for key in value.try_iter()? {
        let item = value.get_item(&key)?;
        pairs.push(Value::from(Tuple::from([key, item])));
    }
    Ok(Value::from(pairs))
}

fn replace(value: &Value, old: &Value, new: &Value, count: Option<i64>) -> Result<String, Error> {
    python_methods::replace(&to_str(value)?, &to_str(old)?, &to_str(new)?, count.unwrap_or(-1))
}

fn trim(value: &Value, chars: Option<&str>) -> Result<String, Error> {
    let text = to_str(value)?;
    Ok(python_methods::strip(&text, chars, true, true).to_owned())
}

fn indent(
    value: &Value,
    width: Option<Value>,
    first: Option<bool>,
    blank: Option<bool>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let named_width: Option<Value> = kwargs.get("width")?;
    let first = first.or(kwargs.get("first")?).unwrap_or(false);
    let blank = blank.or(kwargs.get("blank")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    let width = width.or(named_width).unwrap_or_else(|| Value::from(4));
    let margin = match width.as_str() {
        Some(margin) => margin.to_owned(),
        None => {
            let count = width.as_usize().unwrap_or(0);
            memory::check_string(Some(count))?;
            " ".repeat(count)
        }
    };
    let text = to_str(value)? + "\n";
    let lines = split_lines(&text, false);
    memory::check_string(lines.len().checked_mul(margin.len() + 1).and_then(|bytes| bytes.checked_add(text.len())))?;
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index > 0 || first) && (blank || !line.is_empty() || (index == 0 && first)) {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(out)
}

fn default(value: &Value, other: Option<Value>, boolean: Option<bool>, kwargs: Kwargs) -> Result<Value, Error> {
    let other = other.or(kwargs.get("default_value")?).unwrap_or_else(|| Value::from(""));
    let is_boolean = boolean.or(kwargs.get("boolean")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    let is_absent = value.is_undefined() || (is_boolean && !value.is_true());
    Ok(if is_absent { other } else { value.clone() })
}

fn center(value: &Value, width: Option<usize>) -> Result<String, Error> {
    let text = to_str(value)?;
    let width = width.unwrap_or(80);
    let missing = width.saturating_sub(text.chars().count());
    memory::check_string(missing.checked_add(text.len()))?;
    let left = missing / 2 + (missing & width & 1);
    Ok(format!("{}{text}{}", " ".repeat(left), " ".repeat(missing - left)))
}

fn escape(value: &Value) -> Result<Value, Error> {
    python_ops::escaped(value).map(Value::from_safe_string)
}

fn word_count(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count()
}

fn raise_exception(message: &Value) -> Result<Value, Error> {
    let message = to_str(message)?;
    RAISED.with(|raised| *raised.borrow_mut() = Some(message.clone()));
    Err(error(message))
}

fn range(first: i64, second: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = second.map_or((0, first), |stop| (first, stop));
    let step = i128::from(step.unwrap_or(1));
    if step == 0 {
        return Err(error("range() arg 3 must not be zero"));
    }
    let span = if step > 0 { i128::from(stop) - i128::from(start) } else { i128::from(start) - i128::from(stop) };
    let count = (span.max(0) + step.abs() - 1) / step.abs();
    // The limit of Jinja's sandbox.
    if count > 100_000 {
        return Err(error("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."));
    }
    memory::check()?;
    Ok(Value::from((0..count).map(|i| Value::from((i128::from(start) + i * step) as i64)).collect::<Vec<_>>()))
}

fn strftime_now(_state: &State, format: &str) -> Result<String, Error> {
    let now = NOW.with(|now| *now.borrow());
    let now = now.unwrap_or_else(|| {
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        elapsed.map_or(0, |elapsed| elapsed.as_secs() as i64)
    });
    local_time(now, format).ok_or_else(|| error("strftime_now: unusable format"))
}

/// The local time as libc's strftime writes it; Python's %f is not known there and stands for zero microseconds.
fn local_time(seconds: i64, format: &str) -> Option<String> {
    if format.is_empty() {
        return Some(String::new());
    }
    let format = std::ffi::CString::new(format.replace("%f", "000000").replace("%Z", "").replace("%z", "")).ok()?;
    let mut out = vec![0_u8; format.as_bytes().len() * 64 + 64];
    // SAFETY: both structures live on this stack, `out` has the stated size.
    let written = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&seconds, &mut parts).is_null() {
            return None;
        }
        libc::strftime(out.as_mut_ptr().cast(), out.len(), format.as_ptr(), &parts)
    };
    out.truncate(written);
    String::from_utf8(out).ok()
}
