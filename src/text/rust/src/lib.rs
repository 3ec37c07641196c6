//! The C interface of foretoken's text library; the header `foretoken_text.h` documents every entry.
//!
//! No entry unwinds or aborts: panics become errors. Objects are immutable after construction and may be used by
//! any number of threads.

// Linked for the C++ side.
#[cfg(feature = "static_net")]
extern crate curl_sys as _;

mod chat;
mod continue_final;
mod expressions;
mod grammar;
mod json;
mod line_editor;
mod memory;
mod pieces;
mod program;
mod python_filters;
mod python_methods;
mod python_ops;
mod python_text;
mod shares;
mod tokenizer;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

use chat::Chat;
use tokenizer::{TextTokenizer, TokenizerFile};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator = memory::CountingAllocator;

/// Bytes lent to us.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FtSpan {
    data: *const u8,
    size: usize,
}

/// Bytes that we own until `ft_buffer_free`.
#[repr(C)]
pub struct FtBuffer {
    data: *mut u8,
    size: usize,
}

impl FtBuffer {
    fn new(bytes: Vec<u8>) -> FtBuffer {
        let size = bytes.len();
        FtBuffer { data: Box::into_raw(bytes.into_boxed_slice()).cast(), size }
    }
}

impl FtSpan {
    /// # Safety
    /// The span must be readable; its lifetime ends with the call.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.data, self.size)
    }

    unsafe fn text<'a>(self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes())
            .map_err(|error| format!("text is not valid UTF-8 at byte {}", error.valid_up_to()))
    }
}

fn guard<T>(error: *mut FtBuffer, body: impl FnOnce() -> Result<T, String>) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("internal error: {}", text.unwrap_or_else(|| "panic".into())))
    });
    match outcome {
        Ok(value) => Some(value),
        Err(message) => {
            // SAFETY: the caller passes a writable buffer.
            unsafe { error.write(FtBuffer::new(message.into_bytes())) };
            None
        }
    }
}

/// # Safety
/// `buffer` must come from this library and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_buffer_free(buffer: FtBuffer) {
    if !buffer.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(buffer.data, buffer.size)));
    }
}

/// # Safety
/// `json` must be readable, `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_file_new(json: FtSpan, error: *mut FtBuffer) -> *mut TokenizerFile {
    guard(error, || TokenizerFile::new(json.bytes()))
        .map_or(std::ptr::null_mut(), |file| Box::into_raw(Box::new(file)))
}

/// # Safety
/// `file` must come from `ft_tokenizer_file_new` and be neither freed nor given to `ft_tokenizer_new`.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_file_free(file: *mut TokenizerFile) {
    if !file.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(file))));
    }
}

/// # Safety
/// `file` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_file_is_byte_level(file: *const TokenizerFile) -> bool {
    (*file).is_byte_level()
}

/// # Safety
/// `file` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_file_has_post_processor(file: *const TokenizerFile) -> bool {
    (*file).has_post_processor()
}

/// # Safety
/// `file` must be valid, `token` readable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_file_has_token(file: *const TokenizerFile, token: FtSpan) -> bool {
    token.text().is_ok_and(|token| (*file).has_token(token))
}

/// # Safety
/// `file` must come from `ft_tokenizer_file_new` and is gone afterwards; `adjustments` must be readable, `error`
/// writable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_new(
    file: *mut TokenizerFile,
    adjustments: FtSpan,
    error: *mut FtBuffer,
) -> *mut TextTokenizer {
    let file = Box::from_raw(file);
    guard(error, || TextTokenizer::new(*file, adjustments.text()?))
        .map_or(std::ptr::null_mut(), |tokenizer| Box::into_raw(Box::new(tokenizer)))
}

/// # Safety
/// `tokenizer` must come from `ft_tokenizer_new` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_free(tokenizer: *mut TextTokenizer) {
    if !tokenizer.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(tokenizer))));
    }
}

/// # Safety
/// Pointers must be valid, `ids` and `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_encode(
    tokenizer: *const TextTokenizer,
    text: FtSpan,
    add_special: bool,
    ids: *mut FtBuffer,
    error: *mut FtBuffer,
) -> bool {
    let encoded = guard(error, || (*tokenizer).encode(text.text()?, add_special));
    let encoded = encoded.map(|encoded| encoded.iter().flat_map(|id| id.to_ne_bytes()).collect());
    encoded.map(|bytes| ids.write(FtBuffer::new(bytes))).is_some()
}

/// # Safety
/// Pointers must be valid, `text` and `error` writable; `ids` are 32-bit integers.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_decode(
    tokenizer: *const TextTokenizer,
    ids: FtSpan,
    skip_special: bool,
    text: *mut FtBuffer,
    error: *mut FtBuffer,
) -> bool {
    let ids: Vec<u32> =
        ids.bytes().chunks_exact(4).map(|id| u32::from_ne_bytes([id[0], id[1], id[2], id[3]])).collect();
    let decoded = guard(error, || (*tokenizer).decode(&ids, skip_special));
    decoded.map(|decoded| text.write(FtBuffer::new(decoded.into_bytes()))).is_some()
}

/// # Safety
/// `tokenizer` must be valid, `token` readable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_token_to_id(tokenizer: *const TextTokenizer, token: FtSpan) -> i64 {
    token.text().ok().and_then(|token| (*tokenizer).token_to_id(token)).map_or(-1, i64::from)
}

/// # Safety
/// `tokenizer` must be valid, `token` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_id_to_token(
    tokenizer: *const TextTokenizer,
    id: u32,
    token: *mut FtBuffer,
) -> bool {
    (*tokenizer).id_to_token(id).map(|text| token.write(FtBuffer::new(text.into_bytes()))).is_some()
}

/// The table of pieces; lives as long as the tokenizer.
#[repr(C)]
pub struct FtPieces {
    style: u32,
    leading_spaces: u32,
    vocab_size: usize,
    count: usize,
    bytes: *const u8,
    offsets: *const u32,
    flags: *const u8,
    byte_shares: *const u32,
    is_composed: bool,
}

/// # Safety
/// `tokenizer` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_tokenizer_pieces(tokenizer: *const TextTokenizer) -> FtPieces {
    let pieces = (*tokenizer).pieces();
    let shares = (*tokenizer).shares();
    FtPieces {
        style: pieces.style as u32,
        leading_spaces: pieces.leading_spaces,
        vocab_size: (*tokenizer).vocab_size(),
        count: pieces.flags.len(),
        bytes: pieces.bytes.as_ptr(),
        offsets: pieces.offsets.as_ptr(),
        flags: pieces.flags.as_ptr(),
        byte_shares: shares.map_or(std::ptr::null(), |shares| shares.of_byte.as_ptr()),
        is_composed: shares.is_some_and(|shares| shares.is_composed),
    }
}

/// # Safety
/// Spans must be readable (a null `source` or `tool_use` means none), `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_template_new(
    source: FtSpan,
    tool_use: FtSpan,
    specials: FtSpan,
    error: *mut FtBuffer,
) -> *mut Chat {
    let optional = |span: FtSpan| if span.data.is_null() { Ok(None) } else { span.text().map(Some) };
    guard(error, || Chat::new(optional(source)?, optional(tool_use)?, specials.text()?))
        .map_or(std::ptr::null_mut(), |chat| Box::into_raw(Box::new(chat)))
}

/// # Safety
/// `chat` must come from `ft_template_new` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_template_free(chat: *mut Chat) {
    if !chat.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(chat))));
    }
}

/// # Safety
/// `chat` must be valid.
#[no_mangle]
pub unsafe extern "C" fn ft_template_reads_tools(chat: *const Chat) -> bool {
    (*chat).reads_tools()
}

/// # Safety
/// Pointers must be valid (`now` may be null), `text` and `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_template_render(
    chat: *const Chat,
    request: FtSpan,
    is_openai: bool,
    now: *const i64,
    text: *mut FtBuffer,
    error: *mut FtBuffer,
) -> bool {
    let rendered = guard(error, || (*chat).render(request.text()?, is_openai, now.as_ref().copied()));
    rendered.map(|rendered| text.write(FtBuffer::new(rendered.into_bytes()))).is_some()
}
