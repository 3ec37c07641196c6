#include "tune/step_costs.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <boost/json.hpp>

#include "base/error.h"
#include "base/json_text.h"

namespace foretoken {
namespace {

constexpr int kVersion = 1;

constexpr std::array<std::pair<const char*, CostCurve StepCosts::*>, 7> kCurves{{
    {"plain", &StepCosts::plain},
    {"target", &StepCosts::target},
    {"prompt", &StepCosts::prompt},
    {"reading", &StepCosts::reading},
    {"roots", &StepCosts::roots},
    {"level", &StepCosts::level},
    {"rest", &StepCosts::rest},
}};

}  // namespace

void StepCosts::fit() {
  for (const auto& [name, curve] : kCurves) (this->*curve).fit();
}

const StepCosts& CostTable::of(int requests) const {
  CHECK(!at_once.empty());
  const auto distance = [&](int n) {
    return std::abs(std::log(static_cast<double>(n) / requests));
  };
  auto nearest = at_once.begin();
  for (auto each = at_once.begin(); each != at_once.end(); ++each)
    if (distance(each->first) < distance(nearest->first)) nearest = each;
  return nearest->second;
}

std::string CostTable::to_json() const {
  boost::json::object sets;
  for (const auto& [requests, costs] : at_once) {
    boost::json::object& set = sets[std::to_string(requests)].emplace_object();
    for (const auto& [name, curve] : kCurves) set[name] = (costs.*curve).to_json();
  }
  return boost::json::serialize(
      boost::json::object{{"version", kVersion}, {"machine", machine}, {"at_once", sets}});
}

CostTable CostTable::parse(const std::string& json, const std::string& where) {
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    throw Error({.what = "costs that cannot be read",
                 .where = where,
                 .expected = expected,
                 .found = found});
  };
  const auto object = read_json_object(json, where);
  const auto* version = object.if_contains("version");
  if (version == nullptr || *version != boost::json::value(kVersion))
    refuse("version " + std::to_string(kVersion),
           version == nullptr ? "none" : boost::json::serialize(*version));
  CostTable table;
  if (const auto* machine = object.if_contains("machine"); machine != nullptr)
    if (const auto* text = machine->if_string()) table.machine = std::string(*text);
  const auto* sets = object.if_contains("at_once");
  if (sets == nullptr || !sets->is_object() || sets->get_object().empty())
    refuse("\"at_once\" with costs by requests at once", "none");
  for (const auto& [key, value] : sets->get_object()) {
    int requests = 0;
    const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), requests);
    if (fault != std::errc() || end != key.data() + key.size() || requests < 1)
      refuse("requests at once, 1 and more", std::string(key));
    const auto* curves = value.if_object();
    if (curves == nullptr) refuse("an object of curves", boost::json::serialize(value));
    StepCosts& costs = table.at_once[requests];
    for (const auto& [name, curve] : kCurves)
      if (const auto* found = curves->if_contains(name))
        costs.*curve = CostCurve::from_json(*found, where + ", " + name);
    if (costs.plain.empty() || costs.target.empty())
      refuse("the curves \"plain\" and \"target\"", "none");
  }
  return table;
}

}  // namespace foretoken
