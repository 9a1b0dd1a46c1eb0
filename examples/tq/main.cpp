// SPDX-License-Identifier: MIT
// tq: quantize the tensors of a model file, see what it costs, and turn it back.
#include "calibrators.hpp"
#include "commands.hpp"
#include "names.hpp"
#include "schemes.hpp"

#include <tq/error.hpp>
#include <tq/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int bad_input = 1, bad_usage = 2;

std::string version() {
  return "tq " + std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) + "." +
         std::to_string(TQ_VERSION_PATCH);
}

// Runs a subcommand; its errors go to standard error, results that cannot be written are an error
// too.
template <class F>
int run(const std::string& name, F&& command) {
  try {
    command();
    if (!std::cout.flush())
      throw tq::error(tq::errc::io_failure, "cannot write to standard output");
    return EXIT_SUCCESS;
  } catch (const tool::UsageError& e) {
    std::cerr << "tq " << name << ": " << e.what() << "\nRun tq " << name
              << " --help for the options.\n";
    return bad_usage;
  } catch (const std::exception& e) {
    std::cerr << "tq " << name << ": " << e.what() << '\n';
    return bad_input;
  }
}

// The scheme that the options of tq quantize describe: --type, and what is asked for besides.
class SchemeOptions {
 public:
  explicit SchemeOptions(CLI::App& command) {
    command
        .add_option("--type", name_,
                    "a format (" + tool::type_names() + ") or a scheme (" + tool::scheme_names() +
                        "); see tq formats")
        ->capture_default_str();
    add(command, "--granularity", asked_.granularity, &tq::QuantSpec::granularity,
        tool::granularity_names());
    add(command, "--symmetry", asked_.symmetry, &tq::QuantSpec::symmetry, tool::symmetry_names());
    axis_ = command.add_option("--axis", asked_axis_,
                               "of per_channel (default 0) or per_group (default -1, the last)");
    add(command, "--group-size", asked_.group_size, &tq::QuantSpec::group_size, "of per_group");
    add(command, "--block-rows", asked_.block_rows, &tq::QuantSpec::block_rows, "of per_block");
    add(command, "--block-cols", asked_.block_cols, &tq::QuantSpec::block_cols, "of per_block");
    scale_type_ = add(command, "--scale-type", asked_.scale_type, &tq::QuantSpec::scale_type,
                      tool::scale_type_names());
    add(command, "--numerics", asked_.numerics, &tq::QuantSpec::numerics,
        "rounding as " + tool::numerics_names());
    add(command, "--calibrator", asked_.calibrator, &tq::QuantSpec::calibrator,
        "what a scale covers: " + tool::calibrator_names());
  }

  // Throws: UsageError.
  [[nodiscard]] tq::QuantSpec spec() const {
    try {
      tq::QuantSpec spec = tool::scheme_of(name_);
      const bool was_cast = spec.scale_type == tq::Unscaled::name;
      const std::string granularity = spec.granularity;
      for (const auto& take : taken_) take(spec);
      if (axis_->count() != 0) spec.axis = asked_axis_;
      else if (spec.granularity != granularity) spec.axis.reset();  // its default
      // A cast that is to have parameters for parts of the tensor gets scales.
      if (was_cast && scale_type_->count() == 0 && spec.granularity != tq::PerTensor::name)
        spec.scale_type = tq::QuantSpec{}.scale_type;
      tool::validate(spec);
      return spec;
    } catch (const tq::error& e) {
      throw tool::UsageError(e.what());
    }
  }

 private:
  // An option that replaces a field of the scheme where it is given.
  template <class T>
  CLI::Option* add(CLI::App& command, const char* option, T& value, T tq::QuantSpec::*field,
                   const std::string& help) {
    const CLI::Option* given = command.add_option(option, value, help);
    taken_.push_back([&value, field, given](tq::QuantSpec& spec) {
      if (given->count() != 0) spec.*field = value;
    });
    return command.get_option(option);
  }

  std::string name_ = "int8";
  tq::QuantSpec asked_;
  int asked_axis_ = 0;
  std::vector<std::function<void(tq::QuantSpec&)>> taken_;
  const CLI::Option* axis_ = nullptr;
  const CLI::Option* scale_type_ = nullptr;
};

// The type and symmetry that ranges are chosen for.
void add_type(CLI::App& command, tq::QuantSpec& spec) {
  command.add_option("--type", spec.type, "a format: " + tool::type_names())->capture_default_str();
  command.add_option("--symmetry", spec.symmetry, tool::symmetry_names())->capture_default_str();
}

// How finely a tensor is observed: a slot for all of it, unless asked otherwise.
class GranularityOptions {
 public:
  GranularityOptions(CLI::App& command, tq::QuantSpec& spec) : spec_(spec) {
    spec.granularity = tq::PerTensor::name;
    add(command.add_option("--granularity", spec.granularity, tool::granularity_names())
            ->capture_default_str());
    axis_ = add(command.add_option(
        "--axis", asked_axis_, "of per_channel (default 0) or per_group (default -1, the last)"));
    add(command.add_option("--group-size", spec.group_size, "of per_group")->capture_default_str());
    add(command.add_option("--block-rows", spec.block_rows, "of per_block")->capture_default_str());
    add(command.add_option("--block-cols", spec.block_cols, "of per_block")->capture_default_str());
  }
  void finish() {
    if (axis_->count() != 0) spec_.axis = asked_axis_;
  }
  // Of the options that were given, the first.
  [[nodiscard]] std::string given() const {
    for (const CLI::Option* option : options_)
      if (option->count() != 0) return option->get_name();
    return "";
  }

 private:
  const CLI::Option* add(const CLI::Option* option) { return options_.emplace_back(option); }

  tq::QuantSpec& spec_;
  int asked_axis_ = 0;
  std::vector<const CLI::Option*> options_;
  const CLI::Option* axis_ = nullptr;
};

// The settings of calibrators.
class CalibratorSettings {
 public:
  explicit CalibratorSettings(CLI::App& command) {
    add(command, "--lower", &tool::CalibratorOptions::lower,
        "of percentile: the share of values below the range (default 0.001)");
    add(command, "--upper", &tool::CalibratorOptions::upper,
        "of percentile: the share of values below its end (default 0.999)");
    add(command, "--deviations", &tool::CalibratorOptions::deviations,
        "of mean_std: standard deviations to each side of the mean (default 3)");
    add(command, "--norm", &tool::CalibratorOptions::norm,
        "of lp: the power of errors that is summed (default 2.4)");
  }
  void set(tool::CalibratorOptions& options) const {
    for (const auto& [option, field, value] : settings_)
      if (option->count() != 0) options.*field = *value;
  }

 private:
  using Field = std::optional<double> tool::CalibratorOptions::*;
  struct Setting {
    const CLI::Option* option;
    Field field;
    std::unique_ptr<double> value;
  };
  void add(CLI::App& command, const char* name, Field field, const char* help) {
    auto value = std::make_unique<double>(0.0);
    const CLI::Option* option = command.add_option(name, *value, help);
    settings_.push_back({option, field, std::move(value)});
  }
  std::vector<Setting> settings_;
};

constexpr const char* json_help = "print one JSON document instead of the table";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Quantize the tensors of a model file, see what it costs, and turn it back.\n"
      "Reads .npy, .npz, .safetensors and sharded .safetensors.index.json; writes .safetensors."};
  app.name("tq");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 the input or output is at fault, 2 the options are.");
  int status = EXIT_SUCCESS;

  tool::InspectOptions inspecting;
  CLI::App* inspect = app.add_subcommand("inspect", "List the tensors of a file");
  inspect->add_option("FILE", inspecting.file, "the file to look at")->required();
  inspect->add_flag("--stats", inspecting.statistics,
                    "also read the data: min, max, NaN, infinite");
  inspect->add_flag("--json", inspecting.json, json_help);
  inspect->callback([&] { status = run("inspect", [&] { tool::inspect(inspecting); }); });

  tool::QuantizeOptions quantizing;
  CLI::App* quantize = app.add_subcommand(
      "quantize",
      "Write a file with its tensors in fewer bits; 1-D tensors and integers are copied");
  quantize->add_option("IN", quantizing.in, "the file to read")->required();
  quantize->add_option("OUT", quantizing.out, "the .safetensors file to write")->required();
  const SchemeOptions scheme(*quantize);
  quantize
      ->add_option("--include", quantizing.include,
                   "only tensors whose name has a match of this regular expression (repeatable)")
      ->allow_extra_args(false);
  quantize
      ->add_option("--exclude", quantizing.exclude,
                   "copy tensors whose name has a match of this regular expression (repeatable)")
      ->allow_extra_args(false);
  quantize->add_flag("--all", quantizing.all, "quantize scalars and 1-D tensors too");
  quantize->add_flag(
      "--allow-nonfinite", quantizing.allow_nonfinite,
      "infinity becomes the end of the range and NaN 0 (or stays, in formats that have it)");
  quantize->add_flag("--json", quantizing.json, json_help);
  quantize->callback([&] {
    status = run("quantize", [&] {
      quantizing.spec = scheme.spec();
      tool::quantize(quantizing);
    });
  });

  tool::DequantizeOptions dequantizing;
  CLI::App* dequantize =
      app.add_subcommand("dequantize", "Write a quantized file back in the types it had");
  dequantize->add_option("IN", dequantizing.in, "a file that tq quantize wrote")->required();
  dequantize
      ->add_option("OUT", dequantizing.out, "the .safetensors (one tensor: or .npy) file to write")
      ->required();
  dequantize->add_flag("--json", dequantizing.json, json_help);
  dequantize->callback(
      [&] { status = run("dequantize", [&] { tool::dequantize(dequantizing); }); });

  tool::CompareOptions comparing;
  CLI::App* compare = app.add_subcommand(
      "compare", "Measure how far B is from A, tensor by tensor; quantized files are decoded");
  compare->add_option("A", comparing.expected, "the file with the true values")->required();
  compare->add_option("B", comparing.actual, "the file to judge")->required();
  compare->add_flag("--json", comparing.json, json_help);
  compare->callback([&] { status = run("compare", [&] { tool::compare(comparing); }); });

  tool::FormatsOptions listing;
  CLI::App* formats =
      app.add_subcommand("formats", "List the number formats and the schemes made of them");
  formats->add_flag("--json", listing.json, json_help);
  formats->callback([&] { status = run("formats", [&] { tool::formats(listing); }); });

  tool::SweepOptions sweeping;
  CLI::App* sweep = app.add_subcommand(
      "sweep", "Quantize the tensors of a file in many schemes; accuracy against bits, best first");
  sweep->add_option("FILE", sweeping.file, "the file to read")->required();
  sweep->add_option("--types", sweeping.types, "schemes or formats, with commas between them")
      ->delimiter(',')
      ->allow_extra_args(false);
  sweep->add_flag("--per-tensor", sweeping.per_tensor, "also for each tensor");
  sweep->add_flag("--all", sweeping.all, "scalars and 1-D tensors too");
  sweep->add_flag("--allow-nonfinite", sweeping.allow_nonfinite,
                  "leave NaN and infinity out, instead of an error");
  sweep->add_flag("--json", sweeping.json, json_help);
  sweep->callback([&] { status = run("sweep", [&] { tool::sweep(sweeping); }); });

  tool::CalibrateOptions calibrating;
  CLI::App* calibrate = app.add_subcommand(
      "calibrate",
      "Observe the tensors of a data set, and choose their ranges: scales and zero points");
  calibrate->add_option(
      "DATA", calibrating.data,
      "files, and folders of .npy, .npz and .safetensors files, that hold the batches; "
      "relu1_0003.npy is a batch of relu1");
  calibrate->add_option("-o,--output", calibrating.out, "the parameters to write, JSON");
  calibrate->add_option("--state", calibrating.state,
                        "what was observed, to write: JSON for --from-state, merge-state and plot");
  calibrate->add_option("--from-state", calibrating.from_state,
                        "what was observed, in place of DATA");
  calibrate->add_option("--observer", calibrating.observer,
                        tool::joined(tool::observer_kinds()) + " (default: what the calibrator needs)");
  calibrate->add_option("--calibrator", calibrating.calibrator.name,
                        tool::joined(tool::calibrator_kinds()) + " (default: what suits the observer)");
  add_type(*calibrate, calibrating.spec);
  GranularityOptions granularity(*calibrate, calibrating.spec);
  calibrate
      ->add_option("--constant", calibrating.constant,
                   "of observer moving_average: how much a batch counts against those before")
      ->capture_default_str();
  const CalibratorSettings calibrator(*calibrate);
  calibrate->add_flag("--json", calibrating.json, json_help);
  calibrate->callback([&] {
    status = run("calibrate", [&] {
      if (!calibrating.from_state.empty() && !granularity.given().empty())
        throw tool::UsageError(granularity.given() +
                               ": expected none, the states of --from-state have theirs");
      granularity.finish();
      calibrator.set(calibrating.calibrator);
      tool::calibrate(calibrating);
    });
  });

  tool::MergeStateOptions merging;
  CLI::App* merge = app.add_subcommand(
      "merge-state",
      "Put together what several runs of tq calibrate observed, as batches in the order given");
  merge->add_option("STATE", merging.in, "files that tq calibrate --state wrote")->required();
  merge->add_option("-o,--output", merging.out, "the file to write")->required();
  merge->add_flag("--json", merging.json, json_help);
  merge->callback([&] { status = run("merge-state", [&] { tool::merge_state(merging); }); });

  tool::PlotOptions plotting;
  CLI::App* plot = app.add_subcommand(
      "plot",
      "Draw what was observed, and the range of every calibrator, as a page for a web browser");
  plot->add_option("STATE", plotting.in, "a file that tq calibrate --state wrote")->required();
  plot->add_option("-o,--output", plotting.out, "the .html file to write")->required();
  add_type(*plot, plotting.spec);
  plot->add_option("--tensor", plotting.tensors, "only the tensor of this name (repeatable)")
      ->allow_extra_args(false);
  const CalibratorSettings plotted(*plot);
  plot->add_flag("--json", plotting.json, json_help);
  plot->callback([&] {
    status = run("plot", [&] {
      plotted.set(plotting.calibrator);
      tool::plot(plotting);
    });
  });

  const auto is_first = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first).empty()) {
    std::cerr << "tq: expected inspect, quantize, dequantize, compare, formats, sweep, calibrate, "
                 "merge-state or "
                 "plot, got \""
              << argv[1] << "\"\nRun tq --help for more.\n";
    return bad_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? EXIT_SUCCESS : bad_usage;
  }
  return status;
}
