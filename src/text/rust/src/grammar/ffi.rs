//! The C entries of grammars.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::{Grammar, JsonLayout, Kind, Matcher, Vocabulary};
use crate::tokenizer::TextTokenizer;
use crate::{guard, FtBuffer, FtSpan};

fn boxed<T>(value: Option<T>) -> *mut T {
    value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(pointer))));
    }
}

/// # Safety
/// `tokenizer` must be valid, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_vocabulary_new(
    tokenizer: *const TextTokenizer,
    error: *mut FtBuffer,
) -> *mut Arc<Vocabulary> {
    boxed(guard(error, || Vocabulary::new(&*tokenizer).map(Arc::new)))
}

/// # Safety
/// `vocabulary` must come from `ft_vocabulary_new` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_vocabulary_free(vocabulary: *mut Arc<Vocabulary>) {
    free(vocabulary);
}

/// # Safety
/// `vocabulary` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_vocabulary_mask_words(vocabulary: *const Arc<Vocabulary>) -> usize {
    (*vocabulary).mask_words()
}

/// # Safety
/// `vocabulary` must be valid, spans readable, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_grammar_new(
    vocabulary: *const Arc<Vocabulary>,
    kind: u32,
    source: FtSpan,
    layout: FtSpan,
    limit_ms: u64,
    error: *mut FtBuffer,
) -> *mut Grammar {
    boxed(guard(error, || {
        let kind = Kind::from_number(kind).ok_or("unknown kind of grammar")?;
        let layout: JsonLayout = serde_json::from_str(layout.text()?).map_err(|error| error.to_string())?;
        Grammar::new(&*vocabulary, kind, source.text()?, &layout, Duration::from_millis(limit_ms))
    }))
}

/// # Safety
/// `grammar` must come from `ft_grammar_new` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_grammar_free(grammar: *mut Grammar) {
    free(grammar);
}

/// # Safety
/// `grammar` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_grammar_is_spoiled(grammar: *const Grammar) -> bool {
    (*grammar).is_spoiled()
}

/// # Safety
/// `grammar` must be valid, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_new(grammar: *const Grammar, error: *mut FtBuffer) -> *mut Matcher {
    boxed(guard(error, || Ok((*grammar).matcher())))
}

/// # Safety
/// `matcher` must be valid, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_fork(matcher: *const Matcher, error: *mut FtBuffer) -> *mut Matcher {
    boxed(guard(error, || Ok((*matcher).clone())))
}

/// # Safety
/// `matcher` must come from `ft_matcher_new` or `ft_matcher_fork` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_free(matcher: *mut Matcher) {
    free(matcher);
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `words` hold `count` words, `may_end` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_mask(
    matcher: *mut Matcher,
    words: *mut u32,
    count: usize,
    may_end: *mut bool,
    error: *mut FtBuffer,
) -> bool {
    let words = std::slice::from_raw_parts_mut(words, count);
    guard(error, || (*matcher).mask(words)).map(|ends| may_end.write(ends)).is_some()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `answer` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_may_end(matcher: *mut Matcher, answer: *mut bool, error: *mut FtBuffer) -> bool {
    guard(error, || (*matcher).may_end()).map(|ends| answer.write(ends)).is_some()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `answer` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_allows(
    matcher: *mut Matcher,
    token: u32,
    answer: *mut bool,
    error: *mut FtBuffer,
) -> bool {
    guard(error, || (*matcher).allows(token)).map(|allows| answer.write(allows)).is_some()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `tokens` hold `count` ids, `answer` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_count_allowed(
    matcher: *mut Matcher,
    tokens: *const u32,
    count: usize,
    answer: *mut usize,
    error: *mut FtBuffer,
) -> bool {
    let tokens = if count == 0 { &[] } else { std::slice::from_raw_parts(tokens, count) };
    guard(error, || (*matcher).count_allowed(tokens)).map(|allowed| answer.write(allowed)).is_some()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_advance(matcher: *mut Matcher, token: u32, error: *mut FtBuffer) -> bool {
    guard(error, || (*matcher).advance(token)).is_some()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `text` readable, `answer` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_advance_text(
    matcher: *mut Matcher,
    text: FtSpan,
    answer: *mut bool,
    error: *mut FtBuffer,
) -> bool {
    guard(error, || (*matcher).advance_text(text.bytes())).map(|allowed| answer.write(allowed)).is_some()
}

/// # Safety
/// `matcher` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_beyond(matcher: *const Matcher) -> usize {
    (*matcher).beyond()
}

/// # Safety
/// `matcher` must be valid and used by nobody else, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_roll_back(matcher: *mut Matcher, tokens: usize, error: *mut FtBuffer) -> bool {
    guard(error, || (*matcher).roll_back(tokens)).is_some()
}

/// # Safety
/// `matcher` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_has_ended(matcher: *const Matcher) -> bool {
    (*matcher).has_ended()
}

/// # Safety
/// `matcher` must be valid, `bytes` and `error` be writable.
#[no_mangle]
pub unsafe extern "C" fn ft_matcher_forced(
    matcher: *const Matcher,
    bytes: *mut FtBuffer,
    error: *mut FtBuffer,
) -> bool {
    guard(error, || Ok((*matcher).forced())).map(|forced| bytes.write(FtBuffer::new(forced))).is_some()
}
