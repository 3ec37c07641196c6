// Checkpoints that are quantized already, in every format that is read, against transformers on the
// weights that their codes stand for, or, where products round their input, against plain PyTorch
// that rounds it; and the same of weights that are quantized while loading.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "base/log.h"
#include "base/threads.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/formats/safetensors_header.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"
#include "model/testing/whole_logits.h"

namespace foretoken {
namespace {

const std::string kFolder = FORETOKEN_SOURCE_DIR "/tests/golden/quantized/";

struct Known {
  std::vector<Token> tokens;
  std::vector<float> logits;
};

Known known_of(const std::string& folder, const std::string& name) {
  const MappedFile file(kFolder + folder + "/logits.safetensors");
  Known known;
  for (const StoredTensor& stored : parse_safetensors(file.bytes(), file.path())) {
    const std::byte* data = file.bytes().data() + stored.offset;
    if (stored.name == "tokens") {
      std::vector<std::int64_t> wide(at(stored.shape[0]));
      std::memcpy(wide.data(), data, stored.bytes);
      known.tokens.assign(wide.begin(), wide.end());
    } else if (stored.name == name) {
      known.logits.resize(at(stored.shape.elements()));
      std::memcpy(known.logits.data(), data, stored.bytes);
    }
  }
  return known;
}

std::vector<double> log_softmax(const float* logits, std::size_t count) {
  const double most = *std::max_element(logits, logits + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(logits[i] - most);
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(logits[i] - most - std::log(sum));
  return out;
}

struct Distance {
  double divergence = 0;  // mean over the rows
  double error = 0;       // the largest, over the largest logit
  double before = 0;      // of an eighth of the rows, likewise
};
Distance distance(const std::vector<float>& found, const Known& known) {
  EXPECT_EQ(found.size(), known.logits.size());
  const std::size_t rows = known.tokens.size(), vocab = known.logits.size() / rows;
  Distance far;
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    far.error = std::max(far.error, std::abs(double{found[i]} - double{known.logits[i]}));
    most = std::max(most, std::abs(double{known.logits[i]}));
  }
  far.error /= most;
  std::vector<double> by_row(rows, 0.0);
  for (std::size_t i = 0; i < found.size(); ++i)
    by_row[i / vocab] =
        std::max(by_row[i / vocab], std::abs(double{found[i]} - double{known.logits[i]}) / most);
  std::ranges::sort(by_row);
  far.before = by_row[rows / 8];
  for (std::size_t r = 0; r < rows; ++r) {
    const auto p = log_softmax(&known.logits[r * vocab], vocab);
    const auto q = log_softmax(&found[r * vocab], vocab);
    for (std::size_t i = 0; i < vocab; ++i)
      far.divergence += std::exp(p[i]) * (p[i] - q[i]) / static_cast<double>(rows);
  }
  if (!std::isfinite(far.divergence)) far.divergence = INFINITY;
  return far;
}

struct Case {
  std::string folder;
  std::string quantization;  // while loading; empty: as it is stored; "kv_": keys and values
  double divergence;
  double error = INFINITY;
  double before = INFINITY;
};
void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.folder << " " << golden.quantization;
}

struct Backend {
  std::string device, order, dtype;
};
void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.device; }

class QuantizedGolden : public testing::TestWithParam<std::tuple<Backend, Case>> {};

TEST_P(QuantizedGolden, logits_agree_with_pytorch) {
  const auto& [backend, golden] = GetParam();
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = backend.device, .gemm_order = backend.order}, pool);
  ModelOptions options;
  options.show_progress = false;
  options.dtype = backend.dtype;
  if (golden.quantization.starts_with("kv_"))
    options.kv_dtype = kv_dtype_named(golden.quantization.substr(3), "test");
  else
    options.quantization = quantization_named(golden.quantization, false, "test");
  const auto decoder = load_model(*ops, kFolder + golden.folder, options);
  const Known known =
      known_of(golden.folder, golden.quantization.empty() ? "logits" : golden.quantization);
  const Distance far = distance(text_logits(*ops, *decoder, known.tokens), known);
  RecordProperty("divergence", std::to_string(far.divergence));
  RecordProperty("error", std::to_string(far.error));
  RecordProperty("before", std::to_string(far.before));
  EXPECT_LT(far.divergence, golden.divergence);
  if (backend.dtype == "float32") {
    EXPECT_LT(far.error, golden.error);
    EXPECT_LT(far.before, golden.before);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  // Products whose input is bf16 here and float32 there.
  for (const char* folder :
       {"awq", "awq_left_out", "gptq", "gptq_rows", "gptq_desc_act", "gptq_uneven", "gptq_8bit_v2",
        "w4a16", "w4a16_zero_points", "w4a16_actorder", "w8a16", "auto_round_mixed", "gptq_mixed",
        "packed_and_fp8", "glm4_awq", "glm4_gptq_desc_act", "glm4_w4a16_zero_points"})
    all.push_back({folder, "", 1e-3});
  for (const char* name : {"w8a16", "int4", "fp8"}) all.push_back({"floats", name, 1e-3});
  // Weights that are floats here, too.
  for (const char* folder :
       {"fp8_rows", "fp8_tensor", "fp8_blocks", "modelopt_fp8", "glm4_fp8_blocks"})
    all.push_back({folder, "", 1e-3, 1e-4});
  // The same rounding here and there. A value between two codes that comes out a bit lower moves
  // its row by a step, and with it the rows that see it; those before it are the same.
  all.push_back({"w8a8", "", 1e-3, 5e-2, 1e-5});
  for (const char* name : {"w8a8_int8", "w4a8"}) all.push_back({"floats", name, 1e-3, 5e-2, 1e-5});
  // Codes stay, and round their input because a name asks for it.
  for (const char* folder : {"awq", "gptq_desc_act"})
    all.push_back({folder, "w4a8", 1e-3, 5e-2, 1e-5});
  all.push_back({"w8a16", "w8a8_int8", 1e-3, 5e-2, 1e-5});
  // Keys and values are rounded alike where the products are; with inputs of bf16 the coarser a
  // code is, the more it makes of a difference.
  for (const char* name : {"kv_int8", "kv_fp8_e4m3"})
    all.push_back({"floats", name, 1e-3, 1e-4, 1e-5});
  all.push_back({"floats", "kv_fp8_e5m2", 3e-3, 1e-4, 1e-5});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, QuantizedGolden,
                         testing::Combine(testing::Values(Backend{"reference", "auto", "float32"},
                                                          Backend{"cpu", "tile", "bfloat16"},
                                                          Backend{"cpu", "pair", "float32"}),
                                          testing::ValuesIn(cases())),
                         [](const auto& info) {
                           const Backend& backend = std::get<0>(info.param);
                           const Case& golden = std::get<1>(info.param);
                           return backend.device + "_" + backend.order + "_" + golden.folder +
                                  (golden.quantization.empty() ? "" : "_as_" + golden.quantization);
                         });

// The guard of the guard: other codes of the same weights are seen.
TEST(QuantizedGoldenGuard, other_codes_show_in_the_logits) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelOptions options;
  options.show_progress = false;
  options.dtype = "float32";
  const auto decoder = load_model(*ops, kFolder + "w4a16", options);
  const Known known = known_of("awq", "logits");
  EXPECT_GT(distance(text_logits(*ops, *decoder, known.tokens), known).divergence, 4e-3);
}

}  // namespace
}  // namespace foretoken
