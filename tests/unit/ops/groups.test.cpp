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
  ops_cases::check_all<P<tq::int4, tq::PerGroup<8>, Symmetric>>({}, 1, 31);
  for (const int size : {1, 3, 16, 1000})
    for (int axis = -2; axis < 2; ++axis)
      ops_cases::check_all<P<tq::uint4, tq::PerGroup<tq::dynamic, tq::dynamic>, Asymmetric>>(
          {size, axis}, 2, 40 + static_cast<unsigned>(size + axis), 2);
}

TEST_CASE("every operation, per block", "[ops]") {
  ops_cases::check_all<P<tq::uint2, tq::PerBlock<2, 3>, Asymmetric>>({}, 2, 51);
  ops_cases::check_all<P<tq::int4, tq::PerBlock<>, Symmetric>>({5, 32}, 2, 52, 5);
  ops_cases::check_all<P<tq::int4, tq::PerBlock<>, Symmetric>>({1, 1}, 2, 53, 2);
}
