// SPDX-License-Identifier: MIT
// tq hessian: the mean products of the inputs of layers, exactly, for tq quantize --algorithm.
#include "hessian_report.hpp"
#include "output_files.hpp"
#include "state_file.hpp"

#include <tq/files/failure.hpp>
#include <tq/store/activation_files.hpp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/own_file.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace tool {

namespace {

using tq::errc;

// An empty Hessian with the steps for the range that tq calibrate saw.
tq::Hessian with_range_of(const AnyObserver& observer, int bits, const std::string& file) {
  const auto* seen = std::get_if<ObserverOf<tq::AbsMax>>(&observer);
  const tq::AnyGranularity wanted(
      tq::QuantSpec{.granularity = std::string(tq::PerChannel<>::name), .axis = -1});
  if (seen == nullptr || !(seen->granularity() == wanted))
    throw tq::error(errc::bad_argument, file + ": tensor " + tq::io::shown(name_of(observer)) +
                                            ": expected observer abs_max " + to_string(wanted) +
                                            ", got " + kind_of(observer) + " " +
                                            to_string(granularity_of(observer)));
  return tq::Hessian(seen->accumulators(), bits);
}

// The Hessian that the tokens of a name are added to.
class Start {
 public:
  explicit Start(const HessianOptions& options) : options_(options) {
    if (!options.ranges.empty()) ranges_ = read_states(options.ranges);
    if (!options.start.empty()) file_ = std::make_shared<const tq::HessianFile>(options.start);
  }
  [[nodiscard]] const tq::HessianFile* file() const { return file_.get(); }

  [[nodiscard]] std::optional<tq::Hessian> operator()(const std::string& name) const {
    if (file_ && file_->contains(name)) return file_->read(name);
    if (options_.ranges.empty()) return std::nullopt;
    const auto found = ranges_.find(name);
    if (found == ranges_.end())
      throw tq::error(errc::no_data, options_.ranges + ": expected the range of " +
                                         tq::io::shown(name) + ", got none");
    return with_range_of(found->second, options_.bits, options_.ranges);
  }

 private:
  const HessianOptions& options_;
  States ranges_;
  std::shared_ptr<const tq::HessianFile> file_;
};

}  // namespace

void hessian(const HessianOptions& options) {
  require_extension("-o", options.out, {".npz"});
  if (!options.ranges.empty() && !options.start.empty())
    throw UsageError("--ranges: expected none beside --continue, whose Hessians have their steps");
  if (!options.start.empty()) require_other_file("-o", options.out, {options.start}, "--continue");
  require_other_file("-o", options.out, tq::activation_files(options.data), "DATA");
  require_place(options.out, options.overwrite);
  const Start start(options);
  const tq::Hessians made = tq::Hessians::of_activations(
      options.data,
      {.bits = options.bits, .start = [&](const std::string& name) { return start(name); }});
  tq::HessianWriter writer(options.out, tq::io::Links::replaced);
  HessianReport report;
  if (start.file() != nullptr)
    for (const std::string& name : start.file()->names())
      if (!made.contains(name)) {
        const tq::Hessian kept = start.file()->read(name);
        writer.add(name, kept);
        report.add(name, kept);
      }
  for (const std::string& name : made.names()) {
    const tq::Hessian h = made.get(name);
    writer.add(name, h);
    report.add(name, h);
  }
  writer.finish();
  tq::store::mark_as_own(options.out);
  report.print(options.data, options.out, options.json, options.talk);
}

}  // namespace tool
