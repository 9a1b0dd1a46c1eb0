// SPDX-License-Identifier: MIT
// Selections within a size that has headers, against all selections that there are.
#include <tq/select/select_sized.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tq;

PrecisionNode sized_node(const std::string& name, std::uint64_t weights, double sensitivity) {
  return {name,
          weights,
          {{"float", 4 * weights, 0},
           {"int8", weights, sensitivity * 1e-4},
           {"int4", weights / 2, sensitivity * 1e-2}}};
}

PrecisionModel three_nodes() {
  return {{sized_node("a", 1000, 1), sized_node("b", 600, 20), sized_node("c", 1400, 0.1)}};
}

// Codes have headers of 100 bytes a node, and int8 has 30 more; all files have 50, and 7 of tensors
// that stay.
std::uint64_t file_bytes(const std::vector<std::string>& schemes, std::uint64_t bytes) {
  std::uint64_t sum = bytes + 57;
  for (const std::string& scheme : schemes)
    sum += scheme == "float" ? 0 : scheme == "int8" ? 130 : 100;
  return sum;
}
std::uint64_t bytes_of(const PrecisionSelection& selection) {
  std::vector<std::string> schemes;
  for (const SelectedPrecision& node : selection.nodes) schemes.push_back(node.choice.scheme);
  return file_bytes(schemes, selection.cost.bytes);
}

// The least error of all selections whose files have at most so many bytes.
double least_error(const PrecisionModel& model, std::uint64_t most) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 27; ++i) {
    std::vector<std::string> schemes;
    std::uint64_t bytes = 0;
    double error = 0;
    for (std::size_t node = 0, rest = i; node < 3; ++node, rest /= 3) {
      const PrecisionCandidate& c = model.nodes[node].candidates[rest % 3];
      schemes.push_back(c.scheme);
      bytes += c.bytes;
      error += c.error;
    }
    if (file_bytes(schemes, bytes) <= most && error < best) best = error;
  }
  return best;
}

PrecisionCriteria files_within(std::uint64_t most) {
  return {.goal = PrecisionGoal::custom, .max_bytes = most};
}

}  // namespace

TEST_CASE("a selection keeps the size of its files, and is the best where that is said") {
  const PrecisionModel model = three_nodes();
  const PrecisionSelector selector(model);
  const std::uint64_t fewest = bytes_of(select_fewest(selector));
  CHECK(fewest == 1500 + 357);
  int proven = 0;
  for (std::uint64_t most = fewest; most < 12200; most += 61) {
    INFO(most);
    const PrecisionSelection best = select_sized(selector, files_within(most), 57, bytes_of);
    const double least = least_error(model, most);
    CHECK(bytes_of(best) <= most);
    CHECK(best.cost.error >= least);
    CHECK(best.bound <= least);
    if (best.optimal) CHECK(best.cost.error == least);
    proven += best.optimal ? 1 : 0;
    // Its own size is enough for it.
    const PrecisionSelection again =
        select_sized(selector, files_within(bytes_of(best)), 57, bytes_of);
    CHECK(again.cost.error <= best.cost.error);
  }
  CHECK(proven > 100);
  CHECK(
      select_sized(selector, files_within(std::numeric_limits<std::uint64_t>::max()), 57, bytes_of)
          .cost.error == 0);
}

TEST_CASE("files that are larger than the limit whatever is chosen are refused") {
  const PrecisionSelector selector(three_nodes());
  test::raises(errc::bad_argument, {"expected max_bytes of at least 1857, got 1856"},
               [&] { (void)select_sized(selector, files_within(1856), 57, bytes_of); });
  CHECK(select_sized(selector, files_within(1857), 57, bytes_of).cost.bytes == 1500);
  // No limit of bytes: as the selector has it.
  const PrecisionCriteria by_error{.goal = PrecisionGoal::custom, .max_error = 0.01};
  CHECK(select_sized(selector, by_error, 57, bytes_of).cost.bytes ==
        selector.select(by_error).cost.bytes);
}
