#include "bench/draft_methods.h"

#include <filesystem>
#include <sstream>

#include "base/error.h"

namespace foretoken {
namespace {

// "S/K/N" as flags.
std::string shape_flags(const std::string& steps, const std::string& topk,
                        const std::string& nodes) {
  return " --speculative-num-steps " + steps + " --speculative-eagle-topk " + topk +
         " --speculative-num-draft-tokens " + nodes;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<DraftMethod> demo_methods(const std::string& checkpoints) {
  const std::string target = checkpoints + "/demo", mimo = checkpoints + "/demo-mimo";
  std::vector<DraftMethod> methods{{"plain", target, {}, {target}}};
  const auto add = [&](const std::string& name, const std::string& algorithm,
                       const std::string& draft, const std::string& flags,
                       const std::string& token_map = {}) {
    const std::string folder = checkpoints + "/" + draft;
    DraftMethod method{
        name,
        target,
        {"--speculative-algorithm", algorithm, "--speculative-draft-model-path", folder},
        {target, folder}};
    for (const auto& word : words_of(flags)) method.flags.push_back(word);
    if (!token_map.empty()) {
      method.flags.insert(method.flags.end(), {"--speculative-token-map", token_map});
      method.needs.push_back(token_map);
    }
    methods.push_back(std::move(method));
  };
  const std::string map = checkpoints + "/demo-frspec/freq.pt";
  add("STANDALONE auto", "STANDALONE", "demo-draft", "");
  add("STANDALONE 4/1/5", "STANDALONE", "demo-draft", shape_flags("4", "1", "5"));
  add("STANDALONE 4/2/7", "STANDALONE", "demo-draft", shape_flags("4", "2", "7"));
  add("EAGLE auto", "EAGLE", "demo-eagle", "");
  add("EAGLE 3/4/16", "EAGLE", "demo-eagle", shape_flags("3", "4", "16"));
  add("EAGLE 5/4/16", "EAGLE", "demo-eagle", shape_flags("5", "4", "16"));
  add("EAGLE 5/8/64", "EAGLE", "demo-eagle", shape_flags("5", "8", "64"));
  add("EAGLE+map 5/4/16", "EAGLE", "demo-eagle", shape_flags("5", "4", "16"), map);
  add("EAGLE+map 5/8/64", "EAGLE", "demo-eagle", shape_flags("5", "8", "64"), map);
  add("EAGLE3 auto", "EAGLE3", "demo-eagle3", "");
  add("EAGLE3 5/4/16", "EAGLE3", "demo-eagle3", shape_flags("5", "4", "16"));
  add("EAGLE3 5/8/32", "EAGLE3", "demo-eagle3", shape_flags("5", "8", "32"));
  // From the request's own text alone: answers of earlier repeats would be known by heart.
  methods.push_back({"NGRAM 16",
                     target,
                     words_of("--speculative-algorithm NGRAM --speculative-num-draft-tokens 16 "
                              "--speculative-ngram-isolation request"),
                     {target}});
  methods.push_back(
      {"SUFFIX",
       target,
       words_of("--speculative-algorithm SUFFIX --speculative-suffix-isolation request"),
       {target}});
  methods.push_back({"plain", mimo, {}, {mimo}});
  methods.push_back({"NEXTN 1/1/2",
                     mimo,
                     words_of("--speculative-algorithm NEXTN" + shape_flags("1", "1", "2")),
                     {mimo}});
  return methods;
}

std::vector<DraftMethod> methods_of(const std::string& model,
                                    const std::vector<std::string>& texts) {
  std::vector<DraftMethod> methods{{"plain", model, {}, {}}};
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || text.starts_with('-'))
      throw Error({"bad method", "--method", "NAME=FLAGS", text});
    methods.push_back({text.substr(0, equals), model, words_of(text.substr(equals + 1)), {}});
  }
  return methods;
}

std::vector<DraftMethod> with_variants(const std::vector<DraftMethod>& methods,
                                       const std::string& flag,
                                       const std::vector<std::string>& values) {
  if (values.empty()) return methods;
  std::vector<DraftMethod> all;
  for (const DraftMethod& method : methods) {
    if (!method.drafts()) all.push_back(method);
    for (const std::string& value : values) {
      if (!method.drafts()) break;
      DraftMethod& variant = all.emplace_back(method);
      variant.name += ", " + value;
      variant.flags.insert(variant.flags.end(), {flag, value});
    }
  }
  return all;
}

std::string missing_for(const DraftMethod& method) {
  std::error_code ignored;
  for (const std::string& path : method.needs)
    if (!std::filesystem::exists(path, ignored)) return path;
  return {};
}

}  // namespace foretoken
