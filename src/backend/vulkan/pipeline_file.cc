#include "backend/vulkan/pipeline_file.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"
#include "base/log.h"
#include "base/word_sum.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic{'F', 'T', 'V', 'K', 'P', 'C', '0', '1'};

struct Header {
  std::array<char, 8> magic;
  std::uint64_t key, bytes, sum;
};
static_assert(sizeof(Header) == 32);

// What is wrong with the bytes of a file; empty: nothing.
std::string_view fault_of(const std::vector<std::byte>& all, std::uint64_t key) {
  if (all.size() < sizeof(Header)) return "it was cut off";
  Header header;
  std::memcpy(&header, all.data(), sizeof header);
  if (header.magic != kMagic) return "it begins otherwise";
  if (header.key != key) return "it is of another device, driver or version";
  if (header.bytes != all.size() - sizeof header) return "it was cut off";
  if (header.sum != word_sum(std::span(all).subspan(sizeof header))) return "it is damaged";
  return {};
}

}  // namespace

PipelineFile::PipelineFile(const std::string& folder, std::uint64_t key)
    : key_(key),
      path_(folder.empty() ? "" : fmt::format("{}/vulkan-{:016x}.pipelines", folder, key)) {}

std::vector<std::byte> PipelineFile::read() const {
  const auto ignore = [this](std::string_view fault) {
    log_warning("Compiled shaders in {} are not used: {}.", path_, fault);
    return std::vector<std::byte>();
  };
  std::error_code error;
  if (path_.empty() || !fs::exists(path_, error)) return {};
  if (!fs::is_regular_file(path_, error)) return ignore("it is no file");
  const std::uintmax_t bytes = fs::file_size(path_, error);
  if (error) return ignore(error.message());
  if (bytes > kMostBytes + sizeof(Header)) return ignore("it is too large");
  std::vector<std::byte> all(bytes);
  std::ifstream in(path_, std::ios::binary);
  in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(bytes));
  if (!in) return ignore("it cannot be read");
  if (const std::string_view fault = fault_of(all, key_); !fault.empty()) return ignore(fault);
  all.erase(all.begin(), all.begin() + sizeof(Header));
  return all;
}

bool PipelineFile::write(std::span<const std::byte> data) const {
  if (path_.empty() || data.empty()) return false;
  const auto refuse = [this](std::string_view fault) {
    log_warning("Compiled shaders cannot be kept in {}: {}.", path_, fault);
    return false;
  };
  if (data.size() > kMostBytes) return refuse(fmt::format("{} bytes are too many", data.size()));
  const Header header{.magic = kMagic, .key = key_, .bytes = data.size(), .sum = word_sum(data)};
  const auto text = [](const void* bytes, std::size_t size) {
    return std::string_view(static_cast<const char*>(bytes), size);
  };
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  if (!error)
    error = replace_file(path_, {text(&header, sizeof header), text(data.data(), data.size())});
  if (!error) return true;
  return refuse(error.message());
}

}  // namespace foretoken
