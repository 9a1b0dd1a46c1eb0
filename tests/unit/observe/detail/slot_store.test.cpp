// SPDX-License-Identifier: MIT
#include <tq/observe/detail/slot_store.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace tq::detail;

namespace {

// The smallest accumulator that is packed, and one that is not.
struct Large {
  std::array<std::uint64_t, 128> words{};
  friend bool operator==(const Large&, const Large&) = default;
};
struct Small {
  int n = 0;
  friend bool operator==(const Small&, const Small&) = default;
};
static_assert(packs_slots<Large> && !packs_slots<Small> && !packs_slots<std::vector<int>>);

// Runs of zeros and of others, of any length and at both ends.
std::vector<Large> drawn(std::size_t count) {
  std::mt19937_64 random(9);
  std::vector<Large> slots(count);
  for (Large& slot : slots) {
    const std::size_t one_in = 1 + random() % 40;
    for (std::uint64_t& word : slot.words)
      if (random() % one_in == 0) word = random();
  }
  slots[0] = Large{};
  slots[1].words.fill(~std::uint64_t{0});
  return slots;
}

SlotStore<Large> packed(const std::vector<Large>& slots) {
  PackedSlots<Large> out;
  for (const Large& slot : slots) out.push_back(slot);
  return SlotStore<Large>(std::move(out));
}

}  // namespace

TEST_CASE("packed slots come back as they were") {
  const std::vector<Large> slots = drawn(300);
  SlotStore<Large> store = packed(slots);
  CHECK(store.is_packed());
  REQUIRE(store.size() == slots.size());
  std::size_t same = 0;
  store.for_each([&](std::size_t i, const Large& slot) { same += slot == slots[i] ? 1 : 0; });
  CHECK(same == slots.size());
  CHECK(store.is_packed());
  SlotStore<Large> copy = store;
  copy.open()[0].words[5] = 7;
  CHECK_FALSE(copy.is_packed());
  CHECK(store.view() == slots);
  CHECK_FALSE(store.is_packed());
  CHECK(copy.view()[0].words[5] == 7);
  copy = store;
  CHECK(copy.view() == slots);
  store.clear();
  CHECK(store.empty());
}

TEST_CASE("slots are met beside those of another store") {
  const std::vector<Large> slots = drawn(50);
  const SlotStore<Large> store = packed(slots);
  for (const SlotStore<Large>& other : {store, SlotStore<Large>(slots)}) {
    std::size_t i = 0;
    store.for_each_beside(other, [&](const Large& a, const Large& b) {
      CHECK((a == slots[i] && b == slots[i]));
      ++i;
    });
    CHECK(i == slots.size());
  }
}

TEST_CASE("threads may look at packed slots at the same time") {
  const std::vector<Large> slots = drawn(100);
  for (int round = 0; round < 20; ++round) {
    const SlotStore<Large> store = packed(slots);
    std::array<std::size_t, 4> same{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < same.size(); ++t)
      threads.emplace_back([&, t] {
        if (t % 2 == 0) same[t] = store.view() == slots && store.size() == slots.size() ? 100 : 0;
        else
          store.for_each(
              [&](std::size_t i, const Large& slot) { same[t] += slot == slots[i] ? 1 : 0; });
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::size_t n : same) CHECK(n == slots.size());
  }
}

TEST_CASE("small slots and default prototypes are kept as they are") {
  SlotStore<Small> store(std::vector<Small>{{1}, {2}});
  CHECK_FALSE(store.is_packed());
  store.open().push_back({3});
  int sum = 0;
  store.for_each([&](std::size_t, const Small& slot) { sum += slot.n; });
  CHECK(sum == 6);
  CHECK(SlotPrototype<Large>(Large{}).get() == Large{});
  const Large other = drawn(3)[2];
  const SlotPrototype<Large> prototype(other);
  const SlotPrototype<Large> copy = prototype;
  CHECK((prototype.get() == other && copy.get() == other));
  CHECK(sizeof(SlotPrototype<Large>) < 100);
}
