#include "checkpoint/packed/packed_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/json.hpp>

#include "backend/ops/load_ops.h"
#include "base/error.h"
#include "base/file_fields.h"
#include "base/index.h"
#include "base/json_text.h"
#include "base/word_sum.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::string_view kMagic = "foretoken packed";
// Another one wherever the same checkpoint is read otherwise than before.
constexpr std::uint64_t kVersion = 3;
constexpr std::uint64_t kAlign = 4096;                               // of images in the file
constexpr std::uint64_t kMostDirectory = std::uint64_t{256} << 20U;  // bytes

struct Header {
  std::array<char, 16> magic{};
  std::uint64_t version = kVersion;
  std::uint64_t directory = 0, directory_bytes = 0, directory_sum = 0;
  std::uint64_t sum = 0;  // of all before it
};
static_assert(sizeof(Header) == 56);

std::uint64_t sum_of(const Header& header) {
  return word_sum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, sum)));
}

[[noreturn]] void refuse_packed(const std::string& path, const std::string& found) {
  throw Error({"not a file of packed weights that can be used", path, {}, found});
}

bool read_all(int descriptor, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// ---- formats as lists of numbers

std::vector<std::int64_t> numbers_of(const WeightFormat& format) {
  return {format.bits,
          format.group,
          static_cast<std::int64_t>(format.scale),
          static_cast<std::int64_t>(format.has_zero_points),
          static_cast<std::int64_t>(format.rounds_input),
          static_cast<std::int64_t>(format.searches_scale),
          static_cast<std::int64_t>(format.is_float),
          static_cast<std::int64_t>(format.has_column_order),
          format.super,
          static_cast<std::int64_t>(format.has_minima),
          static_cast<std::int64_t>(format.list)};
}

bool is_known_blocks(const WeightFormat& format) {
  constexpr int kMostBits = 6, kSuper = 256;
  return format.bits >= 2 && format.bits <= kMostBits &&
         (format.group == 16 || format.group == WeightFormat::kGroupStep) &&
         (format.super == 0 || format.super == kSuper) && format.scale == DType::kF16 &&
         !format.has_zero_points && !format.is_float && !format.has_column_order;
}

std::optional<WeightFormat> format_of(const std::vector<std::int64_t>& numbers) {
  if (numbers.size() != 11 || numbers[10] < 0 ||
      numbers[10] > static_cast<std::int64_t>(CodeList::kE2M1))
    return std::nullopt;
  WeightFormat format{.bits = static_cast<int>(numbers[0]),
                      .group = numbers[1],
                      .has_zero_points = numbers[3] != 0,
                      .rounds_input = numbers[4] != 0,
                      .searches_scale = numbers[5] != 0,
                      .is_float = numbers[6] != 0,
                      .super = static_cast<int>(numbers[8]),
                      .has_minima = numbers[9] != 0,
                      .list = static_cast<CodeList>(numbers[10]),
                      .has_column_order = numbers[7] != 0};
  const auto is_scale = [&](DType dtype) { return numbers[2] == static_cast<std::int64_t>(dtype); };
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    if (is_scale(dtype)) format.scale = dtype;
  if (format.is_blocked())
    return is_known_blocks(format) && numbers_of(format) == numbers ? std::optional(format)
                                                                    : std::nullopt;
  const bool is_known =
      (format.bits == 0 || format.bits == 4 || format.bits == 8) &&
      !(format.is_float && (format.bits != 8 || format.has_zero_points || format.rounds_input)) &&
      !(format.has_column_order && format.bits == 0) && format.group >= 0 &&
      format.group % WeightFormat::kGroupStep == 0 && format.group <= std::int64_t{1} << 20;
  if (!is_known || numbers_of(format) != numbers) return std::nullopt;
  return format;
}

// ---- writing

// The file that will be the new one. It has one name, so that what a killed process left behind is
// written over by the next; a lock keeps two from writing it at once.
class Part {
 public:
  explicit Part(const std::string& path) : path_(path + ".part") {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor_ < 0) fail();
  }
  ~Part() {
    if (is_mine_) unlink(path_.c_str());
    close(descriptor_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // False: it is somebody else's.
  bool claim() {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return false;
      fail();
    }
    // Who had the lock before may have moved this very file to its place.
    struct stat named{};
    struct stat opened{};
    if (stat(path_.c_str(), &named) != 0 || fstat(descriptor_, &opened) != 0 ||
        named.st_ino != opened.st_ino || named.st_dev != opened.st_dev)
      return false;
    is_mine_ = true;
    if (ftruncate(descriptor_, 0) != 0) fail();
    return true;
  }
  // So that a full disk shows before anything is written; what cannot tell is asked nothing.
  void reserve(std::uint64_t bytes) const {
#if defined(__linux__)
    if (fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
      fail();
#else
    (void)bytes;
#endif
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail();
      offset += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void become(const std::string& path, std::uint64_t bytes) {
    if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0 || fsync(descriptor_) != 0 ||
        rename(path_.c_str(), path.c_str()) != 0)
      fail();
    is_mine_ = false;
  }

 private:
  [[noreturn]] void fail() const {
    const int fault = errno;
    throw Error({"cannot write file", path_, {}, std::strerror(fault)});
  }

  std::string path_;
  int descriptor_ = -1;
  bool is_mine_ = false;
};

// "offset bytes sum sum ...", sums hexadecimal.
std::string write_image(const Part& part, std::uint64_t offset, std::span<const std::byte> image) {
  std::string text = fmt::format("{} {}", offset, image.size());
  for (std::size_t at = 0; at < image.size(); at += LoadOps::kImagePiece) {
    const auto piece = image.subspan(at, std::min(LoadOps::kImagePiece, image.size() - at));
    part.write(offset + at, piece);
    text += fmt::format(" {:x}", word_sum(piece));
  }
  return text;
}

// The next number of a text, which is cut off.
std::optional<std::uint64_t> next_number(std::string_view& text, int base) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string format_text(const WeightFormat& format) {
  if (!format.is_coded()) return "floats";
  return fmt::format("{} bits{}, group {}, scales {}{}{}{}{}{}{}{}", format.bits,
                     format.is_float ? " of floats" : "", format.group, dtype_name(format.scale),
                     format.has_zero_points ? ", zero points" : "",
                     format.rounds_input ? ", input rounded" : "",
                     format.searches_scale ? ", scales searched" : "",
                     format.has_column_order ? ", columns in another order" : "",
                     format.super > 0 ? fmt::format(", multiples of {}", format.super) : "",
                     format.has_minima ? ", minima" : "", format.is_listed() ? ", listed" : "");
}

bool write_packed_file(const std::string& path, const std::string& state,
                       std::span<const UnwrittenMatrix> matrices) {
  Part part(path);
  if (!part.claim()) return false;
  std::uint64_t end = kAlign;
  for (const UnwrittenMatrix& each : matrices)
    for (const auto image : each.images) end += round_up(image.size(), kAlign);
  part.reserve(end);
  std::uint64_t offset = kAlign;
  json::array list;
  for (const UnwrittenMatrix& each : matrices) {
    json::array images;
    for (const auto image : each.images) {
      images.emplace_back(write_image(part, offset, image));
      offset += round_up(image.size(), kAlign);
    }
    const auto format = numbers_of(each.matrix.format);
    list.push_back(json::object{{"name", each.matrix.name},
                                {"format", json::array(format.begin(), format.end())},
                                {"tensors", json::value_from(each.matrix.tensors)},
                                {"images", std::move(images)}});
  }
  const std::string directory =
      json::serialize(json::object{{"state", state}, {"matrices", std::move(list)}});
  const auto bytes = std::as_bytes(std::span(directory));
  part.write(offset, bytes);
  Header header{
      .directory = offset, .directory_bytes = bytes.size(), .directory_sum = word_sum(bytes)};
  std::ranges::copy(kMagic, header.magic.begin());
  header.sum = sum_of(header);
  part.write(0, std::as_bytes(std::span(&header, 1)));
  part.become(path, offset + bytes.size());
  return true;
}

std::unique_ptr<PackedFile> PackedFile::open(const std::string& path) {
  // Does not wait for a writer where that name is a pipe.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENOENT) return nullptr;
  if (descriptor < 0) refuse_packed(path, std::strerror(errno));
  std::unique_ptr<PackedFile> file(new PackedFile(descriptor));
  file->read_directory(path);
  return file;
}

PackedFile::~PackedFile() { close(descriptor_); }

void PackedFile::read_directory(const std::string& path) {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    refuse_packed(path, "no regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Header header;
  const auto header_bytes = std::as_writable_bytes(std::span(&header, 1));
  if (!read_all(descriptor_, 0, header_bytes))
    refuse_packed(path, "a file that ends in its header");
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic)
    refuse_packed(path, "a file that begins otherwise");
  if (header.version != kVersion) refuse_packed(path, fmt::format("version {}", header.version));
  if (header.sum != sum_of(header)) refuse_packed(path, "a damaged header");
  if (header.directory > size || header.directory_bytes > size - header.directory ||
      header.directory_bytes > kMostDirectory)
    refuse_packed(path, "a file that was cut off");
  std::string text(header.directory_bytes, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  if (!read_all(descriptor_, header.directory, bytes) || word_sum(bytes) != header.directory_sum)
    refuse_packed(path, "a damaged directory");

  const json::object object = read_json_object(text, path);
  const FileFields fields(object, path);
  state_ = fields.string("state").value_or("");
  const json::array* list = fields.array("matrices");
  if (list == nullptr) fields.refuse_missing("matrices");
  for (const json::value& value : *list) {
    if (!value.is_object()) refuse_packed(path, "a matrix that is no object");
    const FileFields matrix(value.get_object(), path);
    const auto name = matrix.string("name");
    const auto format = format_of(matrix.integers("format", kAnyInteger));
    const auto tensors = matrix.strings("tensors");
    const auto images = matrix.strings("images");
    if (!name || !format || !tensors || !images)
      refuse_packed(path, "a matrix that is not described");
    Entry entry{.matrix = {.name = *name, .format = *format, .tensors = *tensors}};
    for (const std::string& image : *images)
      entry.images.push_back(image_of(image, header.directory));
    entries_.insert_or_assign(*name, std::move(entry));
  }
}

PackedFile::Image PackedFile::image_of(const std::string& text, std::uint64_t end) const {
  std::string_view rest = text;
  const auto offset = next_number(rest, 10), bytes = next_number(rest, 10);
  // One that lies elsewhere is as good as none.
  if (!offset || !bytes || *offset > end || *bytes > end - *offset) return {};
  Image image{.offset = *offset, .bytes = *bytes};
  while (const auto sum = next_number(rest, 16)) image.sums.push_back(*sum);
  return image;
}

const PackedMatrix* PackedFile::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.matrix;
}

bool PackedFile::read(const PackedMatrix& matrix, std::size_t image, std::size_t offset,
                      std::span<std::byte> to) const {
  const Entry& entry = entries_.at(matrix.name);
  if (image >= entry.images.size()) return false;
  const Image& from = entry.images[image];
  const std::size_t piece = offset / LoadOps::kImagePiece;
  if (offset > from.bytes || to.size() > from.bytes - offset || piece >= from.sums.size())
    return false;
  return read_all(descriptor_, from.offset + offset, to) && word_sum(to) == from.sums[piece];
}

}  // namespace foretoken
