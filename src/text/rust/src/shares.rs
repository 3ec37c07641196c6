//! How few tokens a text can have, told from its bytes: for who must refuse a long text before the work of encoding it.
//!
//! A byte's share is one over the length of the longest token that holds it. The shares of a token's bytes then sum
//! to at most one, and those of a text's bytes to at most its number of tokens. That holds where every byte of a text
//! ends up in some token: `of` answers for tokenizers of which that is known, and for no others.

use std::collections::HashMap;

use serde_json::Value as Json;
use tokenizers::models::ModelWrapper;
use tokenizers::{AddedToken, Tokenizer};

use crate::pieces::{Pieces, Style, BYTE, PRESENT};

/// The share of a byte that is a token of its own at best.
pub const WHOLE: u32 = 1 << 24;
const SPACE_MARK: &str = "▁";

pub struct Shares {
    pub of_byte: Vec<u32>,
    /// The text is composed first (NFC): only bytes that this leaves alone count.
    pub is_composed: bool,
}

/// None: a text of any length may be few tokens, as far as this can see.
pub fn of(tokenizer: &Tokenizer, pieces: &Pieces) -> Option<Shares> {
    let mut way = Way::default();
    let json = tokenizer.get_normalizer().map(serde_json::to_value).transpose().ok()?;
    steps(json.as_ref(), "normalizers").into_iter().try_for_each(|step| way.normalize(step))?;
    let json = tokenizer.get_pre_tokenizer().map(serde_json::to_value).transpose().ok()?;
    steps(json.as_ref(), "pretokenizers").into_iter().try_for_each(|step| way.split(step))?;
    let added = tokenizer.get_added_tokens_decoder().into_iter().collect::<HashMap<_, _>>();
    if added.values().any(|token| token.lstrip || token.rstrip) || !keeps_every_byte(tokenizer, pieces, &way, &added) {
        return None; // spaces around such a token vanish; so do unknown bytes
    }
    let mut longest = [1; 256];
    for id in 0..pieces.flags.len() {
        let bytes = match added.get(&(id as u32)) {
            Some(token) => token.content.as_bytes(),
            None => piece(pieces, id),
        };
        for byte in bytes {
            longest[usize::from(*byte)] = bytes.len().max(longest[usize::from(*byte)]);
        }
    }
    let mut of_byte: Vec<u32> = longest.iter().map(|length| WHOLE / *length as u32).collect();
    if way.marks_spaces {
        // In a text they may be a mark, of which one token holds more than its piece, a run of spaces, shows.
        SPACE_MARK.bytes().for_each(|byte| of_byte[usize::from(byte)] = 0);
    }
    Some(Shares { of_byte, is_composed: way.is_composed })
}

/// What happens to a text before the model sees it.
#[derive(Default)]
struct Way {
    is_composed: bool,
    marks_spaces: bool,
    is_byte_level: bool,
}

impl Way {
    fn normalize(&mut self, step: &Json) -> Option<()> {
        match step["type"].as_str()? {
            "NFC" => self.is_composed = true,
            "Prepend" => {}
            "Replace" if step["pattern"]["String"] == " " && step["content"] == SPACE_MARK => self.marks_spaces = true,
            _ => return None,
        }
        Some(())
    }

    fn split(&mut self, step: &Json) -> Option<()> {
        match step["type"].as_str()? {
            "ByteLevel" => self.is_byte_level = true,
            "Metaspace" if step["replacement"] == SPACE_MARK => self.marks_spaces = true,
            "Split" | "Punctuation" if step["behavior"] != "Removed" => {}
            "Digits" => {}
            _ => return None,
        }
        Some(())
    }
}

/// The steps of a sequence, the one step that there is, or none.
fn steps<'a>(json: Option<&'a Json>, list: &str) -> Vec<&'a Json> {
    match json {
        None => Vec::new(),
        Some(json) if json["type"] == "Sequence" => {
            json[list].as_array().into_iter().flatten().flat_map(|step| steps(Some(step), list)).collect()
        }
        Some(json) => vec![json],
    }
}

fn keeps_every_byte(tokenizer: &Tokenizer, pieces: &Pieces, way: &Way, added: &HashMap<u32, AddedToken>) -> bool {
    let ModelWrapper::BPE(model) = tokenizer.get_model() else { return false };
    let is_plain = |affix: &Option<String>| affix.as_deref().unwrap_or_default().is_empty();
    if !is_plain(&model.continuing_subword_prefix) || !is_plain(&model.end_of_word_suffix) {
        return false;
    }
    let is_byte_token = |id: usize| match pieces.style {
        Style::ByteLevel => way.is_byte_level && piece(pieces, id).len() == 1,
        Style::ByteRuns => model.byte_fallback && pieces.flags[id] & BYTE != 0,
        Style::Contextual => false,
    };
    let mut has = [false; 256];
    for id in 0..pieces.flags.len() {
        if pieces.flags[id] & PRESENT != 0 && !added.contains_key(&(id as u32)) && is_byte_token(id) {
            has[usize::from(piece(pieces, id)[0])] = true;
        }
    }
    has.iter().all(|has| *has)
}

fn piece(pieces: &Pieces, id: usize) -> &[u8] {
    &pieces.bytes[pieces.offsets[id] as usize..pieces.offsets[id + 1] as usize]
}
