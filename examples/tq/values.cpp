// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <tq/io/little_endian.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <string>

namespace tool {

std::vector<float> float_values(const tq::io::Tensor& tensor, bool allow_infinite) {
  std::vector<float> values = tq::io::to_float32(tensor);
  if (tensor.dtype != tq::io::DType::f64) return values;
  const auto refuse = [](const std::string& what, double value) {
    std::ostringstream text;
    text.precision(std::numeric_limits<double>::max_digits10);
    text << "expected values that float32 holds, got " << value << what << "; --exclude it";
    throw tq::error(tq::errc::unsupported, text.str());
  };
  double largest = 0;
  bool is_zero = true;  // in float32
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto exact = tq::io::load_le<double>(tensor.bytes.data() + i * sizeof(double));
    if (std::isinf(values[i]) && !std::isinf(exact) && !allow_infinite)
      refuse(", which would be infinite, in element " + std::to_string(i), exact);
    if (!std::isnan(exact)) largest = std::fmax(largest, std::abs(exact));
    is_zero = is_zero && values[i] == 0;
  }
  if (is_zero && largest != 0) refuse(" as the largest magnitude, which would be 0", largest);
  return values;
}

}  // namespace tool
