// SPDX-License-Identifier: MIT
#pragma once
// ActivationRanges: the largest magnitudes of the inputs of layers, for formats that store a scale
// of activations.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/detail/activation_batches.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// The inputs of a layer.
struct ActivationRange {
  float abs_max = 0.0f;    ///< largest magnitude
  std::size_t inputs = 0;  ///< of a token
};

/// The inputs of layers, by the names of weights or of their modules.
class ActivationRanges {
 public:
  using Map = std::map<std::string, ActivationRange>;

  /// Throws: `errc::not_finite` for a magnitude that is no finite number, or negative.
  explicit ActivationRanges(Map all) : all_(std::move(all)) {
    for (const auto& [name, range] : all_)
      if (!(range.abs_max >= 0) || !std::isfinite(range.abs_max))
        detail::raise_expected(errc::not_finite, "tq::ActivationRanges",
                               {"finite activations of ", io::shown(name)},
                               {"a largest magnitude of ", range.abs_max});
  }
  /// Reads activations [..., inputs] from the files that `Hessians::of_activations` takes.
  /// Throws: as that; `errc::not_finite`, naming the layer.
  [[nodiscard]] static ActivationRanges of_activations(const std::vector<std::string>& data) {
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

  /// The inputs of a module by its name or that of its weight; none: the end of `all`.
  [[nodiscard]] Map::const_iterator find(const std::string& module) const {
    const auto found = all_.find(module + ".weight");
    return found != all_.end() ? found : all_.find(module);
  }
  [[nodiscard]] const Map& all() const noexcept { return all_; }

 private:
  Map all_;
};

}  // namespace tq
