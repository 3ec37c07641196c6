//! What grammars are compiled against: the bytes of each token, as a trie, with slices of it that masks are made of.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;

use llguidance::earley::{BiasComputer, SlicedBiasComputer};
use llguidance::toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv, INVALID_TOKEN};
use llguidance::ParserFactory;

use super::kept_masks::KeptMasks;
use super::layout::WhiteTokens;
use super::limits;
use crate::pieces::{Style, PRESENT, SPECIAL};
use crate::tokenizer::TextTokenizer;

/// Trie nodes hold their depth in ten bits.
const MAX_TOKEN_BYTES: usize = 1000;

struct Tokens {
    trie: TokTrie,
}

impl TokenizerEnv for Tokens {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.greedy_tokenize(bytes)
    }
    // Otherwise masks would allow one way to cut forced text into tokens only.
    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}

pub struct Vocabulary {
    factory: ParserFactory,
    /// Special tokens by their text, which is none of the text that grammars see.
    specials: HashMap<String, TokenId>,
    words: usize,
    slices: usize,
    /// That all grammars keep.
    mask_bytes: Arc<AtomicUsize>,
    white: Arc<WhiteTokens>,
}

impl Vocabulary {
    pub fn new(tokenizer: &TextTokenizer) -> Result<Vocabulary, String> {
        let pieces = tokenizer.pieces();
        if pieces.style == Style::Contextual {
            return Err("what a token of this tokenizer stands for depends on its neighbours".into());
        }
        let count = pieces.flags.len();
        let mut specials = HashMap::new();
        let mut words = Vec::with_capacity(count);
        for id in 0..count {
            let bytes = &pieces.bytes[pieces.offsets[id] as usize..pieces.offsets[id + 1] as usize];
            let flags = pieces.flags[id];
            let is_special = flags & SPECIAL != 0;
            let text = tokenizer.id_to_token(id as u32).filter(|_| is_special);
            if let Some(text) = text {
                words.push([&[TokTrie::SPECIAL_TOKEN_MARKER], text.as_bytes()].concat());
                specials.insert(text, id as TokenId);
            } else if flags & PRESENT == 0
                || bytes.len() > MAX_TOKEN_BYTES
                || bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER)
            {
                words.push(Vec::new()); // 0xFF is in no text
            } else {
                words.push(bytes.to_vec());
            }
            let last = words.len() - 1;
            words[last].truncate(MAX_TOKEN_BYTES);
        }
        let trie = TokTrie::from(&TokRxInfo::new(count as u32, INVALID_TOKEN), &words);
        let env: TokEnv = Arc::new(Tokens { trie });
        let slices = SlicedBiasComputer::general_slices();
        let factory = ParserFactory::new(&env, InferenceCapabilities::default(), &slices);
        let mut factory = factory.map_err(|error| error.to_string())?;
        factory.quiet();
        *factory.limits_mut() = limits();
        let words = count.div_ceil(32);
        let white = Arc::new(WhiteTokens::of(env.tok_trie()));
        Ok(Vocabulary { factory, specials, words, slices: slices.len(), mask_bytes: Arc::default(), white })
    }

    /// What computes the masks of one grammar.
    pub fn new_masks(&self) -> Arc<dyn BiasComputer> {
        let factory = &self.factory;
        Arc::new(KeptMasks::new(factory.slicer(), self.slices, factory.tok_env().clone(), self.mask_bytes.clone()))
    }

    pub fn factory(&self) -> &ParserFactory {
        &self.factory
    }

    pub fn env(&self) -> &TokEnv {
        self.factory.tok_env()
    }

    pub fn white(&self) -> Arc<WhiteTokens> {
        self.white.clone()
    }

    /// 32-bit words that hold a bit for each token.
    pub fn mask_words(&self) -> usize {
        self.words
    }

    pub fn special(&self, text: &str) -> Option<TokenId> {
        self.specials.get(text).copied()
    }

    pub fn specials(&self) -> impl Iterator<Item = &str> {
        self.specials.keys().map(String::as_str)
    }
}
