#include "server/request/hidden_states.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/json/value.hpp>

namespace foretoken {
namespace {

constexpr double kValueBytes = 20;  // a number in memory and as JSON

}  // namespace

void HiddenStates::add(std::vector<HiddenState> states) {
  if (states.empty() || wish_ == HiddenWish::kNone) return;
  switch (wish_) {
    case HiddenWish::kNone:
      return;
    case HiddenWish::kLast:
      states_.assign(1, std::move(states.back()));
      return;
    case HiddenWish::kMean:
      sum_.resize(states.front().size());
      count_ += states.size();
      for (const HiddenState& state : states)
        std::ranges::transform(state, sum_, sum_.begin(),
                               [](float value, double sum) { return sum + value; });
      return;
    case HiddenWish::kAll:
      states_.insert(states_.end(), std::make_move_iterator(states.begin()),
                     std::make_move_iterator(states.end()));
      return;
  }
}

HiddenState HiddenStates::mean() const {
  HiddenState mean(sum_.size());
  std::ranges::transform(sum_, mean.begin(), [this](double sum) {
    return static_cast<float>(sum / static_cast<double>(count_));
  });
  return mean;
}

int hidden_start(HiddenWish wish, std::size_t prompt_tokens) {
  if (wish == HiddenWish::kNone) return -1;
  return wish == HiddenWish::kLast ? static_cast<int>(prompt_tokens) - 1 : 0;
}

HiddenWish read_hidden_wish(Fields& fields, const ServerConfig& config, HiddenWish all) {
  constexpr std::string_view kName = "return_hidden_states";
  const boost::json::value* value = fields.find(kName);
  if (value == nullptr) return HiddenWish::kNone;
  const bool is_last = value->is_string() && value->get_string() == "last";
  if (!is_last && !fields.boolean(kName).value_or(false)) return HiddenWish::kNone;
  if (!config.returns_hidden_states)
    fields.refuse(
        "The server is not configured to return the hidden states. Please set "
        "`--enable-return-hidden-states` to enable this feature.");
  return is_last ? HiddenWish::kLast : all;
}

double hidden_bytes(HiddenWish wish, const ServerConfig& config) {
  return wish == HiddenWish::kAll ? kValueBytes * static_cast<double>(config.hidden_width) : 0.0;
}

}  // namespace foretoken
