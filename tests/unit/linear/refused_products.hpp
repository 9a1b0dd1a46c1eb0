// SPDX-License-Identifier: MIT
#pragma once
// Arguments that products of matrices refuse, whatever the types are.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_int16.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace test {

/// Checks that products of codes of X with weights of shape [2, 3] are refused before anything is
/// written. `codes`: the range of X in words; `beyond`: a zero point that is none of them.
template <class X, class Sum, class Packed>
void check_refused_products(const Packed& packed, const char* codes, std::int32_t beyond) {
  using tq::Shape;
  const std::vector<X> x(6);
  std::vector<Sum> out(4, 9);
  const auto multiply = [&](Shape in, const std::vector<std::int32_t>& zero_points, Shape to) {
    tq::matmul_integer(tq::TensorView<const X>(x.data(), in), zero_points, packed,
                       tq::TensorView<Sum>(out.data(), to));
  };
  raises(tq::errc::shape_mismatch, {"rows of 3 codes", "[3, 2]"},
         [&] { multiply({3, 2}, {}, {3, 2}); });
  raises(tq::errc::shape_mismatch, {"0, 1 or 2 zero points", "3"},
         [&] { multiply({2, 3}, {0, 0, 0}, {2, 2}); });
  const std::string got = std::to_string(beyond);
  raises(tq::errc::bad_zero_point, {codes, got.c_str()},
         [&] { multiply({2, 3}, {beyond}, {2, 2}); });
  raises(tq::errc::shape_mismatch, {"[2, 2]", "[2, 3]"}, [&] { multiply({2, 3}, {}, {2, 3}); });
  CHECK(out == std::vector<Sum>(4, 9));
}

}  // namespace test
