// SPDX-License-Identifier: MIT
#pragma once
// Data on which calibrators fail: what each must make of them, whatever the parameters.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/float_elements.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace edge_cases {

template <class Type, class Symmetry, class Scale = float>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry, Scale>;

template <class Acc>
Acc seen(std::span<const float> x) {
  Acc acc;
  acc.add(x);
  return acc;
}

/// The range that `calibrator` chooses after checking that it can be used, and that the same data
/// give the same range.
template <class P, class N = tq::numerics::onnx, class Acc, class C>
tq::Range chosen(const C& calibrator, const Acc& acc) {
  const tq::Range r = calibrator.template range<P, N>(acc);
  const tq::Range again = calibrator.template range<P, N>(acc);
  CHECK(r == again);
  CHECK(std::isfinite(r.min));
  CHECK(std::isfinite(r.max));
  CHECK(r.min <= r.max);
  const auto a = tq::fit_affine<P, N>(r);
  CHECK(std::isfinite(a.scale));
  CHECK(a.scale >= 0);
  if constexpr (tq::OffsetParams<P>) {
    CHECK(std::isfinite(a.offset));
  } else {
    CHECK(a.zero_point >= P::codes.min);
    CHECK(a.zero_point <= P::codes.max);
  }
  return r;
}

template <class P, class Acc, class C>
void check_one(const C& calibrator) {
  INFO(P::type::name << " " << P::symmetry_type::name << " "
                     << tq::scale_type_name<typename P::scale_type>);
  constexpr float tiny = std::numeric_limits<float>::denorm_min(),
                  most = std::numeric_limits<float>::max();
  constexpr bool is_absolute = requires { requires Acc::is_absolute; };
  // Constant data: what was seen is the range.
  for (const float v : {5.0f, -3.0f, 0.0f, tiny, -tiny, most, -most, 1e-30f}) {
    INFO(v);
    const float kept = is_absolute ? std::fabs(v) : v;
    CHECK(chosen<P>(calibrator, seen<Acc>(std::vector<float>{v})) == tq::Range{kept, kept});
    CHECK(chosen<P>(calibrator, seen<Acc>(std::vector<float>(1000, v))) == tq::Range{kept, kept});
  }
  // Nothing but denormals, of which the smallest have no usable scale.
  std::vector<float> x;
  for (int i = -50; i <= 60; ++i) x.push_back(static_cast<float>(i) * tiny);
  chosen<P>(calibrator, seen<Acc>(x));
  for (float& v : x) v *= 0x1p16f;
  chosen<P>(calibrator, seen<Acc>(x));
  // The whole of float32.
  chosen<P>(calibrator, seen<Acc>(std::vector<float>{-most, 0, 1, most}));
  std::vector<float> wide;
  for (int i = -500; i <= 500; ++i) wide.push_back(static_cast<float>(i) / 500 * most);
  chosen<P>(calibrator, seen<Acc>(wide));
  for (float& v : wide) v = std::fabs(v);
  const tq::Range r = chosen<P>(calibrator, seen<Acc>(wide));
  CHECK(r.max > 0);
  // Two values, one sign, far from zero.
  chosen<P>(calibrator, seen<Acc>(std::vector<float>{1000, 1001, 1001}));
  chosen<P>(calibrator, seen<Acc>(std::vector<float>{-1000, -1001, -1001}));
  chosen<P>(calibrator, seen<Acc>(std::vector<float>{-5, 5}));
}

/// Checks for integers, floats and code books with scales of every kind.
template <class Acc, class C>
void check(const C& calibrator) {
  using namespace tq;
  check_one<Params<int8, Symmetric>, Acc>(calibrator);
  check_one<Params<int8, SymmetricNarrow, float16>, Acc>(calibrator);
  check_one<Params<uint8, Symmetric, bfloat16>, Acc>(calibrator);
  check_one<Params<int4, Symmetric, float8_e4m3fn>, Acc>(calibrator);
  check_one<Params<int2, Symmetric, float8_e8m0fnu>, Acc>(calibrator);
  check_one<Params<ternary, Symmetric>, Acc>(calibrator);
  check_one<Params<int16, Symmetric>, Acc>(calibrator);
  check_one<Params<float8_e4m3fn, Symmetric>, Acc>(calibrator);
  check_one<Params<float4_e2m1fn, Symmetric, float8_e8m0fnu>, Acc>(calibrator);
  check_one<Params<bfloat16, Symmetric>, Acc>(calibrator);
  check_one<Params<nf4, Symmetric>, Acc>(calibrator);
  check_one<Params<binary, Symmetric>, Acc>(calibrator);
  if constexpr (!requires { requires Acc::is_absolute; }) {
    check_one<Params<int8, Asymmetric>, Acc>(calibrator);
    check_one<Params<uint4, Asymmetric, float16>, Acc>(calibrator);
    check_one<Params<int2, Asymmetric>, Acc>(calibrator);
    check_one<Params<uint16, Asymmetric>, Acc>(calibrator);
  }
  if constexpr (CalibratorFor<C, Acc, Params<uint4, FloatOffset>>) {
    check_one<Params<uint4, FloatOffset, float16>, Acc>(calibrator);
    check_one<Params<int8, FloatOffset>, Acc>(calibrator);
  }
}

/// A million equal values, and none that differs.
template <class Acc, class C>
void check_million(const C& calibrator) {
  const Acc acc = seen<Acc>(std::vector<float>(1000000, 0.1f));
  CHECK(chosen<Params<tq::int8, tq::Symmetric>>(calibrator, acc) == tq::Range{0.1f, 0.1f});
  CHECK(chosen<Params<tq::nf4, tq::Symmetric>>(calibrator, acc) == tq::Range{0.1f, 0.1f});
  if constexpr (!requires { requires Acc::is_absolute; })
    CHECK(chosen<Params<tq::uint8, tq::Asymmetric>>(calibrator, acc) == tq::Range{0.1f, 0.1f});
}

}  // namespace edge_cases
