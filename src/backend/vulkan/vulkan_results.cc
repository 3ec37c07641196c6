#include "backend/vulkan/vulkan_results.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "backend/host/host_step.h"
#include "backend/vulkan/row_search.h"
#include "base/index.h"
#include "batch/few_tokens.h"

namespace foretoken {
namespace {

constexpr std::int64_t kSearchLanes = 128;              // of a workgroup
constexpr std::int64_t kWidePart = 64, kSmallPart = 4;  // tokens (shaders/row_tops.comp)

std::int64_t part_of(std::int64_t vocab) {
  return vocab > 512 * kWidePart ? kWidePart : kSmallPart;
}

// A row that is searched, and whose node it is.
struct SearchedNode {
  int entry, node;
  std::int32_t row;
  std::int64_t position;
};

// What a step reads of its rows of logits.
struct RowPlan {
  std::vector<SearchedNode> nodes;
  std::vector<SearchAt> searches;
  std::uint32_t most = 0;  // tokens of one
  std::vector<std::int32_t> whole;
};

int depth_of(std::span<const std::int32_t> parents, int node) {
  int depth = 0;
  for (; node > 0; node = parents[at(node)]) ++depth;
  return depth;
}

RowPlan plan_rows(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
                  std::int64_t vocab) {
  RowPlan rows;
  std::int32_t row = 0;
  for (std::size_t e = 0; e < plan.entries.size(); ++e) {
    const StepEntry& entry = plan.entries[e];
    for (int i = scored_rows(entry).size(); i > 0; --i) rows.whole.push_back(row++);
    if (!entry.has_tree) continue;
    const RowNeed need = row_need(entry, vocab);
    if (need != RowNeed::kWhole) rows.most = std::max(rows.most, found_room(need, *entry.params));
    const std::int64_t root = batch.seqs[e].base + batch.seqs[e].chain;
    for (int node = 0; node < trees.size(entry.slot); ++node, ++row) {
      if (need == RowNeed::kWhole) {
        rows.whole.push_back(row);
        continue;
      }
      const std::int64_t position = root + depth_of(trees.parents(entry.slot), node) + 1;
      rows.nodes.push_back({static_cast<int>(e), node, row, position});
      rows.searches.push_back(
          search_of(need, *entry.params, position, static_cast<std::uint32_t>(row)));
    }
  }
  return rows;
}

// The token of a searched row; nothing: more must be known of it.
std::optional<Token> drawn_of(std::span<const std::uint32_t> found, const SamplingParams& params,
                              std::int64_t position) {
  const std::size_t count = found[0];
  if (count > found.size() / 2) return std::nullopt;
  std::vector<Token> tokens;
  std::vector<float> logits;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>(found[1 + 2 * i]));
    logits.push_back(std::bit_cast<float>(found[2 + 2 * i]));
  }
  return sample_few({.tokens = tokens, .logits = logits}, params, position);
}

}  // namespace

std::size_t VulkanResults::workspace_bytes(const ForwardSize& size) {
  const std::int64_t parts = ceil_div(std::max<std::int64_t>(size.vocab, 1), part_of(size.vocab));
  return at(size.rows) * (at(parts) * sizeof(float) + (2 + 4 * kMostFound) * sizeof(std::uint32_t));
}

void VulkanResults::read_back() {
  context_.recorder.wait();
  for (const auto& deliver : std::exchange(wanted_, {})) deliver();
}

Tensor VulkanResults::received(const Tensor& x) {
  return {context_.recorder.receive(address_of(x), x.bytes()), x.dtype(), x.shape()};
}

Tensor VulkanResults::received_rows(const Tensor& x, std::span<const std::int32_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  if (count == 0) return {};
  bool is_piece = true;
  for (std::size_t i = 0; i < rows.size(); ++i)
    is_piece = is_piece && rows[i] == rows[0] + static_cast<std::int32_t>(i);
  if (is_piece) return received(x.rows(rows.front(), count));
  const Arena::Mark mark = scratch_.mark();
  const Tensor gathered = scratch_.alloc(DType::kF32, {count, x.dim(1)});
  const auto width = static_cast<std::uint32_t>(x.dim(1));
  Recorder& recorder = context_.recorder;
  for (std::int64_t first = 0; first < count; first += kMostGroups) {
    const std::int64_t some = std::min(kMostGroups, count - first);
    recorder.dispatch(context_.pipelines.of(Shader::kMoveRows, 0),
                      MoveRowsCall{address_of(x), address_of(gathered.rows(first, some)),
                                   recorder.send(rows.subspan(at(first), at(some))), 0,
                                   static_cast<std::uint32_t>(some), width, width, width, 0},
                      {ceil_div(x.dim(1), std::int64_t{64}), some});
  }
  const Tensor near = received(gathered);
  scratch_.release(mark);
  return near;
}

void VulkanResults::read_rows(const Tensor& x, std::span<const std::int32_t> rows,
                              std::vector<float>& out) {
  wanted_.emplace_back([near = received_rows(x, rows), &out] {
    out.assign(near.f32(), near.f32() + near.elements());
  });
}

VulkanResults::Found VulkanResults::search(const Tensor& logits, std::span<const SearchAt> rows,
                                           std::uint32_t most, bool wants_chances) {
  const auto count = static_cast<std::int64_t>(rows.size());
  Found found{.words = nullptr, .most = most};
  if (count == 0) return found;
  CHECK(count <= kMostGroups) << count << " rows";
  const std::int64_t vocab = logits.dim(1), part = part_of(vocab), parts = ceil_div(vocab, part);
  const auto width = static_cast<std::uint32_t>(vocab);
  const auto of_row = static_cast<std::uint32_t>(parts), of_part = static_cast<std::uint32_t>(part);
  const Arena::Mark mark = scratch_.mark();
  const Tensor tops = scratch_.alloc(DType::kF32, {count, parts});
  const Tensor words =
      scratch_.alloc(DType::kI32, {count, static_cast<std::int64_t>(found.row_words())});
  Recorder& recorder = context_.recorder;
  Pipelines& pipelines = context_.pipelines;
  const Address searches = recorder.send(rows);
  recorder.dispatch(
      pipelines.of(Shader::kRowTops),
      RowTopsCall{address_of(logits), searches, address_of(tops), width, of_row, of_part},
      {ceil_div(vocab, 4 * kSearchLanes), count});
  recorder.dispatch(pipelines.of(Shader::kFindTokens),
                    FindTokensCall{address_of(logits), searches, address_of(tops),
                                   address_of(words), width, of_row, of_part, most},
                    {count, 1});
  if (wants_chances)
    recorder.dispatch(pipelines.of(Shader::kTopChances),
                      TopChancesCall{address_of(logits), address_of(words), width, most},
                      {count, 1});
  found.words = static_cast<const std::uint32_t*>(received(words).data());
  scratch_.release(mark);
  return found;
}

void VulkanResults::top_tokens(const Tensor& logits, int k, TopTokens& out) {
  const auto rows = logits.dim(0);
  if (k > static_cast<int>(kMostFound) || rows > kMostGroups) {
    wanted_.emplace_back(
        [this, near = received(logits), k, &out] { host_.top_tokens(near, k, out); });
    return;
  }
  const auto most = static_cast<std::uint32_t>(k);
  std::vector<SearchAt> searches;
  for (std::int64_t row = 0; row < rows; ++row)
    searches.push_back(search_of_top(most, static_cast<std::uint32_t>(row)));
  const Found found = search(logits, searches, most, k > 1);
  wanted_.emplace_back([found, rows, k, &out] {
    out.token.resize(at(rows * k));
    out.probability.resize(at(rows * k));
    for (std::int64_t i = 0; i < rows * k; ++i) {
      const std::uint32_t* pair = found.of(at(i / k)).data() + 1 + 2 * (i % k);
      out.token[at(i)] = static_cast<Token>(pair[0]);
      out.probability[at(i)] = k == 1 ? 1.0F : std::bit_cast<float>(pair[1]);
    }
  });
}

void VulkanResults::draw_tokens(const Tensor& logits, std::span<const Token> ids,
                                std::int64_t vocab, std::span<const DrawRow> rows, int k,
                                DrawnTokens& out) {
  std::vector<std::int32_t> places;
  std::vector<std::vector<Token>> ancestors;
  for (const DrawRow& row : rows) {
    places.push_back(row.row);
    ancestors.emplace_back(row.context.ancestors.begin(), row.context.ancestors.end());
  }
  wanted_.emplace_back([this, near = received_rows(logits, places),
                        ids = std::vector<Token>(ids.begin(), ids.end()), vocab,
                        rows = std::vector<DrawRow>(rows.begin(), rows.end()),
                        ancestors = std::move(ancestors), k, &out]() mutable {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].row = static_cast<std::int32_t>(i);
      rows[i].context.ancestors = ancestors[i];
    }
    host_.draw_tokens(near, ids, vocab, rows, k, out);
  });
}

void VulkanResults::verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
                           const Tensor& logits, Walk& walk) {
  const std::int64_t vocab = logits.empty() ? 0 : logits.dim(1);
  RowPlan rows = plan_rows(plan, trees, batch, vocab);
  if (rows.searches.size() > at(kMostGroups)) {  // more than a dispatch has
    for (const SearchedNode& node : rows.nodes) rows.whole.push_back(node.row);
    std::ranges::sort(rows.whole);
    rows.nodes.clear();
    rows.searches.clear();
  }
  const Found found = search(logits, rows.searches, rows.most, false);
  const Tensor whole = rows.whole.empty() ? Tensor() : received_rows(logits, rows.whole);
  wanted_.emplace_back(
      [this, found, whole, rows = std::move(rows), logits, vocab, &plan, &trees, &batch, &walk] {
        RowsToVerify known{.vocab = vocab, .logits_of = {}, .drawn = {}};
        known.drawn.resize(plan.entries.size());
        for (const SearchedNode& node : rows.nodes)
          known.drawn[at(node.entry)].resize(at(trees.size(plan.entries[at(node.entry)].slot)));
        pool_.parallel_for(static_cast<int>(rows.nodes.size()), [&](int i, int) {
          const SearchedNode& node = rows.nodes[at(i)];
          const SamplingParams& params = *plan.entries[at(node.entry)].params;
          if (const auto token = drawn_of(found.of(at(i)), params, node.position))
            known.drawn[at(node.entry)][at(node.node)].emplace().token = *token;
        });
        std::vector<std::int32_t> missing;
        for (const SearchedNode& node : rows.nodes)
          if (!known.drawn[at(node.entry)][at(node.node)]) missing.push_back(node.row);
        std::vector<float*> row_at(batch.logit_rows.size(), nullptr);
        const auto place = [&](std::span<const std::int32_t> places, const Tensor& near) {
          for (std::size_t i = 0; i < places.size(); ++i)
            row_at[at(places[i])] = near.row_f32(static_cast<std::int64_t>(i));
        };
        place(rows.whole, whole);
        if (!missing.empty()) {
          place(missing, received_rows(logits, missing));
          context_.recorder.wait();
        }
        known.logits_of = [&](int row) { return std::span(row_at[at(row)], at(vocab)); };
        walk = verify_rows(pool_, plan, trees, batch, std::move(known));
      });
}

}  // namespace foretoken
