//! A Hugging Face tokenizer with what transformers changes in it after loading, and the table of what each id decodes to.

use std::panic::resume_unwind;
use std::thread;

use serde::Deserialize;
use serde_json::{json, Value as Json};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{AddedToken, Tokenizer};

use crate::pieces::{self, Pieces};
use crate::shares::{self, Shares};

/// What tokenizer_config.json asks for beyond tokenizer.json.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustments {
    /// Added or redefined in this order, as PreTrainedTokenizerFast does.
    added_tokens: Vec<AddedToken>,
    /// Added as special tokens unless tokenizer.json knows them.
    special_tokens: Vec<String>,
    split_special_tokens: bool,
    /// Of a top-level ByteLevel pre-tokenizer; absent: keep.
    add_prefix_space: Option<bool>,
    /// Replaces the post-processor by "bos A eos" (classes that build their own); absent: keep.
    template: Option<Frame>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    bos: Option<String>,
    eos: Option<String>,
}

/// A tokenizer.json as it is, before anything is changed.
pub struct TokenizerFile(Tokenizer);

impl TokenizerFile {
    /// What parsing frees lies between what stays: a thread has a heap of its own, and what stays is copied out of it.
    pub fn new(json: &[u8]) -> Result<TokenizerFile, String> {
        let parse = || Tokenizer::from_bytes(json).map_err(|error| error.to_string());
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, parse).map_err(|error| error.to_string())?;
            let parsed = thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok(TokenizerFile(parsed.clone()))
        })
    }

    /// Whether bytes become tokens through GPT-2's alphabet.
    pub fn is_byte_level(&self) -> bool {
        let before = self.0.get_pre_tokenizer().and_then(|step| serde_json::to_value(step).ok());
        let after = self.0.get_decoder().and_then(|step| serde_json::to_value(step).ok());
        [before, after].iter().flatten().any(has_byte_level)
    }

    pub fn has_post_processor(&self) -> bool {
        self.0.get_post_processor().is_some()
    }

    pub fn has_token(&self, token: &str) -> bool {
        self.0.token_to_id(token).is_some()
    }
}

/// Looks into sequences, too.
fn has_byte_level(step: &Json) -> bool {
    let parts = [&step["pretokenizers"], &step["decoders"]].into_iter().filter_map(Json::as_array);
    step["type"] == "ByteLevel" || parts.flatten().any(has_byte_level)
}

pub struct TextTokenizer {
    tokenizer: Tokenizer,
    pieces: Pieces,
    shares: Option<Shares>,
}

impl TextTokenizer {
    pub fn new(file: TokenizerFile, adjustments: &str) -> Result<TextTokenizer, String> {
        let TokenizerFile(mut tokenizer) = file;
        let adjustments: Adjustments = serde_json::from_str(adjustments).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        tokenizer.set_encode_special_tokens(adjustments.split_special_tokens);
        let known = tokenizer.get_added_tokens_decoder();
        let is_new =
            |token: &&String| known.values().chain(&adjustments.added_tokens).all(|other| other.content != **token);
        let specials = adjustments.special_tokens.iter().filter(is_new);
        let specials: Vec<AddedToken> = specials.map(|token| AddedToken::from(token.clone(), true)).collect();
        tokenizer.add_tokens(&adjustments.added_tokens);
        tokenizer.add_tokens(&specials);
        if let Some(add_prefix_space) = adjustments.add_prefix_space {
            set_prefix_space(&mut tokenizer, add_prefix_space);
        }
        if let Some(frame) = &adjustments.template {
            set_frame(&mut tokenizer, frame)?;
        }
        let pieces = pieces::tabulate(&tokenizer)?;
        let shares = shares::of(&tokenizer, &pieces);
        Ok(TextTokenizer { tokenizer, pieces, shares })
    }

    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    pub fn shares(&self) -> Option<&Shares> {
        self.shares.as_ref()
    }

    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, add_special).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, String> {
        self.tokenizer.decode(ids, skip_special).map_err(|error| error.to_string())
    }

    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    pub fn id_to_token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    pub fn vocab_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }
}

fn set_prefix_space(tokenizer: &mut Tokenizer, add_prefix_space: bool) {
    if let Some(PreTokenizerWrapper::ByteLevel(byte_level)) = tokenizer.get_pre_tokenizer() {
        let mut byte_level = *byte_level;
        byte_level.add_prefix_space = add_prefix_space;
        tokenizer.with_pre_tokenizer(Some(byte_level));
    }
}

fn set_frame(tokenizer: &mut Tokenizer, frame: &Frame) -> Result<(), String> {
    let mut specials = serde_json::Map::new();
    let mut special = |token: &Option<String>, type_id: u32| -> Result<Option<Json>, String> {
        let Some(token) = token else { return Ok(None) };
        let id = tokenizer.token_to_id(token).ok_or(format!("token {token:?} is not in the vocabulary"))?;
        specials.insert(token.clone(), json!({"id": token, "ids": [id], "tokens": [token]}));
        Ok(Some(json!({"SpecialToken": {"id": token, "type_id": type_id}})))
    };
    let mut framed = |name: &str, type_id: u32| -> Result<Vec<Json>, String> {
        let sequence = json!({"Sequence": {"id": name, "type_id": type_id}});
        let parts = [special(&frame.bos, type_id)?, Some(sequence), special(&frame.eos, type_id)?];
        Ok(parts.into_iter().flatten().collect())
    };
    let single = framed("A", 0)?;
    let pair = [single.clone(), framed("B", 1)?].concat();
    let processor = json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials});
    let processor: PostProcessorWrapper = serde_json::from_value(processor).map_err(|error| error.to_string())?;
    tokenizer.with_post_processor(Some(processor));
    Ok(())
}
