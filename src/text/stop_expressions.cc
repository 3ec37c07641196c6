#include "text/stop_expressions.h"

#include <new>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "text/rust_bridge.h"

namespace foretoken {
namespace {

// What fails once the expressions are compiled can only be memory.
FtSearch* checked(FtSearch* search, FtBuffer error) {
  if (search != nullptr) return search;
  ft_buffer_free(error);
  throw std::bad_alloc();
}

}  // namespace

void StopExpressions::Free::operator()(FtExpressions* expressions) const {
  ft_expressions_free(expressions);
}

Result<std::shared_ptr<const StopExpressions>> StopExpressions::compile(
    std::span<const std::string> expressions) {
  boost::json::array list;
  for (const std::string& expression : expressions) list.emplace_back(expression);
  const std::string json = boost::json::serialize(list);
  FtBuffer error{};
  FtExpressions* compiled = ft_expressions_new(span_of(json), &error);
  if (compiled == nullptr) return Refusal{take(error)};
  return std::shared_ptr<const StopExpressions>(new StopExpressions(compiled));
}

std::size_t StopExpressions::states() const { return ft_expressions_states(expressions_.get()); }

ExpressionSearch::ExpressionSearch(const StopExpressions& expressions) {
  FtBuffer error{};
  FtSearch* search = ft_search_new(expressions.expressions_.get(), &error);
  search_ = checked(search, error);
}

ExpressionSearch::ExpressionSearch(const ExpressionSearch& other) : held_(other.held_) {
  FtBuffer error{};
  FtSearch* search = ft_search_fork(other.search_, &error);
  search_ = checked(search, error);
}

ExpressionSearch::~ExpressionSearch() { ft_search_free(search_); }

std::optional<ExpressionSearch::Match> ExpressionSearch::push(std::string_view text) {
  FtBuffer error{};
  FtSearchStep step{};
  if (!ft_search_push(search_, span_of(text), &step, &error)) checked(nullptr, error);
  held_ = step.held;
  if (step.expression < 0) return std::nullopt;
  return Match{.expression = static_cast<int>(step.expression), .end = step.end, .size = step.size};
}

}  // namespace foretoken
