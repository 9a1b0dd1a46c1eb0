// SPDX-License-Identifier: MIT
#pragma once
// GemmTuning: how products of matrices are cut for a processor's sake.

#include <tq/config.hpp>

#include <cstddef>

namespace tq::driver {

/// No number changes a result.
struct GemmTuning {
  std::size_t block_bytes = std::size_t{256} << 10;  ///< rows of a block, which a cache keeps
  std::size_t block_rows = 192;                      ///< of a block at most
  std::size_t tasks_per_thread = 5;  ///< so that a thread that was held up does fewer
  std::size_t task_products = std::size_t{1} << 16;  ///< of a task at least
};

inline constexpr GemmTuning gemm_tuning;

/// Bytes ahead that weights are asked for where a product only reads them.
inline constexpr std::ptrdiff_t gemv_bytes_ahead = 8192;

}  // namespace tq::driver
