// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/conversion_report.hpp.

#include <tq/store/conversion_report.hpp>

namespace tq {

TQ_API ConversionTotals ConversionReport::totals() const {
  ConversionTotals sum;
  for (const ConvertedTensor& t : tensors) {
    ++sum.tensors;
    sum.bytes_before += t.source->bytes;
    sum.bytes_after += t.bytes_after();
    sum.nonfinite.add(t.nonfinite);
    sum.decoded += t.is_decoded ? 1 : 0;
    if (!t.is_quantized()) continue;
    ++sum.quantized;
    sum.weights += t.source->elements();
    sum.weight_bytes += t.bytes_after();
  }
  for (const io::OtherMember& other : copied_unread) {
    sum.bytes_before += other.raw->size_bytes;
    sum.bytes_after += other.raw->size_bytes;
  }
  return sum;
}

}  // namespace tq
