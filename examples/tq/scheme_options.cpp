// SPDX-License-Identifier: MIT
#include "scheme_options.hpp"

#include "commands.hpp"
#include "schemes.hpp"

#include <tq/error.hpp>
#include <tq/scheme/name_lists.hpp>

#include <utility>

namespace tool {

namespace {

// The text on the symmetry without --symmetry.
constexpr const char* symmetry_default = " (default symmetric; asymmetric for unsigned integers)";

}  // namespace

GranularityOptions::GranularityOptions(CLI::App& command, std::string_view granularity)
    : has_default_(!granularity.empty()) {
  if (has_default_) asked_.granularity = granularity;
  const auto number = [&](const char* option, int& value, const char* help) {
    CLI::Option* added = command.add_option(option, value, help);
    return has_default_ ? added->capture_default_str() : added;
  };
  granularity_ = command.add_option(
      "--granularity", asked_.granularity,
      granularity_names() +
          (has_default_ ? " (default " + asked_.granularity + ", or per_group with --group-size)"
                        : std::string(" (default: that of --type, or per_group "
                                      "with --group-size)")));
  axis_ = command.add_option("--axis", asked_axis_,
                             "of per_channel (default 0) or per_group (default -1, the last)");
  group_size_ = number("--group-size", asked_.group_size, "of per_group");
  block_rows_ = number("--block-rows", asked_.block_rows, "of per_block");
  block_cols_ = number("--block-cols", asked_.block_cols, "of per_block");
}

void GranularityOptions::apply(tq::QuantSpec& spec, bool has_granularity) const {
  const std::string before = spec.granularity;
  if (granularity_->count() != 0 || (has_default_ && !has_granularity))
    spec.granularity = asked_.granularity;
  if (granularity_->count() == 0 && group_size_->count() != 0)
    spec.granularity = tq::PerGroup<>::name;
  if (spec.granularity != before) spec.axis.reset();  // its default
  if (!tq::is_granularity_name(spec.granularity)) return;
  const auto require = [&](const CLI::Option* option, bool is_used, const std::string& expected) {
    if (option->count() != 0 && !is_used)
      throw UsageError(option->get_name() + ": expected granularity " + expected + ", got " +
                       spec.granularity);
    return option->count() != 0;
  };
  if (require(axis_, spec.uses_axis(), "per_channel or per_group")) spec.axis = asked_axis_;
  if (require(group_size_, spec.uses_group_size(), "per_group"))
    spec.group_size = asked_.group_size;
  if (require(block_rows_, spec.uses_block(), "per_block")) spec.block_rows = asked_.block_rows;
  if (require(block_cols_, spec.uses_block(), "per_block")) spec.block_cols = asked_.block_cols;
}

std::string GranularityOptions::given() const {
  for (const CLI::Option* option : {granularity_, axis_, group_size_, block_rows_, block_cols_})
    if (option->count() != 0) return option->get_name();
  return "";
}

std::optional<std::size_t> GranularityOptions::checkpoint_groups() const {
  for (const CLI::Option* option : {axis_, block_rows_, block_cols_})
    if (option->count() != 0)
      throw UsageError(option->get_name() +
                       ": expected none beside --format or a GGUF file, which has it");
  if (granularity_->count() != 0 && asked_.granularity == tq::PerChannel<>::name) return 0;
  if (granularity_->count() != 0 && asked_.granularity != tq::PerGroup<>::name)
    throw UsageError("--granularity: expected per_group or per_channel beside --format, got " +
                     asked_.granularity);
  if (group_size_->count() == 0) return std::nullopt;
  if (asked_.group_size <= 0)
    throw UsageError("--group-size: expected a positive number, got " +
                     std::to_string(asked_.group_size));
  return static_cast<std::size_t>(asked_.group_size);
}

TypeOptions::TypeOptions(CLI::App& command) {
  command
      .add_option("--type", asked_.type,
                  "a format (" + type_names() + ") or a scheme (" + scheme_names() + ")")
      ->capture_default_str();
  symmetry_ =
      command.add_option("--symmetry", asked_.symmetry, symmetry_names() + symmetry_default);
}

void TypeOptions::apply(tq::QuantSpec& spec) const {
  if (is_type(asked_.type)) {  // with scales: a cast has nothing to choose a range for
    spec.type = asked_.type;
    spec.symmetry = default_symmetry(asked_.type);
  } else {
    spec = scheme_of(asked_.type);
  }
  if (symmetry_->count() != 0) spec.symmetry = asked_.symmetry;
}

bool TypeOptions::is_scheme() const { return !is_type(asked_.type); }

SchemeOptions::SchemeOptions(CLI::App& command) {
  options_.push_back(command
                         .add_option("--type", name_,
                                     "a format (" + type_names() + ") or a scheme (" +
                                         scheme_names() +
                                         "); see tq formats. Of a GGUF file a mix of types: q4_k_m "
                                         "(default), q5_k_m, q8_0, ...")
                         ->capture_default_str());
  granularity_.emplace(command);
  symmetry_ =
      add(command, "--symmetry", &tq::QuantSpec::symmetry, symmetry_names() + symmetry_default);
  scale_type_ = add(command, "--scale-type", &tq::QuantSpec::scale_type, scale_type_names());
  add(command, "--numerics", &tq::QuantSpec::numerics, "rounding as " + numerics_names());
  add(command, "--calibrator", &tq::QuantSpec::calibrator,
      "what a scale covers: " + calibrator_names());
}

// An option that replaces a field of the scheme where it is given.
const CLI::Option* SchemeOptions::add(CLI::App& command, const char* option,
                                      std::string tq::QuantSpec::* field, const std::string& help) {
  const CLI::Option* given = command.add_option(option, asked_.*field, help);
  options_.push_back(given);
  taken_.push_back([this, field, given](tq::QuantSpec& spec) {
    if (given->count() != 0) spec.*field = asked_.*field;
  });
  return given;
}

tq::QuantSpec SchemeOptions::spec() const {
  try {
    tq::QuantSpec spec = scheme_of(name_);
    const bool was_cast = spec.scale_type == tq::Unscaled::name;
    granularity_->apply(spec);
    for (const auto& take : taken_) take(spec);
    // A cast that is to have parameters, be it one for the whole tensor, gets scales.
    if (was_cast && scale_type_->count() == 0 && granularity_->is_chosen())
      spec.scale_type = tq::QuantSpec{}.scale_type;
    validate(spec);
    return spec;
  } catch (const tq::error& e) {
    throw UsageError(e.what());
  }
}

void SchemeOptions::apply(CheckpointChoice& choice) const {
  for (const CLI::Option* option : options_)
    if (option->count() != 0 && option->get_name() != "--type" &&
        option->get_name() != "--symmetry")
      throw UsageError(option->get_name() +
                       ": expected none beside --format or a GGUF file, which has it");
  if (options_.front()->count() != 0) choice.type = name_;
  choice.group_size = granularity_->checkpoint_groups();
  if (asked_.symmetry == "symmetric" || asked_.symmetry == "asymmetric") {
    if (symmetry_->count() != 0) choice.is_symmetric = asked_.symmetry == "symmetric";
  } else {
    throw UsageError("--symmetry: expected symmetric or asymmetric beside --format, got " +
                     asked_.symmetry);
  }
}

std::string SchemeOptions::given() const {
  for (const CLI::Option* option : options_)
    if (option->count() != 0) return option->get_name();
  return granularity_->given();
}

void add_settings(CLI::App& command, CalibratorOptions& options) {
  for (const CalibratorSetting& setting : calibrator_settings)
    command.add_option(setting.option, options.*setting.value,
                       std::string("of ") + setting.calibrator + ": " + setting.help);
}

}  // namespace tool
