#pragma once
// Fingerprints of what lies in a model's folder: names, sizes, whole small files, and beginning and
// end of large ones. They tell checkpoints apart in milliseconds; they are no proof against
// forgery. Pure functions of files.

#include <string>

namespace foretoken {

// Of all files of a folder, or of one file. Throws Error where they cannot be read; `more` is part
// of what is told apart.
std::string fingerprint(const std::string& path, const std::string& more = {});

// Of what turns text into tokens: the tokenizer's files of a folder, or one file.
std::string tokenizer_fingerprint(const std::string& path);

}  // namespace foretoken
