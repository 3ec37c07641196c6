#include "app/machine/autotune.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "app/machine/machine.h"
#include "base/file.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "base/log.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Files of kernels that read plans in another way have another number.
constexpr int kVersion = 1;
constexpr std::size_t kMostProducts = 4096;  // in a file; those that no model had for long go first

std::string required_text(const FileFields& fields, std::string_view key) {
  auto text = fields.string(key);
  if (!text) fields.refuse_missing(key);
  return std::move(*text);
}

TunedProduct product_of(const json::value& value, const std::string& where) {
  if (!value.is_object()) throw Error({"not a product", where, "an object", "another value"});
  const FileFields fields(value.get_object(), where);
  TunedProduct product;
  product.name = required_text(fields, "product");
  product.rows = static_cast<int>(fields.required_integer("rows", {1, 1 << 20}));
  product.plan = required_text(fields, "plan");
  product.usual_seconds = fields.required_number("usual_us") * 1e-6;
  product.tuned_seconds = fields.required_number("tuned_us") * 1e-6;
  return product;
}

void log_table(const std::vector<TunedProduct>& products) {
  std::size_t width = 0;
  for (const TunedProduct& product : products) width = std::max(width, product.name.size());
  log_info("Autotuned: {:<{}}  rows   usual us   tuned us     x  plan", "product", width);
  for (const TunedProduct& product : products)
    log_info("Autotuned: {:<{}}  {:>4} {:>10.1f} {:>10.1f} {:>5.2f}  {}", product.name, width,
             product.rows, product.usual_seconds * 1e6, product.tuned_seconds * 1e6,
             product.tuned_seconds > 0 ? product.usual_seconds / product.tuned_seconds : 1.0,
             product.plan);
}

// What is tuned now, then what other models had.
std::vector<TunedProduct> merged(std::vector<TunedProduct> tuned,
                                 const std::vector<TunedProduct>& known) {
  const std::size_t own = tuned.size();
  for (const TunedProduct& product : known) {
    if (tuned.size() >= std::max(kMostProducts, own)) break;
    const bool is_own =
        std::any_of(tuned.begin(), tuned.begin() + static_cast<std::ptrdiff_t>(own),
                    [&](const TunedProduct& other) {
                      return other.name == product.name && other.rows == product.rows;
                    });
    if (!is_own) tuned.push_back(product);
  }
  return tuned;
}

}  // namespace

std::string plan_file(const std::string& folder, const std::string& machine) {
  std::string name = machine;
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return folder + "/products-" + name + ".json";
}

std::vector<TunedProduct> read_plans(const std::string& file, const std::string& machine) try {
  const auto object = read_json_file(file);
  if (!object) return {};
  const FileFields fields(*object, file);
  if (fields.required_integer("version") != kVersion || required_text(fields, "machine") != machine)
    return {};
  const json::array* list = fields.array("products");
  if (list == nullptr) fields.refuse_missing("products");
  std::vector<TunedProduct> products;
  for (const json::value& value : *list) {
    if (products.size() == kMostProducts) break;
    products.push_back(product_of(value, file));
  }
  return products;
} catch (const Error& fault) {
  log_warning("Tuned products are measured anew: {}.", fault.what());
  return {};
}

bool write_plans(const std::string& file, const std::string& machine,
                 const std::vector<TunedProduct>& products) {
  json::array list;
  for (const TunedProduct& product : products)
    list.push_back(json::object{{"product", product.name},
                                {"rows", product.rows},
                                {"plan", product.plan},
                                {"usual_us", product.usual_seconds * 1e6},
                                {"tuned_us", product.tuned_seconds * 1e6}});
  const json::object all{{"version", kVersion}, {"machine", machine}, {"products", list}};
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  if (!error) error = replace_file(file, {json::serialize(all), "\n"});
  if (!error) return true;
  log_warning("Tuned products cannot be kept in {}: {}.", file, error.message());
  return false;
}

void autotune(Ops& ops, const AutotuneOptions& options) {
  using Mode = AutotuneOptions::Mode;
  if (options.mode == Mode::kOff) return;
  const std::string machine = processor_name() + "; " + ops.description();
  const std::string file = plan_file(options.folder, machine);
  const auto kept = read_plans(file, machine);
  const auto start = std::chrono::steady_clock::now();
  const auto tuned = ops.tune(options.max_rows,
                              options.mode == Mode::kCached ? kept : std::vector<TunedProduct>{});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (tuned.empty()) {
    log_info("Autotuning: this backend has nothing to choose.");
    return;
  }
  log_table(tuned);
  const bool is_kept = write_plans(file, machine, merged(tuned, kept));
  log_info("Autotuning took {:.1f} s. Answers are the same with any plan.{}", seconds.count(),
           is_kept ? fmt::format(" Kept in {}.", file) : "");
}

}  // namespace foretoken
