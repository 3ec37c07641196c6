#include "checkpoint/quantized/stored_quantization.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <boost/json.hpp>
#include <boost/regex.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "checkpoint/quantized/compressed_tensors.h"
#include "checkpoint/quantized/stored_methods.h"

namespace foretoken {
namespace {

constexpr std::string_view kExpression = "re:";

struct Method {
  std::string_view name;
  StoredQuantization (*parse)(const FileFields&);
};
constexpr std::array<Method, 8> kMethods{{{"awq", parse_awq},
                                          {"gptq", parse_gptq},
                                          {"auto-round", parse_auto_round},
                                          {"compressed-tensors", parse_compressed_tensors},
                                          {"fp8", parse_fp8},
                                          {"fbgemm_fp8", parse_fp8},
                                          {"modelopt", parse_modelopt},
                                          {"w8a8_int8", parse_w8a8}}};

void check_expression(const std::string& name, const std::string& where) {
  if (!name.starts_with(kExpression)) return;
  try {
    const boost::regex checked(name.substr(kExpression.size()));
  } catch (const boost::regex_error&) {
    throw Error({"not a regular expression", where, {}, name});
  }
}

// Boost's, because it gives up an expression that would take for ever.
bool matches(const std::string& expression, const std::string& name) {
  try {
    return boost::regex_search(name, boost::regex(expression.substr(kExpression.size())),
                               boost::match_continuous);
  } catch (const std::runtime_error& fault) {
    throw Error({"a regular expression cannot be matched", "quantization_config, " + expression,
                 fault.what(), name});
  }
}

}  // namespace

StoredQuantization StoredQuantization::parse(const boost::json::object& object,
                                             const std::string& where) {
  const FileFields fields(object, where + ", quantization_config");
  const std::string method = fields.string("quant_method").value_or("");
  const auto found = std::ranges::find(kMethods, method, &Method::name);
  if (found == kMethods.end()) {
    std::string known;
    for (const Method& each : kMethods)
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    throw Error({"quantized weights of this kind are not supported", fields.where(),
                 "quant_method one of " + known, method.empty() ? "none" : method});
  }
  StoredQuantization stored = found->parse(fields);
  stored.method = method;
  for (const std::string& name : stored.ignore) check_expression(name, fields.where());
  for (const Rule& rule : stored.rules) check_expression(rule.names, fields.where());
  return stored;
}

bool StoredQuantization::leaves_out(const std::string& name) const {
  const std::string dotted = "." + name + ".";
  return std::ranges::any_of(ignore, [&](const std::string& listed) {
    return listed.starts_with(kExpression) ? matches(listed, name)
                                           : dotted.find("." + listed + ".") != std::string::npos;
  });
}

const StoredFormat* StoredQuantization::format_of(const std::string& name) const {
  if (leaves_out(name)) return nullptr;
  for (const Rule& rule : rules)
    if (rule.names.starts_with(kExpression) ? matches(rule.names, name) : rule.names == name)
      return &rule.format;
  return usual ? &*usual : nullptr;
}

std::vector<StoredFormat> StoredQuantization::formats() const {
  std::vector<StoredFormat> all;
  if (usual) all.push_back(*usual);
  for (const Rule& rule : rules) all.push_back(rule.format);
  return all;
}

}  // namespace foretoken
