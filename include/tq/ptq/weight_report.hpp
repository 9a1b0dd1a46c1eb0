// SPDX-License-Identifier: MIT
#pragma once
// WeightReport: the results of a weight algorithm, for tables and files.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tq {

/// Losses are those of `GptqResult`.
struct WeightReport {
  std::string algorithm{};      ///< that chose the codes
  bool is_fallback = false;     ///< the algorithm did not take it; other numbers are 0
  double loss = 0;              ///< without a Hessian: the sum of absolute errors of weights
  double loss_of_rounding = 0;  ///< of gptq: that of rounding to nearest under the same parameters;
                                ///< else that of algorithm rtn
  std::size_t rounded_rows = 0;     ///< as that of `GptqResult`
  std::uint64_t changed_codes = 0;  ///< by coordinate descent
  std::uint64_t tokens = 0;         ///< 0 without a Hessian
  std::size_t dead_columns = 0;
  double damping = 0;  ///< lambda

  friend bool operator==(const WeightReport&, const WeightReport&) = default;
};

}  // namespace tq
