//! What each token decodes to, so that text can be produced one token at a time without the tokenizer.
//!
//! Two families of decoders are understood exactly: byte-level (every token is a run of bytes, independent of its
//! neighbours) and SentencePiece with byte fallback (every token is text, or one byte of a run).

use std::collections::HashMap;

use serde_json::Value as Json;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::{Decoder, Tokenizer};

/// Ids beyond this are a broken file, not a vocabulary.
const MAX_VOCAB: usize = 1 << 24;

pub const PRESENT: u8 = 1;
pub const SPECIAL: u8 = 2;
/// One byte of a byte-fallback run.
pub const BYTE: u8 = 4;

/// How the pieces join to text; the values are part of the C interface.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Style {
    /// Text is the lossy UTF-8 reading of all bytes in a row.
    ByteLevel = 0,
    /// Text pieces as they are; a run of BYTE pieces is UTF-8, or one replacement character per byte.
    ByteRuns = 1,
    /// Pieces depend on their neighbours: only the tokenizer can decode.
    Contextual = 2,
}

pub struct Pieces {
    pub style: Style,
    /// Spaces removed from the front of the whole text.
    pub leading_spaces: u32,
    pub bytes: Vec<u8>,
    /// Piece `id` is `bytes[offsets[id]..offsets[id + 1]]`.
    pub offsets: Vec<u32>,
    pub flags: Vec<u8>,
}

pub fn tabulate(tokenizer: &Tokenizer) -> Result<Pieces, String> {
    let rules = Rules::of(tokenizer);
    let vocab = tokenizer.get_vocab(true);
    let count = vocab.values().max().map_or(0, |id| *id as usize + 1);
    if count > MAX_VOCAB {
        return Err(format!("token ids are too large: expected less than {MAX_VOCAB}, found {}", count - 1));
    }
    let mut pieces = Pieces {
        style: rules.style,
        leading_spaces: rules.leading_spaces,
        bytes: Vec::new(),
        offsets: vec![0],
        flags: Vec::with_capacity(count),
    };
    for id in 0..count as u32 {
        let mut flags = 0;
        if let Some(token) = tokenizer.id_to_token(id) {
            let (bytes, byte_flag) = rules.piece(&token);
            let is_special = tokenizer.get_added_vocabulary().is_special_token(&token);
            flags = PRESENT | byte_flag | if is_special { SPECIAL } else { 0 };
            pieces.bytes.extend(bytes);
        }
        pieces.flags.push(flags);
        pieces.offsets.push(u32::try_from(pieces.bytes.len()).map_err(|_| "the vocabulary is too large")?);
    }
    Ok(pieces)
}

struct Rules {
    style: Style,
    leading_spaces: u32,
    has_byte_fallback: bool,
    /// Applied to each token by itself.
    per_token: Vec<DecoderWrapper>,
    byte_of_char: HashMap<char, u8>,
}

impl Rules {
    fn of(tokenizer: &Tokenizer) -> Rules {
        let mut rules = Rules {
            style: Style::Contextual,
            leading_spaces: 0,
            has_byte_fallback: false,
            per_token: Vec::new(),
            byte_of_char: HashMap::new(),
        };
        let decoder = tokenizer.get_decoder().and_then(|decoder| serde_json::to_value(decoder).ok());
        let Some(decoder) = decoder else { return rules };
        if decoder["type"] == "ByteLevel" {
            rules.style = Style::ByteLevel;
            rules.byte_of_char = byte_of_char();
        } else if let Some(steps) = decoder["decoders"].as_array() {
            rules.read_steps(steps);
        }
        rules
    }

    /// Understands [Replace | Strip]* ByteFallback? Fuse Strip(" ", start)?, the decoders of Llama 2, Mistral, Gemma.
    fn read_steps(&mut self, steps: &[Json]) {
        let mut is_fused = false;
        for step in steps {
            let kind = step["type"].as_str().unwrap_or_default();
            match kind {
                "Replace" | "Strip" if !self.has_byte_fallback && !is_fused => {
                    let Ok(step) = serde_json::from_value(step.clone()) else { return };
                    self.per_token.push(step);
                }
                "ByteFallback" if !self.has_byte_fallback && !is_fused => self.has_byte_fallback = true,
                "Fuse" if !is_fused => is_fused = true,
                "Strip" if is_fused && step["content"] == " " && step["stop"] == 0 && self.leading_spaces == 0 => {
                    self.leading_spaces = step["start"].as_u64().unwrap_or(0) as u32;
                }
                _ => return,
            }
        }
        if is_fused {
            self.style = Style::ByteRuns;
        }
    }

    fn piece(&self, token: &str) -> (Vec<u8>, u8) {
        match self.style {
            Style::ByteLevel => {
                let bytes: Option<Vec<u8>> = token.chars().map(|c| self.byte_of_char.get(&c).copied()).collect();
                (bytes.unwrap_or_else(|| token.as_bytes().to_vec()), 0)
            }
            Style::ByteRuns => {
                let mut parts = vec![token.to_owned()];
                for step in &self.per_token {
                    parts = step.decode_chain(parts.clone()).unwrap_or(parts);
                }
                let text = parts.concat();
                match byte_token(&text).filter(|_| self.has_byte_fallback) {
                    Some(byte) => (vec![byte], BYTE),
                    None => (text.into_bytes(), 0),
                }
            }
            Style::Contextual => (token.replace('▁', " ").into_bytes(), 0),
        }
    }
}

/// The byte of a token like "<0x0A>".
fn byte_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

/// The alphabet of byte-level BPE: printable Latin-1 stands for itself, the rest follows from U+0100 on.
fn byte_of_char() -> HashMap<char, u8> {
    let mut next = 0x100;
    let mut map = HashMap::new();
    for byte in 0..=255_u8 {
        let is_itself = matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
        let code = if is_itself { u32::from(byte) } else { next };
        next += u32::from(!is_itself);
        map.extend(char::from_u32(code).map(|c| (c, byte)));
    }
    map
}
