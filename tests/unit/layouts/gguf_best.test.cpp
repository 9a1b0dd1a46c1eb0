// SPDX-License-Identifier: MIT
// The quantizer `best` beside that of ggml, by errors that are computed here in double.
#include <tq/layouts/gguf.hpp>
#include <tq/layouts/gguf/best.hpp>
#include <tq/layouts/gguf/quantize_best.hpp>

#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tq::layouts::gguf;

namespace {

template <class F>
void for_each_searched(F&& f) {
  for (const TypeInfo& info : types)
    static_cast<void>(detail::Blocks::visit(info.type, [&]<class B>(std::type_identity<B> b) {
      if constexpr (Searched<B>) f(b);
    }));
}

template <class B, class Q>
std::vector<float> values_of(std::span<const float> x, const Q& quantizer,
                             std::span<const float> importance = {}) {
  std::vector<std::uint8_t> blocks(x.size() / B::elements * B::bytes);
  quantize<B>(x, blocks, quantizer, importance);
  std::vector<float> out(x.size());
  dequantize<B>(blocks, out);
  return out;
}

double error_of(std::span<const float> x, std::span<const float> y,
                std::span<const float> importance = {}) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = double{y[i]} - double{x[i]};
    sum += (importance.empty() ? 1.0 : double{importance[i % importance.size()]}) * e * e;
  }
  return sum;
}

double decibels(std::span<const float> x, std::span<const float> y) {
  const std::vector<float> zeros(x.size());
  return 10 * std::log10(error_of(x, zeros) / error_of(x, y));
}

std::vector<float> draw(std::size_t n, const std::function<double(inputs::Random&)>& one) {
  return distributions::draw(n, 60, one);
}

// Kinds of weights, also such that a search can fail on.
std::vector<std::pair<std::string, std::vector<float>>> kinds(std::size_t n) {
  using distributions::normal;
  using inputs::Random;
  return {
      {"normal", draw(n, normal)},
      {"small", draw(n, [](Random& r) { return 2e-5 * normal(r); })},
      {"tiny", draw(n, [](Random& r) { return 1e-30 * normal(r); })},
      {"large", draw(n, [](Random& r) { return 1e4 * normal(r); })},
      {"positive", draw(n, [](Random& r) { return r.unit(); })},
      {"negative", draw(n, [](Random& r) { return -r.unit(); })},
      {"shifted up", draw(n, [](Random& r) { return 30 + normal(r); })},
      {"shifted down", draw(n, [](Random& r) { return -30 + normal(r); })},
      {"heavy tails", draw(n, distributions::student)},
      {"sparse", draw(n, [](Random& r) { return r.chance(90) ? 0.0 : normal(r); })},
      {"outliers", draw(n, [](Random& r) { return normal(r) * (r.chance(1) ? 100 : 1); })},
      {"signs", draw(n, [](Random& r) { return r.chance(50) ? 1.0 : -1.0; })},
      {"bits", draw(n, [](Random& r) { return r.chance(50) ? 1.0 : 0.0; })},
      {"constant", std::vector<float>(n, 5.0f)},
      {"negative constant", std::vector<float>(n, -5.0f)},
      {"zeros", std::vector<float>(n)},
  };
}

}  // namespace

TEST_CASE("the guarded search has at most the error of ggml in every 256 values") {
  const std::size_t n = 256 * 8;
  std::vector<float> importance(512);
  inputs::Random r(7);
  for (float& w : importance) w = static_cast<float>(std::exp(distributions::normal(r)));
  for (std::size_t i = 0; i < 16; ++i) importance[i] = 0;
  for (const auto& [name, x] : kinds(n))
    for_each_searched([&, &name = name, &x = x]<class B>(std::type_identity<B>) {
      INFO(info_of(B::type).name << ", " << name);
      for (const std::span<const float> weights :
           {std::span<const float>(), std::span<const float>(importance)}) {
        const std::vector<float> theirs = values_of<B>(x, ggml{}, weights),
                                 ours = values_of<B>(x, best{Effort::guarded}, weights);
        for (std::size_t i = 0; i < n; i += 256) {
          const auto part = [&](std::span<const float> all) { return all.subspan(i, 256); };
          const auto w = weights.empty() ? weights : weights.subspan(i % 512, 256);
          const double allowed = error_of(part(x), part(theirs), w);
          CHECK(error_of(part(x), part(ours), w) <= allowed * (1 + 1e-12));
        }
      }
    });
}

TEST_CASE("a block has the same bytes alone and beside others") {
  const std::size_t n = 256 * 5;  // whole groups of blocks that are searched together, and a rest
  const std::vector<float> importance =
      draw(n, [](inputs::Random& r) { return r.chance(5) ? 0.0 : r.unit(); });
  for (const auto& [name, x] : kinds(n))
    for_each_searched([&, &name = name, &x = x]<class B>(std::type_identity<B>) {
      INFO(info_of(B::type).name << ", " << name);
      const auto bytes_of = [&](std::size_t first, std::size_t count, bool weighted) {
        std::vector<std::uint8_t> blocks(count / B::elements * B::bytes);
        const auto part = [&](std::span<const float> all) { return all.subspan(first, count); };
        quantize<B>(part(x), blocks, best{Effort::fast},
                    weighted ? part(importance) : std::span<const float>());
        return blocks;
      };
      for (const bool weighted : {false, true}) {
        std::vector<std::uint8_t> alone;
        for (std::size_t i = 0; i < n; i += B::elements) {
          const auto block = bytes_of(i, B::elements, weighted);
          alone.insert(alone.end(), block.begin(), block.end());
        }
        CHECK(alone == bytes_of(0, n, weighted));
      }
    });
}

TEST_CASE("the search is finite on every kind of data, and exact on zeros") {
  for (const auto& [name, x] : kinds(256 * 4))
    for_each_searched([&, &name = name, &x = x]<class B>(std::type_identity<B>) {
      INFO(info_of(B::type).name << ", " << name);
      for (const Effort effort : {Effort::fast, Effort::balanced, Effort::slow}) {
        const double error = error_of(x, values_of<B>(x, best{effort}));
        const double energy = error_of(x, std::vector<float>(x.size()));
        CHECK(std::isfinite(error));
        CHECK(error <= energy * (1 + 1e-6));
        if (name == "zeros") CHECK(error == 0);
      }
    });
}

TEST_CASE("Gaussian rows are nearer than with ggml, and more effort pays") {
  const std::vector<float> x = draw(256 * 128, distributions::normal);
  const auto check = [&]<class B>(std::type_identity<B>, double least) {
    const double theirs = decibels(x, values_of<B>(x, ggml{})),
                 fast = decibels(x, values_of<B>(x, best{Effort::fast})),
                 balanced = decibels(x, values_of<B>(x, best{})),
                 slow = decibels(x, values_of<B>(x, best{Effort::slow}));
    INFO(info_of(B::type).name << ": " << theirs << ", " << fast << ", " << balanced << ", "
                               << slow);
    CHECK(fast > theirs);
    CHECK(balanced > fast);
    CHECK(slow >= balanced);
    CHECK(balanced > least);
  };
  check(std::type_identity<Q4_K>{}, 23.10);
  check(std::type_identity<Q5_K>{}, 29.15);
  check(std::type_identity<Q6_K>{}, 35.55);
  check(std::type_identity<Q2_K>{}, 11.65);
  check(std::type_identity<Q3_K>{}, 16.80);
  check(std::type_identity<Q4_0>{}, 21.80);
  check(std::type_identity<Q4_1>{}, 23.15);
  check(std::type_identity<Q5_0>{}, 27.90);
  check(std::type_identity<Q5_1>{}, 29.40);
  check(std::type_identity<Q8_0>{}, 46.00);
  check(std::type_identity<IQ4_NL>{}, 22.50);
  check(std::type_identity<IQ4_XS>{}, 22.45);
}

TEST_CASE("a type at run time gets the blocks of best, or of ggml where there is no search") {
  const std::vector<float> x = draw(1024, distributions::normal);
  const std::vector<float> importance(256, 2.0f);
  for (const TypeInfo& info : types) {
    INFO(info.name);
    std::vector<std::uint8_t> blocks(x.size() / info.elements * info.bytes), wanted(blocks.size());
    if (!has_block(info.type)) {
      test::raises(tq::errc::unsupported, {"tq::layouts::gguf::quantize", info.name.data()},
                   [&] { quantize_best(info.type, x, blocks); });
      continue;
    }
    const auto check = [&](std::span<const float> weights) {
      detail::Blocks::visit(info.type, [&]<class B>(std::type_identity<B>) {
        if constexpr (Searched<B>) quantize<B>(x, wanted, best{}, weights);
        else quantize<B>(x, wanted, ggml{}, weights);
      });
      quantize_best(info.type, x, blocks, weights);
      CHECK(blocks == wanted);
    };
    check({});
    check(importance);
    CHECK(holds_weights(info.type) == (info.type != Type::q8_1 && info.type != Type::q8_K));
  }
}
