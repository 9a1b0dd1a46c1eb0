// SPDX-License-Identifier: MIT
#include <tq/tq.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

static bool error_expected = false;

// Called by tq where it would throw. An expected error ends the test as passed.
[[noreturn]] void tq::raise(errc code, const std::string& what) {
  std::printf("%s: %s\n", to_string(code), what.c_str());
  std::exit(error_expected ? 0 : 1);
}

int main() {
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  const std::vector<float> x{-1.0F, 0.25F, 1.0F};
  const Params params = tq::calibrate<Params>(x);
  const std::vector<float> back = tq::dequantize(tq::quantize(x, params));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(back[i] - x[i]) > 0.005F) return 1;

  error_expected = true;
  const tq::Shape too_large{1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::printf("no error; rank %d\n", too_large.rank());
  return 1;
}
