// SPDX-License-Identifier: MIT
#include "option_names.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

std::string with_option_names(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> names[]{
      {"`in`", "IN"},
      {"`out`", "OUT"},
      {"`config_file`", "--config"},
      {"`include`", "--include"},
      {"`exclude`", "--exclude"},
      {"`allow_nonfinite`", "--allow-nonfinite"},
      {"`skip_unreadable`", "--skip-unreadable"},
      {"`overwrite`", "--overwrite"},
      {"`requantize`", "--requantize"},
      {"`mapping`", "--mapping"},
      {"`imatrix`", "--imatrix"},
      {"`shard_size`", "--shard-size"},
      {"`metadata`", "--metadata"},
      {"`algorithm`", "--algorithm"},
      {"`fallback`", "--fallback rtn"},
      {"`scales` min_max", "--scales min_max"},
      {"`hessians`", "--hessian or --activations"},
      {"(allow_few_tokens takes them)", "(--allow-few-tokens takes them)"},
  };
  for (const auto& [member, option] : names)
    for (std::size_t at = 0; (at = text.find(member, at)) != text.npos; at += option.size())
      text.replace(at, member.size(), option);
  return text;
}

std::vector<std::string> with_option_names(std::vector<std::string> texts) {
  for (std::string& text : texts) text = with_option_names(std::move(text));
  return texts;
}

}  // namespace tool
