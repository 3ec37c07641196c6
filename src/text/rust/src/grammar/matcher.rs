//! One text's place in a grammar.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::StopReason;
use llguidance::toktrie::{TokEnv, TokenId};
use llguidance::TokenParser;

use super::layout::{Place, WhiteTokens};
use super::{plain, Tail};

/// What the matchers of a grammar share beside the library's lexer.
pub(super) struct Shared {
    /// With a lexer that no text has used.
    fresh: Mutex<TokenParser>,
    env: TokEnv,
    tail: Tail,
    /// Absent: white space is bounded by the grammar alone.
    white: Option<Arc<WhiteTokens>>,
    /// A matcher failed in a way that may have left the shared lexer unusable.
    is_spoiled: AtomicBool,
}

impl Shared {
    pub fn new(fresh: TokenParser, env: TokEnv, tail: Tail, white: Option<Arc<WhiteTokens>>) -> Shared {
        Shared { fresh: Mutex::new(fresh), env, tail, white, is_spoiled: AtomicBool::new(false) }
    }

    pub fn is_spoiled(&self) -> bool {
        self.is_spoiled.load(Ordering::Relaxed)
    }

    fn fresh(&self) -> llguidance::Matcher {
        let parser = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        llguidance::Matcher::new(Ok(parser.deep_clone()))
    }

    fn bytes(&self, token: u32) -> &[u8] {
        self.env.tok_trie().token(token)
    }

    /// These bytes in some tokens; absent: the vocabulary lacks one.
    fn tokens(&self, bytes: &[u8]) -> Option<Vec<TokenId>> {
        let tokens = self.env.tok_trie().greedy_tokenize(bytes);
        let size: usize = tokens.iter().map(|token| self.bytes(*token).len()).sum();
        (size == bytes.len()).then_some(tokens)
    }
}

/// Longest text that is matched once more when the shared lexer failed.
const MAX_REPLAYED: usize = 8192;
/// The library grants fuel with each mask.
const TOKENS_OF_A_MASK: usize = 64;

#[derive(Clone)]
pub struct Matcher {
    inner: llguidance::Matcher,
    shared: Arc<Shared>,
    text: Vec<u32>,
    /// It has a lexer of its own.
    is_alone: bool,
    /// Of the white space in its JSON.
    place: Place,
    /// Nothing may follow although the tail could.
    is_complete: bool,
    /// Bytes of the last token that belong to the tail.
    beyond: usize,
}

impl Matcher {
    pub(super) fn of(inner: llguidance::Matcher, shared: Arc<Shared>) -> Matcher {
        let (place, is_complete) = (Place::default(), false);
        let mut matcher = Matcher { inner, shared, text: Vec::new(), is_alone: false, place, is_complete, beyond: 0 };
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
        if let Some(white) = &self.shared.white {
            white.bar(self.place, self.shared.env.tok_trie(), &mut words[..count]);
        }
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
        let vocab = self.shared.env.tok_trie().vocab_size() as u32;
        let known = tokens.iter().position(|token| *token >= vocab).unwrap_or(tokens.len());
        let count = self.attempt(|matcher| matcher.validate_tokens(&tokens[..known]))?;
        Ok(self.well_laid_out(&tokens[..count]))
    }

    /// How many of these tokens have no more white space than they may.
    fn well_laid_out(&self, tokens: &[u32]) -> usize {
        if self.shared.white.is_none() {
            return tokens.len();
        }
        let mut place = self.place;
        let is_too_much = |token: &u32| !place.push(self.shared.bytes(*token));
        tokens.iter().position(is_too_much).unwrap_or(tokens.len())
    }

    pub fn advance(&mut self, token: u32) -> Result<(), String> {
        self.attempt(|matcher| matcher.consume_token(token))?;
        self.text.push(token);
        let shared = self.shared.clone();
        let bytes = shared.bytes(token);
        self.place.push(bytes);
        self.complete(bytes, 1)
    }

    /// Moves behind bytes that are a part of a token; false, and it stays where it is: they are not allowed.
    pub fn advance_text(&mut self, bytes: &[u8]) -> Result<bool, String> {
        let shared = self.shared.clone();
        let Some(tokens) = shared.tokens(bytes) else { return Ok(false) };
        if self.count_allowed(&tokens)? < tokens.len() {
            return Ok(false);
        }
        self.attempt(|matcher| matcher.consume_tokens(&tokens))?;
        self.text.extend_from_slice(&tokens);
        self.place.push(bytes);
        self.complete(bytes, tokens.len()).map(|()| true)
    }

    /// Bytes of the last token, or of the last text, that stand behind the end.
    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// Finds out whether the text is complete. last: the bytes that came last. tokens: how many
    /// tokens of the matcher they are.
    fn complete(&mut self, last: &[u8], tokens: usize) -> Result<(), String> {
        if self.shared.tail == Tail::None || self.has_ended() || !self.may_end()? {
            return Ok(());
        }
        self.is_complete = self.shared.tail == Tail::Any || !self.may_be_more_digits(last)?;
        if self.is_complete && self.shared.tail == Tail::Any {
            self.beyond = last.len() - self.end_in(last, tokens);
        }
        Ok(())
    }

    /// Of JSON that is complete, only a number may go on.
    fn may_be_more_digits(&mut self, last: &[u8]) -> Result<bool, String> {
        if !last.last().is_some_and(u8::is_ascii_digit) {
            return Ok(false);
        }
        for byte in b"0123456789.eE" {
            if let Some(tokens) = self.shared.tokens(&[*byte]) {
                if self.count_allowed(&tokens)? > 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// How many of the last bytes complete the text.
    fn end_in(&self, last: &[u8], tokens: usize) -> usize {
        let mut before = self.inner.clone();
        if last.len() <= 1 || before.rollback(tokens).is_err() {
            return last.len();
        }
        let is_end = |size: &usize| {
            let mut matcher = before.clone();
            self.shared.tokens(&last[..*size]).is_some_and(|tokens| {
                matcher.consume_tokens(&tokens).is_ok() && matcher.is_accepting().unwrap_or(false)
            })
        };
        (1..last.len()).find(is_end).unwrap_or(last.len())
    }

    pub fn roll_back(&mut self, tokens: usize) -> Result<(), String> {
        self.attempt(|matcher| matcher.rollback(tokens))?;
        self.text.truncate(self.text.len().saturating_sub(tokens));
        (self.is_complete, self.beyond, self.place) = (false, 0, Place::default());
        for token in &self.text {
            self.place.push(self.shared.bytes(*token));
        }
        Ok(())
    }

    /// The text is complete, and nothing may follow.
    pub fn has_ended(&self) -> bool {
        self.is_complete || self.inner.stop_reason() == StopReason::NoExtension
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
    fn attempt<T, E: Display>(&mut self, call: impl Fn(&mut llguidance::Matcher) -> Result<T, E>) -> Result<T, String> {
        if !self.shared.is_spoiled() || self.is_alone {
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
