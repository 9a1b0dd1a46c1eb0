// SPDX-License-Identifier: MIT
// tq: quantize the tensors of a model file, see what it costs, and turn it back.
#include "calibrators.hpp"
#include "checkpoint_choice.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "option_names.hpp"
#include "quantize_options.hpp"
#include "scheme_options.hpp"

#include <tq/core/arithmetic.hpp>
#include <tq/error.hpp>
#include <tq/ops/isa_info.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/version.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

constexpr int bad_input = 1, bad_usage = 2;
constexpr const char* no_output = "cannot write to standard output";

// And the instruction set of the kernels that run.
std::string version() {
  const tq::IsaInfo isa = tq::isa_info();
  std::string kernels(isa.running);
  if (isa.from_library) {
    kernels += ", of";
    for (const std::string_view name : isa.built) kernels.append(" ").append(name);
  }
  return "tq " + std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) + "." +
         std::to_string(TQ_VERSION_PATCH) + " (kernels: " + kernels + ")";
}

// The reason why a word is no number of bytes, or nothing.
std::string whole_number(const std::string& word) {
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const std::from_chars_result read = std::from_chars(word.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return "";
  return "expected a whole number of bytes below 2^64, got " + word;
}

// Runs a subcommand; its errors go to standard error, results that cannot be written are an error
// too.
template <class F>
int run(const std::string& name, F&& command) {
  try {
    if (!tq::ieee_arithmetic())
      throw tq::error(tq::errc::unsupported,
                      "expected IEEE arithmetic, got a processor or a build that flushes subnormal "
                      "numbers to zero or rounds in another way");
    command();
    if (!std::cout.flush()) throw tq::error(tq::errc::io_failure, no_output);
    return EXIT_SUCCESS;
  } catch (const tool::UsageError& e) {
    std::cerr << "tq " << name << ": " << tool::with_option_names(e.what()) << "\nRun tq " << name
              << " --help for the options.\n";
    return bad_usage;
  } catch (const std::bad_alloc&) {
    std::cerr << "tq " << name << ": not enough memory\n";
    return bad_input;
  } catch (const std::exception& e) {
    std::cerr << "tq " << name << ": " << tool::with_option_names(e.what()) << '\n';
    return bad_input;
  }
}

// Calls f(); what it finds wrong is the options' fault.
template <class F>
void as_usage(F&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    throw tool::UsageError(e.what());
  }
}

// The option or subcommand that an unknown word may have been meant to be.
std::string meant_option(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : app.remaining(true))
    if (argument.starts_with("--"))
      return tq::closest_name(argument.substr(0, argument.find('=')), known);
  return "";
}

std::vector<std::string> subcommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// The options of what is measured tensor by tensor in many schemes.
void add_precision(CLI::App& command, tool::PrecisionOptions& options, const char* file = "MODEL") {
  command.add_option(file, options.file, "the file to read")->required();
  command
      .add_option("--types", options.types,
                  "schemes, formats and types of GGUF files such as q4_K (of select with --for "
                  "llama.cpp), with commas between them")
      ->delimiter(',')
      ->allow_extra_args(false);
  tool::add_names(command, options.names, "leave out");
  tool::add_kinds(command, options.kinds, options.all, " and scalars (always per tensor)");
  command.add_flag("--requantize", options.requantize,
                   "also weights that another program quantized, from their values");
  command.add_flag("--allow-nonfinite", options.allow_nonfinite,
                   "leave NaN and infinity out, instead of an error");
}

// The rows of activations of products whose time is measured.
void add_rows(CLI::App& command, tool::PrecisionOptions& options) {
  command
      .add_option("--rows", options.rows,
                  "rows of activations of the products whose time is measured (default 1)")
      ->check(CLI::Range(1, 1 << 20));
}

void add_select(CLI::App& command, tool::SelectOptions& options) {
  add_precision(command, options);
  command.add_option("--max-bits", options.max_bits,
                     "at most so many bits per weight of the tensors to choose for");
  command
      .add_option(
          "--max-bytes", options.max_bytes,
          "at most so many bytes of all tensors, those that stay as they are included; with "
          "--for, of the files with weights, headers included")
      ->check(whole_number);
  command.add_option("--min-sqnr", options.min_sqnr,
                     "at least so many dB, of the mean error of the tensors: in fewest bytes");
  command.add_option(
      "--min-speedup", options.min_speedup,
      "at least so many times as fast as float32: products of activations and each tensor");
  command.add_option("--goal", options.goal,
                     "performance (least time), balanced (the knee of bytes against error) or "
                     "accuracy; without it, the least error in a size, or the fewest bytes");
  command.add_option("--profile", options.profile,
                     "times of this machine that tq sensitivity --profile wrote, in place of "
                     "measuring them");
  add_rows(command, options);
  CLI::Option* hessian = command.add_option(
      "--hessian", options.hessian,
      "the file of Hessians that tq hessian wrote: errors are those of outputs that tq quantize "
      "--algorithm gptq is expected to leave; tensors without a Hessian count by their weights");
  command
      .add_flag("--allow-few-tokens", options.allow_few_tokens,
                "take Hessians of fewer tokens than a quarter of the inputs")
      ->needs(hessian);
  command.add_option(
      "--for", options.engine,
      "choose among schemes that an engine runs, one for all layers that it fuses; MODEL is the "
      "folder of a language model (of llama.cpp: or a GGUF file, and the size is that of the GGUF "
      "file), and the command that is printed writes the choice: " +
          tool::engine_names());
  command
      .add_option("--tensor-parallel", options.tensor_parallel,
                  "of --for: processes among which the engine divides every layer (default 1)")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--activations", options.activations,
                  "of --for: files, and folders of files, of activations [..., inputs] by the "
                  "names of layers, for the scales that the schemes fp8-static and nvfp4-w4a4 "
                  "store; errors are those of weights alone (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--jobs", options.jobs,
                  "of --for llama.cpp: tensors that are measured at once (default 1); the choice "
                  "is the same")
      ->check(CLI::Range(1, 1024));
  command.add_option("-o,--output", options.out, "the .json configuration to write")->required();
  tool::add_overwrite(command, options.overwrite);
}

void add_imatrix(CLI::App& command, tool::ImatrixOptions& options) {
  command
      .add_option("DATA", options.data,
                  "files, and folders of .npy, .npz and .safetensors files, of activations "
                  "[..., inputs] by the names of weights or modules, in GGUF files or in the model "
                  "of Hugging Face; up_proj_0003.npy is a batch of up_proj")
      ->required();
  command
      .add_option("-o,--output", options.out,
                  "the file to write: .gguf, or .dat for the older form of llama-imatrix")
      ->required();
  command.add_option("--mapping", options.mapping,
                     "a JSON file with the names that the model has in GGUF files (default: those "
                     "of Llama, Mistral and Mixtral models)");
  command.add_option("--continue", options.start,
                     "a file of tq imatrix or llama-imatrix, which the tokens are added to");
  tool::add_talk(command, options.talk, tool::TalkOf::rows);
  tool::add_overwrite(command, options.overwrite);
}

}  // namespace

int main(int argc, char** argv) {
  tool::clean_up_when_interrupted();
  CLI::App app{
      "Quantize the tensors of a model file, see what it costs, and turn it back.\n"
      "Reads .npy, .npz, .safetensors, sharded .safetensors.index.json and .gguf; writes "
      ".safetensors and .gguf."};
  app.name("tq");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 the input or output is at fault, 2 the options are.");
  int status = EXIT_SUCCESS;

  // --json may come before the subcommand, too.
  std::vector<bool*> reports;
  app.add_flag_callback(
      "--json",
      [&] {
        for (bool* json : reports) *json = true;
      },
      "print one JSON document, as --json of the subcommand");
  const auto add_json = [&](CLI::App* command, bool& json) {
    command->add_flag(
        "--json", json,
        "print one JSON document instead of the table; numbers that are not finite are null there, "
        "and \"nonfinite\" beside them says what they are");
    reports.push_back(&json);
  };

  tool::InspectOptions inspecting;
  CLI::App* inspect = app.add_subcommand("inspect", "List the tensors of a file");
  inspect->add_option("FILE", inspecting.file, "the file to look at")->required();
  inspect->add_flag("--stats", inspecting.statistics,
                    "also read the data: min, max, NaN, infinite");
  add_json(inspect, inspecting.json);
  inspect->callback([&] { status = run("inspect", [&] { tool::inspect(inspecting); }); });

  CLI::App* quantize = app.add_subcommand(
      "quantize",
      "Write a file with its tensors in fewer bits; 1-D tensors and integers are copied");
  tool::QuantizeCommandLine quantizing(*quantize);
  add_json(quantize, quantizing.json());
  quantize->callback([&] { status = run("quantize", [&] { quantizing.run(); }); });

  tool::DequantizeOptions dequantizing;
  CLI::App* dequantize =
      app.add_subcommand("dequantize", "Write a quantized file back in the types it had");
  dequantize
      ->add_option(
          "IN", dequantizing.in,
          "a file, or the folder of a sharded one, that tq quantize wrote, or another program")
      ->required();
  dequantize
      ->add_option(
          "OUT", dequantizing.out,
          "the .safetensors (one tensor: or .npy) file to write; or an .index.json, or a folder "
          "(one that exists, a name ending in /, or, where IN is a folder, one without an "
          "extension), for a shard of each file of IN")
      ->required();
  tool::add_writing(*dequantize, dequantizing.jobs, dequantizing.overwrite);
  dequantize->add_flag("--skip-unreadable", dequantizing.skip_unreadable,
                       "copy the parts of weights that cannot be read, instead of an error");
  tool::add_talk(*dequantize, dequantizing.talk, tool::TalkOf::progress);
  add_json(dequantize, dequantizing.json);
  dequantize->callback(
      [&] { status = run("dequantize", [&] { tool::dequantize(dequantizing); }); });

  tool::CompareOptions comparing;
  CLI::App* compare = app.add_subcommand(
      "compare", "Measure how far B is from A, tensor by tensor; quantized files are decoded");
  compare->add_option("A", comparing.expected, "the file with the true values")->required();
  compare->add_option("B", comparing.actual, "the file to judge")->required();
  tool::add_talk(*compare, comparing.talk, tool::TalkOf::rows_and_progress);
  add_json(compare, comparing.json);
  compare->callback([&] { status = run("compare", [&] { tool::compare(comparing); }); });

  tool::FormatsOptions listing;
  CLI::App* formats = app.add_subcommand(
      "formats", "List the number formats, the schemes made of them and the types of GGUF files");
  add_json(formats, listing.json);
  formats->callback([&] { status = run("formats", [&] { tool::formats(listing); }); });

  tool::SweepOptions sweeping;
  CLI::App* sweep = app.add_subcommand(
      "sweep", "Quantize the tensors of a file in many schemes; accuracy against bits, best first");
  add_precision(*sweep, sweeping, "FILE");
  sweep->add_flag("--per-tensor", sweeping.per_tensor, "also for each tensor");
  tool::add_talk(*sweep, sweeping.talk, tool::TalkOf::progress);
  add_json(sweep, sweeping.json);
  sweep->callback([&] { status = run("sweep", [&] { tool::sweep(sweeping); }); });

  tool::SelectOptions selecting;
  CLI::App* select = app.add_subcommand(
      "select",
      "Choose a scheme for every tensor of a file within a budget, by what each would lose");
  add_select(*select, selecting);
  const tool::GgufCommandLine selecting_gguf(*select);
  tool::add_talk(*select, selecting.talk, tool::TalkOf::rows_and_progress);
  add_json(select, selecting.json);
  select->callback([&] {
    status = run("select", [&] {
      selecting_gguf.apply(selecting);
      tool::select(selecting);
    });
  });

  tool::SensitivityOptions probing;
  CLI::App* sensitivity = app.add_subcommand(
      "sensitivity", "Measure every tensor of a file in many schemes; the largest errors first");
  add_precision(*sensitivity, probing);
  sensitivity->add_option("--profile", probing.profile,
                          "also measure how long products take here: a .json file for tq select");
  add_rows(*sensitivity, probing);
  tool::add_talk(*sensitivity, probing.talk, tool::TalkOf::rows_and_progress);
  tool::add_overwrite(*sensitivity, probing.overwrite);
  add_json(sensitivity, probing.json);
  sensitivity->callback([&] { status = run("sensitivity", [&] { tool::sensitivity(probing); }); });

  tool::CalibrateOptions calibrating;
  CLI::App* calibrate = app.add_subcommand(
      "calibrate",
      "Observe the tensors of a data set, and choose their ranges: scales and zero points");
  calibrate->add_option(
      "DATA", calibrating.data,
      "files, and folders of .npy, .npz and .safetensors files, that hold the batches; "
      "relu1_0003.npy is a batch of relu1");
  calibrate->add_option("-o,--output", calibrating.out, "the .json file of parameters to write");
  calibrate->add_option("--state", calibrating.state,
                        "what was observed, to write: a .json file for --from-state, merge-state "
                        "and plot");
  calibrate->add_option("--from-state", calibrating.from_state,
                        "what was observed, in place of DATA");
  calibrate->add_option(
      "--observer", calibrating.observer,
      tq::joined_names(tq::observer_kinds()) + " (default: what the calibrator needs)");
  calibrate->add_option(
      "--calibrator", calibrating.calibrator.name,
      tq::joined_names(tq::calibrator_kinds()) + " (default: what suits the observer)");
  tool::add_names(*calibrate, calibrating.names, "leave out");
  const tool::TypeOptions type(*calibrate);
  const tool::GranularityOptions granularity(*calibrate, tq::PerTensor::name);
  calibrate->add_option(
      "--constant", calibrating.constant,
      "of observer moving_average: how much a batch counts against those before (default 0.01)");
  tool::add_settings(*calibrate, calibrating.calibrator);
  tool::add_talk(*calibrate, calibrating.talk, tool::TalkOf::rows_and_progress);
  tool::add_overwrite(*calibrate, calibrating.overwrite);
  add_json(calibrate, calibrating.json);
  calibrate->callback([&] {
    status = run("calibrate", [&] {
      if (!calibrating.from_state.empty() && !granularity.given().empty())
        throw tool::UsageError(granularity.given() +
                               ": expected none, the states of --from-state have theirs");
      as_usage([&] { type.apply(calibrating.spec); });
      granularity.apply(calibrating.spec, type.is_scheme());
      tool::calibrate(calibrating);
    });
  });

  tool::HessianOptions gathering;
  CLI::App* hessian = app.add_subcommand(
      "hessian",
      "Sum the products of the inputs of layers over a data set, exactly, for tq quantize "
      "--algorithm");
  hessian
      ->add_option("DATA", gathering.data,
                   "files, and folders of .npy, .npz and .safetensors files, of activations "
                   "[..., inputs] by the names of weights; fc1_0003.npy is a batch of fc1")
      ->required();
  hessian->add_option("-o,--output", gathering.out, "the .npz file to write")->required();
  hessian->add_option("--ranges", gathering.ranges,
                      "the range of every input, which runs have in common that are to be merged: "
                      "a file of tq calibrate --observer abs_max --granularity per_channel --axis "
                      "-1 --state. Without it data are read twice");
  hessian->add_option("--continue", gathering.start,
                      "a file that tq hessian wrote, which the tokens are added to");
  CLI::Option* bits =
      hessian->add_option("--bits", gathering.bits, "of an input: 14 (default) or 16")
          ->check(CLI::IsMember({14, 16}));
  tool::add_talk(*hessian, gathering.talk, tool::TalkOf::rows);
  tool::add_overwrite(*hessian, gathering.overwrite);
  add_json(hessian, gathering.json);
  hessian->callback([&] {
    status = run("hessian", [&] {
      if (bits->count() != 0 && !gathering.start.empty())
        throw tool::UsageError(
            "--bits: expected none beside --continue, whose Hessians have theirs");
      tool::hessian(gathering);
    });
  });

  tool::ImatrixOptions weighing;
  CLI::App* imatrix = app.add_subcommand(
      "imatrix",
      "Sum the squares of the inputs of layers over a data set, for tq quantize --imatrix");
  add_imatrix(*imatrix, weighing);
  add_json(imatrix, weighing.json);
  imatrix->callback([&] { status = run("imatrix", [&] { tool::imatrix(weighing); }); });

  tool::MergeStateOptions merging;
  CLI::App* merge = app.add_subcommand(
      "merge-state",
      "Put together what several runs of tq calibrate observed, as batches in the order given, or "
      "the Hessians of several runs of tq hessian, or the importance of several of tq imatrix");
  merge
      ->add_option("STATE", merging.in,
                   "files that tq calibrate --state, tq hessian or tq imatrix wrote")
      ->required();
  merge
      ->add_option("-o,--output", merging.out,
                   "the file to write: .json; for Hessians .npz; for importance .gguf or .dat")
      ->required();
  tool::add_overwrite(*merge, merging.overwrite);
  add_json(merge, merging.json);
  merge->callback([&] { status = run("merge-state", [&] { tool::merge_state(merging); }); });

  tool::PlotOptions plotting;
  CLI::App* plot = app.add_subcommand(
      "plot",
      "Draw what was observed, and the range of every calibrator, as a page for a web browser");
  plot->add_option("STATE", plotting.in, "a file that tq calibrate --state wrote")->required();
  plot->add_option("-o,--output", plotting.out, "the .html file to write")->required();
  const tool::TypeOptions drawn(*plot);
  plot->add_option("--tensor", plotting.tensors, "only the tensor of this name (repeatable)")
      ->allow_extra_args(false);
  tool::add_settings(*plot, plotting.calibrator);
  tool::add_talk(*plot, plotting.talk, tool::TalkOf::rows);
  tool::add_overwrite(*plot, plotting.overwrite);
  add_json(plot, plotting.json);
  plot->callback([&] {
    status = run("plot", [&] {
      as_usage([&] { drawn.apply(plotting.spec); });
      tool::plot(plotting);
    });
  });

  tool::ReportOptions reporting;
  CLI::App* report = app.add_subcommand(
      "report", "Tell what tq quantize made of a model, as a page for a web browser");
  report->add_option("MODEL", reporting.model, "the file that was quantized")->required();
  report->add_option("QUANTIZED", reporting.quantized, "what tq quantize wrote")->required();
  report->add_option("-o,--output", reporting.out, "the .html file to write")->required();
  tool::add_talk(*report, reporting.talk, tool::TalkOf::progress);
  tool::add_overwrite(*report, reporting.overwrite);
  add_json(report, reporting.json);
  report->callback([&] { status = run("report", [&] { tool::report(reporting); }); });

  const auto is_first = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first).empty()) {
    std::vector<std::string> names = subcommands(app);
    const std::string meant = tq::did_you_mean(argv[1], names), last = names.back();
    names.pop_back();
    std::cerr << "tq: expected " << tq::joined_names(names) << " or " << last << ", got \""
              << argv[1] << '"' << meant << "\nRun tq --help for more.\n";
    return bad_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) != 0) {
      if (const std::string meant = meant_option(app); !meant.empty())
        std::cerr << "Did you mean " << meant << "?\n";
      return bad_usage;
    }
    if (std::cout.flush()) return EXIT_SUCCESS;
    std::cerr << "tq: " << no_output << '\n';
    return bad_input;
  }
  return status;
}
