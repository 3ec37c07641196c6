//! One Jinja program: compiled once, run by any number of threads.
//!
//! The environment is that of transformers' `_compile_jinja_template`: trim_blocks, lstrip_blocks, loop controls,
//! `tojson`, `raise_exception`, `strftime_now`, lenient undefined values, nothing that changes its input.

use std::collections::BTreeMap;

use minijinja::machinery::{self, CodeGenerator, Instruction, Instructions};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};

use crate::memory::{self, RenderLimits};
use crate::python_text::to_str;
use crate::{python_filters, python_methods, python_ops};

/// Instructions one rendering may execute; a long conversation takes some hundred per message.
const MAX_INSTRUCTIONS: u64 = 20_000_000;
const MAX_SOURCE_BYTES: usize = 4 << 20;

pub struct Program {
    // `root` and `blocks` borrow from `source` and must go first.
    root: Instructions<'static>,
    blocks: BTreeMap<&'static str, Instructions<'static>>,
    env: Environment<'static>,
    _source: Source,
}

/// Owns the source text behind the `'static` borrows of the instructions.
struct Source(*mut str);

// SAFETY: the text is never written after construction.
unsafe impl Send for Source {}
unsafe impl Sync for Source {}

impl Drop for Source {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `Program::new`; the borrowers are dropped before.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Program {
    pub fn new(source: &str) -> Result<Program, String> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(format!(
                "chat template is too long: expected at most {MAX_SOURCE_BYTES} bytes, found {}",
                source.len()
            ));
        }
        let text = plain_newlines(source);
        let text = generation_as_with(&text);
        let owned = Source(Box::into_raw(text.into_boxed_str()));
        // SAFETY: the box lives as long as this Program (see Drop) and does not move.
        let text: &'static str = unsafe { &*owned.0 };
        let syntax =
            SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(|e| e.to_string())?;
        let ast = machinery::parse(text, "chat template", syntax).map_err(|error| describe(&error))?;
        let mut generator = CodeGenerator::new("chat template", text);
        generator.compile_stmt(&ast);
        let (root, blocks) = generator.finish();
        let root = python_ops::rewrite(&root);
        let blocks = blocks.iter().map(|(name, block)| (*name, python_ops::rewrite(block))).collect();
        Ok(Program { root, blocks, env: environment(), _source: owned })
    }

    /// Does the program look at this variable anywhere?
    pub fn reads(&self, variable: &str) -> bool {
        let mut blocks = self.blocks.values().chain([&self.root]);
        blocks.any(|block| {
            let instructions = (0..).map_while(|index| block.get(index));
            instructions.into_iter().any(|instruction| matches!(instruction, Instruction::Lookup(name) if *name == variable))
        })
    }

    /// variables: a map. now: for strftime_now, seconds since 1970; None asks the clock.
    pub fn run(&self, variables: Value, now: Option<i64>) -> Result<String, String> {
        let limits = RenderLimits::start();
        python_filters::set_now(now);
        python_filters::take_raised();
        let mut text = String::new();
        let mut output = machinery::make_string_output(&mut text);
        let result =
            machinery::eval(&self.env, &self.root, variables, &self.blocks, &mut output, AutoEscape::None).map(|_| ());
        drop(output);
        drop(limits);
        match result {
            Ok(()) => Ok(text),
            Err(error) => Err(python_filters::take_raised().unwrap_or_else(|| describe(&error))),
        }
    }
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(MAX_INSTRUCTIONS));
    env.set_recursion_limit(200);
    env.set_unknown_method_callback(python_methods::call);
    env.set_formatter(|out, _, value| {
        memory::check()?;
        if let Some(text) = value.as_str() {
            out.write_str(text)?;
        } else {
            out.write_str(&to_str(value)?)?;
        }
        Ok(())
    });
    python_filters::register(&mut env);
    python_ops::register(&mut env);
    env
}

fn describe(error: &Error) -> String {
    error.to_string()
}

/// Jinja2 reads every kind of line end as one newline.
fn plain_newlines(source: &str) -> String {
    source.replace("\r\n", "\n").replace('\r', "\n")
}

/// `{% generation %}` marks what an assistant wrote, for training. Rendered, it is a block with its own scope: `with`.
fn generation_as_with(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = next_tag(rest) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let (tag, after) = tag.split_at(tag_end(tag));
        rest = after;
        let name = tag[2..].trim_start_matches(['-', '+']).trim_start();
        let word = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let replacement = match word {
            "generation" if tag.starts_with("{%") => "with",
            "endgeneration" if tag.starts_with("{%") => "endwith",
            _ => {
                out.push_str(tag);
                continue;
            }
        };
        out.push_str(&tag[..tag.len() - name.len()]);
        out.push_str(replacement);
        out.push_str(&name[word.len()..]);
    }
    out.push_str(rest);
    out
}

fn next_tag(text: &str) -> Option<usize> {
    ["{%", "{{", "{#"].iter().filter_map(|open| text.find(open)).min()
}

/// Length of the tag at the start of `text`; a closing mark inside quotes does not end it.
fn tag_end(text: &str) -> usize {
    let close = match &text[..2] {
        "{%" => "%}",
        "{{" => "}}",
        _ => return text.find("#}").map_or(text.len(), |at| at + 2),
    };
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(2) {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if text[at..].starts_with(close) => return at + 2,
            None => {}
        }
    }
    text.len()
}
