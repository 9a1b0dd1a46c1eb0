// SPDX-License-Identifier: MIT
#pragma once
// The subcommands of tq. Each throws tq::error on bad input and UsageError on options that make no
// sense.

#include "calibrator_options.hpp"

#include <tq/model/node_kind.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/team.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

using tq::store::NameFilter;
using tq::store::NamePatterns;
using tq::store::Team;
using UsageError = tq::store::OptionError;

// Options for the text that a command prints about its work.
struct Talk {
  bool quiet = false;                // nothing but errors, and the document of --json
  bool verbose = false;              // a row for every tensor, however many there are
  std::optional<double> progress{};  // seconds between lines of progress in a log
};

struct InspectOptions {
  std::string file;
  bool statistics = false;
  bool json = false;
};
void inspect(const InspectOptions& options);

// A folder in the format of another program, as tq quantize --format or --for asks for it.
struct CheckpointChoice {
  std::string format, engine;               // one of them is not empty
  std::string type;                         // of the format; empty: its default
  std::optional<std::size_t> group_size{};  // 0: a scale for each output
  std::optional<bool> is_symmetric{};
  std::size_t tensor_parallel = 1;
  std::map<std::string, std::string> schemes{};  // by module, of a mixture, in place of a type
};

struct QuantizeOptions {
  std::string in, out;
  std::optional<CheckpointChoice> checkpoint{};  // in place of a file of tq
  std::string config;  // a file that has schemes for the tensors, in place of one for all
  tq::QuantSpec spec;
  tq::WeightAlgorithm algorithm{};
  std::string hessian;                   // a file of Hessians, or empty
  std::vector<std::string> activations;  // files of them, for Hessians and for stored scales
  NamePatterns names;
  std::vector<tq::NodeKind> kinds;  // that are quantized although they stay in float by default
  bool all = false;
  bool requantize = false;  // also what another program quantized
  bool allow_nonfinite = false;
  std::uint64_t shard_size = 0;  // bytes of the parts of a GGUF file; 0: one file
  std::size_t jobs = 1;          // threads
  bool overwrite = false;        // what is there from before
  bool json = false;
  Talk talk{};
};
void quantize(const QuantizeOptions& options, const Team& team = Team());

struct DequantizeOptions {
  std::string in, out;
  bool skip_unreadable = false;  // copy the parts of weights that cannot be read
  std::size_t jobs = 1;          // threads
  bool overwrite = false;        // what is there from before
  bool json = false;
  Talk talk{};
};
void dequantize(const DequantizeOptions& options);

struct CompareOptions {
  std::string expected, actual;
  bool json = false;
  Talk talk{};
};
void compare(const CompareOptions& options);

struct FormatsOptions {
  bool json = false;
};
void formats(const FormatsOptions& options);

// Which tensors to measure, in which schemes.
struct PrecisionOptions {
  std::string file;
  std::vector<std::string> types;  // names of schemes; empty: the usual ones
  NamePatterns names;
  std::vector<tq::NodeKind> kinds;  // as those of QuantizeOptions
  bool all = false;
  bool requantize = false;
  bool allow_nonfinite = false;
  std::optional<std::size_t> rows;  // of activations, of products that are timed
  bool json = false;
  Talk talk{};
};

struct SweepOptions : PrecisionOptions {
  bool per_tensor = false;
};
void sweep(const SweepOptions& options);

struct CalibrateOptions {
  std::vector<std::string> data;
  std::string from_state;  // in place of data
  std::string out, state;  // what to write
  NamePatterns names;
  std::string observer;            // empty: the one that suits the calibrator
  std::optional<double> constant;  // of observer moving_average
  CalibratorOptions calibrator;
  tq::QuantSpec spec;
  bool overwrite = false;  // what is there from before
  bool json = false;
  Talk talk{};
};
void calibrate(const CalibrateOptions& options);

struct HessianOptions {
  std::vector<std::string> data;
  std::string ranges;  // a state of tq calibrate that has the range of every input, or empty
  std::string start;   // a file of Hessians to go on from, or empty
  std::string out;
  int bits = 14;           // of the inputs
  bool overwrite = false;  // what is there from before
  bool json = false;
  Talk talk{};
};
void hessian(const HessianOptions& options);

struct ImatrixOptions {
  std::vector<std::string> data;
  std::string mapping;  // a file with names of weights, or empty
  std::string start;    // a file of importance to go on from, or empty
  std::string out;
  bool overwrite = false;  // what is there from before
  bool json = false;
  Talk talk{};
};
void imatrix(const ImatrixOptions& options);

struct MergeStateOptions {
  std::vector<std::string> in;
  std::string out;
  bool overwrite = false;  // what is there from before
  bool json = false;
};
void merge_state(const MergeStateOptions& options);

struct PlotOptions {
  std::string in, out;
  std::vector<std::string> tensors;  // empty: all
  CalibratorOptions calibrator;      // the settings of each; no name
  tq::QuantSpec spec;                // type and symmetry
  bool overwrite = false;            // what is there from before
  bool json = false;
  Talk talk{};
};
void plot(const PlotOptions& options);

struct ReportOptions {
  std::string model, quantized, out;
  bool overwrite = false;  // what is there from before
  bool json = false;
  Talk talk{};
};
void report(const ReportOptions& options);

struct SelectOptions : PrecisionOptions {
  std::optional<double> max_bits, min_sqnr, min_speedup;
  std::optional<std::uint64_t> max_bytes;
  std::string goal;                 // in place of a limit, or with one
  std::string profile;              // times to read; empty: measured where they are needed
  std::string hessian;              // of the inputs of weights; empty: errors are those of weights
  bool allow_few_tokens = false;    // of Hessians
  std::string engine;               // that the choice is for; empty: tq
  std::size_t tensor_parallel = 1;  // of the engine
  std::vector<std::string> activations{};  // for schemes of the engine that store scales of these
  tq::GgufOptions gguf{};                  // of llama.cpp: method, importance, mapping and keys
  std::size_t jobs = 1;                    // threads, of llama.cpp
  std::string out;
  bool overwrite = false;  // what is there from before
};
void select(const SelectOptions& options);
// select of an engine.
void select_for(const SelectOptions& options);

struct SensitivityOptions : PrecisionOptions {
  std::string profile;     // times to measure and write; empty: none
  bool overwrite = false;  // what is there from before
};
void sensitivity(const SensitivityOptions& options);

}  // namespace tool
