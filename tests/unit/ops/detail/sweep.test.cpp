// SPDX-License-Identifier: MIT
#include <tq/ops/detail/sweep.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

struct Element {
  std::ptrdiff_t source, target;
  std::size_t parameter;
  auto operator<=>(const Element&) const = default;
};

// Offsets of both layouts and the number of the block, by definition.
std::vector<Element> by_definition(const tq::Shape& shape, const tq::Shape& block,
                                   const tq::Strides& from, const tq::Strides& to) {
  std::vector<Element> all;
  for (std::size_t e = 0; e < shape.size(); ++e) {
    Element x{0, 0, 0};
    std::size_t rest = e, inside = shape.size();
    for (int i = 0; i < shape.rank(); ++i) {
      inside /= shape[i];
      const std::size_t at = rest / inside;
      rest %= inside;
      const auto k = static_cast<std::size_t>(i);
      x.source += static_cast<std::ptrdiff_t>(at) * from[k];
      x.target += static_cast<std::ptrdiff_t>(at) * to[k];
      x.parameter = x.parameter * ((shape[i] + block[i] - 1) / block[i]) + at / block[i];
    }
    all.push_back(x);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void add(std::vector<Element>& all, const tq::detail::SpanOf& s) {
  for (std::size_t r = 0; r < s.span.count; ++r)
    for (std::size_t i = 0; i < s.span.length; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(r), at = static_cast<std::ptrdiff_t>(i);
      const std::size_t group =
          s.params.group == tq::driver::whole_row ? 0 : i / s.params.group * s.params.step;
      all.push_back({s.source + row * s.span.source_stride + at * s.span.source_step,
                     s.target + row * s.span.target_stride + at * s.span.target_step,
                     s.params.first + r * s.params.row_step + group});
    }
}

// Strides of a tensor whose axes lie in some order, with gaps, backwards or broadcast.
tq::Strides draw_strides(const tq::Shape& shape, bool may_share, inputs::Random& r) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  for (int i = shape.rank() - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[r.below(static_cast<std::size_t>(i) + 1)]);
  tq::Strides s{};
  std::ptrdiff_t step = r.chance(80) ? 1 : 2;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::size_t axis = order[static_cast<std::size_t>(i)];
    s[axis] = r.chance(15) ? -step : step;
    if (may_share && r.chance(10)) s[axis] = 0;
    step *= static_cast<std::ptrdiff_t>(shape[static_cast<int>(axis)]) + (r.chance(70) ? 0 : 3);
  }
  return s;
}

}  // namespace

TEST_CASE("spans have every element of a tensor once, with its parameter, whole or cut",
          "[sweep]") {
  inputs::Random r(11);
  std::size_t failed = 0;
  for (int round = 0; round < 3000; ++round) {
    const int rank = 1 + static_cast<int>(r.below(4));
    std::array<std::size_t, 4> extents{1, 1, 1, 1}, blocks{1, 1, 1, 1};
    for (int i = 0; i < rank; ++i) {
      const auto k = static_cast<std::size_t>(i);
      extents[k] = r.chance(15) ? 1 : 1 + r.below(12);
      blocks[k] = r.chance(35) ? 1 : r.chance(50) ? extents[k] : 1 + r.below(extents[k]);
    }
    const auto n = static_cast<std::size_t>(rank);
    const tq::Shape shape(std::span<const std::size_t>(extents.data(), n)),
        block(std::span<const std::size_t>(blocks.data(), n));
    const tq::Strides from = draw_strides(shape, true, r), to = draw_strides(shape, false, r);
    std::vector<Element> whole, parts;
    const std::size_t size = 1 + r.below(300);
    tq::detail::TensorSpans(shape, block, from, to).for_each({}, [&](const tq::detail::SpanOf& s) {
      add(whole, s);
      tq::detail::cut(s, size, 1, [&](const tq::detail::SpanOf& part) { add(parts, part); });
    });
    std::sort(whole.begin(), whole.end());
    std::sort(parts.begin(), parts.end());
    const std::vector<Element> wanted = by_definition(shape, block, from, to);
    failed += whole != wanted || parts != wanted;
  }
  CHECK(failed == 0);
}
