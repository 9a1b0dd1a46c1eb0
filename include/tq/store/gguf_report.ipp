// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/gguf_report.hpp.

#include <tq/store/gguf_report.hpp>

namespace tq {

TQ_API std::uint64_t GgufReport::bytes_before() const {
  std::uint64_t sum = 0;
  for (const GgufWritten& t : tensors) sum += t.bytes_before;
  return sum;
}

TQ_API std::uint64_t GgufReport::bytes_after() const {
  std::uint64_t sum = 0;
  for (const GgufWritten& t : tensors) sum += t.bytes_after;
  return sum;
}

TQ_API double GgufReport::bits_per_weight() const {
  double count = 0;
  for (const GgufWritten& t : tensors) {
    double n = 1;
    for (const std::size_t extent : t.shape) n *= static_cast<double>(extent);
    count += n;
  }
  return count == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / count;
}

}  // namespace tq
