// SPDX-License-Identifier: MIT
#include <tq/core/options.hpp>

#include <tuple>
#include <vector>

#include "support/catch.hpp"

namespace {
using tq::detail::OptionKind;
using tq::numerics::torch;
static_assert(tq::Option<torch> && tq::Option<tq::Serial> && tq::Option<tq::HighFirst>);
static_assert(tq::Option<tq::PerChannel<0>> && tq::Option<tq::Options<torch, tq::Serial>>);
static_assert(!tq::Option<tq::detail::Placeholder>);
static_assert(!tq::Option<int> && !tq::Option<std::vector<float>> && !tq::Option<float*>);
using tq::numerics::onnx;
static_assert(std::same_as<tq::detail::numerics_among<onnx, tq::Serial, torch>, torch>);
static_assert(
    std::same_as<tq::detail::numerics_among<onnx, tq::Options<torch, tq::Serial>>, torch>);
static_assert(std::same_as<tq::detail::numerics_among<onnx, tq::Serial>, onnx>);

struct Counting {  // an executor with a state
  int number = 0;
  static constexpr std::size_t concurrency() noexcept { return 1; }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
};
}  // namespace

TEST_CASE("options are found by their kind, in any order and in bundles", "[options]") {
  using enum OptionKind;
  const Counting seven{7}, eight{8};
  const auto check = [](const auto& chosen, int number) {
    CHECK(chosen.template get<executor, Counting>().number == number);
    using N = std::remove_cvref_t<decltype(chosen.template get<numerics, tq::numerics::onnx>())>;
    static_assert(std::same_as<N, torch>);
    using Pack =
        typename std::remove_cvref_t<decltype(chosen)>::template type<packing, tq::LowFirst>;
    static_assert(std::same_as<Pack, tq::LowFirst>);
  };
  check(tq::detail::choose<numerics, executor, packing>(torch{}, seven), 7);
  check(tq::detail::choose<numerics, executor>(seven, torch{}), 7);
  const auto together = tq::with(eight, torch{});
  check(tq::detail::choose<numerics, executor>(together), 8);
  CHECK(tq::detail::choose<executor>().get<executor, Counting>().number == 0);
}
