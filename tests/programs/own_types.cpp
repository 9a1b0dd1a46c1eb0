// SPDX-License-Identifier: MIT
// A number format, a code book, an accumulator and a granularity of the user's own.
#include <tq/tq.hpp>

#include <cmath>
#include <iostream>

struct float5_e2m2fn : tq::FloatElement<tq::FloatFormat<2, 2, 1, tq::FloatSpecials::finite>> {
  static constexpr std::string_view name = "float5_e2m2fn";
};
struct posit4_table {
  static constexpr std::string_view name = "posit4";
  static constexpr std::array<float, 15> values{-4,    -2,   -1.5f, -1, -0.75f, -0.5f, -0.25f, 0,
                                                0.25f, 0.5f, 0.75f, 1,  1.5f,   2,     4};
};
struct ThreeSigma {  // three standard deviations around 0
  double squares = 0;
  std::uint64_t n = 0;
  void add(std::span<const float> x) {
    for (float v : x)
      if (std::isfinite(v)) squares += double(v) * v, ++n;
  }
  void merge(const ThreeSigma& o) { squares += o.squares, n += o.n; }
  bool empty() const { return n == 0; }
  tq::Range range() const {
    const float r = float(3 * std::sqrt(squares / double(n)));
    return {-r, r};
  }
};
struct PerRowPair {  // two rows share a scale
  static constexpr std::string_view name = "per_row_pair";
  static constexpr tq::errc check(const tq::Shape& s) noexcept {
    return s.rank() == 2 ? tq::errc::ok : tq::errc::bad_axis;
  }
  static constexpr tq::Shape block(const tq::Shape& s) noexcept {
    return {std::min<std::size_t>(2, std::max<std::size_t>(s[0], 1)),
            std::max<std::size_t>(s[1], 1)};
  }
  friend constexpr bool operator==(const PerRowPair&, const PerRowPair&) = default;
};

int main() {
  std::vector<float> data(64 * 100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::sin(0.1f * float(i));
  const auto w = tq::as_tensor(data, {64, 100});
  const auto row = [&](const auto& params) {
    std::cout << params.scales().size() << " scales, "
              << tq::compare(w, tq::fake_quantize(w, params)).sqnr_db << " dB\n";
  };
  using R8 = tq::QuantParams<tq::int8, PerRowPair, tq::Symmetric>;
  row(tq::calibrate<tq::QuantParams<float5_e2m2fn, tq::PerGroup<32>, tq::Symmetric>>(w));
  row(tq::calibrate<tq::QuantParams<tq::Codebook<posit4_table>, tq::PerGroup<32>, tq::Symmetric>>(
      w));
  row(tq::calibrate<R8>(w));
  tq::Observer<ThreeSigma, PerRowPair> sigma;
  sigma.observe(w);
  row(tq::calibrate<R8>(sigma));
}
