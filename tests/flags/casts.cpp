// SPDX-License-Identifier: MIT
// Built with a flag that changes what plain C++ means: returns 0 where every code of small floats
// is still decoded to its value, and values are encoded as the scalar reference does.
#include <tq/core/float_elements.hpp>
#include <tq/ops/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace {

using Reference = tq::backend::native<tq::arch::scalar>;

template <class T>
int wrong_codes() {
  using code_type = typename T::code_type;
  std::vector<code_type> codes(std::size_t{1} << T::format::bits);
  for (std::size_t c = 0; c < codes.size(); ++c) codes[c] = static_cast<code_type>(c);
  const std::vector<float> values = tq::cast_from<T>(std::span<const code_type>(codes));
  const std::span<const float> x(values);
  const bool encoded = tq::cast_to<T>(x) == tq::cast_to<T>(x, tq::on<Reference>);
  int wrong = encoded ? 0 : 1;
  for (std::size_t c = 0; c < codes.size(); ++c) {
    const float value = T::format::decode(static_cast<std::uint32_t>(c));
    const bool both_nan = value != value && values[c] != values[c];
    if (values[c] != value && !both_nan) ++wrong;
  }
  if (wrong != 0) std::printf("%s: %d wrong\n", T::name.data(), wrong);
  return wrong;
}

}  // namespace

int main() {
  const int wrong = wrong_codes<tq::float16>() + wrong_codes<tq::float8_e4m3fn>() +
                    wrong_codes<tq::float8_e8m0fnu>() + wrong_codes<tq::float4_e2m1fn>();
  return wrong == 0 ? 0 : 1;
}
