// SPDX-License-Identifier: MIT
// Saved weights, packed or in groups: what is loaded is saved as the same bytes, or as bytes that
// are loaded as the same weights.
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/linear/packed_weights_bytes.hpp>

#include <algorithm>
#include <string_view>

#include "fuzz.hpp"

namespace {

using namespace tq;

// Gives most inputs the mark, the version and the checksum that their bytes ask for.
void mend(std::vector<std::byte>& bytes, std::string_view mark) {
  constexpr std::size_t version_at = 8, sum_at = 32, header = 40;
  if (bytes.size() < header) return;
  std::transform(mark.begin(), mark.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  bytes[version_at] = std::byte{1};
  std::fill_n(bytes.begin() + version_at + 1, 3, std::byte{0});
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (i < sum_at || i >= header)
      sum = (sum ^ std::to_integer<std::uint64_t>(bytes[i])) * 1099511628211u;
  for (std::size_t i = 0; i < 8; ++i)
    bytes[sum_at + i] = static_cast<std::byte>(sum >> (8 * i) & 255);
}

void check_packed(std::span<const std::byte> bytes) {
  const PackedWeights weights = load_packed_weights(bytes);
  const std::vector<std::byte> saved = save_packed_weights(weights);
  fuzz::require(std::ranges::equal(save_packed_weights(load_packed_weights(saved)), saved),
                "packed weights that are loaded as they were saved");
  const PackedWeights same = load_packed_weights(bytes, PanelLayout::eights_of_16);
  fuzz::require(same.outputs() == weights.outputs() && same.inputs() == weights.inputs(),
                "the same weights in another layout");
}

const fuzz::Target weights_target("weights", [](fuzz::Bytes input) {
  if (input.empty()) return;
  const std::uint8_t kind = input.front();
  std::vector<std::byte> bytes(input.size() - 1);
  std::transform(input.begin() + 1, input.end(), bytes.begin(),
                 [](std::uint8_t b) { return static_cast<std::byte>(b); });
  const bool is_packed = kind % 2 == 0;
  if (kind < 128) mend(bytes, is_packed ? "tqpacked" : "tqgroups");
  fuzz::accepts([&] {
    if (is_packed) check_packed(bytes);
    else
      fuzz::require(std::ranges::equal(save_grouped_weights(load_grouped_weights(bytes)), bytes),
                    "grouped weights that are saved as they were");
  });
});

}  // namespace
