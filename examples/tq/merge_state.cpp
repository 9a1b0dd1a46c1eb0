// SPDX-License-Identifier: MIT
// tq merge-state: what several runs of tq calibrate, tq hessian or tq imatrix saw, as if one had
// seen it all.
#include "commands.hpp"
#include "hessian_report.hpp"
#include "importance_report.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "state_file.hpp"
#include "stored_model.hpp"

#include <tq/store/hessian_file.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/own_file.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// The same of Hessians, one name at a time.
void merge_hessians(const MergeStateOptions& options) {
  require_extension("-o", options.out, {".npz"});
  require_place(options.out, options.overwrite);
  std::vector<tq::HessianFile> files;
  std::vector<std::string> names;
  for (const std::string& path : options.in) {
    for (const std::string& name : files.emplace_back(path).names())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  tq::HessianWriter writer(options.out, tq::io::Links::replaced);
  HessianReport report;
  for (const std::string& name : names) {
    std::optional<tq::Hessian> merged;
    for (const tq::HessianFile& file : files) {
      if (!file.contains(name)) continue;
      if (!merged) merged.emplace(file.read(name));
      else try {
          naming(name, [&] { merged->merge(file.read(name)); });
        } catch (const tq::error& e) {
          throw tq::error(e.code(), file.path().string() + ": " + e.what());
        }
    }
    writer.add(name, *merged);
    report.add(name, *merged);
  }
  writer.finish();
  tq::store::mark_as_own(options.out);
  report.print(options.in, options.out, options.json, {});
}

// The same of importance.
void merge_importance(const MergeStateOptions& options) {
  const tq::ImportanceForm form = importance_form("-o", options.out);
  require_place(options.out, options.overwrite);
  tq::ImportanceSums sums;
  for (const std::string& path : options.in) {
    const tq::ImportanceSums more = tq::read_importance_sums(path);
    if (&path == &options.in.front()) sums.chunk_size = more.chunk_size;
    try {
      sums.merge(more);
    } catch (const tq::error& e) {
      throw tq::error(e.code(), path + ": " + e.what());
    }
  }
  tq::write_importance(options.out, sums, form, tq::io::Links::replaced);
  tq::store::mark_as_own(options.out);
  ImportanceReport{options.in, options.out, sums}.print(options.json, {});
}

}  // namespace

void merge_state(const MergeStateOptions& options) {
  if (is_importance_name(options.in.front())) {
    require_other_file("-o", options.out, {options.in.begin(), options.in.end()}, "STATE");
    return merge_importance(options);
  }
  if (options.in.front().ends_with(".npz")) {
    require_other_file("-o", options.out, {options.in.begin(), options.in.end()}, "STATE");
    return merge_hessians(options);
  }
  require_extension("-o", options.out, {".json"});
  remove_leftovers(options.out);
  require_other_file("-o", options.out, {options.in.begin(), options.in.end()}, "STATE");
  TextFiles output;
  output.open(options.out, options.overwrite);
  States merged;
  for (const std::string& path : options.in)
    for (auto& [name, observer] : read_states(path)) {
      const auto [found, is_new] = merged.emplace(name, observer);
      if (is_new) continue;
      try {
        naming(name, [&, &observer = observer, &into = found->second] { append(into, observer); });
      } catch (const tq::error& e) {
        throw tq::error(e.code(), path + ": " + e.what());
      }
    }
  output.write(0, states_text(merged));
  output.commit();

  Table table({{"tensor"},
               {"observer"},
               {"granularity"},
               {"batches", true},
               {"slots", true},
               {"values", true},
               {"NaN", true},
               {"Inf", true}});
  tq::io::Json list = tq::io::Json::array();
  std::uint64_t values = 0;
  for (const auto& [name, observer] : merged) {
    const Seen seen = seen_by(observer);
    const std::string granularity = to_string(granularity_of(observer));
    values += seen.values;
    table.add({printable(name), kind_of(observer), granularity, grouped(batches_of(observer)),
               grouped(seen.slot_count), grouped(seen.values), grouped(seen.nan),
               grouped(seen.infinite)});
    list.push_back({{"name", name},
                    {"observer", kind_of(observer)},
                    {"granularity", granularity},
                    {"batches", batches_of(observer)},
                    {"slots", seen.slot_count},
                    {"values", seen.values},
                    {"nan", seen.nan},
                    {"infinite", seen.infinite}});
  }
  if (options.json) {
    print_json({{"inputs", options.in},
                {"output", options.out},
                {"tensors", std::move(list)},
                {"total", {{"tensors", merged.size()}, {"values", values}}}});
    return;
  }
  table.print();
  std::cout << '\n'
            << merged.size() << " tensors, " << grouped(values) << " values of "
            << options.in.size() << " files in " << options.out << '\n';
}

}  // namespace tool
