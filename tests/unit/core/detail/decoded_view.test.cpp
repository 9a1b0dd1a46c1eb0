// SPDX-License-Identifier: MIT
#include <tq/core/detail/decoded_view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

#include "support/catch.hpp"

namespace {

struct halves {
  const int* doubled = nullptr;
  float operator()(std::size_t i) const noexcept { return 0.5f * static_cast<float>(doubled[i]); }
};
using View = tq::DecodedView<halves>;

static_assert(std::ranges::random_access_range<View> && std::ranges::sized_range<View> &&
              std::ranges::view<View>);
static_assert(std::ranges::borrowed_range<View> && std::random_access_iterator<View::iterator>);
static_assert(std::same_as<std::ranges::range_reference_t<View>, float>);

}  // namespace

TEST_CASE("a decoded view reads as a range of numbers", "[decoded_view]") {
  const std::vector<int> doubled{2, -1, 7, 0, 100};
  const std::vector<float> numbers{1.0f, -0.5f, 3.5f, 0.0f, 50.0f};
  const View view(halves{doubled.data()}, doubled.size());
  CHECK(view.size() == 5);
  CHECK_FALSE(view.empty());
  CHECK(view[2] == 3.5f);
  CHECK(view.front() == 1.0f);
  CHECK(view.back() == 50.0f);
  CHECK(std::ranges::equal(view, numbers));
  CHECK(std::equal(view.begin(), view.end(), numbers.begin(), numbers.end()));
  CHECK(std::vector<float>(view.begin(), view.end()) == numbers);
  CHECK(*std::ranges::max_element(View(view)) == 50.0f);
  CHECK(std::accumulate(view.begin(), view.end(), 0.0f) == 54.0f);
  std::vector<float> seen;
  for (const float v : view) seen.push_back(v);
  CHECK(seen == numbers);
  CHECK(View().empty());
  CHECK(View().begin() == View().end());
}

TEST_CASE("iterators of a decoded view are places in it", "[decoded_view]") {
  const std::vector<int> doubled{0, 2, 4, 6, 8, 10};
  const View view(halves{doubled.data()}, doubled.size());
  auto i = view.begin();
  CHECK(*i++ == 0.0f);
  CHECK(*i == 1.0f);
  CHECK(*++i == 2.0f);
  CHECK(*i-- == 2.0f);
  CHECK(*--i == 0.0f);
  CHECK(*(i + 3) == 3.0f);
  CHECK(*(2 + i) == 2.0f);
  CHECK(*(view.end() - 1) == 5.0f);
  CHECK(i[4] == 4.0f);
  CHECK(view.end() - view.begin() == 6);
  CHECK(i < i + 1);
  i += 5;
  i -= 2;
  CHECK(*i == 3.0f);
  CHECK(*std::ranges::lower_bound(view, 3.5f) == 4.0f);
#ifndef _GLIBCXX_CONCEPT_CHECKS  // which wants references, as algorithms did before C++20
  CHECK(*std::lower_bound(view.begin(), view.end(), 3.5f) == 4.0f);
#endif
}
