// SPDX-License-Identifier: MIT
// tq plot: what was observed and what every calibrator would make of it, as a page to look at.
#include "calibrators.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "plot_page.hpp"
#include "state_file.hpp"
#include "stored_model.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;

PlotTensor plotted(const AnyObserver& observer, const PlotOptions& options,
                   const ScalarQuantizer& quantizer) {
  PlotTensor t;
  t.name = name_of(observer);
  t.observer = kind_of(observer);
  t.granularity = to_string(granularity_of(observer));
  t.batches = batches_of(observer);
  t.seen = seen_by(observer);
  t.range = range_of(observer, 0);
  if (!t.range && t.seen.values != 0 && !t.seen.empty_slot)
    throw tq::error(errc::bad_argument,
                    "tensor " + tq::io::shown(t.name) +
                        ": expected an observer that keeps the range of values, got " + t.observer);
  if (!t.range) return t;
  const std::optional<Kept> kept = kept_by(observer, 0);
  if (kept) t.bins = kept->bins;
  CalibratorOptions calibrator = options.calibrator;
  for (const std::string& name : calibrators_for(t.observer)) {
    if (!tq::can_calibrate(name, options.spec)) continue;
    calibrator.name = name;
    const Levels levels =
        quantizer.fit(chosen_ranges(observer, calibrator, options.spec, 0).front());
    PlotLine line{name, levels, quantizer.covered(levels), std::nullopt};
    if (kept) line.estimate = quantizer.estimate(*kept, levels);
    t.lines.push_back(std::move(line));
  }
  const auto noise = [](const PlotLine& line) { return line.estimate->noise; };
  if (t.bins)
    t.best =
        static_cast<std::size_t>(std::ranges::min_element(t.lines, {}, noise) - t.lines.begin());
  return t;
}

Json to_json(const PlotTensor& t, bool has_offset) {
  Json entry{{"name", t.name},
             {"observer", t.observer},
             {"granularity", t.granularity},
             {"slots", t.seen.slot_count},
             {"best", t.best ? Json(t.lines[*t.best].calibrator) : Json()},
             {"calibrators", Json::array()}};
  for (const PlotLine& line : t.lines) {
    Json row{{"name", line.calibrator},
             {"scale", line.levels.scale},
             {"covered", {{"min", line.covered.min}, {"max", line.covered.max}}}};
    if (has_offset) row["offset"] = line.levels.offset;
    else row["zero_point"] = line.levels.zero_point;
    if (line.estimate) {
      row["clipped"] = line.estimate->clipped_share();
      row["mse"] = line.estimate->mse();
      put_number(row, "sqnr_db", line.estimate->sqnr_db());
      put_number(row, "sqnr_db_min", line.estimate->least_sqnr_db());
      put_number(row, "sqnr_db_max", line.estimate->most_sqnr_db());
    }
    entry["calibrators"].push_back(std::move(row));
  }
  return entry;
}

}  // namespace

void plot(const PlotOptions& options) {
  require_extension("-o", options.out, {".html"});
  remove_leftovers(options.out);
  require_other_file("-o", options.out, {options.in}, "STATE");
  const auto usage = [](auto&& f) {
    try {
      return f();
    } catch (const tq::error& e) {
      if (e.code() == errc::io_failure) throw;
      throw UsageError(e.what());
    }
  };
  const ScalarQuantizer quantizer = usage([&] { return ScalarQuantizer(options.spec); });
  TextFiles output;
  output.open(options.out, options.overwrite);
  const States states = read_states(options.in);
  if (states.empty()) throw tq::error(errc::no_data, options.in + ": expected tensors, got none");
  PlotPage page{options.in, options.spec.type, options.spec.symmetry, quantizer.origin(), {}};
  std::vector<std::string> names = options.tensors;
  if (names.empty())
    for (const auto& [name, state] : states) names.push_back(name);
  Json list = Json::array();
  for (const std::string& name : names) {
    const auto found = states.find(name);
    if (found == states.end())
      throw tq::error(errc::unknown_name, options.in + ": expected tensor " + tq::io::shown(name) +
                                              ", got none among " + std::to_string(states.size()));
    // States were checked when they were read: what a calibrator refuses are its options.
    page.tensors.push_back(usage([&] { return plotted(found->second, options, quantizer); }));
    list.push_back(to_json(page.tensors.back(), page.origin == "offset"));
  }
  std::vector<std::string> drawn;
  for (const PlotTensor& t : page.tensors)
    for (const PlotLine& line : t.lines)
      if (std::ranges::find(drawn, line.calibrator) == drawn.end())
        drawn.push_back(line.calibrator);
  require_settings_of(options.calibrator, drawn);
  output.write(0, to_html(page));
  output.commit();
  if (options.json) {
    print_json({{"input", options.in}, {"output", options.out}, {"tensors", std::move(list)}});
    return;
  }
  if (options.talk.quiet) return;
  Table table({{"tensor"}, {"observer"}, {"best for " + options.spec.type}, {"SQNR dB", true}});
  for (const PlotTensor& t : page.tensors)
    table.add({printable(t.name), t.observer, t.best ? t.lines[*t.best].calibrator : "-",
               t.best ? fixed(t.lines[*t.best].estimate->sqnr_db(), 2) : "-"});
  if (options.talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n' << page.tensors.size() << " tensors in " << options.out << '\n';
}

}  // namespace tool
