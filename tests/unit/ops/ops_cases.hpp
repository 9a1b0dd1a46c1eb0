// SPDX-License-Identifier: MIT
#pragma once
// Every operation on one random tensor, against the oracle: strides of source and target, packing,
// in place.

#include <tq/core/make_params.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/tensor_oracle.hpp"
#include "support/thread_executor.hpp"

namespace ops_cases {

// The work of an operation around the kernels does not depend on the instruction set, and scalar
// kernels compile in a fraction of the time; some cases run with the kernels of this build as well.
using Scalar = tq::backend::native<tq::arch::scalar>;

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a == b;
}
inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), oracle::same);
}

// A target with strides: its elements, and whether the gaps still hold the guard.
template <class T>
struct Target {
  std::vector<T> memory;
  tq::TensorView<T> view;
  T guard;
  Target(const tq::Shape& shape, const oracle::Layout& l, T g)
      : memory(l.extent, g), view(memory.data() + l.first, shape, l.strides), guard(g) {}
  [[nodiscard]] std::vector<T> row_major() const {
    std::vector<T> out;
    oracle::each_index(view.shape(), [&](const std::vector<std::size_t>& i) {
      out.push_back(view.data()[oracle::offset(i, view.strides())]);
    });
    return out;
  }
  [[nodiscard]] bool gaps_intact() const {
    std::vector<T> copy = memory;
    const std::ptrdiff_t first = view.data() - memory.data();
    oracle::each_index(view.shape(), [&](const std::vector<std::size_t>& i) {
      copy[static_cast<std::size_t>(first + oracle::offset(i, view.strides()))] = guard;
    });
    return same(copy, std::vector<T>(copy.size(), guard));
  }
};

template <class B, class Pack, class Params, class N>
void check_packed(std::string& bad, tq::ConstTensorView x, const Params& p, const N& n,
                  const std::vector<typename Params::code_type>& codes,
                  const std::vector<float>& values, const oracle::Layout& to) {
  const auto q = tq::quantize<Pack>(x, p, n, tq::on<B>);
  const std::vector<std::byte> wanted = oracle::bytes<typename Params::type, Pack>(codes);
  if (!std::equal(wanted.begin(), wanted.end(), q.bytes().begin(), q.bytes().end()))
    bad += "bytes " + std::string(Pack::name) + "; ";
  if (!same(tq::dequantize(q, tq::on<B>), values))
    bad += "dequantize " + std::string(Pack::name) + "; ";
  Target<float> out(x.shape(), to, -77.0f);
  tq::dequantize(q, out.view, tq::on<B>);
  if (!same(out.row_major(), values) || !out.gaps_intact())
    bad += "dequantize to strides " + std::string(Pack::name) + "; ";
}

template <class Params>
Params random_params(const typename Params::granularity_type& g, std::size_t n, inputs::Random& r) {
  std::vector<float> scales(n);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? n : 0);
  for (float& s : scales) s = r.chance(90) ? inputs::ordinary_scale(r) : inputs::scale(r);
  for (std::int32_t& z : zeros) z = r.between(Params::codes.min, Params::codes.max);
  return tq::make_params<Params>(g, std::move(scales), std::move(zeros));
}

/// All of it for one shape. `N` must not be stochastic where targets have strides.
template <class Params, class B = Scalar, class N = tq::Numerics<>>
std::string check(const typename Params::granularity_type& g, const tq::Shape& block,
                  std::size_t slots, const tq::Shape& shape, inputs::Random& r, const N& n = {}) {
  using code_type = typename Params::code_type;
  std::string bad;
  if (slots != param_count(g, shape)) return "param_count";
  const Params p = random_params<Params>(g, slots, r);
  const oracle::Layout from = oracle::layout(shape, r, r.chance(40), r.chance(40), r.chance(20));
  const oracle::Layout to = oracle::layout(shape, r, r.chance(40), r.chance(40), r.chance(20));
  std::vector<float> memory(from.extent, 0.0f);
  const tq::ConstTensorView x(memory.data() + from.first, shape, from.strides);
  const bool specials = r.chance(50);
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    const float s = p.scales()[oracle::param(i, shape, block)];
    memory[static_cast<std::size_t>(from.first + oracle::offset(i, from.strides))] =
        specials ? inputs::value(r, s) : inputs::ordinary_value(r, s);
  });
  const std::vector<code_type> codes = oracle::codes(x, p, block, n);
  const std::vector<float> values = oracle::values(codes, shape, p, block);

  std::vector<code_type> flat(shape.size(), code_type{99});
  tq::quantize(x, p, flat, n, tq::on<B>);
  if (!same(flat, codes)) bad += "quantize; ";
  Target<code_type> strided(shape, to, code_type{99});
  tq::quantize(x, p, strided.view, n, tq::on<B>);
  if (!same(strided.row_major(), codes) || !strided.gaps_intact()) bad += "quantize to strides; ";

  std::vector<float> real(shape.size());
  tq::dequantize(tq::TensorView<const code_type>(flat.data(), shape), p,
                 tq::TensorView<float>(real.data(), shape), tq::on<B>);
  if (!same(real, values)) bad += "dequantize; ";
  Target<float> out(shape, from, -77.0f);
  tq::dequantize(strided.view, p, out.view, tq::on<B>);
  if (!same(out.row_major(), values) || !out.gaps_intact()) bad += "dequantize between strides; ";

  if (!same(tq::fake_quantize(x, p, n, tq::on<B>), values)) bad += "fake_quantize; ";
  Target<float> fake(shape, to, -77.0f);
  tq::fake_quantize(x, p, fake.view, n, tq::on<B>);
  if (!same(fake.row_major(), values) || !fake.gaps_intact()) bad += "fake_quantize to strides; ";
  Target<float> in_place(shape, from, -77.0f);
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    const std::ptrdiff_t o = oracle::offset(i, from.strides);
    in_place.view.data()[o] = x.data()[o];
  });
  tq::fake_quantize(in_place.view, p, in_place.view, n, tq::on<B>);
  if (!same(in_place.row_major(), values) || !in_place.gaps_intact())
    bad += "fake_quantize in place; ";

  check_packed<B, tq::LowFirst>(bad, x, p, n, codes, values, to);
  check_packed<B, tq::HighFirst>(bad, x, p, n, codes, values, to);
  check_packed<B, tq::Unpacked>(bad, x, p, n, codes, values, to);

  // Dynamic: the same codes as with the parameters of each block's range.
  std::vector<float> scales(slots);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? slots : 0);
  const std::vector<tq::Range> ranges = oracle::ranges(x, block);
  for (std::size_t i = 0; i < slots; ++i) {
    const tq::Affine a = tq::affine_for<typename Params::type, typename Params::symmetry_type, N>(
        i < ranges.size() ? ranges[i] : tq::Range{0, 0});
    scales[i] = a.scale;
    if constexpr (Params::has_zero_point) zeros[i] = a.zero_point;
  }
  const Params own = tq::make_params<Params>(g, scales, zeros);
  const std::vector<code_type> own_codes = oracle::codes(x, own, block, n);
  const auto q = tq::quantize_dynamic<Params, tq::Unpacked>(x, g, n, tq::on<B>);
  if (!(q.params() == own)) bad += "parameters of quantize_dynamic; ";
  if (!std::equal(own_codes.begin(), own_codes.end(), q.codes().begin(), q.codes().end()))
    bad += "quantize_dynamic; ";
  Target<code_type> dynamic(shape, to, code_type{99});
  tq::quantize_dynamic<Params>(x, tq::detail::dynamic_outputs<Params>(dynamic.view, scales, zeros),
                               g, n, test::Backwards{}, tq::on<B>);
  if (!same(dynamic.row_major(), own_codes) || !dynamic.gaps_intact())
    bad += "quantize_dynamic to strides; ";
  return bad.empty() ? bad
                     : bad + std::string(Params::granularity_type::name) + " over " +
                           to_string(shape) + ", block " + to_string(block) + "\n";
}

/// `rounds` random shapes of every rank from `least` on.
template <class Params, class B = Scalar, class N = tq::Numerics<>>
void check_all(const typename Params::granularity_type& g, int least, std::uint64_t seed,
               int rounds = 8, const N& n = {}) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int rank = least; rank <= 8; ++rank)
    for (int round = 0; round < rounds; ++round) {
      const tq::Shape shape = oracle::shape(r, rank, 700);
      const std::string bad =
          check<Params, B, N>(g, oracle::block(g, shape), oracle::slots(g, shape), shape, r, n);
      if (!bad.empty() && ++failed <= 5) failures += bad;
    }
  INFO(Params::type::name << " " << Params::symmetry_type::name << ": " << failed
                          << " tensors differ\n"
                          << failures);
  CHECK(failed == 0);
}

}  // namespace ops_cases
