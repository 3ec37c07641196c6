#include "golden_case.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/formats/safetensors_header.h"

namespace foretoken {
namespace {

const std::string kFolder = FORETOKEN_SOURCE_DIR "/tests/golden/";

void read_known(GoldenCase& golden) {
  const MappedFile file(kFolder + "logits/" + golden.name + ".safetensors");
  for (const StoredTensor& stored : parse_safetensors(file.bytes(), file.path())) {
    const std::byte* data = file.bytes().data() + stored.offset;
    const auto count = static_cast<std::size_t>(stored.shape[0]);
    if (stored.name == "rows") {
      golden.rows.resize(count);
      std::copy_n(data, stored.bytes, reinterpret_cast<std::byte*>(golden.rows.data()));
    } else {
      auto& known = golden.known[stored.name];
      known.assign(count, std::vector<float>(static_cast<std::size_t>(stored.shape[1])));
      for (std::vector<float>& row : known) {
        const std::size_t bytes = row.size() * sizeof(float);
        std::copy_n(data, bytes, reinterpret_cast<std::byte*>(row.data()));
        data += bytes;
      }
    }
  }
}

}  // namespace

std::vector<GoldenCase> read_golden_cases() {
  std::ifstream stream(kFolder + "cases.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const boost::json::value listed = boost::json::parse(text);
  std::vector<GoldenCase> cases;
  for (const boost::json::value& item : listed.as_array()) {
    GoldenCase golden;
    golden.name = boost::json::value_to<std::string>(item.at("name"));
    golden.checkpoint =
        kFolder + "checkpoints/" + boost::json::value_to<std::string>(item.at("checkpoint"));
    golden.config = boost::json::serialize(item.at("config"));
    golden.tokens = boost::json::value_to<std::vector<Token>>(item.at("tokens"));
    if (const auto* length = item.as_object().if_contains("context_length"))
      golden.context_length = length->to_number<std::int64_t>();
    read_known(golden);
    cases.push_back(std::move(golden));
  }
  return cases;
}

}  // namespace foretoken
