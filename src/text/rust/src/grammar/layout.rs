//! White space between the tokens of JSON, where it is free: one space, or one line break and the indentation that the
//! depth explains. Bounded, because weak models go on for ever with what they once began.

use llguidance::toktrie::TokTrie;

/// Blanks of indentation for each bracket that is open; a tab counts as one level.
const LEVEL: u32 = 4;

/// What the grammar itself lets through, where the depth of a text is counted beside it: as much as the deepest JSON needs.
pub const COUNTED_WHITE: &str = r"\x20|\x0D?\x0A[\x20\x09]{0,256}";
/// Where the depth is not known, because other text stands around the JSON.
pub const UNCOUNTED_WHITE: &str = r"\x20|\x0D?\x0A[\x20\x09]{0,20}";

/// Where a text stands in the layout of its JSON.
#[derive(Clone, Copy, Default)]
pub struct Place {
    depth: u32,
    is_text: bool,
    is_escaped: bool,
    run: Run,
}

/// White space at the end.
#[derive(Clone, Copy, Default, PartialEq)]
enum Run {
    #[default]
    None,
    Space,
    Return,
    /// Behind a line break, with this much indentation.
    Line(u32),
}

impl Place {
    /// False: that is too much white space. It moves on all the same.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().fold(true, |is_fine, byte| self.push_byte(*byte) && is_fine)
    }

    fn push_byte(&mut self, byte: u8) -> bool {
        if self.is_text {
            let was_escaped = std::mem::take(&mut self.is_escaped);
            self.is_escaped = byte == b'\\' && !was_escaped;
            self.is_text = byte != b'"' || was_escaped;
            return true;
        }
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return self.push_white(byte);
        }
        self.run = Run::None;
        match byte {
            b'"' => self.is_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        true
    }

    fn push_white(&mut self, byte: u8) -> bool {
        if self.depth == 0 {
            return true; // around the JSON
        }
        let next = match (self.run, byte) {
            (Run::None, b' ') => Run::Space,
            (Run::None, b'\r') => Run::Return,
            (Run::None | Run::Return, b'\n') => Run::Line(0),
            (Run::Line(width), b' ') => Run::Line(width + 1),
            (Run::Line(width), b'\t') => Run::Line(width + LEVEL),
            _ => return false,
        };
        self.run = next;
        !matches!(next, Run::Line(width) if width > LEVEL * self.depth)
    }
}

/// The tokens that may hold more white space than a text may have.
pub struct WhiteTokens {
    /// In words of a mask: outside of a string, and inside of one.
    outside: Vec<u32>,
    inside: Vec<u32>,
}

impl WhiteTokens {
    pub fn of(trie: &TokTrie) -> WhiteTokens {
        let words = trie.vocab_size().div_ceil(32);
        let mut tokens = WhiteTokens { outside: vec![0; words], inside: vec![0; words] };
        for token in 0..trie.vocab_size() {
            let bytes = trie.token(token as u32);
            let (word, bit) = (token / 32, 1_u32 << (token % 32));
            let has_white = bytes.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            if has_white {
                tokens.outside[word] |= bit;
            }
            if has_white && bytes.contains(&b'"') {
                tokens.inside[word] |= bit;
            }
        }
        tokens
    }

    /// Takes the bits of those that have too much behind `place`.
    pub fn bar(&self, place: Place, trie: &TokTrie, mask: &mut [u32]) {
        let tokens = if place.is_text { &self.inside } else { &self.outside };
        for (index, (word, tokens)) in mask.iter_mut().zip(tokens).enumerate() {
            let mut left = *word & tokens;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let mut moved = place;
                if !moved.push(trie.token(index as u32 * 32 + bit)) {
                    *word &= !(1 << bit);
                }
            }
        }
    }
}
