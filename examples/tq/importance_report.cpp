// SPDX-License-Identifier: MIT
#include "importance_report.hpp"

#include "output.hpp"
#include "output_files.hpp"

#include <tq/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <utility>

namespace tool {

bool is_importance_name(const std::string& name) {
  return name.ends_with(".gguf") || name.ends_with(".dat");
}

tq::ImportanceForm importance_form(const std::string& option, const std::string& out) {
  require_extension(option, out, {".gguf", ".dat"});
  return out.ends_with(".dat") ? tq::ImportanceForm::dat : tq::ImportanceForm::gguf;
}

void ImportanceReport::print(bool json, const Talk& talk) const {
  if (!json && talk.quiet) return;
  Table table(
      {{"tensor"}, {"inputs", true}, {"matrices", true}, {"tokens", true}, {"left out", true}});
  tq::io::Json list = tq::io::Json::array();
  for (const auto& [name, weight] : sums.weights) {
    const std::uint64_t tokens =
        std::accumulate(weight.counts.begin(), weight.counts.end(), std::uint64_t{0});
    const std::size_t matrices = weight.counts.size(), inputs = weight.sums.size() / matrices;
    const auto unseen = static_cast<std::size_t>(std::ranges::count(weight.counts, 0u));
    const auto names = from.find(name);
    const auto left = left_out.find(name);
    const std::uint64_t missed = left == left_out.end() ? 0 : left->second;
    table.add(
        {printable(name), grouped(inputs), grouped(matrices), grouped(tokens), grouped(missed)});
    list.push_back({{"name", name},
                    {"from", names == from.end() ? std::vector<std::string>() : names->second},
                    {"inputs", inputs},
                    {"matrices", matrices},
                    {"matrices_without_tokens", unseen},
                    {"tokens", tokens},
                    {"left_out", missed}});
  }
  if (json)
    return print_json({{"inputs", in},
                       {"output", out},
                       {"weights", std::move(list)},
                       {"chunks", sums.chunks()},
                       {"notes", notes}});
  if (talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n'
            << "the importance of the inputs of " << sums.weights.size() << " weights in " << out
            << '\n';
  for (const std::string& note : notes) std::cout << "note: " << printable_text(note) << '\n';
}

}  // namespace tool
