// SPDX-License-Identifier: MIT
#include <tq/ops/backend/library_lists.hpp>

#include <cstddef>
#include <utility>

#include "support/catch.hpp"

using namespace tq;
namespace lib = tq::library_operations;

namespace {

constexpr std::size_t groups = kernel_library::detail::lists_of<lib::groups>::count;
constexpr unsigned all = 15;

template <class... Os>
constexpr std::size_t size(TypeList<Os...>) {
  return sizeof...(Os);
}
template <unsigned Families, class... Os>
constexpr std::size_t found(TypeList<Os...>) {
  return (std::size_t{lib::has<Os, Families>} + ... + 0);
}

// Calls f with the list of each group, and the bit of its family.
template <class F>
void for_each_group(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(kernel_library::Operations<I>{}, 1u << I / 3), ...);
  }(std::make_index_sequence<groups>{});
}

using divide = Numerics<>;

}  // namespace

TEST_CASE("a library has every operation that its groups list") {
  std::size_t listed = 0;
  for_each_group([&](auto list, unsigned) {
    CHECK(found<all>(list) == size(list));
    listed += size(list);
  });
  CHECK(listed == 408);
}

TEST_CASE("a library of one family has the operations of that family only") {
  for_each_group([](auto list, unsigned family) {
    CHECK(found<lib::integer_family>(list) == (family == 1 ? size(list) : 0));
    CHECK(found<lib::float_family>(list) == (family == 2 ? size(list) : 0));
    CHECK(found<lib::codebook_family>(list) == (family == 4 ? size(list) : 0));
    CHECK(found<lib::half_family>(list) == (family == 8 ? size(list) : 0));
  });
}

TEST_CASE("a library has no operation that is not listed") {
  CHECK_FALSE(lib::has<operation::Quantize<double, int8, Unpacked, divide>, all>);
  CHECK_FALSE(lib::has<operation::Quantize<float, int4, HighFirst, divide>, all>);
  CHECK_FALSE(lib::has<operation::FakeQuantizeOffset<float, int8, float, divide>, all>);
  CHECK_FALSE(lib::has<int, all>);
}
