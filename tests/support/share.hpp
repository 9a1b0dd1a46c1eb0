// SPDX-License-Identifier: MIT
#pragma once
// How many of the cases that take long are tried: all, or one in N where the environment variable
// TQ_TEST_SHARE says N.

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace test {

/// N, a prime, so that cases with a pattern in them are met in every part of it; 1 for all cases.
inline std::uint32_t one_in() {
  static const std::uint32_t n = [] {
    const char* share = std::getenv("TQ_TEST_SHARE");
    const long asked = share == nullptr ? 1 : std::strtol(share, nullptr, 10);
    return asked < 1 ? 1 : static_cast<std::uint32_t>(asked);
  }();
  return n;
}

/// How often a loop that draws its cases goes round, of `all` times.
inline int rounds(int all) { return all / static_cast<int>(one_in()) + 1; }

/// Chooses one in N of the cases of a loop: another one in each loop of a program, so that what
/// many kernels or types have in common is met by all cases.
class Share {
 public:
  /// Whether the next case is tried.
  [[nodiscard]] bool takes() { return next_++ % one_in() == 0; }

 private:
  static std::uint32_t& loops() {
    static std::uint32_t n = 0;
    return n;
  }
  std::uint32_t next_ = loops()++ % one_in();
};

}  // namespace test
