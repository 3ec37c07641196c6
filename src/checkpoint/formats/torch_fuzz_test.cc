// Hostile bytes for the readers of torch.save's files: every outcome is a tensor inside the file or
// an Error. Runs under the sanitizers, which notice a read beyond the bytes.

#include <cstring>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/formats/torch_file.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

constexpr const char* kFiles[] = {
    "checkpoint.bin", "checkpoint_legacy.bin", "checkpoint_protocol4.bin",
    "state_dict.bin", "map_list.pt",           "map_tensor.pt"};

using Bytes = std::vector<std::byte>;

Bytes read(const std::string& name) {
  const MappedFile file(FORETOKEN_SOURCE_DIR "/tests/golden/torch/" + name);
  return {file.bytes().begin(), file.bytes().end()};
}

// Values of a pickle, items in them and bytes of text: each costs the writer at least a byte.
void expect_bounded(const Pickle& pickle, std::size_t file_bytes) {
  std::size_t items = 0;
  for (const PickleValue& value : pickle.values) items += value.items.size();
  EXPECT_LE(pickle.values.size(), file_bytes);
  EXPECT_LE(items, 2 * file_bytes);
}

// Reads all that the bytes hold. True when they were a checkpoint.
bool try_bytes(const Bytes& bytes) {
  // A block of exactly that size: the sanitizer guards its end.
  const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const std::span<const std::byte> file(exact.get(), bytes.size());
  try {
    expect_bounded(TorchFile(file, "file").object(), file.size());
    volatile unsigned sum = 0;  // volatile: the reads are what is tested
    for (const StoredTensor& tensor : parse_torch_checkpoint(file, "file"))
      for (std::size_t i = 0; i < tensor.bytes; ++i)
        sum = sum + std::to_integer<unsigned>(file[tensor.offset + i]);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t limit) { return mix_seed(seed_, count_++) % limit; }
  std::byte byte() { return static_cast<std::byte>(below(256)); }

 private:
  std::uint64_t seed_, count_ = 0;
};

TEST(TorchFuzz, files_cut_short_are_refused) {
  for (const char* name : kFiles) {
    const Bytes whole = read(name);
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(try_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}))
          << name << " cut to " << length;
  }
}

// Of four values under the address sanitizer, where each file takes milliseconds, one.
TEST(TorchFuzz, files_with_any_one_byte_changed_do_no_harm) {
#ifdef FORETOKEN_SANITIZES_ADDRESSES
  constexpr std::size_t kValues = 1;
#else
  constexpr std::size_t kValues = 4;
#endif
  constexpr unsigned char kBytes[] = {0x00, 0x80, 0xff, 'R'};
  for (const char* name : kFiles) {
    const Bytes whole = read(name);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (std::size_t value = 0; value < kValues; ++value) {
        Bytes changed = whole;
        changed[at] = static_cast<std::byte>(kBytes[(at + value) % 4]);
        try_bytes(changed);
      }
  }
}

TEST(TorchFuzz, files_with_many_bytes_changed_do_no_harm) {
  Dice dice(1);
  std::size_t readable = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = read(kFiles[dice.below(std::size(kFiles))]);
    for (std::size_t changes = 1 + dice.below(8); changes > 0; --changes) {
      const std::size_t at = dice.below(bytes.size()), length = dice.below(12);
      switch (dice.below(3)) {
        case 0:
          bytes[at] = dice.byte();
          break;
        case 1:  // a piece of the file again, elsewhere
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(dice.below(bytes.size())),
                       length, bytes[at]);
          break;
        default:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      bytes.begin() +
                          static_cast<std::ptrdiff_t>(std::min(at + length, bytes.size() - 1)) + 1);
          if (bytes.empty()) bytes.push_back(dice.byte());
      }
    }
    readable += try_bytes(bytes) ? 1U : 0U;
  }
  EXPECT_GT(readable, 0U);  // changed bytes of a tensor's data, for example
}

// Programs of opcodes that mean something to the reader, with arguments at random.
TEST(TorchFuzz, random_pickles_do_no_harm) {
  constexpr std::string_view kOpcodes =
      ".(012N\x88\x89JKMGXUT\x8a\x8b\x8c)]}tl\x85\x86\x87"
      "aesuchjqr\x94\x93RbQ";
  constexpr std::string_view kCallables[] = {"collections OrderedDict", "torch FloatStorage"};
  constexpr std::string_view kGlobal = "collections\nOrderedDict\n";
  Dice dice(2);
  std::size_t readable = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string program = "\x80\x02";
    for (std::size_t i = 1 + dice.below(60); i > 0; --i) {
      const char opcode = kOpcodes[dice.below(kOpcodes.size())];
      program += opcode;
      if (opcode == 'c') program += kGlobal;
      const bool has_byte = std::string_view("KU\x8a\x8chq").find(opcode) != std::string_view::npos;
      if (has_byte) program += static_cast<char>(dice.below(4));
    }
    program += '.';
    try {
      const auto bytes = std::as_bytes(std::span(program));
      const Bytes exact(bytes.begin(), bytes.end());
      const Pickle pickle = read_pickle(exact, kCallables, "fuzz");
      expect_bounded(pickle, exact.size());
      EXPECT_FALSE(describe(pickle[pickle.root]).empty());
      ++readable;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(readable, 100U);
}

// One tuple of many values called again and again: the calls share it.
TEST(TorchFuzz, sharing_in_a_pickle_is_not_multiplied_out) {
  constexpr std::string_view kCallables[] = {"torch FloatStorage"};
  constexpr int kRepeats = 100000;
  std::string program = "\x80\x02(";
  program.append(kRepeats, 'N');
  program +=
      "tq\x01"
      "0ctorch\nFloatStorage\nq\x02"
      "0]";
  for (int i = 0; i < kRepeats; ++i) program += "h\x02h\x01Ra";
  program += '.';
  const Pickle pickle = read_pickle(std::as_bytes(std::span(program)), kCallables, "fuzz");
  expect_bounded(pickle, program.size());
  EXPECT_EQ(pickle[pickle.root].items.size(), std::size_t{kRepeats});
}

TEST(TorchFuzz, nesting_costs_no_stack) {
  std::string program = "\x80\x02";
  program.append(1000000, ']');
  program.append(999999, 'a');
  program += '.';
  const Pickle pickle = read_pickle(std::as_bytes(std::span(program)), {}, "fuzz");
  EXPECT_EQ(pickle.values.size(), 1000000U);
}

TEST(TorchFuzz, too_many_values_are_refused) {
  std::string program = "\x80\x02]";
  for (int i = 0; i < 3000000; ++i) program += "Na";
  program += '.';
  EXPECT_NE(error_of([&] {
              read_pickle(std::as_bytes(std::span(program)), {}, "fuzz");
            }).find("too many values"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken
