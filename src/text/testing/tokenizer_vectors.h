#pragma once
// llama.cpp's vectors of tokenizers: files of texts, and of the ids that they have. Tests only.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/types.h"

namespace foretoken {

// Texts with a line between them.
inline std::vector<std::string> vector_texts(const std::filesystem::path& path) {
  const std::string all = read_file(path).value();
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0;;) {
    const std::size_t end = all.find(separator, at);
    if (end == std::string::npos) return texts;
    texts.push_back(all.substr(at, end - at));
    at = end + separator.size();
  }
}

// The ids of each, a line a text.
inline std::vector<std::vector<Token>> vector_ids(const std::filesystem::path& path) {
  std::vector<std::vector<Token>> all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    all.emplace_back(std::istream_iterator<Token>(words), std::istream_iterator<Token>());
  }
  return all;
}

}  // namespace foretoken
