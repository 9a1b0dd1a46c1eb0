// SPDX-License-Identifier: MIT
// Every operation under every granularity; see ops_cases.hpp.
#include "unit/ops/ops_cases.hpp"

namespace {
template <class Type, class G, class S>
using P = tq::QuantParams<Type, G, S>;
using tq::Asymmetric;
using tq::Symmetric;
using tq::SymmetricNarrow;
}  // namespace

TEST_CASE("every operation, per channel", "[ops]") {
  ops_cases::check_all<P<tq::int8, tq::PerChannel<0>, SymmetricNarrow>>({}, 1, 11);
  ops_cases::check_all<P<tq::uint4, tq::PerChannel<-1>, Asymmetric>>({}, 1, 12);
  for (int axis = -2; axis < 2; ++axis)
    ops_cases::check_all<P<tq::int2, tq::PerChannel<>, Asymmetric>>(
        tq::PerChannel<>(axis), 2, 13 + static_cast<unsigned>(axis), 3);
}

TEST_CASE("every operation, per token", "[ops]") {
  ops_cases::check_all<P<tq::uint16, tq::PerToken, Asymmetric>>({}, 1, 20);
}
