//! Masks of one grammar, kept by the state of its lexer.
//!
//! What a token does is known from that state alone as long as its bytes stay inside a lexeme, or lead nowhere: those
//! answers are kept as a set. Where tokens end a lexeme, the parser is asked each time; it mostly says no at once. So a state is
//! walked over the whole vocabulary once, by whichever text comes there first. States in which one of the library's slices may
//! follow are left to it until they are met often: it walks over little.
//!
//! States are numbers of one lexer, so this belongs to the matchers that share it, and is used behind their lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llguidance::derivre::StateID;
use llguidance::earley::{BiasComputer, ParserRecognizer, SlicedBiasComputer};
use llguidance::toktrie::{Recognizer, SimpleVob, TokEnv, TokTrie, TrieNode};

/// Of one grammar.
const MOST_BYTES: usize = 8 << 20;
/// Of all grammars of a vocabulary.
const MOST_BYTES_IN_ALL: usize = 64 << 20;
/// A walk of fewer nodes of the trie than this share of the vocabulary is repeated rather than kept: it takes some 20 us.
const LEAST_SHARE: usize = 64;
/// Meetings after which a state is walked although slices may follow.
const OFTEN: u8 = 3;
const MOST_MET: usize = 4096;

pub struct KeptMasks {
    slicer: Arc<SlicedBiasComputer>,
    slices: usize,
    env: TokEnv,
    kept: Mutex<Kept>,
    bytes_in_all: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Kept {
    by_state: HashMap<StateID, Arc<StateMask>>,
    bytes: usize,
    is_full: bool,
    /// How often states were met that are not kept.
    met: HashMap<StateID, u8>,
}

struct StateMask {
    inside: SimpleVob,
    ends: Ends,
}

impl StateMask {
    fn bytes(&self) -> usize {
        size_of_val(self.inside.as_slice()) + self.ends.bytes.len() + size_of_val(self.ends.places.as_slice()) + 128
    }
}

/// Where tokens end a lexeme: beginnings of tokens, in order, of which the last byte does that.
#[derive(Default)]
struct Ends {
    places: Vec<Place>,
    /// Those that a place does not share, of one after the other.
    bytes: Vec<u8>,
    kinds: usize,
}

struct Place {
    /// How many bytes it shares with the one before, not counting their last.
    shared: u16,
    length: u16,
    /// Places of a kind come from the same state by the same byte: the parser refuses all of them or none.
    kind: u32,
}

impl KeptMasks {
    /// slices: how many the slicer has; they are the first extra lexemes of every grammar.
    pub fn new(slicer: Arc<SlicedBiasComputer>, slices: usize, env: TokEnv, bytes_in_all: Arc<AtomicUsize>) -> KeptMasks {
        KeptMasks { slicer, slices, env, kept: Mutex::default(), bytes_in_all }
    }

    fn find(&self, state: StateID) -> Option<Arc<StateMask>> {
        self.lock().by_state.get(&state).cloned()
    }

    /// What came first stays: a grammar of many states would otherwise walk for each of them again and again.
    fn keep(&self, state: StateID, mask: Arc<StateMask>) {
        let mut kept = self.lock();
        let bytes = mask.bytes();
        let all = self.bytes_in_all.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if kept.bytes + bytes > MOST_BYTES || all > MOST_BYTES_IN_ALL {
            self.bytes_in_all.fetch_sub(bytes, Ordering::Relaxed);
            kept.is_full = true;
            return;
        }
        kept.bytes += bytes;
        kept.by_state.insert(state, mask);
    }

    /// Slices that may follow spare the walk. Finding out which do takes time, too: not for states met often.
    fn is_for_slices(&self, rec: &mut ParserRecognizer<'_>, state: StateID) -> bool {
        if self.is_met_often(state) {
            return false;
        }
        const BUDGET: u64 = 1000; // as the slicer has it
        rec.lexer_mut().subsume_possible(state)
            && (0..self.slices).any(|slice| rec.lexer_mut().check_subsume(state, slice, BUDGET, None).unwrap_or(false))
    }
}

impl KeptMasks {
    fn is_met_often(&self, state: StateID) -> bool {
        let kept = &mut *self.lock();
        if kept.is_full {
            return false;
        }
        if kept.met.len() >= MOST_MET {
            kept.met.clear();
        }
        let times = kept.met.entry(state).or_default();
        *times = times.saturating_add(1);
        *times > OFTEN
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeptMasks {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.bytes_in_all.fetch_sub(kept.bytes, Ordering::Relaxed);
    }
}

impl BiasComputer for KeptMasks {
    fn compute_bias(&self, rec: &mut ParserRecognizer<'_>, start: &[u8]) -> SimpleVob {
        if !start.is_empty() {
            return self.slicer.compute_bias(rec, start);
        }
        let state = rec.lexer_state();
        let trie = self.trie();
        let (known, nodes) = match self.find(state) {
            Some(known) => (known, 0),
            None if self.is_for_slices(rec, state) => return self.slicer.compute_bias(rec, start),
            None => {
                let mut walk = Walk::new(rec, state);
                let mut inside = trie.alloc_token_set();
                trie.add_bias(&mut walk, &mut inside, &[]);
                (Arc::new(StateMask { inside, ends: walk.ends }), walk.nodes)
            }
        };
        let mut mask = known.inside.clone();
        known.ends.allow(trie, rec, &mut mask);
        if nodes > trie.vocab_size() / LEAST_SHARE {
            self.keep(state, known);
        }
        mask
    }

    fn trie(&self) -> &TokTrie {
        self.env.tok_trie()
    }
}

/// Over all tokens, as far as they stay inside a lexeme.
struct Walk<'w, 'r> {
    rec: &'w mut ParserRecognizer<'r>,
    states: Vec<StateID>,
    path: Vec<u8>,
    ends: Ends,
    kinds: HashMap<(StateID, u8), u32>,
    /// Of the path: how much of it the last end has, too.
    shared: usize,
    nodes: usize,
}

impl<'w, 'r> Walk<'w, 'r> {
    fn new(rec: &'w mut ParserRecognizer<'r>, state: StateID) -> Walk<'w, 'r> {
        let (path, ends, kinds) = (Vec::new(), Ends::default(), HashMap::new());
        Walk { rec, states: vec![state], path, ends, kinds, shared: 0, nodes: 0 }
    }

    fn add_end(&mut self, state: StateID, byte: u8) {
        let next = self.kinds.len() as u32;
        let kind = *self.kinds.entry((state, byte)).or_insert(next);
        self.ends.kinds = self.kinds.len();
        self.ends.bytes.extend_from_slice(&self.path[self.shared..]);
        self.ends.bytes.push(byte);
        self.ends.places.push(Place { shared: self.shared as u16, length: self.path.len() as u16 + 1, kind });
        self.shared = self.path.len();
    }
}

impl Recognizer for Walk<'_, '_> {
    fn try_push_byte(&mut self, byte: u8) -> bool {
        let state = self.states[self.states.len() - 1];
        let next = self.rec.lexer_mut().transition_start_state(state, Some(byte), &None);
        if byte == TokTrie::SPECIAL_TOKEN_MARKER || next.is_dead() || next.has_lowest_match() {
            if !self.rec.lexer_mut().advance(state, byte, false, &None).is_error() {
                self.add_end(state, byte);
            }
            return false;
        }
        self.states.push(next);
        self.path.push(byte);
        true
    }

    fn pop_bytes(&mut self, count: usize) {
        self.states.truncate(self.states.len() - count);
        self.path.truncate(self.path.len() - count);
        self.shared = self.shared.min(self.path.len());
    }

    fn collapse(&mut self) {}
    fn trie_finished(&mut self) {}
    fn save_stats(&mut self, nodes: usize) {
        self.nodes += nodes;
    }
}

impl Ends {
    /// Adds the tokens that the parser takes.
    fn allow(&self, trie: &TokTrie, rec: &mut ParserRecognizer<'_>, mask: &mut SimpleVob) {
        if self.places.is_empty() {
            return;
        }
        rec.trie_started("ends");
        let mut is_refused = vec![false; self.kinds];
        let mut path: Vec<u8> = Vec::new();
        let mut pushed = 0_usize; // bytes of the path that the recognizer has
        let mut bytes = self.bytes.as_slice();
        for place in &self.places {
            let shared = usize::from(place.shared);
            let (own, rest) = bytes.split_at(usize::from(place.length) - shared);
            bytes = rest;
            let Some((last, inside)) = own.split_last() else { continue };
            path.truncate(shared);
            path.extend_from_slice(inside);
            rec.pop_bytes(pushed.saturating_sub(shared));
            pushed = pushed.min(shared);
            if is_refused[place.kind as usize] {
                continue;
            }
            while pushed < path.len() && rec.try_push_byte(path[pushed]) {
                pushed += 1; // inside of a lexeme always
            }
            if pushed < path.len() || !rec.try_push_byte(*last) {
                is_refused[place.kind as usize] = true;
                continue;
            }
            path.push(*last);
            if let Some(node) = trie.child_at_bytes(trie.root(), &path) {
                allow_below(trie, rec, node, mask);
            }
            path.pop();
            rec.pop_bytes(1);
        }
        rec.pop_bytes(pushed);
        rec.trie_finished();
    }
}

/// `node`: of the byte that the parser took last.
fn allow_below(trie: &TokTrie, rec: &mut ParserRecognizer<'_>, node: &TrieNode, mask: &mut SimpleVob) {
    if let Some(token) = node.token_id() {
        mask.allow_token(token);
    }
    for child in trie.node_children(node) {
        if rec.try_push_byte(child.byte()) {
            allow_below(trie, rec, child, mask);
            rec.pop_bytes(1);
        }
    }
}
