// SPDX-License-Identifier: MIT
#pragma once
// Options that describe a scheme: its type, granularity and whatever else, and what they mean
// together.

#include "calibrator_options.hpp"
#include "commands.hpp"

#include <tq/scheme/quant_spec.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// How finely a tensor is cut.
class GranularityOptions {
 public:
  // Where `granularity` is empty, the scheme has a default of its own.
  explicit GranularityOptions(CLI::App& command, std::string_view granularity = {});
  GranularityOptions(const GranularityOptions&) = delete;
  GranularityOptions& operator=(const GranularityOptions&) = delete;

  // Names are not looked at. The default is not applied to a spec that `has_granularity`. Throws:
  // UsageError where an option was given that the granularity does not have.
  void apply(tq::QuantSpec& spec, bool has_granularity = false) const;
  [[nodiscard]] bool is_chosen() const { return !given().empty(); }
  // The first of the options that were given; else empty.
  [[nodiscard]] std::string given() const;
  // The group size of a format of another program, 0 for a scale for each output; nothing where
  // none was given. Throws: UsageError for options that such formats do not have.
  [[nodiscard]] std::optional<std::size_t> checkpoint_groups() const;

 private:
  tq::QuantSpec asked_;
  int asked_axis_ = 0;
  bool has_default_;
  const CLI::Option *granularity_, *axis_, *group_size_, *block_rows_, *block_cols_;
};

// The type or scheme that ranges are chosen for; a name of both is that of the type.
class TypeOptions {
 public:
  explicit TypeOptions(CLI::App& command);
  TypeOptions(const TypeOptions&) = delete;
  TypeOptions& operator=(const TypeOptions&) = delete;

  // Sets type and symmetry of a type, or everything of a scheme. Throws: errc::unknown_name.
  void apply(tq::QuantSpec& spec) const;
  // True for a scheme, which has a granularity of its own.
  [[nodiscard]] bool is_scheme() const;

 private:
  tq::QuantSpec asked_;
  const CLI::Option* symmetry_;
};

// The scheme that the options of tq quantize describe: --type, and what is asked for besides.
class SchemeOptions {
 public:
  explicit SchemeOptions(CLI::App& command);
  SchemeOptions(const SchemeOptions&) = delete;
  SchemeOptions& operator=(const SchemeOptions&) = delete;

  // Throws: UsageError.
  [[nodiscard]] tq::QuantSpec spec() const;
  // The first of the options that were given; else empty.
  [[nodiscard]] std::string given() const;
  // Takes type, groups and symmetry of a format of another program. Throws: UsageError for options
  // that such formats do not have.
  void apply(CheckpointChoice& choice) const;

 private:
  const CLI::Option* add(CLI::App& command, const char* option, std::string tq::QuantSpec::* field,
                         const std::string& help);

  std::string name_ = "int8";
  tq::QuantSpec asked_;
  std::vector<const CLI::Option*> options_;  // but those of granularity_
  std::vector<std::function<void(tq::QuantSpec&)>> taken_;
  std::optional<GranularityOptions> granularity_;
  const CLI::Option *scale_type_, *symmetry_;
};

// The settings of calibrators.
void add_settings(CLI::App& command, CalibratorOptions& options);

}  // namespace tool
