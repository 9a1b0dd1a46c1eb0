// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/activation_ranges.hpp.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/activation_ranges.hpp>
#include <tq/store/detail/activation_batches.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tq {

TQ_API ActivationRanges::ActivationRanges(Map all) : all_(std::move(all)) {
  for (const auto& [name, range] : all_)
    if (!(range.abs_max >= 0) || !std::isfinite(range.abs_max))
      detail::raise_expected(errc::not_finite, "tq::ActivationRanges",
                             {"finite activations of ", io::shown(name)},
                             {"a largest magnitude of ", range.abs_max});
}

TQ_API ActivationRanges ActivationRanges::of_activations(const std::vector<std::string>& data) {
  const store::detail::ActivationBatches batches(data);
  Map all;
  for (const std::string& name : batches.names()) {
    std::uint32_t most = 0;  // magnitudes, NaN above all, are ordered as their bits are
    batches.for_each_piece(name, [&](const ConstTensorView& x) {
      const auto* const values = static_cast<const float*>(x.data());
      std::uint32_t of_piece = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        of_piece = std::max(of_piece, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffu);
      most = std::max(most, of_piece);
    });
    all.emplace(name, ActivationRange{std::bit_cast<float>(most), batches.inputs(name)});
  }
  return ActivationRanges(std::move(all));
}

TQ_API auto ActivationRanges::find(const std::string& module) const -> Map::const_iterator {
  const auto found = all_.find(module + ".weight");
  return found != all_.end() ? found : all_.find(module);
}

}  // namespace tq
