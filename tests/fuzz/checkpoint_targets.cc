// Files with weights, and the configurations beside them.

#include <array>

#include "checkpoint/checkpoint.h"
#include "checkpoint/formats/gguf/gguf_header.h"
#include "checkpoint/formats/pickle.h"
#include "checkpoint/formats/safetensors_header.h"
#include "checkpoint/formats/torch_file.h"
#include "checkpoint/formats/zip_directory.h"
#include "checkpoint/model_files.h"
#include "checkpoint/token_map.h"
#include "kit.h"
#include "model/config/generation_config.h"
#include "model/config/model_config.h"
#include "targets.h"

namespace foretoken::fuzz {
namespace {

// Every byte of a range that a reader promised to lie inside the file.
void touch(std::span<const std::byte> bytes) {
  volatile unsigned sum = 0;  // volatile: the reads are what is tested
  for (const std::byte byte : bytes) sum = sum + std::to_integer<unsigned>(byte);
}

void touch(std::span<const std::byte> file, const StoredTensor& tensor) {
  CHECK(tensor.offset <= file.size() && tensor.bytes <= file.size() - tensor.offset)
      << "a tensor outside the file";
  touch(file.subspan(tensor.offset, tensor.bytes));
}

}  // namespace

void safetensors(std::string_view input) {
  const ExactBytes file(input);
  may_refuse([&] {
    for (const StoredTensor& tensor : parse_safetensors(file.span(), "file"))
      touch(file.span(), tensor);
  });
}

// The header alone, then a whole model: its configurations, the tokenizer's files, all weights.
void gguf(std::string_view input) {
  const ExactBytes file(input);
  may_refuse([&] {
    const GgufHeader header = parse_gguf(file.span(), "file");
    for (const GgufTensor& tensor : header.tensors) {
      CHECK(tensor.offset <= input.size() && tensor.bytes <= input.size() - tensor.offset)
          << "a tensor outside the file";
      touch(file.span().subspan(tensor.offset, tensor.bytes));
    }
  });
  static const InputFolder folder;
  folder.write("model.gguf", input);
  const std::string path = folder.file("model.gguf");
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json",
                           "tokenizer.model", "tokenizer_config.json"})
    may_refuse([&] {
      const auto text = open_model_files(path)->read(name);
      if (text && std::string_view(name) == "config.json") ModelConfig::parse(*text, name);
    });
  may_refuse([&] {
    const auto weights = open_checkpoint(path, "auto", false);
    for (const std::string& name : weights->names())
      may_refuse([&] {
        const auto tensor = weights->find(name, {});
        CHECK(tensor.has_value()) << "a name without a tensor";
        touch({static_cast<const std::byte*>(tensor->data()), tensor->bytes()});
        weights->release(name);
      });
  });
}

void pickle(std::string_view input) {
  static constexpr std::array<std::string_view, 2> kCallables{"collections OrderedDict",
                                                              "torch._utils _rebuild_tensor_v2"};
  const ExactBytes file(input);
  may_refuse([&] {
    const Pickle object = read_pickle(file.span(), kCallables, "file");
    CHECK(object.values.size() <= input.size()) << "more values than bytes";
    for (const PickleValue& value : object.values) {
      for (const PickleId id : value.items) CHECK(id < object.values.size()) << "a dangling value";
      describe(value);
    }
  });
}

void zip(std::string_view input) {
  const ExactBytes file(input);
  may_refuse([&] {
    is_zip(file.span());
    for (const auto& [name, range] : read_zip_directory(file.span(), "file")) {
      CHECK(range.offset <= input.size() && range.bytes <= input.size() - range.offset)
          << "an entry outside the file";
      touch(file.span().subspan(range.offset, range.bytes));
    }
  });
}

void torch_file(std::string_view input) {
  const ExactBytes file(input);
  may_refuse([&] {
    for (const StoredTensor& tensor : parse_torch_checkpoint(file.span(), "file"))
      touch(file.span(), tensor);
  });
}

// A whole checkpoint of one file, read as loading reads it, with copies of what is not dense.
void checkpoint(std::string_view input) {
  const InputFolder folder;
  const bool is_torch = input.starts_with("PK") || input.starts_with("\x80");
  folder.write(is_torch ? "pytorch_model.bin" : "model.safetensors", input);
  may_refuse([&] {
    const auto weights = open_checkpoint(folder.path(), "auto", false);
    for (const std::string& name : weights->names()) {
      const auto tensor = weights->find(name, {});
      CHECK(tensor.has_value()) << "a name without a tensor";
      touch({static_cast<const std::byte*>(tensor->data()), tensor->bytes()});
      weights->release(name);
    }
  });
}

void token_map(std::string_view input) {
  constexpr std::int64_t kVocab = 1000;
  static const InputFolder folder;
  folder.write("map.pt", input);
  may_refuse([&] {
    for (const Token token : read_token_map(folder.file("map.pt"), kVocab))
      CHECK(0 <= token && token < kVocab) << "a token that the model does not have";
  });
}

void model_config(std::string_view input) {
  const auto [config, overrides] = two_parts(input);
  may_refuse([&, config = config, overrides = overrides] {
    const auto parsed =
        ModelConfig::parse(std::string(config), "config.json", std::string(overrides));
    CHECK(parsed.layers > 0 && parsed.hidden > 0 && parsed.vocab > 0) << "an empty model";
  });
  may_refuse([&, config = config] {
    GenerationConfig::parse(std::string(config), "generation_config.json");
  });
}

}  // namespace foretoken::fuzz
