// SPDX-License-Identifier: MIT
// Rows whose length is no multiple of a step, against those of the next multiple: what a row takes
// more, and how many times as long. A scale a row.

#include "support.hpp"

#include <tq/core/make_params.hpp>
#include <tq/driver/table.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <map>

namespace {

using namespace tq_bench;

using P = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;

constexpr std::size_t lengths[] = {1,  2,  3,   5,   9,   15,  16,  17,  27,  31,   33,  47,
                                   63, 65, 100, 127, 147, 200, 255, 300, 511, 1000, 2304};
constexpr std::size_t step = 2 * tq::driver::block<tq::arch::native>;

void quantize(const tq::Shape& shape, const P& params) {
  tq::quantize_unchecked(tq::ConstTensorView(source(), shape), params,
                         tq::TensorView(target<std::int8_t>(), shape));
}
void dequantize(const tq::Shape& shape, const P& params) {
  tq::dequantize_unchecked(tq::TensorView(reinterpret_cast<const std::int8_t*>(source()), shape),
                           params, tq::TensorView(target<float>(), shape));
}
void fake_quantize(const tq::Shape& shape, const P& params) {
  tq::fake_quantize_unchecked(tq::ConstTensorView(source(), shape), params,
                              tq::TensorView(target<float>(), shape));
}

// The shortest time that a row of one length took, in nanoseconds.
class Rows {
 public:
  Rows(std::size_t elements, std::size_t length)
      : shape_{std::max<std::size_t>(elements / length, 1), length},
        params_(tq::make_params<P>({}, std::vector<float>(shape_[0], 0.03f))) {}
  void measure(void (*run)(const tq::Shape&, const P&)) {
    using clock = std::chrono::steady_clock;
    run(shape_, params_);
    const auto begin = clock::now();
    run(shape_, params_);
    benchmark::ClobberMemory();
    const double ns = std::chrono::duration<double, std::nano>(clock::now() - begin).count();
    best_ = std::min(best_, ns / static_cast<double>(shape_[0]));
  }
  [[nodiscard]] double nanoseconds() const { return best_; }

 private:
  tq::Shape shape_;
  P params_;
  double best_ = 1e30;
};

// The worst length by what a row takes more, and by how many times as long.
void ragged(benchmark::State& state, void (*run)(const tq::Shape&, const P&)) {
  std::map<std::size_t, Rows> all;
  const auto next = [](std::size_t length) { return (length + step - 1) / step * step; };
  for (const std::size_t n : lengths)
    for (const std::size_t length : {n, next(n)})
      all.try_emplace(length, static_cast<std::size_t>(state.range(0)), length);
  const auto measure = [&] {
    for (auto& [length, rows] : all) rows.measure(run);
  };
  measure();  // touches code and data
  for (auto _ : state) measure();
  double more = 0, more_at = 0, ratio = 0, ratio_at = 0;
  for (const std::size_t n : lengths) {
    const double own = all.at(n).nanoseconds(), whole = all.at(next(n)).nanoseconds();
    if (own - whole > more) more = own - whole, more_at = static_cast<double>(n);
    if (own / whole > ratio) ratio = own / whole, ratio_at = static_cast<double>(n);
  }
  state.counters["ns_more"] = more;
  state.counters["ns_more_at"] = more_at;
  state.counters["times"] = ratio;
  state.counters["times_at"] = ratio_at;
}

BENCHMARK_CAPTURE(ragged, quantize, quantize)
    ->Name("ragged_rows/quantize/int8/per_channel_0")
    ->Arg(in_cache);
BENCHMARK_CAPTURE(ragged, dequantize, dequantize)
    ->Name("ragged_rows/dequantize/int8/per_channel_0")
    ->Arg(in_cache);
BENCHMARK_CAPTURE(ragged, fake_quantize, fake_quantize)
    ->Name("ragged_rows/fake_quantize/int8/per_channel_0")
    ->Arg(in_cache);

}  // namespace
