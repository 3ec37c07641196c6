#pragma once
// The C interface of the Rust library beside this header: Hugging Face tokenizers, chat templates
// and grammars. No entry throws, unwinds or aborts. On failure an entry returns null or false and
// fills `error` with a sentence (UTF-8). Objects are immutable after construction, but for
// matchers: any number of threads may use them. Ownership: FtSpan is borrowed for the call;
// FtBuffer belongs to the library until ft_buffer_free.

#include <cstddef>
#include <cstdint>

extern "C" {

struct FtSpan {
  const char* data;
  std::size_t size;  // bytes
};

struct FtBuffer {
  char* data;
  std::size_t size;  // bytes
};

void ft_buffer_free(FtBuffer buffer);

// The contents of a tokenizer.json, as they are.
struct FtTokenizerFile;
FtTokenizerFile* ft_tokenizer_file_new(FtSpan json, FtBuffer* error);
void ft_tokenizer_file_free(FtTokenizerFile* file);
bool ft_tokenizer_file_is_byte_level(const FtTokenizerFile* file);  // as GPT-2, Llama 3, Qwen 2
bool ft_tokenizer_file_has_post_processor(const FtTokenizerFile* file);
bool ft_tokenizer_file_has_token(const FtTokenizerFile* file, FtSpan token);

struct FtTokenizer;

// file: belongs to the library from now on, on failure too. adjustments: JSON object
//   {"added_tokens": [AddedToken...], "special_tokens": [text...], "split_special_tokens": bool,
//    "add_prefix_space": bool | null, "template": {"bos": text | null, "eos": text | null} | null}
FtTokenizer* ft_tokenizer_new(FtTokenizerFile* file, FtSpan adjustments, FtBuffer* error);
void ft_tokenizer_free(FtTokenizer* tokenizer);

// ids: uint32 in native byte order, not necessarily aligned.
bool ft_tokenizer_encode(const FtTokenizer* tokenizer, FtSpan text, bool add_special, FtBuffer* ids,
                         FtBuffer* error);
bool ft_tokenizer_decode(const FtTokenizer* tokenizer, FtSpan ids, bool skip_special,
                         FtBuffer* text, FtBuffer* error);

// -1 if there is no such token.
std::int64_t ft_tokenizer_token_to_id(const FtTokenizer* tokenizer, FtSpan token);
bool ft_tokenizer_id_to_token(const FtTokenizer* tokenizer, std::uint32_t id, FtBuffer* token);

// What each id decodes to. Borrowed from the tokenizer. Piece `id` is bytes[offsets[id] ..
// offsets[id + 1]).
struct FtPieces {
  std::uint32_t style;  // 0 byte level, 1 byte runs (SentencePiece), 2 contextual: decode through
                        // the tokenizer
  std::uint32_t leading_spaces;  // spaces removed from the front of the whole text
  std::size_t vocab_size;
  std::size_t count;  // ids in the table, largest id + 1
  const char* bytes;
  const std::uint32_t* offsets;
  const std::uint8_t* flags;  // 1 present, 2 special, 4 one byte of a byte-fallback run
  // [256] in 1/2^24: a text has at least as many tokens as the shares of its bytes sum to; null:
  // not known of this tokenizer.
  const std::uint32_t* byte_shares;
  bool is_composed;  // the shares hold after NFC
};
FtPieces ft_tokenizer_pieces(const FtTokenizer* tokenizer);

struct FtTemplate;

// source, tool_use: Jinja text, data null for none. specials: JSON object of the special tokens.
FtTemplate* ft_template_new(FtSpan source, FtSpan tool_use, FtSpan specials, FtBuffer* error);
void ft_template_free(FtTemplate* chat_template);

// Whether the template looks at tools at all.
bool ft_template_reads_tools(const FtTemplate* chat_template);

// request: JSON object with messages and so on. now: seconds since 1970 for strftime_now, null for
// the clock.
bool ft_template_render(const FtTemplate* chat_template, FtSpan request, bool is_openai,
                        const std::int64_t* now, FtBuffer* text, FtBuffer* error);

// What grammars are compiled against: the texts of a tokenizer's tokens. Independent of the
// tokenizer once made, which takes some 100 ms for 128k tokens.
struct FtVocabulary;
FtVocabulary* ft_vocabulary_new(const FtTokenizer* tokenizer, FtBuffer* error);
void ft_vocabulary_free(FtVocabulary* vocabulary);
std::size_t ft_vocabulary_mask_words(const FtVocabulary* vocabulary);  // a bit for each token

// A compiled grammar. It and its matchers outlive the vocabulary.
struct FtGrammar;
// kind: 0 JSON schema, 1 regular expression, 2 EBNF or Lark, 3 structural tag, 4 choice (JSON list
// of texts). layout: JSON object {"whitespace_pattern": text | null, "compact": bool,
//   "tail": "none" | "white" | "any", "balanced": bool}
// as grammar.h has them. Refused, too: what takes longer than the limit, unless that is 0; then the
// caller's thread compiles.
FtGrammar* ft_grammar_new(const FtVocabulary* vocabulary, std::uint32_t kind, FtSpan source,
                          FtSpan layout, std::uint64_t limit_ms, FtBuffer* error);
void ft_grammar_free(FtGrammar* grammar);
// A matcher of it failed in a way that may have spoiled what all of them share.
bool ft_grammar_is_spoiled(const FtGrammar* grammar);

// A text's place in a grammar: one thread at a time. After a failure it fails for ever.
struct FtMatcher;
FtMatcher* ft_matcher_new(const FtGrammar* grammar, FtBuffer* error);
FtMatcher* ft_matcher_fork(const FtMatcher* matcher, FtBuffer* error);
void ft_matcher_free(FtMatcher* matcher);
// Bit per token that may come next, none after the end. may_end: the text is complete.
bool ft_matcher_mask(FtMatcher* matcher, std::uint32_t* words, std::size_t count, bool* may_end,
                     FtBuffer* error);
bool ft_matcher_may_end(FtMatcher* matcher, bool* answer, FtBuffer* error);
bool ft_matcher_allows(FtMatcher* matcher, std::uint32_t token, bool* answer, FtBuffer* error);
// How many of these tokens, one after the other, may come next.
bool ft_matcher_count_allowed(FtMatcher* matcher, const std::uint32_t* tokens, std::size_t count,
                              std::size_t* answer, FtBuffer* error);
bool ft_matcher_advance(FtMatcher* matcher, std::uint32_t token, FtBuffer* error);
// By bytes that are part of a token. answer: they are allowed; else it stays where it is.
bool ft_matcher_advance_text(FtMatcher* matcher, FtSpan text, bool* answer, FtBuffer* error);
// Bytes of the last token or text behind the end.
std::size_t ft_matcher_beyond(const FtMatcher* matcher);
bool ft_matcher_roll_back(FtMatcher* matcher, std::size_t tokens, FtBuffer* error);
bool ft_matcher_has_ended(const FtMatcher* matcher);  // it is complete, and nothing may follow
// The bytes that every continuation begins with.
bool ft_matcher_forced(const FtMatcher* matcher, FtBuffer* bytes, FtBuffer* error);

// Regular expressions that end a text: at the first byte at which one matches.
struct FtExpressions;
// patterns: JSON list of texts. Refused: what cannot be read, is too large, or matches the empty
// text.
FtExpressions* ft_expressions_new(FtSpan patterns, FtBuffer* error);
void ft_expressions_free(FtExpressions* expressions);
std::size_t ft_expressions_states(const FtExpressions* expressions);

// One text: one thread at a time. It outlives the expressions.
struct FtSearch;
FtSearch* ft_search_new(const FtExpressions* expressions, FtBuffer* error);
FtSearch* ft_search_fork(const FtSearch* search, FtBuffer* error);
void ft_search_free(FtSearch* search);
struct FtSearchStep {
  std::size_t held;         // bytes at the end of the text that may be part of a match
  std::int64_t expression;  // that has matched; -1: none, and the rest is 0
  std::size_t end;          // bytes of this piece up to the end of the match
  std::size_t size;         // of the match, as far as it was held back
};
// After a match nothing more may be pushed.
bool ft_search_push(FtSearch* search, FtSpan text, FtSearchStep* step, FtBuffer* error);

// A line editor on the terminal of this process. One thread at a time.
struct FtLineEditor;
// history: a file that is read now and written with each text, with most_entries at most; empty:
// none. lines: what can be completed, sorted, one a line. is_complete: whether Enter ends a text;
// else it begins a new line of it.
FtLineEditor* ft_line_editor_new(FtSpan history, std::size_t most_entries, FtSpan lines,
                                 bool (*is_complete)(FtSpan text), bool is_coloured,
                                 FtBuffer* error);
void ft_line_editor_free(FtLineEditor* editor);
// 0: a text; 1: Ctrl-C; 2: the end of input; 3: bytes that are no UTF-8, and are gone; 4: an error.
std::uint32_t ft_line_editor_read(FtLineEditor* editor, FtSpan prompt, FtBuffer* text,
                                  FtBuffer* error);

}  // extern "C"
