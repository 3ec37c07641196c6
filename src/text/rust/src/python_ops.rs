//! Operators with Python's meaning and with limits, put in place of the engine's own.
//!
//! The compiled template is rewritten: an operator instruction becomes a call of a function whose name
//! no template can spell. Both take their operands from the stack and leave one result.

use std::fmt;
use std::sync::Arc;

use minijinja::formatting::{format as format_text, FormatStyle};
use minijinja::machinery::{Instruction, Instructions};
use minijinja::value::{Object, ObjectRepr, Tuple, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::memory;
use crate::python_text::{append_str, to_str};

const ADD: &str = "operator +";
const MUL: &str = "operator *";
const REM: &str = "operator %";
const INT_DIV: &str = "operator //";
const CONCAT: &str = "operator ~";
const IN: &str = "operator in";
const ITERATE: &str = "iterate";
const SLICE: &str = "operator [:]";

/// Attributes that every dict has; they hide keys of the same name, as in Jinja2 (`schema.items` is the method).
const DICT_ATTRIBUTES: [(&str, &str); 11] = [
    ("clear", "attribute clear"),
    ("copy", "attribute copy"),
    ("fromkeys", "attribute fromkeys"),
    ("get", "attribute get"),
    ("items", "attribute items"),
    ("keys", "attribute keys"),
    ("pop", "attribute pop"),
    ("popitem", "attribute popitem"),
    ("setdefault", "attribute setdefault"),
    ("update", "attribute update"),
    ("values", "attribute values"),
];

/// A copy of one compiled block whose operators are ours, whose raw text goes through the formatter, where output is
/// limited, and whose loops refuse what Python does not iterate. These take two instructions instead of one, so jump
/// targets move.
pub fn rewrite(block: &Instructions<'static>) -> Instructions<'static> {
    let mut targets = Vec::new();
    let mut at = 0;
    while let Some(instruction) = block.get(targets.len() as u32) {
        targets.push(at);
        at += if matches!(instruction, Instruction::EmitRaw(_) | Instruction::PushLoop(_)) { 2 } else { 1 };
    }
    targets.push(at);

    let mut out = Instructions::new(block.name(), block.source());
    for index in 0..targets.len() as u32 - 1 {
        let Some(instruction) = block.get(index) else { break };
        let line = block.get_line(index).unwrap_or(0).min(u16::MAX.into()) as u16;
        let pair = match instruction {
            Instruction::EmitRaw(text) => Some((Instruction::LoadConst(Value::from(*text)), Instruction::Emit)),
            Instruction::PushLoop(_) => Some((Instruction::CallFunction(ITERATE, Some(1)), instruction.clone())),
            _ => None,
        };
        match pair {
            Some((first, second)) => {
                out.add_with_line(first, line);
                out.add_with_line(second, line);
            }
            None => {
                out.add_with_line(rewritten(instruction.clone(), &targets), line);
            }
        }
    }
    out
}

fn rewritten(mut instruction: Instruction<'static>, targets: &[u32]) -> Instruction<'static> {
    use Instruction::*;
    match &mut instruction {
        Iterate(target)
        | Jump(target)
        | JumpIfFalse(target)
        | JumpIfFalseOrPop(target)
        | JumpIfTrueOrPop(target)
        | BuildMacro(_, target, _) => {
            *target = targets[*target as usize];
            instruction
        }
        Add => CallFunction(ADD, Some(2)),
        Mul => CallFunction(MUL, Some(2)),
        Rem => CallFunction(REM, Some(2)),
        IntDiv => CallFunction(INT_DIV, Some(2)),
        StringConcat => CallFunction(CONCAT, Some(2)),
        In => CallFunction(IN, Some(2)),
        Slice => CallFunction(SLICE, Some(4)),
        GetAttr(name) => match DICT_ATTRIBUTES.iter().find(|(attribute, _)| attribute == name) {
            Some((_, function)) => CallFunction(function, Some(1)),
            None => instruction,
        },
        _ => instruction,
    }
}

pub fn register(env: &mut Environment<'static>) {
    env.add_function(ADD, add);
    env.add_function(MUL, multiply);
    env.add_function(REM, remainder);
    env.add_function(INT_DIV, floor_divide);
    env.add_function(CONCAT, concat);
    env.add_function(IN, contains);
    env.add_function(SLICE, slice);
    env.add_function(ITERATE, iterate);
    for (attribute, function) in DICT_ATTRIBUTES {
        env.add_function(function, move |value: &Value| dict_attribute(value, attribute));
    }
}

fn type_error(operator: &str, left: &Value, right: &Value) -> Error {
    let message = format!("unsupported operand types for {operator}: {} and {}", left.kind(), right.kind());
    Error::new(ErrorKind::InvalidOperation, message)
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn is_numeric(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// Python's int, or a bool as one.
fn as_int(value: &Value) -> Option<i128> {
    match value.kind() {
        ValueKind::Bool => Some(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok(),
        _ => None,
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match as_int(value) {
        Some(int) => Some(int as f64),
        None if is_numeric(value) => f64::try_from(value.clone()).ok(),
        None => None,
    }
}

fn int_value(value: Option<i128>) -> Result<Value, Error> {
    let value = value.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "integer overflow"))?;
    Ok(i64::try_from(value).map_or_else(|_| Value::from(value), Value::from))
}

fn add(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        memory::check_string(a.len().checked_add(b.len()))?;
        if left.is_safe() || right.is_safe() {
            // Markup escapes what it is added to.
            return Ok(Value::from_safe_string(escaped(left)? + &escaped(right)?));
        }
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(left) && is_list(right) && left.is_tuple() == right.is_tuple() {
        return concat_lists(left, right);
    }
    if let (Some(a), Some(b)) = (as_int(left), as_int(right)) {
        return int_value(a.checked_add(b));
    }
    match (as_float(left), as_float(right)) {
        (Some(a), Some(b)) => Ok(Value::from(a + b)),
        _ => Err(type_error("+", left, right)),
    }
}

/// The text as HTML, unless it is marked safe.
pub fn escaped(value: &Value) -> Result<String, Error> {
    let text = to_str(value)?;
    if value.is_safe() {
        return Ok(text);
    }
    memory::check_string(text.len().checked_mul(5))?;
    let text = text.replace('&', "&amp;").replace('>', "&gt;").replace('<', "&lt;");
    Ok(text.replace('\'', "&#39;").replace('"', "&#34;"))
}

/// What a `for` loops over.
fn iterate(value: &Value) -> Result<Value, Error> {
    memory::check()?;
    match value.kind() {
        ValueKind::None | ValueKind::Bool | ValueKind::Number => {
            Err(Error::new(ErrorKind::InvalidOperation, format!("a value of type {} is not iterable", value.kind())))
        }
        _ => Ok(value.clone()),
    }
}

fn concat_lists(left: &Value, right: &Value) -> Result<Value, Error> {
    let mut items = Vec::new();
    for item in left.try_iter()?.checked().chain(right.try_iter()?.checked()) {
        memory::check_list(Some(items.len()))?;
        items.push(item?);
    }
    Ok(if left.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) })
}

fn multiply(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (as_int(left), as_int(right)) {
        return int_value(a.checked_mul(b));
    }
    if let (Some(a), Some(b)) = (as_float(left), as_float(right)) {
        return Ok(Value::from(a * b));
    }
    let (series, times) = if as_int(right).is_some() { (left, right) } else { (right, left) };
    let Some(times) = as_int(times) else {
        return Err(type_error("*", left, right));
    };
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if let Some(text) = series.as_str() {
        memory::check_string(text.len().checked_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if !is_list(series) {
        return Err(type_error("*", left, right));
    }
    let items = collect(series)?;
    memory::check_list(items.len().checked_mul(times))?;
    Ok(Value::from((0..times).flat_map(|_| items.iter().cloned()).collect::<Vec<_>>()))
}

/// The items of a list, as many as a template may hold.
pub fn collect(list: &Value) -> Result<Vec<Value>, Error> {
    let mut items = Vec::new();
    for item in list.try_iter()?.checked() {
        memory::check_list(Some(items.len()))?;
        items.push(item?);
    }
    Ok(items)
}

fn remainder(left: &Value, right: &Value) -> Result<Value, Error> {
    if let Some(format) = left.as_str() {
        let args = if right.is_tuple() { collect(right)? } else { vec![right.clone()] };
        return printf(format, &args).map(Value::from);
    }
    if let (Some(a), Some(b)) = (as_int(left), as_int(right)) {
        let rest = a.checked_rem(b).ok_or_else(zero_division)?;
        return int_value(Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }));
    }
    match (as_float(left), as_float(right)) {
        (Some(_), Some(0.0)) => Err(zero_division()),
        (Some(a), Some(b)) => Ok(Value::from(a - b * (a / b).floor())),
        _ => Err(type_error("%", left, right)),
    }
}

fn floor_divide(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (as_int(left), as_int(right)) {
        let quotient = a.checked_div(b).ok_or_else(zero_division)?;
        let is_inexact = a % b != 0;
        return int_value(Some(if is_inexact && (a < 0) != (b < 0) { quotient - 1 } else { quotient }));
    }
    match (as_float(left), as_float(right)) {
        (Some(_), Some(0.0)) => Err(zero_division()),
        (Some(a), Some(b)) => Ok(Value::from((a / b).floor())),
        _ => Err(type_error("//", left, right)),
    }
}

fn zero_division() -> Error {
    Error::new(ErrorKind::InvalidOperation, "division by zero")
}

fn concat(left: &Value, right: &Value) -> Result<Value, Error> {
    let mut out = to_str(left)?;
    append_str(right, &mut out)?;
    Ok(Value::from(out))
}

fn contains(item: &Value, container: &Value) -> Result<Value, Error> {
    memory::check()?;
    if let Some(text) = container.as_str() {
        let Some(part) = item.as_str() else {
            return Err(type_error("in", item, container));
        };
        return Ok(Value::from(text.contains(part)));
    }
    match container.kind() {
        ValueKind::Undefined => Ok(Value::from(false)),
        ValueKind::Map => Ok(Value::from(container.as_object().is_some_and(|map| map.get_value(item).is_some()))),
        ValueKind::Seq | ValueKind::Iterable => {
            for other in container.try_iter()?.checked() {
                if other? == *item {
                    return Ok(Value::from(true));
                }
            }
            Ok(Value::from(false))
        }
        _ => Err(type_error("in", item, container)),
    }
}

/// `value[start:stop:step]`.
fn slice(value: &Value, start: &Value, stop: &Value, step: &Value) -> Result<Value, Error> {
    let bound = |value: &Value| -> Result<Option<i128>, Error> {
        match value.is_none() {
            true => Ok(None),
            false => as_int(value).map(Some).ok_or_else(|| type_error("[:]", value, value)),
        }
    };
    let step = bound(step)?.unwrap_or(1);
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "slice step cannot be zero"));
    }
    let items: Vec<Value> = match value.as_str() {
        Some(text) => {
            memory::check_list(Some(text.len()))?;
            text.chars().map(Value::from).collect()
        }
        None if is_list(value) || value.is_undefined() => collect(value)?,
        None => return Err(type_error("[:]", value, start)),
    };
    let count = items.len() as i128;
    // Python's slice.indices: positions before the first item and after the last one for the two directions.
    let (low, high) = if step > 0 { (0, count) } else { (-1, count - 1) };
    let clamp = |at: i128| (if at < 0 { at + count } else { at }).clamp(low, high);
    let mut at = bound(start)?.map_or(if step > 0 { low } else { high }, clamp);
    let end = bound(stop)?.map_or(if step > 0 { high } else { low }, clamp);
    let mut picked = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        picked.push(items[at as usize].clone());
        at += step;
    }
    Ok(if value.as_str().is_some() {
        Value::from(picked.iter().filter_map(Value::as_str).collect::<String>())
    } else if value.is_tuple() {
        Value::from(Tuple::from(picked))
    } else {
        Value::from(picked)
    })
}

/// `value.name` for a name that Python's dict has.
fn dict_attribute(value: &Value, name: &'static str) -> Result<Value, Error> {
    let is_namespace = value.as_object().is_some_and(|object| object.type_name().contains("Namespace"));
    if value.kind() == ValueKind::Map && !is_namespace {
        return Ok(Value::from_object(BoundMethod { dict: value.clone(), name }));
    }
    value.get_attr(name)
}

#[derive(Debug)]
struct BoundMethod {
    dict: Value,
    name: &'static str,
}

impl Object for BoundMethod {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        self.dict.call_method(state, self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {} of dict object>", self.name)
    }
}

/// `format % args`; refuses paddings that would build too long a string.
pub fn printf(format: &str, args: &[Value]) -> Result<String, Error> {
    check_widths(format, args)?;
    format_text(FormatStyle::Printf, format, args)
}

/// `format.format(*args)`, with the same limit.
pub fn str_format(format: &str, args: &[Value]) -> Result<String, Error> {
    check_widths(format, args)?;
    format_text(FormatStyle::StrFormat, format, args)
}

/// A width or precision of more than six digits asks for a string longer than a template may build; it may
/// also come from an argument, by '*' or by a nested field.
fn check_widths(format: &str, args: &[Value]) -> Result<(), Error> {
    memory::check_string(Some(format.len()))?;
    let mut digits = 0;
    let mut is_wide = args.iter().any(|arg| as_int(arg).is_some_and(|width| width.abs() > 999_999))
        && (format.contains('*') || format.contains(":{"));
    for byte in format.bytes() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        is_wide |= digits > 6;
    }
    if is_wide {
        return Err(Error::new(ErrorKind::InvalidOperation, "the width in a format string is too large"));
    }
    Ok(())
}
