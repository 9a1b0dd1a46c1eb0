// SPDX-License-Identifier: MIT
#include <tq/linear/detail/saved_format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::detail::number_at;
using tq::detail::put_number;
using tq::detail::SavedFormat;
using Bytes = std::vector<std::byte>;

namespace {
constexpr SavedFormat format{"tq::load_letters", "letters.", 3, 44};

Bytes sealed() {
  Bytes bytes(46, std::byte{7});
  format.seal(bytes, {5, 6, std::uint64_t{1} << 40});
  return bytes;
}
}  // namespace

TEST_CASE("numbers are little endian wherever they lie") {
  Bytes bytes(7);
  put_number(bytes, 1, std::uint32_t{0x01020384});
  CHECK(bytes == Bytes{std::byte{0}, std::byte{0x84}, std::byte{3}, std::byte{2}, std::byte{1},
                       std::byte{0}, std::byte{0}});
  CHECK(number_at<std::uint32_t>(bytes, 1) == 0x01020384);
  CHECK(number_at<std::uint32_t>(bytes, 2) == 0x00010203);
}

TEST_CASE("what is sealed opens, and nothing else") {
  const Bytes bytes = sealed();
  const auto sizes = format.open(bytes);
  CHECK(sizes.layout == 5);
  CHECK(sizes.outputs == 6);
  CHECK(sizes.inputs == std::uint64_t{1} << 40);
  CHECK(bytes[43] == std::byte{7});  // what lies behind is left as it was

  const auto changed = [&](std::size_t at) {
    Bytes other = bytes;
    other[at] ^= std::byte{1};
    (void)format.open(other);
  };
  test::raises(tq::errc::malformed, {"tq::load_letters", "\"letters.\""}, [&] { changed(0); });
  test::raises(tq::errc::unsupported, {"version 3", "got 2"}, [&] { changed(8); });
  for (const std::size_t at : {12u, 16u, 24u, 32u, 40u, 45u})
    test::raises(tq::errc::malformed, {"the checksum"}, [&] { changed(at); });
  test::raises(tq::errc::malformed, {"44 bytes", "got 43"},
               [&] { (void)format.open(std::span(bytes).first(43)); });
  test::raises(tq::errc::malformed, {"6 outputs of 9 inputs in 2 bytes"},
               [&] { format.refuse_sizes(bytes, {0, 6, 9}); });
}
