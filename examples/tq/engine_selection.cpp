// SPDX-License-Identifier: MIT
#include "engine_selection.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

void require_no_others(const SelectOptions& options) {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw UsageError(std::string(option) + ": expected none beside --for");
  };
  refuse(options.min_speedup.has_value(), "--min-speedup");
  refuse(!options.profile.empty(), "--profile");
  refuse(options.rows.has_value(), "--rows");
  refuse(!options.hessian.empty(), "--hessian");
  refuse(!options.kinds.empty(), "--quantize-kind");
  refuse(options.all, "--all");
  refuse(options.allow_nonfinite, "--allow-nonfinite");
  refuse(options.goal == "performance", "--goal performance");
}

std::uint64_t weights_of(const tq::PrecisionModel& model) {
  std::uint64_t sum = 0;
  for (const tq::PrecisionNode& node : model.nodes) sum += node.weights;
  return sum;
}

std::string uniform_sizes(
    const tq::PrecisionSelector& selector,
    const std::function<std::uint64_t(const tq::PrecisionSelection&)>& bytes_of) {
  std::set<std::string> schemes;
  for (const tq::PrecisionNode& node : selector.model().nodes)
    for (const tq::PrecisionCandidate& c : node.candidates) schemes.insert(c.scheme);
  std::vector<std::pair<std::uint64_t, std::string>> sizes;
  for (const std::string& scheme : schemes)
    sizes.emplace_back(bytes_of(selector.uniform(scheme)), scheme);
  std::ranges::sort(sizes);
  std::string text;
  for (const auto& [bytes, scheme] : sizes)
    if (bytes != std::numeric_limits<std::uint64_t>::max())  // the engine loads it
      text += (text.empty() ? "" : ", ") + std::to_string(bytes) + " in " + scheme;
  return text;
}

std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:=,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string text = "'";
  for (const char c : word)
    if (c == '\'') text += "'\\''";
    else text += c;
  return text + '\'';
}

std::string name_options(const NamePatterns& names) {
  std::string line;
  for (const std::string& name : names.include) line += " --include " + quoted(name);
  for (const std::string& name : names.exclude) line += " --exclude " + quoted(name);
  return line;
}

}  // namespace tool
