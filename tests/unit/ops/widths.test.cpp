// SPDX-License-Identifier: MIT
// Every operation for the widths without packed kernels, and with other numerics; see
// ops_cases.hpp.
#include "unit/ops/ops_cases.hpp"

namespace {
template <class Type, class S>
using P = tq::QuantParams<Type, tq::PerGroup<8>, S>;
}  // namespace

TEST_CASE("every operation, every width", "[ops]") {
  ops_cases::check_all<P<tq::int3, tq::Symmetric>>({}, 1, 1, 3);
  ops_cases::check_all<P<tq::uint5, tq::Asymmetric>>({}, 1, 2, 3);
  ops_cases::check_all<P<tq::int6, tq::Asymmetric>>({}, 1, 3, 3);
  ops_cases::check_all<P<tq::uint7, tq::Symmetric>>({}, 1, 4, 3);
}

TEST_CASE("every operation, int32", "[ops]") {
  ops_cases::check_all<P<tq::int32, tq::Symmetric>>({}, 1, 6, 3);
  ops_cases::check_all<P<tq::int32, tq::Asymmetric>, tq::default_backend>({}, 1, 7, 3);
}

TEST_CASE("every operation, other numerics", "[ops]") {
  using N = tq::Numerics<tq::HalfAway, tq::Reciprocal, tq::NanToMin, tq::ScaleTenth>;
  ops_cases::check_all<P<tq::int4, tq::SymmetricNarrow>, ops_cases::Scalar, N>({}, 1, 5, 3);
}
