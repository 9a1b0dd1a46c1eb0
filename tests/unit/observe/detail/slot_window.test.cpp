// SPDX-License-Identifier: MIT
// Runs of every form, against the definition of a run element by element; a window takes what
// belongs to its slots only.
#include <tq/observe/detail/slot_window.hpp>

#include <tq/observe/abs_max.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/real_tensors.hpp"

namespace {

// Exact sums of small integers, in any order.
struct Sum {
  double sum = 0, largest = 0;
  std::uint64_t n = 0;
  void add(std::span<const float> x) {
    for (const float v : x)
      sum += static_cast<double>(v), largest = std::max(largest, std::fabs(static_cast<double>(v)));
    n += x.size();
  }
  friend bool operator==(const Sum&, const Sum&) = default;
};

tq::Run random_run(inputs::Random& r) {
  tq::Run run;
  run.length = 1 + (r.chance(30) ? 0 : r.chance(10) ? r.below(10000) : r.below(80));
  run.count = 1 + (r.chance(10) ? r.below(2000) : r.below(20));
  if (run.length * run.count > 20000) run.count = 2;
  const auto n = static_cast<int>(run.length);
  run.source_stride = r.chance(60) ? n : r.between(-n, n + 9);
  run.param = r.below(12);
  run.param_stride = r.chance(40) ? 0 : r.chance(60) ? 1 : r.below(5);
  run.step = r.below(2);
  return run;
}

template <class T>
std::string failing(std::uint64_t seed) {
  using B = tq::default_backend;
  inputs::Random r(seed);
  constexpr std::ptrdiff_t origin = 50000;
  std::vector<T> memory(300000);
  std::vector<float> floats(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    floats[i] = static_cast<float>(r.between(-100, 100));
    memory[i] = static_cast<T>(floats[i]);
  }
  std::string text;
  for (int round = 0; round < 150; ++round) {
    const std::size_t first = r.below(20), size = 1 + (r.chance(50) ? r.below(10) : 30000);
    std::vector<Sum> wanted(size), got(size), together(size);
    std::vector<tq::AbsMax> sizes(size);
    tq::detail::SlotWindow<B, Sum, T> window(got, first), all(together, first);
    tq::detail::SlotWindow<B, tq::AbsMax, T> of_sizes(sizes, first);
    std::vector<tq::Run> runs;
    const tq::Run one = random_run(r);
    for (std::size_t i = 0; i < (r.chance(50) ? 1u : 700u / one.length + 2);
         ++i) {  // the same one again, further on
      runs.push_back(one);
      runs.back().source = origin + static_cast<std::ptrdiff_t>(i) * (r.chance(2) ? 3 : 40);
    }
    for (const tq::Run& run : runs) {
      for (std::size_t k = 0; k < run.count; ++k)
        for (std::size_t i = 0; i < run.length; ++i) {
          const std::size_t slot = run.param + k * run.param_stride + i * run.step;
          const std::ptrdiff_t at = run.source +
                                    static_cast<std::ptrdiff_t>(k) * run.source_stride +
                                    static_cast<std::ptrdiff_t>(i);
          if (slot >= first && slot - first < size)
            wanted[slot - first].add({&floats[static_cast<std::size_t>(at)], 1});
        }
      window.add(run, memory.data() + run.source);
      of_sizes.add(run, memory.data() + run.source);
    }
    all.add_all(memory.data(), [&](auto&& f) {
      for (const tq::Run& run : runs) f(run);
    });
    bool ok = got == wanted && together == wanted;
    for (std::size_t i = 0; i < size; ++i)
      ok = ok && static_cast<double>(sizes[i].abs_max()) == wanted[i].largest &&
           sizes[i].count() == wanted[i].n;
    if (!ok)
      text += "length " + std::to_string(one.length) + ", count " + std::to_string(one.count) +
              ", stride " + std::to_string(one.source_stride) + ", parameters " +
              std::to_string(one.param_stride) + ", step " + std::to_string(one.step) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every element of a run goes to its slot, and to no other window", "[slot_window]") {
  CHECK(failing<float>(1) == "");
  CHECK(failing<tq::float16>(2) == "");
  CHECK(failing<double>(3) == "");
}
