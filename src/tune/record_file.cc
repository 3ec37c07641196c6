#include "tune/record_file.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <boost/crc.hpp>
#include <boost/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "tune/byte_string.h"

namespace foretoken {
namespace {

constexpr std::uint32_t kIdentity = 1, kText = 2, kCosts = 3;
constexpr std::size_t kBlockHead = 16;  // kind, checksum, length

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- identity

std::string to_json(const RecordIdentity& identity) {
  boost::json::array stops;
  for (const Token token : identity.stop_tokens) stops.push_back(token);
  return boost::json::serialize(boost::json::object{
      {"model", identity.model},
      {"model_print", identity.model_print},
      {"tokenizer_print", identity.tokenizer_print},
      {"draft", identity.draft},
      {"draft_print", identity.draft_print},
      {"algorithm", identity.algorithm},
      {"architecture", identity.architecture},
      {"backend", identity.backend},
      {"vocab", identity.vocab},
      {"steps", identity.steps},
      {"topk", identity.topk},
      {"max_new_tokens", identity.max_new_tokens},
      {"temperature", identity.temperature},
      {"stop_tokens", stops},
  });
}

RecordIdentity identity_of(std::string_view json, const std::string& where) {
  const boost::json::object object = read_json_object(json, where);
  const FileFields fields(object, where);
  const auto text = [&](const char* name) { return fields.string(name).value_or(""); };
  const auto number = [&](const char* name, std::int64_t most) {
    return static_cast<int>(fields.integer(name, {0, most}).value_or(0));
  };
  RecordIdentity identity{
      .model = text("model"),
      .model_print = text("model_print"),
      .tokenizer_print = text("tokenizer_print"),
      .draft = text("draft"),
      .draft_print = text("draft_print"),
      .algorithm = text("algorithm"),
      .architecture = text("architecture"),
      .backend = text("backend"),
      .vocab = number("vocab", 1 << 30),
      .steps = number("steps", kMostRecordedSteps),
      .topk = number("topk", kMostRecordedWidth),
      .max_new_tokens = number("max_new_tokens", 1 << 30),
      .temperature = static_cast<float>(fields.number("temperature").value_or(0)),
      .stop_tokens = {}};
  for (const std::int64_t token : fields.integers("stop_tokens", {0, 1 << 30}))
    identity.stop_tokens.push_back(static_cast<Token>(token));
  return identity;
}

// ---- texts

void put_tree(ByteWriter& out, const RecordedTree& tree, std::size_t width) {
  CHECK(tree.tokens.size() == tree.rows.size() * width);
  CHECK(tree.chances.size() == tree.tokens.size());
  out.put(static_cast<std::uint32_t>(tree.rows.size()));
  for (const auto& row : tree.rows) {
    out.put(row.parent);
    out.put(row.rank);
  }
  out.put_all(std::span(tree.tokens));
  out.put_all(std::span(tree.chances));
}

RecordedTree get_tree(ByteReader& in, std::size_t width) {
  RecordedTree tree;
  const std::size_t rows = in.get_count(2 * sizeof(std::int32_t) + 8 * width);
  for (std::size_t i = 0; i < rows; ++i) {
    RecordedTree::Row row;
    row.parent = in.get<std::int32_t>();
    row.rank = in.get<std::int32_t>();
    const bool is_root = i == 0 && row.parent == -1 && row.rank == 0;
    const bool is_below =
        row.parent >= 0 && at(row.parent) < i && row.rank >= 0 && at(row.rank) < width && i > 0;
    if (!is_root && !is_below) in.fail("rows below earlier rows", "row " + std::to_string(i));
    tree.rows.push_back(row);
  }
  tree.tokens = in.get_all<Token>(rows * width);
  tree.chances = in.get_all<float>(rows * width);
  for (const float chance : tree.chances)
    if (!(chance >= 0 && chance <= 1.001F)) in.fail("chances from 0 to 1", std::to_string(chance));
  return tree;
}

std::string to_bytes(const RecordedText& text, int width) {
  ByteWriter out;
  out.put(text.number);
  out.put_text(text.category);
  out.put(static_cast<std::uint32_t>(text.prompt.size()));
  out.put_all(std::span(text.prompt));
  out.put(static_cast<std::uint32_t>(text.output.size()));
  out.put_all(std::span(text.output));
  out.put(static_cast<std::uint32_t>(text.trees.size()));
  for (const RecordedTree& tree : text.trees) put_tree(out, tree, at(width));
  out.put(static_cast<std::uint32_t>(text.tops.size()));
  for (const auto& top : text.tops) {
    out.put(static_cast<std::uint32_t>(top.size()));
    for (const TopLogprob& each : top) {
      out.put(each.token);
      out.put(each.logprob);
    }
  }
  return out.bytes();
}

std::vector<Token> get_tokens(ByteReader& in, std::int64_t vocab) {
  auto tokens = in.get_all<Token>(in.get_count(sizeof(Token)));
  for (const Token token : tokens)
    if (token < 0 || token >= vocab)
      in.fail("tokens of the vocabulary", "token " + std::to_string(token));
  return tokens;
}

RecordedText text_of_bytes(std::span<const std::byte> bytes, const RecordIdentity& identity,
                           const std::string& where) {
  ByteReader in(bytes, where);
  RecordedText text;
  text.number = in.get<std::uint32_t>();
  text.category = in.get_text();
  text.prompt = get_tokens(in, identity.vocab);
  text.output = get_tokens(in, identity.vocab);
  if (text.prompt.empty() || text.output.empty()) in.fail("a prompt and an answer", "nothing");
  const std::size_t trees = in.get_count(sizeof(std::uint32_t));
  if (trees > text.output.size()) in.fail("a tree per token", std::to_string(trees) + " trees");
  if (trees > 0 && !identity.has_candidates()) in.fail("no trees", std::to_string(trees));
  for (std::size_t i = 0; i < trees; ++i) {
    text.trees.push_back(get_tree(in, at(identity.topk)));
    for (const Token token : text.trees.back().tokens)
      if (token < kNoToken || token >= identity.vocab)
        in.fail("candidates of the vocabulary", "token " + std::to_string(token));
  }
  const std::size_t tops = in.get_count(sizeof(std::uint32_t));
  if (tops > text.output.size()) in.fail("a list per token", std::to_string(tops) + " lists");
  for (std::size_t i = 0; i < tops; ++i) {
    auto& top = text.tops.emplace_back();
    const std::size_t count = in.get_count(sizeof(Token) + sizeof(float));
    for (std::size_t n = 0; n < count; ++n) {
      TopLogprob each{};
      each.token = in.get<Token>();
      each.logprob = in.get<float>();
      if (each.token < 0 || each.token >= identity.vocab || std::isnan(each.logprob))
        in.fail("logprobs of tokens", "token " + std::to_string(each.token));
      top.push_back(each);
    }
  }
  if (in.left() > 0) in.fail("the end of the text", std::to_string(in.left()) + " more bytes");
  return text;
}

[[noreturn]] void refuse(const std::string& where, const std::string& expected,
                         const std::string& found) {
  throw Error({.what = "not a record that can be read",
               .where = where,
               .expected = expected,
               .found = found});
}

// ---- writing

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error({.what = "cannot write the record", .where = path, .found = std::strerror(errno)});
}

// In one piece, and to the system at once: a killed process loses nothing that was added.
void append(std::FILE* file, const std::string& path, std::uint32_t kind,
            std::string_view payload) {
  ByteWriter block;
  block.put(kind);
  block.put(record_checksum(payload));
  block.put(static_cast<std::uint64_t>(payload.size()));
  block.put_bytes(payload);
  const std::string& bytes = block.bytes();
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!is_written || std::fflush(file) != 0) cannot_write(path);
}

}  // namespace

std::uint32_t record_checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

RecordWriter::RecordWriter(const std::string& path, const RecordIdentity& identity)
    : path_(path), width_(identity.topk), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) cannot_write(path);
  ByteWriter head;
  head.put_bytes(kRecordMagic);
  head.put(kRecordVersion);
  if (std::fwrite(head.bytes().data(), 1, head.bytes().size(), file_.get()) != head.bytes().size())
    cannot_write(path);
  append(file_.get(), path_, kIdentity, to_json(identity));
}

void RecordWriter::add(const RecordedText& text) {
  append(file_.get(), path_, kText, to_bytes(text, width_));
}

void RecordWriter::append_costs(const std::string& path, const std::string& json) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "ab"));
  if (!file) cannot_write(path);
  append(file.get(), path, kCosts, json);
}

// ---- reading

Record parse_record(std::span<const std::byte> bytes, const std::string& where) {
  if (!text_of(bytes).starts_with(kRecordMagic))
    refuse(where, "a record of `foretoken tune`", "a file that begins otherwise");
  ByteReader in(bytes.subspan(kRecordMagic.size()), where);
  if (const auto version = in.get<std::uint32_t>(); version != kRecordVersion)
    refuse(where, "version " + std::to_string(kRecordVersion),
           "version " + std::to_string(version));
  Record record;
  bool has_identity = false;
  while (in.left() > 0) {
    if (in.left() < kBlockHead) {
      record.is_cut = true;
      break;
    }
    const auto kind = in.get<std::uint32_t>();
    const auto expected = in.get<std::uint32_t>();
    const auto length = in.get<std::uint64_t>();
    if (length > in.left()) {
      record.is_cut = true;
      break;
    }
    const auto payload = in.take(length);
    if (record_checksum(text_of(payload)) != expected)
      refuse(where, "blocks with their checksums", "a block that was changed or damaged");
    if (kind == kIdentity && !has_identity) {
      record.identity = identity_of(text_of(payload), where);
      has_identity = true;
    } else if (kind == kText && has_identity) {
      record.texts.push_back(text_of_bytes(payload, record.identity, where));
    } else if (kind == kCosts && has_identity) {
      record.costs = text_of(payload);
    } else {
      refuse(where, "an identity, then texts and costs", "a block of kind " + std::to_string(kind));
    }
  }
  if (!has_identity) refuse(where, "whose texts they are", "the end of the file");
  return record;
}

Record read_record(const std::string& path) {
  const auto text = read_file(path);
  if (!text) throw Error({.what = "there is no record", .where = path});
  return parse_record(std::as_bytes(std::span(*text)), path);
}

}  // namespace foretoken
