//! Regular expressions that end a text: found at the first byte at which one of them matches the text so far, in text that
//! comes in pieces. The result does not depend on the pieces. What looks ahead ($, \b) sees the end of the text so far where
//! a match ends, and the next character where it goes on.
//!
//! Threads of an NFA, each of which knows where it began: so it is known at any time from where on text may still become
//! part of a match. Per byte the work is bounded by the number of states, which is bounded when the expressions are read.

use std::sync::Arc;

use regex_automata::nfa::thompson::{State, WhichCaptures, NFA};
use regex_automata::util::look::LookMatcher;
use regex_automata::util::primitives::StateID;

/// States of all expressions of a request together: so many may be at work for a byte.
const MAX_STATES: usize = 2048;
const MAX_NFA_BYTES: usize = 1 << 20;
/// Of a match that is longer, what came before is not held back.
const MAX_HELD: u64 = 4096;

pub struct Expressions {
    nfa: NFA,
}

impl Expressions {
    /// On failure says which expression is at fault, and why.
    pub fn new(patterns: &[String]) -> Result<Expressions, String> {
        for pattern in patterns {
            check(pattern).map_err(|reason| {
                let shown: String = pattern.chars().take(80).collect();
                format!("the expression {shown:?} {reason}")
            })?;
        }
        let nfa = compile(patterns).map_err(|_| too_large())?;
        if nfa.states().len() > MAX_STATES {
            return Err(too_large());
        }
        Ok(Expressions { nfa })
    }

    pub fn states(&self) -> usize {
        self.nfa.states().len()
    }
}

fn too_large() -> String {
    format!("the expressions are too large: they have more than {MAX_STATES} states together")
}

fn compile(patterns: &[String]) -> Result<NFA, regex_automata::nfa::thompson::BuildError> {
    let config = NFA::config().which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_NFA_BYTES));
    NFA::compiler().configure(config).build_many(patterns)
}

fn check(pattern: &str) -> Result<(), String> {
    super::grammar::check_nesting(pattern).map_err(|reason| format!("cannot be read: {reason}"))?;
    let nfa = compile(&[pattern.to_owned()]).map_err(|error| {
        if error.size_limit().is_some() {
            return "is too large".to_owned();
        }
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            reason = inner.to_string();
            source = inner.source();
        }
        format!("cannot be read: {}", reason.lines().last().unwrap_or("").trim().trim_start_matches("error: "))
    })?;
    if nfa.states().len() > MAX_STATES {
        return Err("is too large".into());
    }
    match Search::new(Arc::new(Expressions { nfa })).found {
        Some(_) => Err("matches the empty text, so every answer would end before it begins".into()),
        None => Ok(()),
    }
}

/// Where the first match in a piece of text ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    pub expression: usize,
    /// Bytes of the piece up to the end of the match.
    pub end: usize,
    /// Bytes of the match that were held back, those of this piece included.
    pub size: usize,
}

#[derive(Clone)]
pub struct Search {
    expressions: Arc<Expressions>,
    /// Where threads stand, with the place at which each began: the earliest first. What follows them without a byte is
    /// found out when the next character is known.
    reached: Vec<(StateID, u64)>,
    /// States that want a byte.
    active: Vec<(StateID, u64)>,
    /// Bit per state that was passed on the way to `active`.
    seen: Vec<u64>,
    stack: Vec<StateID>,
    /// Bytes so far, and how many of them are certain to be no part of a match that is trimmed.
    place: u64,
    certain: u64,
    /// The last character, and the bytes of the next one as far as they have come.
    last: Character,
    coming: Character,
    found: Option<(u64, usize)>,
}

/// Some bytes of a character.
#[derive(Clone, Copy, Default)]
struct Character {
    bytes: [u8; 4],
    size: usize,
}

impl Character {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.size] = byte;
        self.size += 1;
    }

    /// A byte that begins none counts as one.
    fn is_whole(&self) -> bool {
        let wanted = match self.bytes[0] {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        self.size == wanted
    }
}

impl Search {
    pub fn new(expressions: Arc<Expressions>) -> Search {
        let words = expressions.nfa.states().len().div_ceil(64);
        let mut search = Search {
            expressions,
            reached: Vec::new(),
            active: Vec::new(),
            seen: vec![0; words],
            stack: Vec::new(),
            place: 0,
            certain: 0,
            last: Character::default(),
            coming: Character::default(),
            found: None,
        };
        search.begin(&search.expressions.clone().nfa);
        search
    }

    /// Nothing may be pushed after a match.
    pub fn push(&mut self, text: &[u8]) -> Option<Match> {
        let expressions = self.expressions.clone();
        for (index, byte) in text.iter().enumerate() {
            let begins_anew = self.coming.size > 0 && byte & 0xC0 != 0x80; // no UTF-8
            if begins_anew {
                self.coming = Character::default();
            }
            self.coming.push(*byte);
            if !self.coming.is_whole() {
                continue;
            }
            self.step(&expressions.nfa);
            if let Some((start, expression)) = self.found {
                let size = (self.place - start.max(self.certain)) as usize;
                return Some(Match { expression, end: index + 1, size });
            }
            let earliest = self.reached.first().map_or(self.place, |(_, start)| *start);
            self.certain = self.certain.max(earliest).max(self.place.saturating_sub(MAX_HELD));
        }
        None
    }

    /// Bytes at the end of the text that may be part of a match.
    pub fn held(&self) -> usize {
        (self.place - self.certain) as usize + self.coming.size
    }

    /// Takes the character that has come.
    fn step(&mut self, nfa: &NFA) {
        let (last, character) = (self.last, std::mem::take(&mut self.coming));
        for (index, byte) in character.bytes().iter().enumerate() {
            // Nothing looks into a character.
            let around: [&[u8]; 2] = if index == 0 { [last.bytes(), character.bytes()] } else { [b"a", b"a"] };
            self.spread(nfa, around);
            self.reached.clear();
            for (state, start) in &self.active {
                let to = match nfa.state(*state) {
                    State::ByteRange { trans } if trans.matches_byte(*byte) => Some(trans.next),
                    State::Sparse(transitions) => transitions.matches_byte(*byte),
                    State::Dense(transitions) => transitions.matches_byte(*byte),
                    _ => None,
                };
                self.reached.extend(to.map(|to| (to, *start)));
            }
            self.place += 1;
        }
        self.last = character;
        self.begin(nfa);
    }

    /// A thread begins at every place; and the text may end here.
    fn begin(&mut self, nfa: &NFA) {
        self.reached.push((nfa.start_anchored(), self.place));
        let last = self.last;
        self.found = self.spread(nfa, [last.bytes(), &[]]);
    }

    /// Where the threads get to without a byte, between these two characters. The match that began first, if there is one.
    fn spread(&mut self, nfa: &NFA, around: [&[u8]; 2]) -> Option<(u64, usize)> {
        let [before, behind] = around;
        let mut text = [0; 8];
        text[..before.len()].copy_from_slice(before);
        text[before.len()..before.len() + behind.len()].copy_from_slice(behind);
        let text = &text[..before.len() + behind.len()];
        let mut found: Option<(u64, usize)> = None;
        self.active.clear();
        self.seen.fill(0);
        for index in 0..self.reached.len() {
            let (state, start) = self.reached[index];
            self.stack.push(state);
            while let Some(state) = self.stack.pop() {
                let (word, bit) = (state.as_usize() / 64, 1_u64 << (state.as_usize() % 64));
                if self.seen[word] & bit != 0 {
                    continue;
                }
                self.seen[word] |= bit;
                match nfa.state(state) {
                    State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => self.active.push((state, start)),
                    State::Look { look, next } => {
                        if LookMatcher::new().matches(*look, text, before.len()) {
                            self.stack.push(*next);
                        }
                    }
                    State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                    State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                    State::Capture { next, .. } => self.stack.push(*next),
                    State::Fail => {}
                    State::Match { pattern_id } => {
                        let now = (start, pattern_id.as_usize());
                        found = Some(found.map_or(now, |before| before.min(now)));
                    }
                }
            }
        }
        found
    }
}

pub mod ffi {
    //! The C entries.

    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::sync::Arc;

    use super::{Expressions, Search};
    use crate::{guard, FtBuffer, FtSpan};

    /// # Safety
    /// `patterns` must be readable, `error` writable.
    #[no_mangle]
    pub unsafe extern "C" fn ft_expressions_new(patterns: FtSpan, error: *mut FtBuffer) -> *mut Arc<Expressions> {
        let made = guard(error, || {
            let patterns: Vec<String> = serde_json::from_str(patterns.text()?).map_err(|error| error.to_string())?;
            Expressions::new(&patterns).map(Arc::new)
        });
        made.map_or(std::ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
    }

    /// # Safety
    /// `expressions` must come from `ft_expressions_new` and not have been freed.
    #[no_mangle]
    pub unsafe extern "C" fn ft_expressions_free(expressions: *mut Arc<Expressions>) {
        if !expressions.is_null() {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(expressions))));
        }
    }

    /// # Safety
    /// `expressions` must be valid.
    #[no_mangle]
    pub unsafe extern "C" fn ft_expressions_states(expressions: *const Arc<Expressions>) -> usize {
        (*expressions).states()
    }

    /// # Safety
    /// `expressions` must be valid, `error` writable.
    #[no_mangle]
    pub unsafe extern "C" fn ft_search_new(expressions: *const Arc<Expressions>, error: *mut FtBuffer) -> *mut Search {
        let made = guard(error, || Ok(Search::new((*expressions).clone())));
        made.map_or(std::ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
    }

    /// # Safety
    /// `search` must be valid, `error` writable.
    #[no_mangle]
    pub unsafe extern "C" fn ft_search_fork(search: *const Search, error: *mut FtBuffer) -> *mut Search {
        let made = guard(error, || Ok((*search).clone()));
        made.map_or(std::ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
    }

    /// # Safety
    /// `search` must come from `ft_search_new` or `ft_search_fork` and not have been freed.
    #[no_mangle]
    pub unsafe extern "C" fn ft_search_free(search: *mut Search) {
        if !search.is_null() {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(search))));
        }
    }

    /// What a piece of text has brought.
    #[repr(C)]
    pub struct FtSearchStep {
        held: usize,
        expression: i64,
        end: usize,
        size: usize,
    }

    /// # Safety
    /// `search` must be valid and used by nobody else, `text` readable, `step` and `error` writable.
    #[no_mangle]
    pub unsafe extern "C" fn ft_search_push(
        search: *mut Search,
        text: FtSpan,
        step: *mut FtSearchStep,
        error: *mut FtBuffer,
    ) -> bool {
        let search = &mut *search;
        let found = guard(error, || Ok(search.push(text.bytes())));
        let Some(found) = found else { return false };
        step.write(match found {
            Some(found) => {
                FtSearchStep { held: 0, expression: found.expression as i64, end: found.end, size: found.size }
            }
            None => FtSearchStep { held: search.held(), expression: -1, end: 0, size: 0 },
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(patterns: &[&str], text: &str, size: usize) -> Option<(usize, String)> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
        let mut search = Search::new(Arc::new(Expressions::new(&patterns).unwrap()));
        let mut before = 0;
        for piece in text.as_bytes().chunks(size) {
            if let Some(hit) = search.push(piece) {
                let end = before + hit.end;
                return Some((hit.expression, text[end - hit.size..end].to_owned()));
            }
            before += piece.len();
        }
        None
    }

    #[test]
    fn the_first_end_counts_and_of_those_the_longest() {
        for size in 1..6 {
            assert_eq!(found(&["b+c"], "abbbcc", size), Some((0, "bbbc".into())));
            assert_eq!(found(&["x.*y", "[0-9]{2}"], "xx12y", size), Some((1, "12".into())));
            assert_eq!(found(&["bc", "abc", "a?bc"], "zabc", size), Some((1, "abc".into())));
            assert_eq!(found(&["(?m)^b"], "ab\nbc", size), Some((0, "b".into())));
            assert_eq!(found(&["^b"], "ab\nbc", size), None);
        }
    }

    #[test]
    fn what_looks_ahead_sees_the_text_so_far() {
        for size in 1..6 {
            assert_eq!(found(&["b$"], "abb", size), Some((0, "b".into())));
            assert_eq!(found(&["(?m)a$\\nb"], "a ba\nb", size), Some((0, "a\nb".into())));
            assert_eq!(found(&["a$b"], "abab", size), None);
            assert_eq!(found(&["\\bend\\b"], "bend, an end.", size), Some((0, "end".into())));
            assert_eq!(found(&["\\bü\\B.x"], "xüßx üßx", size), Some((0, "üßx".into())));
            assert_eq!(found(&["\\bst\\b x"], "stx est x st x", size), Some((0, "st x".into())));
        }
    }
}
