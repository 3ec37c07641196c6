//! Grammars over a tokenizer's vocabulary: which tokens may come next so that the text stays what was asked for.
//!
//! A `Vocabulary` is made once per tokenizer, a `Grammar` once per specification, a `Matcher` once per text. Masks are a
//! function of the tokens so far alone: nothing is forced, however a text is cut into tokens.

mod choice;
mod compile_thread;
mod ebnf;
mod kept_masks;
mod schema;
mod schema_mends;
mod structural_tag;
mod vocabulary;

pub mod ffi;

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use llguidance::api::{ParserLimits, StopReason, TopLevelGrammar};
use llguidance::TokenParser;
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
    shared: Arc<Shared>,
}

/// What the matchers of a grammar share beside the library's lexer.
struct Shared {
    /// With a lexer that no text has used.
    fresh: Mutex<TokenParser>,
    vocab: u32,
    /// A matcher failed in a way that may have left the shared lexer unusable.
    is_spoiled: AtomicBool,
}

impl Shared {
    fn fresh(&self) -> llguidance::Matcher {
        let parser = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        llguidance::Matcher::new(Ok(parser.deep_clone()))
    }
}

impl Grammar {
    pub fn new(
        vocabulary: &Arc<Vocabulary>,
        kind: Kind,
        source: &str,
        layout: &JsonLayout,
        limit: Duration,
    ) -> Result<Grammar, String> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(format!("it is too long: at most {MAX_SOURCE_BYTES} bytes (found {})", source.len()));
        }
        let (vocabulary, source, layout) = (vocabulary.clone(), source.to_owned(), layout.clone());
        compile_thread::within(limit, move || Grammar::compile(&vocabulary, kind, &source, &layout))
    }

    fn compile(vocabulary: &Vocabulary, kind: Kind, source: &str, layout: &JsonLayout) -> Result<Grammar, String> {
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
        let mut parser = vocabulary.factory().create_parser(top).map_err(|error| plain(&format!("{error:#}")))?;
        let fresh = Mutex::new(parser.deep_clone());
        parser.bias_computer = vocabulary.new_masks();
        let shared = Arc::new(Shared { fresh, vocab: vocabulary.size(), is_spoiled: AtomicBool::new(false) });
        let mut start = llguidance::Matcher::new(Ok(parser));
        // Nothing may be known to be wrong with it before the first mask: ambiguity, for one.
        let mut probe = Matcher::of(start.clone(), shared.clone());
        if probe.has_ended() {
            return Err("it allows no text but the empty one".into());
        }
        probe.mask(&mut vec![0; vocabulary.mask_words()])?;
        start.invalidate_bias_cache();
        Ok(Grammar { start, shared })
    }

    pub fn matcher(&self) -> Matcher {
        Matcher::of(self.start.clone(), self.shared.clone())
    }

    pub fn is_spoiled(&self) -> bool {
        self.shared.is_spoiled.load(Ordering::Relaxed)
    }
}

/// Longest text that is matched once more when the shared lexer failed.
const MAX_REPLAYED: usize = 8192;
/// The library grants fuel with each mask.
const TOKENS_OF_A_MASK: usize = 64;

/// One text's place in a grammar.
#[derive(Clone)]
pub struct Matcher {
    inner: llguidance::Matcher,
    shared: Arc<Shared>,
    text: Vec<u32>,
    /// It has a lexer of its own.
    is_alone: bool,
}

impl Matcher {
    fn of(inner: llguidance::Matcher, shared: Arc<Shared>) -> Matcher {
        let mut matcher = Matcher { inner, shared, text: Vec::new(), is_alone: false };
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
        let mask = self.attempt(llguidance::Matcher::compute_mask)?;
        let bits = mask.as_slice();
        let count = words.len().min(bits.len());
        words[..count].copy_from_slice(&bits[..count]);
        self.may_end()
    }

    pub fn may_end(&mut self) -> Result<bool, String> {
        if self.has_ended() {
            return Ok(true);
        }
        self.attempt(llguidance::Matcher::is_accepting)
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
        let known = tokens.iter().position(|token| *token >= self.shared.vocab).unwrap_or(tokens.len());
        self.attempt(|matcher| matcher.validate_tokens(&tokens[..known]))
    }

    pub fn advance(&mut self, token: u32) -> Result<(), String> {
        self.attempt(|matcher| matcher.consume_token(token))?;
        self.text.push(token);
        Ok(())
    }

    pub fn roll_back(&mut self, tokens: usize) -> Result<(), String> {
        self.attempt(|matcher| matcher.rollback(tokens))?;
        self.text.truncate(self.text.len().saturating_sub(tokens));
        Ok(())
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

    /// What other texts did to the lexer must end none: where it failed, the text is matched once more with one of its own,
    /// and only what fails there fails.
    fn attempt<T, E: Display>(
        &mut self,
        call: impl Fn(&mut llguidance::Matcher) -> Result<T, E>,
    ) -> Result<T, String> {
        if !self.shared.is_spoiled.load(Ordering::Relaxed) || self.is_alone {
            let error = match call(&mut self.inner) {
                Ok(value) => return Ok(value),
                Err(error) => error.to_string(),
            };
            if let Some(fault) = fault_of_text(&error) {
                return Err(fault);
            }
            self.shared.is_spoiled.store(true, Ordering::Relaxed);
            if self.is_alone || self.text.len() > MAX_REPLAYED {
                return Err(said(&error));
            }
        }
        self.is_alone = true;
        self.inner = self.replayed().map_err(|error| said(&error))?;
        call(&mut self.inner).map_err(|error| said(&error.to_string()))
    }

    fn replayed(&self) -> Result<llguidance::Matcher, String> {
        let mut matcher = self.shared.fresh();
        for tokens in self.text.chunks(TOKENS_OF_A_MASK) {
            matcher.compute_mask().map_err(|error| error.to_string())?;
            matcher.consume_tokens(tokens).map_err(|error| error.to_string())?;
        }
        matcher.consume_tokens(&[]).map_err(|error| error.to_string())?;
        Ok(matcher)
    }
}

/// What has nothing to do with the shared lexer.
fn fault_of_text(error: &str) -> Option<String> {
    if error.contains("NoExtensionBias") {
        return Some("no token of the vocabulary continues the text as the grammar wants".into());
    }
    error.starts_with("parser error").then(|| said(error))
}

fn said(error: &str) -> String {
    if error.starts_with("parser error") || error.starts_with("lexer error") {
        return format!("the grammar is too complex or too ambiguous here: {}", plain(error));
    }
    fault_of_text(error).unwrap_or_else(|| plain(error))
}

/// An error of the library without its own remarks.
fn plain(message: &str) -> String {
    message.replace("<non-verbose/>", "").trim().to_owned()
}

/// Refuses what parsers would descend too deeply for. Brackets in strings and classes count, too: nobody nests them.
pub(crate) fn check_nesting(source: &str) -> Result<(), String> {
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
