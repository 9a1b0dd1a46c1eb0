// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/hessians.hpp.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/detail/activation_batches.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/hessians.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace tq {

TQ_API Hessians::Hessians(std::map<std::string, Hessian> all) {
  auto held = std::make_shared<const std::map<std::string, Hessian>>(std::move(all));
  store::detail::Digest digest;
  for (const auto& [name, hessian] : *held) {
    names_.push_back(name);
    const Hessian::State state = hessian.state();
    digest.add(name).add(state.tokens).add(static_cast<std::uint64_t>(state.bits));
    for (const int e : state.exponents) digest.add(static_cast<std::uint64_t>(e));
    for (const std::int64_t sum : state.sums) digest.add(static_cast<std::uint64_t>(sum));
  }
  digest_ = digest.text();
  inputs_ = [held](const std::string& name) { return held->at(name).inputs(); };
  get_ = [held](const std::string& name) { return held->at(name); };
}

TQ_API Hessians Hessians::of_file(const std::filesystem::path& path) {
  auto file = std::make_shared<const HessianFile>(path);
  return Hessians(
      file->names(), {path}, [file](const std::string& name) { return file->inputs(name); },
      [file](const std::string& name) { return file->read(name); });
}

TQ_API Hessians Hessians::of_activations(const std::vector<std::string>& data,
                                         const ActivationOptions& options) {
  tq::detail::require_bits("tq::Hessians::of_activations", options.bits);
  auto batches = std::make_shared<const store::detail::ActivationBatches>(data);
  Hessians out(
      batches->names(), batches->files(),
      [batches](const std::string& name) { return batches->inputs(name); },
      [batches, options](const std::string& name) {
        return batches->hessian(name, options.bits,
                                options.start ? options.start(name) : std::nullopt);
      });
  if (!options.start)
    out.get_groups_ = [batches, options](const std::string& name, std::size_t groups) {
      return batches->hessians(name, options.bits, groups);
    };
  return out;
}

TQ_API bool Hessians::contains(const std::string& name) const {
  return std::ranges::find(names_, name) != names_.end();
}

TQ_API Hessian Hessians::get(const std::string& name) const {
  require(name);
  return get_(name);
}

TQ_API HessianStack<Hessian> Hessians::get_groups(const std::string& name,
                                                  std::size_t groups) const {
  require(name);
  if (get_groups_) return get_groups_(name, groups);
  return HessianStack<Hessian>::of_whole(get_(name), groups);
}

TQ_API std::size_t Hessians::inputs(const std::string& name) const {
  require(name);
  return inputs_(name);
}

TQ_API std::optional<std::string> Hessians::name_for(const std::string& weight) const {
  if (contains(weight)) return weight;
  constexpr std::string_view ending = ".weight";
  if (weight.ends_with(ending))
    if (std::string module = weight.substr(0, weight.size() - ending.size()); contains(module))
      return module;
  return std::nullopt;
}

TQ_API Hessians::Hessians(std::vector<std::string> names, std::vector<std::filesystem::path> files,
                          Inputs inputs, Get get)
    : names_(std::move(names)),
      files_(std::move(files)),
      inputs_(std::move(inputs)),
      get_(std::move(get)) {}

TQ_API void Hessians::require(const std::string& name) const {
  if (!contains(name))
    detail::raise_expected(errc::unknown_name, "tq::Hessians", {"the name of a Hessian"},
                           {io::shown(name), did_you_mean(name, names_)});
}

}  // namespace tq
