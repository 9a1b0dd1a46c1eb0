// SPDX-License-Identifier: MIT
#pragma once
// Tensors of three axes cut into blocks of every kind, and what quantize_dynamic must make of them:
// the parameters of `calibrate` by the extremes, and the codes of `quantize`, bit for bit.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/share.hpp"
#include "support/tensor_oracle.hpp"

namespace dynamic_cases {

using Scalar = tq::backend::native<tq::arch::scalar>;  // quick to compile

// Blocks of any shape, so that one type of parameters serves for all of them.
struct Blocks {
  static constexpr std::string_view name = "blocks";
  tq::Shape extents;
  [[nodiscard]] tq::errc check(const tq::Shape& s) const noexcept {
    return s.rank() == extents.rank() ? tq::errc::ok : tq::errc::bad_axis;
  }
  [[nodiscard]] tq::Shape block(const tq::Shape& s) const noexcept {
    tq::Shape b = s;
    for (int i = 0; i < s.rank(); ++i) b[i] = std::min(extents[i], std::max<std::size_t>(s[i], 1));
    return b;
  }
  friend bool operator==(const Blocks&, const Blocks&) = default;
};

// One tensor, and what was seen of its blocks.
struct Tensor {
  std::vector<float> memory;
  tq::ConstTensorView x;
  Blocks granularity;
  std::vector<tq::Range> ranges;
  tq::Observer<tq::MinMax, Blocks> observer;
  bool all_seen = true;  // whether every block has a finite value
};

enum class Values : std::uint8_t { ordinary, any, zeros, negative_zeros, denormals, none_finite };

inline float value_of(Values kind, float scale, inputs::Random& r) {
  switch (kind) {
    case Values::ordinary: return inputs::ordinary_value(r, scale);
    case Values::any: return inputs::value(r, scale);
    case Values::zeros: return 0.0f;
    case Values::negative_zeros: return -0.0f;
    case Values::denormals: return std::ldexp(static_cast<float>(r.between(-3, 3)), -149);
    case Values::none_finite: break;
  }
  return r.chance(50) ? std::nanf("")
                      : (r.chance(50) ? 1.0f : -1.0f) * std::numeric_limits<float>::infinity();
}

// A tensor whose blocks each hold one kind of values.
inline Tensor tensor(const tq::Shape& shape, const tq::Shape& extents, const oracle::Layout& layout,
                     inputs::Random& r) {
  Tensor t{std::vector<float>(layout.extent),
           {nullptr, shape},
           {extents},
           {},
           tq::Observer<tq::MinMax, Blocks>({extents}),
           true};
  t.x = {t.memory.data() + layout.first, shape, layout.strides};
  const tq::Shape block = t.granularity.block(shape);
  const bool wide = r.chance(25);
  std::vector<Values> kinds(oracle::params(shape, block));
  std::vector<float> scales(kinds.size());
  for (Values& k : kinds) k = r.chance(60) ? Values::ordinary : static_cast<Values>(r.below(6));
  for (float& s : scales) s = wide ? inputs::scale(r) : inputs::ordinary_scale(r);
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    const std::size_t slot = oracle::param(index, shape, block);
    t.memory[static_cast<std::size_t>(layout.first + oracle::offset(index, layout.strides))] =
        value_of(kinds[slot], scales[slot], r);
  });
  t.ranges = oracle::ranges(t.x, block);
  t.ranges.resize(tq::param_count(t.granularity, shape), {0.0f, 0.0f});
  t.observer.observe(t.x, tq::on<Scalar>);
  for (const tq::MinMax& seen : t.observer.accumulators()) t.all_seen = t.all_seen && !seen.empty();
  return t;
}

// Blocks over all of the tensor, along every axis, of every size and over several axes, of tensors
// in every layout.
inline const std::vector<Tensor>& tensors() {
  static const std::vector<Tensor> all = [] {
    constexpr std::size_t every = std::numeric_limits<std::size_t>::max();
    std::vector<tq::Shape> blocks{{every, every, every}, {1, 1, 1},        {2, 3, 4}, {1, 16, 8},
                                  {every, 1, 1},         {1, every, every}};
    for (int axis = 0; axis < 3; ++axis) {
      tq::Shape channels{every, every, every}, groups{1, 1, 1};
      channels[axis] = 1;
      blocks.push_back(channels);
      for (const std::size_t size :
           {std::size_t{2}, std::size_t{7}, std::size_t{16}, std::size_t{32}, every}) {
        groups[axis] = size;
        blocks.push_back(groups);
      }
    }
    inputs::Random r(2);
    std::vector<Tensor> out;
    for (const tq::Shape& block : blocks)
      for (const tq::Shape& shape :
           {tq::Shape{3, 37, 5}, tq::Shape{2, 8, 33}, tq::Shape{34, 2, 16}, tq::Shape{1, 5, 1}}) {
        out.push_back(tensor(shape, block, oracle::layout(shape, r, false, false), r));
        if (r.chance(40))
          out.push_back(
              tensor(shape, block, oracle::layout(shape, r, true, r.chance(50), r.chance(50)), r));
      }
    out.push_back(tensor({0, 3, 5}, {1, 1, every}, {{15, 5, 1}, 1, 0}, r));
    out.push_back(tensor({2, 0, 5}, {every, every, every}, {{5, 5, 1}, 1, 0}, r));
    return out;
  }();
  return all;
}

template <class Values>
bool same_bits(const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  return true;
}

template <class Params, class Wanted>
bool same_params(const Params& a, const Wanted& b) {
  if constexpr (Params::has_zero_point)
    if (!same_bits(a.zero_points(), b.zero_points())) return false;
  return same_bits(a.scales(), b.scales()) && a == b;
}

// The first difference from the two steps, in words.
template <class Params, class N, class Pack>
std::string difference(const Tensor& t) {
  const Params wanted = tq::fit_params<Params, N>(t.granularity, t.ranges);
  if (t.all_seen && t.x.size() != 0 && !same_params(tq::calibrate<Params>(t.observer, N{}), wanted))
    return "calibrate";
  const auto codes = tq::quantize<Pack>(t.x, wanted, N{}, tq::on<Scalar>);
  const auto got = tq::quantize_dynamic<Params, Pack>(t.x, t.granularity, N{}, tq::on<Scalar>);
  if (!same_params(got.params(), wanted)) return "parameters";
  if (!std::ranges::equal(got.bytes(), codes.bytes())) return "codes";
  return "";
}

/// Parameters and codes of every tensor.
template <class T, class S, class Scale, class N = tq::numerics::onnx, class Pack = tq::LowFirst>
void check() {
  using Params = tq::QuantParams<T, Blocks, S, Scale>;
  std::string failures;
  int failed = 0;
  test::Share share;
  for (const Tensor& t : tensors()) {
    if (!share.takes()) continue;
    const std::string what = difference<Params, N, Pack>(t);
    if (!what.empty() && ++failed <= 5)
      failures += what + " of " + to_string(t.x.shape()) + " in blocks of " +
                  to_string(t.granularity.extents) + "\n";
  }
  INFO(T::name << ' ' << S::name << ' ' << tq::scale_type_name<Scale> << ' ' << Pack::name << ": "
               << failed << '\n'
               << failures);
  CHECK(failed == 0);
}

/// The same with every symmetry of an integer that all have.
template <class T, class Scale, class N = tq::numerics::onnx>
void check_symmetries() {
  check<T, tq::Symmetric, Scale, N>();
  check<T, tq::Asymmetric, Scale, N>();
  check<T, tq::SymmetricHalf, Scale, N>();
  check<T, tq::SymmetricHalfDown, Scale, N>();
  if constexpr (T::qmin < 0) check<T, tq::SymmetricNarrow, Scale, N>();
}

/// Integers of every layout of codes, and every symmetry. All integers with all symmetries are
/// tried with float32 scales: what a scale is stored as meets their limits as numbers.
template <class Scale, class N = tq::numerics::onnx>
void check_integers() {
  check<tq::int4, tq::Symmetric, Scale, N>();
  check<tq::uint8, tq::Asymmetric, Scale, N>();
  check<tq::int2, tq::Asymmetric, Scale, N>();
  check<tq::ternary, tq::Symmetric, Scale, N>();
  check<tq::uint3, tq::SymmetricHalf, Scale, N>();
  check<tq::int5, tq::SymmetricNarrow, Scale, N>();
  check<tq::uint16, tq::SymmetricHalfDown, Scale, N>();
  check<tq::int32, tq::Asymmetric, Scale, N>();
}

}  // namespace dynamic_cases
