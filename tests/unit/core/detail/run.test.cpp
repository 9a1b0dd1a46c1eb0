// SPDX-License-Identifier: MIT
#include <tq/core/detail/run.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "support/index_oracle.hpp"

namespace {

using Element =
    std::tuple<std::ptrdiff_t, std::ptrdiff_t, std::size_t>;  // source, target, parameter

void expand(const tq::Run& r, std::vector<Element>& out) {
  for (std::size_t k = 0; k < r.count; ++k)
    for (std::size_t i = 0; i < r.length; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(k), col = static_cast<std::ptrdiff_t>(i);
      out.emplace_back(r.source + row * r.source_stride + col,
                       r.target + row * r.target_stride + col,
                       r.param + k * r.param_stride + i * r.step);
    }
}

}  // namespace

TEST_CASE("runs cover every element once, with its parameter", "[run]") {
  inputs::Random r(7);
  std::string failures;
  int failed = 0, tensors = 0;
  for (int round = 0; round < 6000; ++round) {
    const int rank = r.between(0, 8);
    const tq::Shape shape = oracle::shape(r, rank, 600);
    tq::Shape block = shape;
    for (int i = 0; i < rank; ++i) {
      const std::size_t e = std::max<std::size_t>(shape[i], 1);
      const std::size_t choices[] = {1, e, e, 2, 3, 8, e + 2, 1 + r.below(e)};
      block[i] = choices[r.below(8)];
    }
    const oracle::Layout from = oracle::layout(shape, r, r.chance(50), r.chance(50), r.chance(30));
    const oracle::Layout to = oracle::layout(shape, r, r.chance(50), r.chance(50), r.chance(30));
    tq::Strides source = from.strides;
    if (rank > 0 && r.chance(10)) source[r.below(static_cast<std::size_t>(rank))] = 0;  // broadcast
    tq::Strides target = r.chance(50) ? tq::row_major_strides(shape) : to.strides;
    if (r.chance(30)) target = source;
    std::vector<Element> wanted, got;
    oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
      wanted.emplace_back(oracle::offset(index, source), oracle::offset(index, target),
                          oracle::param(index, shape, block));
    });
    std::size_t counted = 0;
    bool plain = true;
    std::vector<tq::Run> runs;
    tq::for_each_run(shape, block, source, target, [&](const tq::Run& run) {
      runs.push_back(run);
      counted += run.size();
      plain = plain && run.length > 0 && run.count > 0 && run.step <= 1;
      expand(run, got);
    });
    ++tensors;
    std::vector<Element> sliced;
    for (const tq::Run& run : runs) {  // slices of a run are the run
      std::size_t at = 0;
      while (at < run.size()) {
        const std::size_t end = std::min(run.size(), at + 1 + r.below(2 * run.length + 3));
        tq::for_each_slice(run, at, end, [&](const tq::Run& piece) { expand(piece, sliced); });
        at = end;
      }
    }
    const bool in_order = sliced == got;
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
    if (got != wanted || !plain || counted != wanted.size() || !in_order) {
      if (++failed <= 5)
        failures += "shape " + to_string(shape) + ", block " + to_string(block) +
                    (in_order ? "" : ", slices") + "\n";
    }
  }
  INFO(failed << " of " << tensors << " tensors\n" << failures);
  CHECK(failed == 0);
}

TEST_CASE("runs of dense row-major tensors arrive in order", "[run]") {
  inputs::Random r(8);
  int failed = 0;
  for (int round = 0; round < 2000; ++round) {
    const int rank = r.between(0, 6);
    const tq::Shape shape = oracle::shape(r, rank, 600);
    tq::Shape block = shape;
    for (int i = 0; i < rank; ++i) block[i] = 1 + r.below(std::max<std::size_t>(shape[i], 1));
    // The source may have gaps; the target, where packed codes go, has none.
    const oracle::Layout from = oracle::layout(shape, r, false, r.chance(50));
    std::vector<Element> got;
    tq::for_each_run(shape, block, from.strides, tq::row_major_strides(shape),
                     [&](const tq::Run& run) { expand(run, got); });
    for (std::size_t i = 0; i < got.size(); ++i)
      failed += std::get<1>(got[i]) != static_cast<std::ptrdiff_t>(i);
  }
  CHECK(failed == 0);
}

TEST_CASE("common layouts are few runs", "[run]") {
  const auto runs = [](const tq::Shape& shape, const tq::Shape& block) {
    std::vector<tq::Run> all;
    const tq::Strides s = tq::row_major_strides(shape);
    tq::for_each_run(shape, block, s, s, [&](const tq::Run& r) { all.push_back(r); });
    return all;
  };
  SECTION("a tensor with one parameter is one stretch") {
    const auto r = runs({4, 5, 6}, {4, 5, 6});
    REQUIRE(r.size() == 1);
    CHECK(r[0].length == 120);
    CHECK(r[0].count == 1);
    CHECK(r[0].step == 0);
  }
  SECTION("rows with a parameter each") {
    const auto r = runs({4, 30}, {1, 30});
    REQUIRE(r.size() == 1);
    CHECK(r[0].length == 30);
    CHECK(r[0].count == 4);
    CHECK(r[0].param_stride == 1);
  }
  SECTION("columns with a parameter each") {
    const auto r = runs({4, 30}, {4, 1});
    REQUIRE(r.size() == 1);
    CHECK(r[0].length == 30);
    CHECK(r[0].count == 4);
    CHECK(r[0].step == 1);
    CHECK(r[0].param_stride == 0);
  }
  SECTION("groups along the last axis") {
    const auto r = runs({4, 64}, {1, 32});
    REQUIRE(r.size() == 1);
    CHECK(r[0].length == 32);
    CHECK(r[0].count == 8);
  }
  SECTION("nothing") { CHECK(runs({4, 0}, {1, 1}).empty()); }
  SECTION("a scalar") {
    const auto r = runs({}, {});
    REQUIRE(r.size() == 1);
    CHECK(r[0].size() == 1);
    CHECK(r[0].param == 0);
  }
}

TEST_CASE("runs between two elements are those elements of all runs", "[run]") {
  inputs::Random r(9);
  int failed = 0;
  for (int round = 0; round < 3000; ++round) {
    const int rank = r.between(0, 6);
    const tq::Shape shape = oracle::shape(r, rank, 600);
    tq::Shape block = shape;
    for (int i = 0; i < rank; ++i) {
      const std::size_t e = std::max<std::size_t>(shape[i], 1);
      const std::size_t choices[] = {1, e, e, 2, 3, 8, e + 2, 1 + r.below(e)};
      block[i] = choices[r.below(8)];
    }
    const tq::Strides strides = tq::row_major_strides(shape);
    std::vector<Element> all, got;
    tq::for_each_run(shape, block, strides, strides, [&](const tq::Run& run) { expand(run, all); });
    for (std::size_t at = 0; at < shape.size();) {
      const std::size_t end = std::min(shape.size(), at + 1 + r.below(2 * r.below(200) + 1));
      tq::for_each_run_between(shape, block, at, end,
                               [&](const tq::Run& run) { expand(run, got); });
      failed += got.size() != end;
      at = end;
    }
    failed += got != all;
    tq::for_each_run_between(shape, block, shape.size(), shape.size(),
                             [&](const tq::Run&) { ++failed; });
  }
  CHECK(failed == 0);
}
