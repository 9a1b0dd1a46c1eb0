// SPDX-License-Identifier: MIT
// Sums of products into codes by every rule, beside one rule by its scalar form. The sums are in
// the cache, where a product leaves them.

#include "support.hpp"

#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize_double.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantize_single.hpp>
#include <tq/linear/output/requantize_torch.hpp>
#include <tq/linear/output/requantize_up.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace tq_bench;

// The sums of some rows of outputs, and a stage with a factor and a bias for each output.
template <class Rule>
struct Sums {
  std::vector<std::int32_t> sums;
  tq::OutputStage<Rule> stage;

  explicit Sums(std::size_t n) : sums(n), stage(make_stage()) {
    std::mt19937 r(7);
    for (std::int32_t& s : sums) s = static_cast<std::int32_t>(r() % 400'001) - 200'000;
  }

 private:
  static tq::OutputStage<Rule> make_stage() {
    std::vector<double> factors(columns);
    for (std::size_t i = 0; i < columns; ++i)
      factors[i] = 5e-4 + 1e-7 * static_cast<double>(i % 97);
    using Bias = typename tq::OutputStage<Rule>::bias_type;
    return tq::OutputStage<Rule>(factors, 3, -128, 127, std::vector<Bias>(columns, Bias{100}));
  }
};

template <class Rule>
void lanes(benchmark::State& state) {
  const Sums<Rule> all(static_cast<std::size_t>(state.range(0)));
  run(state, 5, [&] {
    for (std::size_t i = 0; i < all.sums.size(); i += columns)
      all.stage.template row<tq::arch::native>(all.sums.data() + i, 0, columns,
                                               target<std::int8_t>() + i);
  });
}

template <class Rule>
void scalar(benchmark::State& state) {
  const Sums<Rule> all(static_cast<std::size_t>(state.range(0)));
  run(state, 5, [&] {
    auto* const out = target<std::int8_t>();
    for (std::size_t i = 0; i < all.sums.size(); ++i)
      out[i] = static_cast<std::int8_t>(all.stage(all.sums[i], i % columns));
  });
}

BENCHMARK(lanes<tq::RequantizeFloat>)->Name("requantize/int8/float")->Arg(in_cache);
BENCHMARK(lanes<tq::RequantizeTorch>)->Name("requantize/int8/torch")->Arg(in_cache);
BENCHMARK(lanes<tq::RequantizeDouble>)->Name("requantize/int8/double")->Arg(in_cache);
BENCHMARK(lanes<tq::RequantizeSingle>)->Name("requantize/int8/single")->Arg(in_cache);
BENCHMARK(lanes<tq::RequantizeUp>)->Name("requantize/int8/up")->Arg(in_cache);
BENCHMARK(scalar<tq::RequantizeDouble>)->Name("requantize/int8/double/scalar")->Arg(in_cache);

}  // namespace
