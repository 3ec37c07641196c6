#pragma once
// The sums by which the hub names files: SHA-256 of large ones, Git's SHA-1 of a blob
// ("blob SIZE\0" and the bytes) of others. Reads the whole file. Any thread.

#include <filesystem>
#include <functional>
#include <string>

namespace foretoken {

enum class SumKind { kNone, kGitSha1, kSha256 };

// By the form of a sum: 40 or 64 hexadecimal digits; anything else cannot be checked.
SumKind kind_of_sum(const std::string& sum);

// In lower-case hexadecimal digits. on_bytes: told how many were read since the last call. Throws
// Error when the file cannot be read.
std::string sum_of_file(const std::filesystem::path& path, SumKind kind,
                        const std::function<void(std::size_t)>& on_bytes = {});

}  // namespace foretoken
