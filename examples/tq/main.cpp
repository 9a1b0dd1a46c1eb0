// SPDX-License-Identifier: MIT
// tq: quantize the tensors of a model file, see what it costs, and turn it back.
#include "commands.hpp"
#include "schemes.hpp"

#include <tq/error.hpp>
#include <tq/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

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

void require_spec(const tq::QuantSpec& spec) {
  try {
    tool::validate(spec);
  } catch (const tq::error& e) {
    throw tool::UsageError(e.what());
  }
}

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
  tq::QuantSpec& spec = quantizing.spec;
  CLI::App* quantize = app.add_subcommand(
      "quantize",
      "Write a file with its tensors in fewer bits; 1-D tensors and integers are copied");
  quantize->add_option("IN", quantizing.in, "the file to read")->required();
  quantize->add_option("OUT", quantizing.out, "the .safetensors file to write")->required();
  quantize->add_option("--type", spec.type, tool::type_names())->capture_default_str();
  quantize->add_option("--granularity", spec.granularity, tool::granularity_names())
      ->capture_default_str();
  quantize->add_option("--symmetry", spec.symmetry, tool::symmetry_names())->capture_default_str();
  int axis = 0;
  const CLI::Option* axis_option = quantize->add_option(
      "--axis", axis, "of per_channel (default 0) or per_group (default -1, the last)");
  quantize->add_option("--group-size", spec.group_size, "of per_group")->capture_default_str();
  quantize->add_option("--block-rows", spec.block_rows, "of per_block")->capture_default_str();
  quantize->add_option("--block-cols", spec.block_cols, "of per_block")->capture_default_str();
  quantize->add_option("--numerics", spec.numerics, "rounding as " + tool::numerics_names())
      ->capture_default_str();
  quantize
      ->add_option("--include", quantizing.include,
                   "only tensors whose name has a match of this regular expression (repeatable)")
      ->allow_extra_args(false);
  quantize
      ->add_option("--exclude", quantizing.exclude,
                   "copy tensors whose name has a match of this regular expression (repeatable)")
      ->allow_extra_args(false);
  quantize->add_flag("--all", quantizing.all, "quantize scalars and 1-D tensors too");
  quantize->add_flag("--allow-nonfinite", quantizing.allow_nonfinite,
                     "NaN becomes 0 and infinity the end of the range, instead of an error");
  quantize->add_flag("--json", quantizing.json, json_help);
  quantize->callback([&] {
    status = run("quantize", [&] {
      if (axis_option->count() != 0) spec.axis = axis;
      require_spec(spec);
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

  const auto is_first = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first).empty()) {
    std::cerr << "tq: expected inspect, quantize, dequantize or compare, got \"" << argv[1]
              << "\"\nRun tq --help for more.\n";
    return bad_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? EXIT_SUCCESS : bad_usage;
  }
  return status;
}
