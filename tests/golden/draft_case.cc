#include "draft_case.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>

#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/formats/safetensors_header.h"

namespace foretoken {
namespace {

const std::string kFolder = FORETOKEN_SOURCE_DIR "/tests/golden/drafts/";

void read_logits(DraftCase& draft) {
  const MappedFile file(kFolder + draft.name + ".safetensors");
  for (const StoredTensor& stored : parse_safetensors(file.bytes(), file.path())) {
    const auto width = static_cast<std::size_t>(stored.shape[1]);
    auto& rows = stored.name == "first" ? draft.first
                 : stored.name == "way" ? draft.way
                                        : draft.second;
    rows.assign(static_cast<std::size_t>(stored.shape[0]), std::vector<float>(width));
    const std::byte* data = file.bytes().data() + stored.offset;
    for (std::vector<float>& row : rows) {
      std::copy_n(data, width * sizeof(float), reinterpret_cast<std::byte*>(row.data()));
      data += width * sizeof(float);
    }
  }
}

}  // namespace

std::vector<DraftCase> read_draft_cases() {
  std::ifstream stream(kFolder + "cases.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const boost::json::value listed = boost::json::parse(text);
  std::vector<DraftCase> cases;
  for (const boost::json::value& item : listed.as_array()) {
    const auto string_at = [&](const char* key) {
      return boost::json::value_to<std::string>(item.at(key));
    };
    DraftCase draft;
    draft.name = string_at("name");
    draft.algorithm = string_at("algorithm");
    draft.target = kFolder + "targets/" + string_at("target");
    if (item.as_object().contains("head")) draft.head = kFolder + "heads/" + string_at("head");
    draft.tokens = boost::json::value_to<std::vector<Token>>(item.at("tokens"));
    draft.root = item.at("root").to_number<Token>();
    if (item.as_object().contains("token_map")) draft.token_map = kFolder + string_at("token_map");
    for (const auto& child : item.at("level_1").as_array())
      draft.level_1.push_back({child.at(0).to_number<Token>(), -1, child.at(1).as_double()});
    for (const auto& child : item.at("level_2").as_array())
      draft.level_2.push_back(
          {child.at(0).to_number<Token>(), child.at(1).to_number<int>(), child.at(2).as_double()});
    if (item.as_object().contains("path"))
      draft.path = boost::json::value_to<std::vector<Token>>(item.at("path"));
    read_logits(draft);
    cases.push_back(std::move(draft));
  }
  return cases;
}

}  // namespace foretoken
