// SPDX-License-Identifier: MIT
// tq calibrate: what the tensors of a data set are like, and the parameters that suit them.
#include "calibrators.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "scalar_quantizer.hpp"
#include "state_file.hpp"
#include "values.hpp"

#include <tq/containers/tensor_file.hpp>
#include <tq/files/utf8.hpp>
#include <tq/store/data_files.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

namespace tool {

namespace {

namespace fs = std::filesystem;
using tq::errc;
using tq::io::Json;
using tq::io::shown;

// Calls f(); what it finds wrong is the options' fault.
template <class F>
decltype(auto) usage(F&& f) {
  try {
    return f();
  } catch (const tq::error& e) {
    throw UsageError(e.what());
  }
}

// The observer and the calibrator asked for; the one that is not suits the other.
tq::ObserverChoice chosen_pair(const std::string& observer, const std::string& calibrator) {
  return usage([&] { return tq::choose_observer(observer, calibrator); });
}

AnyObserver empty_observer(const CalibrateOptions& options, const std::string& observer,
                           const tq::AnyGranularity& granularity, const std::string& tensor) {
  return tq::make_observer(observer, granularity, tensor, options.constant.value_or(0.01));
}

// Options that no data could satisfy show before any is read.
void try_options(const CalibrateOptions& options, const std::string& observer) {
  AnyObserver trial = empty_observer(options, observer, tq::AnyGranularity{}, "");
  begin(trial, tq::Shape{2});
  add_part(trial, tq::Shape{2}, 0, std::vector<float>{-1, 1});
  (void)chosen_ranges(trial, options.calibrator, options.spec);
}

void require_options(const CalibrateOptions& options) {
  if (options.data.empty() == options.from_state.empty())
    throw UsageError("expected DATA or --from-state, got " +
                     std::string(options.data.empty() ? "neither" : "both"));
  if (options.out.empty() && options.state.empty())
    throw UsageError("expected -o or --state, got neither");
  if (options.from_state.empty()) return;
  for (const auto& [option, given] : {std::pair("--observer", !options.observer.empty()),
                                      std::pair("--constant", options.constant.has_value())})
    if (given)
      throw UsageError(std::string(option) +
                       ": expected none, the states of --from-state have theirs");
  if (!options.state.empty()) throw UsageError("--state: expected none beside --from-state");
}

// The files and, of an index, its shards.
std::vector<fs::path> with_shards(const std::vector<fs::path>& files) {
  std::vector<fs::path> all;
  for (const fs::path& file : files) {
    if (!file.string().ends_with(".index.json")) {
      all.push_back(file);
      continue;
    }
    const tq::io::TensorFile model = tq::io::open_tensor_file(file);
    all.insert(all.end(), model.files().begin(), model.files().end());
  }
  return all;
}

void require_outputs(const CalibrateOptions& options, const std::vector<fs::path>& read) {
  for (const auto& [option, name] :
       {std::pair("-o", options.out), std::pair("--state", options.state)}) {
    if (name.empty()) continue;
    require_extension(option, name, {".json"});
    remove_leftovers(name);
    require_other_file(option, name, read, "what is read");
  }
  if (!options.out.empty() && !options.state.empty())
    require_other_file("--state", options.state, {options.out}, "-o");
}

// The scheme with the granularity of a tensor. A scalar keeps the one asked for, which refuses it.
tq::QuantSpec granularity_spec(const CalibrateOptions& options, const StoredTensor& tensor) {
  return tensor.shape.empty() ? options.spec : spec_for(options.spec, tensor);
}

// Every tensor of every file, piece by piece.
States observed(const std::vector<fs::path>& files, const CalibrateOptions& options,
                const std::string& observer, NameFilter& filter) {
  std::uint64_t work = 0;
  for (const fs::path& file : files) {
    std::error_code code;
    const auto size = fs::file_size(file, code);
    work += code ? 0 : size;
  }
  Progress progress("observe", work);
  States states;
  for (const fs::path& file : files) {
    StoredModel model(file);
    FloatReader floats(model);
    for (const StoredTensor& tensor : model.tensors()) {
      const std::string name = tq::store::batch_of(file, tensor.name);
      progress.advance(tensor.bytes);
      if (!filter.left_out(name).empty() || !tensor.left_alone.empty()) continue;
      try {
        in_memory(tensor, [&] {
          naming(name, [&] {
            if (!tq::io::is_utf8(name))
              throw tq::error(errc::unsupported, "expected a name in UTF-8, got another");
            auto found = states.find(name);
            if (found == states.end())
              found = states
                          .emplace(name,
                                   empty_observer(
                                       options, observer,
                                       tq::AnyGranularity(granularity_spec(options, tensor)), name))
                          .first;
            const tq::Shape shape = to_shape(tensor.shape);
            begin(found->second, shape);
            floats.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
              add_part(found->second, shape, first, values);
            });
          });
        });
      } catch (const tq::error& e) {
        throw tq::error(e.code(), file.string() + ": " + e.what());
      }
    }
  }
  return states;
}

// The states that tq calibrate --state stored.
States stored_states(const CalibrateOptions& options, NameFilter& filter) {
  States states = read_states(options.from_state);
  std::erase_if(states, [&](const auto& entry) { return !filter.left_out(entry.first).empty(); });
  return states;
}

// The calibrator asked for, or those that suit the observers. Throws: UsageError where one does not
// fit, or has none of the settings that were given.
void require_fit(const States& states, const CalibrateOptions& options) {
  std::vector<std::string> calibrators;
  for (const auto& [name, state] : states) {
    try {
      const std::string used = chosen_pair(kind_of(state), options.calibrator.name).calibrator;
      if (std::find(calibrators.begin(), calibrators.end(), used) == calibrators.end())
        calibrators.push_back(used);
    } catch (const UsageError& e) {
      throw UsageError("tensor " + shown(name) + ": " + e.what());
    }
  }
  require_settings_of(options.calibrator, calibrators);
}

// A tensor's row of the table.
struct Row {
  std::string name, calibrator;
  Seen seen;
  std::vector<tq::Range> ranges;
  std::vector<Levels> levels;
  Json params;
  std::optional<ScalarQuantizer::Estimate> estimate;
};

Row calibrated(const AnyObserver& observer, const CalibrateOptions& options,
               const ScalarQuantizer& quantizer) {
  Row row;
  row.name = name_of(observer);
  row.seen = seen_by(observer);
  if (options.out.empty()) return row;
  row.calibrator = options.calibrator.name.empty() ? calibrators_for(kind_of(observer)).front()
                                                   : options.calibrator.name;
  try {
    row.ranges = chosen_ranges(observer, options.calibrator, options.spec);
  } catch (const tq::error& e) {
    if (e.code() != errc::no_data) throw;
    throw tq::error(e.code(), std::string(e.what()) + "; --exclude it");
  }
  FittedParams fitted = fitted_params(options.spec, granularity_of(observer), row.ranges);
  row.params = std::move(fitted.json);
  row.levels = std::move(fitted.levels);
  for (std::size_t i = 0; i < row.ranges.size(); ++i) {
    if (!range_of(observer, i)) continue;  // an empty tensor, or extremes are not kept
    if (const auto kept = kept_by(observer, i)) {
      if (!row.estimate) row.estimate.emplace();
      row.estimate->add(quantizer.estimate(*kept, row.levels[i]));
    }
  }
  return row;
}

std::string range_text(const std::optional<tq::Range>& r) {
  return r ? "[" + short_down(double{r->min}) + ", " + short_up(double{r->max}) + "]" : "-";
}

tq::Range hull(const std::vector<tq::Range>& ranges) {
  tq::Range all = ranges.front();
  for (const tq::Range& r : ranges) all = {std::min(all.min, r.min), std::max(all.max, r.max)};
  return all;
}

// "0.1", or "0.1 to 0.3" of many.
template <class F>
std::string span_text(const std::vector<Levels>& all, F&& f) {
  double least = f(all.front()), most = least;
  for (const Levels& levels : all) {
    least = std::min(least, f(levels));
    most = std::max(most, f(levels));
  }
  return least == most ? short_number(least) : short_down(least) + " to " + short_up(most);
}

Json to_json(const Row& row, const AnyObserver& observer) {
  Json entry{{"name", row.name},
             {"observer", kind_of(observer)},
             {"granularity", to_string(granularity_of(observer))},
             {"batches", batches_of(observer)},
             {"slots", row.seen.slot_count},
             {"values", row.seen.values},
             {"nan", row.seen.nan},
             {"infinite", row.seen.infinite},
             {"observed", nullptr}};
  if (row.seen.range)
    entry["observed"] = {{"min", row.seen.range->min}, {"max", row.seen.range->max}};
  if (row.ranges.empty()) return entry;
  entry["calibrator"] = row.calibrator;
  Json min = Json::array(), max = Json::array();
  for (const tq::Range& r : row.ranges) {
    min.push_back(r.min);
    max.push_back(r.max);
  }
  entry["chosen"] = {{"min", std::move(min)}, {"max", std::move(max)}};
  entry["params"] = row.params;
  if (row.estimate) {
    put_number(entry, "sqnr_db", row.estimate->sqnr_db());
    put_number(entry, "sqnr_db_min", row.estimate->least_sqnr_db());
    put_number(entry, "sqnr_db_max", row.estimate->most_sqnr_db());
    entry["clipped"] = row.estimate->clipped_share();
  }
  return entry;
}

void report(const std::vector<Row>& rows, const States& states, std::size_t files,
            const CalibrateOptions& options) {
  const bool has_offset = options.spec.symmetry == tq::FloatOffset::name;
  Table table({{"tensor"},
               {"by"},
               {"slots", true},
               {"values", true},
               {"NaN/Inf", true},
               {"observed"},
               {"chosen"},
               {"scale", true},
               {has_offset ? "offset" : "zero point", true},
               {"SQNR dB", true},
               {"within", true}});
  Json list = Json::array();
  std::uint64_t values = 0, skipped = 0;
  bool has_estimate = false, has_slots = false;
  for (const Row& row : rows) {
    const AnyObserver& observer = states.at(row.name);
    values += row.seen.values;
    skipped += row.seen.nan + row.seen.infinite;
    const bool chosen = !row.ranges.empty();
    has_estimate = has_estimate || row.estimate;
    has_slots = has_slots || row.seen.slot_count > 1;
    if (options.json) {
      list.push_back(to_json(row, observer));
      continue;
    }
    const auto scale = [](const Levels& l) { return double{l.scale}; };
    const auto origin = [&](const Levels& l) {
      return has_offset ? double{l.offset} : static_cast<double>(l.zero_point);
    };
    table.add({printable(row.name), kind_of(observer) + (chosen ? ", " + row.calibrator : ""),
               grouped(row.seen.slot_count), grouped(row.seen.values),
               row.seen.nan + row.seen.infinite == 0
                   ? "-"
                   : grouped(row.seen.nan) + "/" + grouped(row.seen.infinite),
               range_text(row.seen.range), chosen ? range_text(hull(row.ranges)) : "-",
               chosen ? span_text(row.levels, scale) : "-",
               chosen ? span_text(row.levels, origin) : "-",
               row.estimate ? fixed(row.estimate->sqnr_db(), 2) : "-",
               row.estimate ? fixed_down(row.estimate->least_sqnr_db(), 1) + " to " +
                                  fixed_up(row.estimate->most_sqnr_db(), 1)
                            : "-"});
  }
  const auto or_null = [](const std::string& path) { return path.empty() ? Json() : Json(path); };
  if (options.json) {
    print_json(
        {{"output", or_null(options.out)},
         {"state", or_null(options.state)},
         {"type", options.spec.type},
         {"symmetry", options.spec.symmetry},
         {"tensors", std::move(list)},
         {"total",
          {{"tensors", rows.size()}, {"files", files}, {"values", values}, {"skipped", skipped}}}});
    return;
  }
  if (options.talk.quiet) return;
  if (options.talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n' << rows.size() << " tensors, " << grouped(values) << " values";
  if (files != 0) std::cout << " from " << files << " files";
  if (skipped != 0) std::cout << ", " << grouped(skipped) << " skipped";
  if (!options.out.empty())
    std::cout << "; parameters for " << options.spec.type << ' ' << options.spec.symmetry << " in "
              << options.out;
  if (!options.state.empty()) std::cout << "; states in " << options.state;
  std::cout << '\n';
  if (has_estimate)
    std::cout << "SQNR is estimated from what was observed, as if values were spread evenly over "
                 "each bin; wherever they lie in their bins, it is within what is said.\n";
  if (has_slots) std::cout << "Of several slots, ranges are those of all together.\n";
}

}  // namespace

void calibrate(const CalibrateOptions& asked) {
  show_progress(!asked.json && !asked.talk.quiet, asked.talk.progress);
  CalibrateOptions options = asked;
  const bool stored = !options.from_state.empty();
  require_options(options);
  NameFilter filter(options.names);
  std::string observer;
  const ScalarQuantizer quantizer = usage([&] {
    const auto pair = chosen_pair(options.observer, options.calibrator.name);
    observer = pair.observer;
    if (!stored) {
      options.calibrator.name = pair.calibrator;
      require_settings_of(options.calibrator, {pair.calibrator});
      if (options.constant && observer != "moving_average")
        throw UsageError("--constant: expected observer moving_average, got " + observer);
    }
    try_options(options, observer);
    return ScalarQuantizer(options.spec);
  });
  const std::vector<fs::path> files = tq::store::data_files(options.data);
  require_outputs(options, stored ? std::vector<fs::path>{options.from_state} : with_shards(files));
  // Opened before the work: a folder that cannot be written shows at once.
  TextFiles outputs;
  for (const std::string& path : {options.out, options.state})
    if (!path.empty()) outputs.open(path, options.overwrite);

  const States states =
      stored ? stored_states(options, filter) : observed(files, options, observer, filter);
  filter.require_matches();
  if (states.empty())
    throw tq::error(errc::no_data, (stored ? options.from_state : files.front().string()) +
                                       ": expected tensors, got none");
  require_fit(states, options);
  std::vector<Row> rows;
  for (const auto& [name, state] : states)
    rows.push_back(
        naming(name, [&, &state = state] { return calibrated(state, options, quantizer); }));
  std::size_t i = 0;
  if (!options.out.empty()) {
    std::string text;
    for (const Row& row : rows)  // in the order of their names
      text.append(text.empty() ? "{\n" : ",\n")
          .append(Json(row.name).dump())
          .append(": ")
          .append(row.params.dump());
    outputs.write(i++, text + "\n}\n");
  }
  if (!options.state.empty()) outputs.write(i, states_text(states));
  outputs.commit();
  report(rows, states, files.size(), options);
}

}  // namespace tool
