// SPDX-License-Identifier: MIT
#pragma once
// ActivationRanges: the largest magnitudes of the inputs of layers, for formats that store a scale
// of activations.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/detail/activation_batches.hpp>
#include <tq/store/detail/digest.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// The largest magnitudes of the inputs of layers, by the names of weights or of their modules.
class ActivationRanges {
 public:
  /// Throws: `errc::not_finite` for magnitudes that are no finite numbers, or negative.
  explicit ActivationRanges(std::map<std::string, float> most) : most_(std::move(most)) {
    for (const auto& [name, magnitude] : most_)
      if (!(magnitude >= 0) || !std::isfinite(magnitude))
        raise(errc::not_finite, "tq::ActivationRanges: expected finite activations of " +
                                    io::shown(name) + ", got others");
  }
  /// Those of activations [..., inputs], from the files that `Hessians::of_activations` takes.
  /// Throws: as that; `errc::not_finite`, naming the layer.
  [[nodiscard]] static ActivationRanges of_activations(const std::vector<std::string>& data) {
    const store::detail::ActivationBatches batches(data);
    std::map<std::string, float> most;
    for (const std::string& name : batches.names()) {
      std::uint32_t bits = 0;  // magnitudes, NaN above all, are ordered as their bits are
      batches.for_each_piece(name, [&](const ConstTensorView& x) {
        const auto* const values = static_cast<const float*>(x.data());
        for (std::size_t i = 0; i < x.size(); ++i)
          bits = std::max(bits, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffu);
      });
      most.emplace(name, std::bit_cast<float>(bits));
    }
    return ActivationRanges(std::move(most));
  }

  /// The magnitude of a layer's inputs, or nothing.
  [[nodiscard]] std::optional<float> find(const std::string& module) const {
    for (const std::string& name : {module + ".weight", module})
      if (const auto found = most_.find(name); found != most_.end()) return found->second;
    return std::nullopt;
  }
  [[nodiscard]] const std::map<std::string, float>& all() const noexcept { return most_; }

 private:
  std::map<std::string, float> most_;
};

}  // namespace tq
