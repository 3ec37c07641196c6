#include "backend/vulkan/arithmetic.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

struct Triple {
  float a, b, c;
};
struct Results {  // as shaders/probe.comp writes them
  float direct, once, quotient, root, product, sum;
};

// Within 2^-20 .. 2^20, either sign.
float some_float(std::uint64_t index) {
  const std::uint64_t bits = mix_seed(7, index);
  const auto exponent = static_cast<std::uint32_t>(bits >> 40U) % 41U + 107U;
  const auto rest = static_cast<std::uint32_t>(bits) & 0x807fffffU;
  return std::bit_cast<float>(rest | exponent << 23U);
}

// Random numbers; sums of which random ones are too far apart to tell; and sums that lie so near to
// the middle between two floats that rounding to a double first would put them there.
std::vector<Triple> telling_triples() {
  std::vector<Triple> all;
  for (std::uint64_t i = 0; i < 4096; ++i)
    all.push_back({some_float(3 * i), some_float(3 * i + 1), some_float(3 * i + 2)});
  for (std::uint64_t i = 0; i < 1024; ++i) {
    const float a = some_float(9000 + 2 * i), b = some_float(9001 + 2 * i);
    all.push_back({a, b, -(a * b)});
  }
  for (int e = -10; e <= 10; ++e)
    for (const float sign : {-1.0F, 1.0F})
      for (const float off : {0x1p-23F, -0x1p-23F})
        for (const float odd : {0x1p-23F, 0x1.8p-22F, 0.0F}) {
          const float unit = std::ldexp(sign, e);
          all.push_back({unit * 0x1p-24F * (1 + off), 1 - off, unit * (1 + odd)});
          all.push_back({unit * 0x1p-24F * (1 + off), 1 - off, -unit * (1 + odd)});
          all.push_back({unit * 0x1p-24F * (1 + off), 1 + off, unit * (1 + odd)});
        }
  return all;
}

std::vector<Results> compute(VulkanContext& context, const std::vector<Triple>& triples) {
  struct {
    Address triples, to;
    std::uint32_t count;
  } call{};
  const std::size_t bytes = triples.size() * sizeof(Results);
  const GpuBlock results(context.gpu, bytes, MemoryUse::kDevice);
  call.triples = context.recorder.send(std::span(triples));
  call.to = results.address();
  call.count = static_cast<std::uint32_t>(triples.size());
  context.recorder.dispatch(context.pipelines.of(Shader::kProbe), call,
                            {ceil_div(static_cast<std::int64_t>(triples.size()), 64)});
  const std::vector<std::byte> got = context.fetch(results.address(), bytes);
  std::vector<Results> found(triples.size());
  std::memcpy(found.data(), got.data(), bytes);
  return found;
}

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// All of them but the fused ones' way.
Arithmetic judge(const std::vector<Triple>& triples, const std::vector<Results>& results) {
  Arithmetic found{.rounds_fma_once = true, .rounds_sums = true, .rounds_quotients = true};
  for (std::size_t i = 0; i < triples.size(); ++i) {
    const auto& [a, b, c] = triples[i];
    const Results& r = results[i];
    // Of sums that vanish only their sign is open.
    const float fused = std::fma(a, b, c), sum = a + c;
    found.rounds_fma_once &= fused == 0 ? r.once == 0 : same(r.once, fused);
    found.rounds_sums &= same(r.product, a * b) && (sum == 0 ? r.sum == 0 : same(r.sum, sum));
    found.rounds_quotients &= same(r.quotient, a / b) && same(r.root, std::sqrt(std::fabs(c)));
  }
  return found;
}

}  // namespace

Arithmetic probe_arithmetic(VulkanContext& context) {
  const std::vector<Triple> triples = telling_triples();
  Arithmetic found = judge(triples, compute(context, triples));
  if (found.rounds_fma_once || !context.gpu.facts().has_doubles) return found;
  context.pipelines.use_doubles(true);
  found = judge(triples, compute(context, triples));
  found.uses_doubles = true;
  return found;
}

}  // namespace foretoken
