// SPDX-License-Identifier: MIT
// Every operation with the kernels of this build; see ops_cases.hpp.
#include "unit/ops/ops_cases.hpp"

namespace {
template <class Type, class G, class S>
using P = tq::QuantParams<Type, G, S>;
using tq::Asymmetric;
using tq::Symmetric;
}  // namespace

TEST_CASE("every operation with the kernels of this build", "[ops]") {
  using B = tq::default_backend;
  ops_cases::check_all<P<tq::int8, tq::PerTensor, Symmetric>, B>({}, 0, 60);
  ops_cases::check_all<P<tq::int4, tq::PerGroup<8>, Symmetric>, B>({}, 1, 65);
  ops_cases::check_all<P<tq::int8, tq::PerChannel<>, Symmetric>, B>(tq::PerChannel<>(0), 1, 61);
  ops_cases::check_all<P<tq::int4, tq::PerChannel<-1>, Asymmetric>, B>({}, 1, 62);
  ops_cases::check_all<P<tq::int2, tq::PerBlock<4, 16>, Asymmetric>, B>({}, 2, 63);
  ops_cases::check_all<P<tq::int8, tq::PerToken, Asymmetric>, B>({}, 1, 64);
}
