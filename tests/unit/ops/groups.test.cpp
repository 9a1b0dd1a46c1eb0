// SPDX-License-Identifier: MIT
// Every operation under groups and blocks; see ops_cases.hpp.
#include "unit/ops/ops_cases.hpp"

namespace {
template <class Type, class G, class S>
using P = tq::QuantParams<Type, G, S>;
using tq::Asymmetric;
using tq::Symmetric;
}  // namespace

TEST_CASE("every operation, per group", "[ops]") {
  ops_cases::check_all<P<tq::int4, tq::PerGroup<8>, Symmetric>, tq::default_backend>({}, 1, 31);
  for (const int size : {1, 3, 16, 1000})
    for (int axis = -2; axis < 2; ++axis)
      ops_cases::check_all<P<tq::uint4, tq::PerGroup<tq::dynamic, tq::dynamic>, Asymmetric>>(
          {size, axis}, 2, 40 + static_cast<unsigned>(size + axis), 2);
}

TEST_CASE("every operation with the kernels of this build", "[ops]") {
  using B = tq::default_backend;
  ops_cases::check_all<P<tq::int8, tq::PerChannel<>, Symmetric>, B>(tq::PerChannel<>(0), 1, 61);
  ops_cases::check_all<P<tq::int4, tq::PerChannel<-1>, Asymmetric>, B>({}, 1, 62);
  ops_cases::check_all<P<tq::int2, tq::PerBlock<4, 16>, Asymmetric>, B>({}, 2, 63);
  ops_cases::check_all<P<tq::int8, tq::PerToken, Asymmetric>, B>({}, 1, 64);
}

TEST_CASE("every operation, per block", "[ops]") {
  ops_cases::check_all<P<tq::uint2, tq::PerBlock<2, 3>, Asymmetric>>({}, 2, 51);
  ops_cases::check_all<P<tq::int4, tq::PerBlock<>, Symmetric>>({5, 32}, 2, 52, 5);
  ops_cases::check_all<P<tq::int4, tq::PerBlock<>, Symmetric>>({1, 1}, 2, 53, 2);
}
