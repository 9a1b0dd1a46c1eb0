// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/hessian_file.hpp.

#include <tq/scheme/closest_name.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/missing_file.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace tq {

namespace store::detail {

TQ_API std::string part_of(const std::string& name, std::string_view ending) {
  return name + std::string(ending);
}

}  // namespace store::detail

TQ_API void HessianWriter::add(const std::string& name, const Hessian& hessian) {
  using store::detail::part_of;
  const Hessian::State state = hessian.state();
  if (name.empty())
    raise(errc::bad_argument, "tq::HessianWriter: expected a name, got an empty one");
  const std::vector<std::int32_t> exponents(state.exponents.begin(), state.exponents.end());
  const std::array<std::uint64_t, 3> counts{static_cast<std::uint64_t>(state.bits), state.tokens,
                                            state.left_out};
  file_.add(
      io::from_values<std::uint64_t>(part_of(name, store::detail::hessian_counts), {3}, counts));
  file_.add(io::from_values<std::int32_t>(part_of(name, store::detail::hessian_exponents),
                                          {exponents.size()}, exponents));
  file_.add(io::from_values<std::int64_t>(part_of(name, store::detail::hessian_sums),
                                          {state.sums.size()}, state.sums));
}

TQ_API HessianFile::HessianFile(const std::filesystem::path& path)
    : file_(opened(path)), path_(path) {
  using namespace store::detail;
  for (const io::TensorInfo& tensor : file_.tensors()) {
    const std::string_view name = tensor.name;
    const auto found = std::ranges::find_if(
        endings, [&](std::string_view ending) { return name.ends_with(ending); });
    if (found == endings.end()) refuse("expected Hessians, got tensor " + io::shown(tensor.name));
    if (*found == hessian_counts) names_.emplace_back(name.substr(0, name.size() - found->size()));
  }
  if (names_.size() * endings.size() != file_.tensors().size())
    refuse("expected the counts, exponents and sums of each Hessian, got " +
           std::to_string(file_.tensors().size()) + " tensors for " +
           std::to_string(names_.size()) + " of them");
}

TQ_API bool HessianFile::contains(std::string_view name) const {
  return std::ranges::find(names_, name) != names_.end();
}

TQ_API std::size_t HessianFile::inputs(const std::string& name) const {
  using namespace store::detail;
  require(name);
  const io::TensorInfo* info = file_.find(part_of(name, hessian_exponents));
  if (info == nullptr || info->shape.size() != 1)
    refuse("Hessian " + io::shown(name) + ": expected exponents of one axis");
  return info->shape[0];
}

TQ_API Hessian HessianFile::read(const std::string& name) const {
  using store::detail::part_of;
  require(name);
  io::TensorFile reader = file_.another();
  const auto counts = part<std::uint64_t>(reader, part_of(name, store::detail::hessian_counts));
  const auto exponents =
      part<std::int32_t>(reader, part_of(name, store::detail::hessian_exponents));
  if (counts.size() != 3)
    refuse("Hessian " + io::shown(name) + ": expected 3 counts, got " +
           std::to_string(counts.size()));
  return store::detail::in_context(
      [&] { return path_.string() + ": Hessian " + io::shown(name); },
      [&] {
        return Hessian::from_state(
            {counts[0] == 16 || counts[0] == 14 ? static_cast<int>(counts[0]) : 0,
             counts[1],
             counts[2],
             {exponents.begin(), exponents.end()},
             part<std::int64_t>(reader, part_of(name, store::detail::hessian_sums))});
      });
}

TQ_API io::TensorFile HessianFile::opened(const std::filesystem::path& path) {
  store::require_there(path);
  return io::open_tensor_file(path);
}

TQ_API void HessianFile::require(const std::string& name) const {
  if (!contains(name))
    detail::raise_expected(errc::unknown_name, path_.string(), {"the name of a Hessian"},
                           {io::shown(name), did_you_mean(name, names_)});
}

TQ_API void HessianFile::refuse(const std::string& text) const {
  detail::raise_text(errc::malformed, {path_.string(), ": ", text});
}

}  // namespace tq
