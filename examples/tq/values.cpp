// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <tq/files/little_endian.hpp>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace tool {

namespace {

[[noreturn]] void refuse(const std::string& what, double value) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << "expected values that float32 holds, got " << value << what << "; --exclude it";
  throw tq::error(tq::errc::unsupported, text.str());
}

}  // namespace

void FloatReader::begin(std::size_t room) {
  held_ = nullptr;
  largest_ = 0;
  is_zero_ = true;
  static_cast<void>(grown(values_, room));
}

void FloatReader::read(const StoredTensor& tensor, std::size_t first, std::span<float> values) {
  const std::span<const std::byte> bytes = model_.piece(tensor, first, values.size());
  tq::io::to_float32(tensor.dtype, bytes, values);
  if (tensor.dtype == tq::io::DType::f64) require_kept(bytes, values, first);
}

void FloatReader::require_kept(std::span<const std::byte> exact, std::span<const float> values,
                               std::size_t first) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = tq::io::load_le<double>(exact.data() + i * sizeof(double));
    if (std::isinf(values[i]) && !std::isinf(x) && !allow_infinite_)
      refuse(", which would be infinite, in element " + std::to_string(first + i), x);
    if (!std::isnan(x)) largest_ = std::fmax(largest_, std::abs(x));
    is_zero_ = is_zero_ && values[i] == 0;
  }
}

void FloatReader::refuse_zero() const {
  refuse(" as the largest magnitude, which would be 0", largest_);
}

}  // namespace tool
