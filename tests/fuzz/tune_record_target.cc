// Records of texts and drafts: the bytes of a file; and identity and text behind right checksums,
// so that what lies in them is read.

#include <string>

#include "kit.h"
#include "targets.h"
#include "tune/byte_string.h"
#include "tune/record_file.h"

namespace foretoken::fuzz {
namespace {

void put_block(ByteWriter& file, std::uint32_t kind, std::string_view payload) {
  file.put(kind);
  file.put(record_checksum(payload));
  file.put(static_cast<std::uint64_t>(payload.size()));
  file.put_bytes(payload);
}

void check(std::string_view bytes) {
  const ExactBytes file(bytes);
  may_refuse([&] {
    const Record record = parse_record(file.span(), "file");
    for (const RecordedText& text : record.texts)
      for (const RecordedTree& tree : text.trees) {
        const auto width = static_cast<std::size_t>(record.identity.topk);
        CHECK(tree.tokens.size() == tree.rows.size() * width) << "rows without children";
        CHECK(tree.chances.size() == tree.tokens.size()) << "children without chances";
      }
  });
}

}  // namespace

void tune_record(std::string_view input) {
  check(input);
  const auto [identity, text] = two_parts(input);
  ByteWriter file;
  file.put_bytes(kRecordMagic);
  file.put(kRecordVersion);
  put_block(file, 1, identity);
  put_block(file, 2, text);
  check(file.bytes());
}

}  // namespace foretoken::fuzz
