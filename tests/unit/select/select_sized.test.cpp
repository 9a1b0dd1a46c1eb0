// SPDX-License-Identifier: MIT
// Selections within a size that has headers, against all selections that there are.
#include <tq/select/select_sized.hpp>

#include "sized_nodes.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace {

using namespace tq;
using namespace sized_test;

// The least error of all selections whose files have at most so many bytes.
double least_error(const PrecisionSelector& selector, std::uint64_t most) {
  double best = std::numeric_limits<double>::infinity();
  for_each_selection(selector, [&](const PrecisionSelection& s) {
    if (file_bytes(s) <= most && s.cost.error < best) best = s.cost.error;
  });
  return best;
}

PrecisionCriteria files_within(std::uint64_t most) {
  return {.goal = PrecisionGoal::custom, .max_bytes = most};
}

}  // namespace

TEST_CASE("a selection keeps the size of its files, and is the best where that is said") {
  const PrecisionSelector selector(three_nodes());
  const std::uint64_t fewest = file_bytes(select_smallest(selector, others, file_bytes));
  int proven = 0;
  for (std::uint64_t most = fewest; most < 12300; most += 61) {
    INFO(most);
    const PrecisionSelection best = select_sized(selector, files_within(most), others, file_bytes);
    const double least = least_error(selector, most);
    CHECK(file_bytes(best) <= most);
    CHECK(best.cost.error >= least);
    CHECK(best.bound <= least);
    if (best.optimal) CHECK(best.cost.error == least);
    proven += best.optimal ? 1 : 0;
    // Its own size is enough for it.
    const PrecisionSelection again =
        select_sized(selector, files_within(file_bytes(best)), others, file_bytes);
    CHECK(again.cost.error <= best.cost.error);
  }
  CHECK(proven > 100);
  CHECK(select_sized(selector, files_within(std::numeric_limits<std::uint64_t>::max()), others,
                     file_bytes)
            .cost.error == 0);
}

TEST_CASE("floats are chosen where their files fit, whatever their nodes have") {
  const PrecisionSelector selector(three_nodes());
  const auto bytes_of = [](const PrecisionSelection& s) {  // floats without the others
    return s.cost.error == 0 ? s.cost.bytes : file_bytes(s);
  };
  CHECK(select_sized(selector, files_within(12000), others, bytes_of).cost.error == 0);
  CHECK(select_sized(selector, files_within(11999), others, bytes_of).cost.error > 0);
}

TEST_CASE("files that are larger than the limit whatever is chosen are refused") {
  const PrecisionSelector selector(three_nodes());
  const std::uint64_t fewest = file_bytes(select_smallest(selector, others, file_bytes));
  const std::string expected = "expected max_bytes of at least " + std::to_string(fewest) +
                               ", got " + std::to_string(fewest - 1);
  test::raises(errc::bad_argument, {expected.c_str()},
               [&] { (void)select_sized(selector, files_within(fewest - 1), others, file_bytes); });
  CHECK(file_bytes(select_sized(selector, files_within(fewest), others, file_bytes)) == fewest);
  // No limit of bytes: as the selector has it.
  const PrecisionCriteria by_error{.goal = PrecisionGoal::custom, .max_error = 0.01};
  CHECK(select_sized(selector, by_error, others, file_bytes).cost.bytes ==
        selector.select(by_error).cost.bytes);
}

TEST_CASE("the smallest files are refused where they break another limit") {
  const PrecisionSelector selector(three_nodes());
  const std::uint64_t fewest = file_bytes(select_smallest(selector, others, file_bytes));
  PrecisionCriteria both = files_within(fewest);
  both.max_error = 1e-6;
  test::raises(errc::bad_argument, {"expected limits that a selection can keep"},
               [&] { (void)select_sized(selector, both, others, file_bytes); });
}
