// SPDX-License-Identifier: MIT
#pragma once
// NameFilter: selects tensors by regular expressions over their names.

#include <tq/bodies.hpp>
#include <tq/model/name_expression.hpp>
#include <tq/store/name_patterns.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace tq::store {

/// `NamePatterns`, compiled. Matching takes time and memory that no pattern and no name can blow
/// up.
class NameFilter {
 public:
  /// Throws: `OptionError` for a text that is no regular expression.
  TQ_API explicit NameFilter(const NamePatterns& patterns);
  TQ_API NameFilter(const NameFilter&) = delete;
  NameFilter& operator=(const NameFilter&) = delete;
  ~NameFilter();

  /// The reason why a tensor is left out, or empty. Throws: `errc::unsupported` for a name that is
  /// too long to match.
  [[nodiscard]] TQ_API const std::string& left_out(const std::string& name);
  /// True if one of `include` is the exact name of a tensor, or of its module: the tensor is then
  /// quantized even if it is of a kind that stays in float.
  [[nodiscard]] TQ_API bool asks_for(const std::string& name) const;
  /// Takes a name into account that is not that of a tensor but may be excluded.
  TQ_API void note(const std::string& name);
  /// Throws: `errc::bad_argument` for a pattern that matched none of the names so far.
  TQ_API void require_matches() const;

 private:
  struct Pattern;
  [[nodiscard]] TQ_API std::string judged(const std::string& name);

  std::vector<Pattern> include_, exclude_;
  std::vector<std::string> names_;                     // the patterns of `include` that are names
  std::unordered_map<std::string, std::string> seen_;  // what `left_out` said
};

/// A pattern, and whether a name matched it.
struct NameFilter::Pattern {
  NameExpression expression;
  bool has_match = false;
};

inline NameFilter::~NameFilter() = default;

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/name_filter.ipp>
#endif
