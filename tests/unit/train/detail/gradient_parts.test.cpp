// SPDX-License-Identifier: MIT
#include <tq/train/detail/gradient_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "support/index_oracle.hpp"
#include "support/inputs.hpp"
#include "support/tensor_oracle.hpp"

namespace {

using tq::Shape;
using tq::detail::GradientPart;

// Where an element is in x, gy and gx, and its parameter.
using Place = std::tuple<std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, std::size_t>;

template <class G>
void check(const G& g, const Shape& shape, inputs::Random& r) {
  const Shape block = oracle::block(g, shape);
  const oracle::Layout x = oracle::layout(shape, r, true, true, true),
                       gy = oracle::layout(shape, r, true, false),
                       gx = oracle::layout(shape, r, true, true, true);
  std::vector<Place> wanted, got;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    wanted.emplace_back(oracle::offset(i, x.strides), oracle::offset(i, gy.strides),
                        oracle::offset(i, gx.strides), oracle::param(i, shape, block));
  });
  constexpr std::size_t size = 96;
  const tq::detail::GradientParts parts(shape, block, x.strides, gy.strides, gx.strides);
  std::size_t too_large = 0, beyond = 0;
  parts.for_each({}, [&](const GradientPart& whole) {
    whole.cut(size, [&](const GradientPart& p) {
      too_large += p.size() > size;
      for (std::size_t k = 0; k < p.count; ++k)
        for (std::size_t i = 0; i < p.length; ++i) {
          const std::size_t param =
              p.params.first + k * p.params.row_step + i / p.params.group * p.params.step;
          beyond += param > p.last_param();
          got.emplace_back(p.x.at(k, i), p.gy.at(k, i), p.gx.at(k, i), param);
        }
    });
  });
  std::sort(wanted.begin(), wanted.end());
  std::sort(got.begin(), got.end());
  INFO(G::name << " of " << tq::to_string(shape));
  CHECK((got == wanted));
  CHECK(too_large == 0);
  CHECK(beyond == 0);
}

}  // namespace

TEST_CASE("gradient parts are every element once, with its parameter", "[gradient_parts]") {
  inputs::Random r(1);
  for (int round = 0; round < 60; ++round) {
    const int rank = r.between(1, 4);
    const Shape shape = oracle::shape(r, rank, 3000);
    if (shape.size() == 0) continue;
    check(tq::PerTensor{}, shape, r);
    check(tq::PerChannel<0>{}, shape, r);
    check(tq::PerChannel<-1>{}, shape, r);
    check(tq::PerGroup<8>{}, shape, r);
    check(tq::PerGroup<200>{}, shape, r);
  }
}
