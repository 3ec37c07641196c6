//! Grammars over a tokenizer's vocabulary: which tokens may come next so that the text stays what was asked for.
//!
//! A `Vocabulary` is made once per tokenizer, a `Grammar` once per specification, a `Matcher` once per text. Masks are a
//! function of the tokens so far alone: nothing is forced, however a text is cut into tokens.

mod choice;
mod compile_thread;
mod ebnf;
mod kept_masks;
mod layout;
mod matcher;
mod schema;
mod schema_mends;
mod structural_tag;
mod vocabulary;

pub mod ffi;

use std::sync::Arc;
use std::time::Duration;

use llguidance::api::{ParserLimits, TopLevelGrammar};
use serde::Deserialize;
use serde_json::Value as Json;

pub use matcher::Matcher;
pub use vocabulary::Vocabulary;

use matcher::Shared;

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

/// How JSON may be laid out, and what may follow it.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct JsonLayout {
    /// A regular expression of what may stand between tokens of JSON; absent: see `layout`.
    pub whitespace_pattern: Option<String>,
    /// One space after commas and colons, and none elsewhere.
    pub compact: bool,
    #[serde(default)]
    pub tail: Tail,
    /// Outside of JSON the text has no brackets and no quotes but such as would stand in JSON: so its depth can be told.
    #[serde(default)]
    pub balanced: bool,
}

impl JsonLayout {
    /// White space is that of `layout`.
    fn is_free(&self) -> bool {
        !self.compact && self.whitespace_pattern.is_none()
    }
}

/// What may follow a complete text inside of the token that completes it.
#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    #[default]
    None,
    /// Of JSON: white space.
    White,
    /// Of texts that cannot go on where they are complete: anything.
    Any,
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
        let is_tag = kind == Kind::StructuralTag;
        let tail = if is_tag && layout.tail == Tail::Any { Tail::Any } else { Tail::None };
        Grammar::of(vocabulary, top, tail, is_tag && layout.balanced && layout.is_free())
    }

    /// tail: that `top` has.
    fn of(vocabulary: &Vocabulary, top: TopLevelGrammar, tail: Tail, counts_depth: bool) -> Result<Grammar, String> {
        let mut parser = vocabulary.factory().create_parser(top).map_err(|error| plain(&format!("{error:#}")))?;
        let fresh = parser.deep_clone();
        parser.bias_computer = vocabulary.new_masks();
        let white = counts_depth.then(|| vocabulary.white());
        let shared = Arc::new(Shared::new(fresh, vocabulary.env().clone(), tail, white));
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
        self.shared.is_spoiled()
    }
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
