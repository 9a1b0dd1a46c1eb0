// SPDX-License-Identifier: MIT
#pragma once
// isa_info: which kernels a program runs.

#include <tq/ops/backend/backend.hpp>
#include <tq/ops/backend/library.hpp>
#include <tq/ops/backend/on.hpp>

#include <concepts>
#include <string_view>
#include <vector>

namespace tq {

/// Names of instruction sets, as `isa_info` gives them.
struct IsaInfo {
  std::string_view running;             ///< as TQ_ISA takes it ("avx2"), or "scalar"
  std::vector<std::string_view> built;  ///< all that there are kernels for, the best one last
  bool from_library;                    ///< chosen when the program runs, not when it is compiled
};

/// The instruction sets that the kernels of a backend, by default `default_backend`, are made for,
/// and which this processor runs: `isa_info(tq::on<backend::library>)`.
template <Backend B = default_backend>
[[nodiscard]] IsaInfo isa_info(On<B> = {}) {
  if constexpr (std::same_as<B, backend::library>) {
    IsaInfo info{kernel_library::table().isa, {}, true};
    for (const kernel_library::Table* t : kernel_library::tables()) info.built.push_back(t->isa);
    return info;
  } else {
    return {B::isa(), {B::isa()}, false};
  }
}

}  // namespace tq
