#pragma once
// StoredQuantization: what a checkpoint that is quantized already says of its matrices, from
// `quantization_config` (or `compression_config`) of its config.json: the format that most of them
// have, those with one of their own, and those left out. What cannot be read is an Error naming it.
// A matrix that the checkpoint holds as floats is one, whatever is said here. Pure data; parsed
// once.

#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "checkpoint/quantized/stored_format.h"

namespace foretoken {

struct StoredQuantization {
  // A format for the matrix of this name, or, behind "re:", for all whose names begin with what the
  // regular expression matches.
  struct Rule {
    std::string names;
    StoredFormat format;
    bool operator==(const Rule&) const = default;
  };

  std::string method = {};                 // "awq", "gptq", "compressed-tensors", "fp8", ..
  std::optional<StoredFormat> usual = {};  // of matrices that no rule names; none: floats
  std::vector<Rule> rules = {};            // the first one that names a matrix decides
  std::vector<std::string> ignore = {};    // names of matrices that are floats

  // Whether a matrix is one of those left out: its name is listed, or ends or begins with what is
  // listed, part by part; "re:" begins a regular expression.
  bool leaves_out(const std::string& name) const;

  // Null where the matrix is of floats.
  const StoredFormat* format_of(const std::string& name) const;

  // All that any matrix may have.
  std::vector<StoredFormat> formats() const;

  static StoredQuantization parse(const boost::json::object& object, const std::string& where);
  bool operator==(const StoredQuantization&) const = default;
};

}  // namespace foretoken
