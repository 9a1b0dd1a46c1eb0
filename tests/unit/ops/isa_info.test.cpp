// SPDX-License-Identifier: MIT
#include <tq/ops/isa_info.hpp>

#include <array>

#include "support/catch.hpp"

namespace tq::kernel_library {

// In place of a library: two tables, of which the lower one runs.
namespace {
const Table lower{"sse2", nullptr}, higher{"avx512", nullptr};
constexpr std::array<const Table*, 2> both{&lower, &higher};
}  // namespace
std::size_t running() noexcept { return 0; }
const Table& table() noexcept { return lower; }
std::span<const Table* const> tables() noexcept { return both; }

}  // namespace tq::kernel_library

TEST_CASE("kernels that were compiled in are those of one instruction set") {
  const tq::IsaInfo info = tq::isa_info<tq::backend::native<tq::arch::scalar>>();
  CHECK(info.running == "scalar");
  CHECK(info.built == std::vector<std::string_view>{"scalar"});
  CHECK_FALSE(info.from_library);
}

TEST_CASE("a library has kernels for several, of which it says what runs") {
  const tq::IsaInfo info = tq::isa_info<tq::backend::library>();
  CHECK(info.running == "sse2");
  CHECK(info.built == std::vector<std::string_view>{"sse2", "avx512"});
  CHECK(info.from_library);
}
