//! Grammars over a tokenizer's vocabulary: which tokens may come next so that the text stays what was asked for.
//!
//! A `Vocabulary` is made once per tokenizer, a `Grammar` once per specification, a `Matcher` once per text. Masks are a
//! function of the tokens so far alone: nothing is forced, however a text is cut into tokens.

mod choice;
mod ebnf;
mod schema;
mod schema_mends;
mod structural_tag;
mod vocabulary;

pub mod ffi;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use llguidance::api::{ParserLimits, StopReason, TopLevelGrammar};
use serde::Deserialize;
use serde_json::Value as Json;

pub use vocabulary::Vocabulary;

/// Longest specification; a schema of this size takes some 100 ms to compile.
pub const MAX_SOURCE_BYTES: usize = 512 << 10;
/// Deepest nesting of brackets in a specification, because parsers descend by recursion.
pub const MAX_NESTING: usize = 100;

/// What a specification is written in; the values are part of the C interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    JsonSchema = 0,
    Regex = 1,
    /// The dialect of xgrammar and llama.cpp, or Lark's.
    Ebnf = 2,
    StructuralTag = 3,
    /// A JSON list of texts.
    Choice = 4,
}

impl Kind {
    pub fn from_number(number: u32) -> Option<Kind> {
        [Kind::JsonSchema, Kind::Regex, Kind::Ebnf, Kind::StructuralTag, Kind::Choice]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }
}

/// How JSON may be laid out.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct JsonLayout {
    /// A regular expression of what may stand between tokens of JSON; absent: up to 32 spaces, tabs and line breaks.
    pub whitespace_pattern: Option<String>,
    /// One space after commas and colons, and none elsewhere.
    pub compact: bool,
}

/// Bounds the work of one mask to some ten milliseconds and the lexer of a grammar to some ten megabytes.
pub fn limits() -> ParserLimits {
    ParserLimits {
        max_items_in_row: 2000,
        initial_lexer_fuel: 1_000_000,
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        max_lexer_states: 50_000,
        max_grammar_size: 500_000,
        precompute_large_lexemes: true,
        verbose_errors: false,
    }
}

/// A compiled specification. Its lexer grows as texts are matched, behind a lock that all of its matchers share.
pub struct Grammar {
    start: llguidance::Matcher,
    vocab: u32,
    /// A matcher failed in a way that may have left the shared lexer unusable.
    is_spoiled: Arc<AtomicBool>,
}

impl Grammar {
    pub fn new(vocabulary: &Vocabulary, kind: Kind, source: &str, layout: &JsonLayout) -> Result<Grammar, String> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(format!("it is too long: at most {MAX_SOURCE_BYTES} bytes (found {})", source.len()));
        }
        let top = match kind {
            Kind::JsonSchema => {
                let schema = schema::parse(source)?;
                return schema::compile(vocabulary, schema, layout);
            }
            Kind::Regex => {
                check_nesting(source)?;
                TopLevelGrammar::from_regex(source)
            }
            Kind::Ebnf => ebnf::read(source)?,
            Kind::StructuralTag => structural_tag::read(vocabulary, source, layout)?,
            Kind::Choice => choice::read(source)?,
        };
        Grammar::of(vocabulary, top)
    }

    fn of(vocabulary: &Vocabulary, top: TopLevelGrammar) -> Result<Grammar, String> {
        let parser = vocabulary.factory().create_parser(top).map_err(|error| plain(&format!("{error:#}")))?;
        let mut start = llguidance::Matcher::new(Ok(parser));
        // Nothing may be known to be wrong with it before the first mask: ambiguity, for one.
        let mut probe = Matcher::of(start.clone(), vocabulary.size(), Arc::new(AtomicBool::new(false)));
        if probe.has_ended() {
            return Err("it allows no text but the empty one".into());
        }
        probe.mask(&mut vec![0; vocabulary.mask_words()])?;
        start.invalidate_bias_cache();
        Ok(Grammar { start, vocab: vocabulary.size(), is_spoiled: Arc::new(AtomicBool::new(false)) })
    }

    pub fn matcher(&self) -> Matcher {
        Matcher::of(self.start.clone(), self.vocab, self.is_spoiled.clone())
    }

    pub fn is_spoiled(&self) -> bool {
        self.is_spoiled.load(Ordering::Relaxed)
    }
}

/// One text's place in a grammar.
#[derive(Clone)]
pub struct Matcher {
    inner: llguidance::Matcher,
    vocab: u32,
    is_spoiled: Arc<AtomicBool>,
}

impl Matcher {
    fn of(inner: llguidance::Matcher, vocab: u32, is_spoiled: Arc<AtomicBool>) -> Matcher {
        let mut matcher = Matcher { inner, vocab, is_spoiled };
        // An empty step: it finds out whether anything may follow at all.
        let _ = matcher.inner.consume_tokens(&[]);
        matcher
    }

    /// Sets the bits of the tokens that may come next and tells whether the text may end here.
    pub fn mask(&mut self, words: &mut [u32]) -> Result<bool, String> {
        words.fill(0);
        if self.has_ended() {
            return Ok(true);
        }
        let mask = self.inner.compute_mask();
        let mask = mask.map_err(|error| self.failure(&error.to_string()))?;
        let bits = mask.as_slice();
        let count = words.len().min(bits.len());
        words[..count].copy_from_slice(&bits[..count]);
        self.may_end()
    }

    pub fn may_end(&mut self) -> Result<bool, String> {
        if self.has_ended() {
            return Ok(true);
        }
        self.inner.is_accepting().map_err(|error| self.failure(&error.to_string()))
    }

    pub fn allows(&mut self, token: u32) -> Result<bool, String> {
        self.count_allowed(&[token]).map(|count| count == 1)
    }

    /// How many of these tokens, one after the other, may come next.
    pub fn count_allowed(&mut self, tokens: &[u32]) -> Result<usize, String> {
        if self.has_ended() {
            return Ok(0);
        }
        // Asking for ids beyond the vocabulary would be a fault.
        let known = tokens.iter().position(|token| *token >= self.vocab).unwrap_or(tokens.len());
        self.inner.validate_tokens(&tokens[..known]).map_err(|error| self.failure(&error.to_string()))
    }

    pub fn advance(&mut self, token: u32) -> Result<(), String> {
        self.inner.consume_token(token).map_err(|error| self.failure(&error.to_string()))
    }

    pub fn roll_back(&mut self, tokens: usize) -> Result<(), String> {
        self.inner.rollback(tokens).map_err(|error| self.failure(&error.to_string()))
    }

    /// The text is complete, and nothing may follow.
    pub fn has_ended(&self) -> bool {
        self.inner.stop_reason() == StopReason::NoExtension
    }

    /// The bytes that any continuation begins with. On a copy: what is forced would become part of the state.
    pub fn forced(&self) -> Vec<u8> {
        if self.has_ended() {
            return Vec::new();
        }
        self.inner.clone().compute_ff_bytes()
    }

    fn failure(&mut self, message: &str) -> String {
        match self.inner.stop_reason() {
            StopReason::NoExtensionBias => {
                "no token of the vocabulary continues the text as the grammar wants".into()
            }
            StopReason::LexerTooComplex | StopReason::ParserTooComplex => {
                format!("the grammar is too complex or too ambiguous here: {}", plain(message))
            }
            _ => {
                self.is_spoiled.store(true, Ordering::Relaxed);
                plain(message)
            }
        }
    }
}

/// An error of the library without its own remarks.
fn plain(message: &str) -> String {
    message.replace("<non-verbose/>", "").trim().to_owned()
}

/// Refuses what parsers would descend too deeply for. Brackets in strings and classes count, too: nobody nests them.
fn check_nesting(source: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (place, byte) in source.bytes().enumerate() {
        let was_escaped = std::mem::take(&mut is_escaped);
        match byte {
            _ if was_escaped => {}
            b'\\' => is_escaped = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(format!("brackets are nested more than {MAX_NESTING} deep at byte {place}"));
        }
    }
    Ok(())
}

fn read_json(source: &str) -> Result<Json, String> {
    serde_json::from_str(source).map_err(|error| format!("it is not JSON: {error}"))
}
