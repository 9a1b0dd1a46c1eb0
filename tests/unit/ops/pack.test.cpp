// SPDX-License-Identifier: MIT
#include <tq/ops/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/tensor_oracle.hpp"

namespace {

template <class T, class Pack>
void round_trip() {
  inputs::Random r(4);
  for (std::size_t n = 0; n < 300; n += n < 20 ? 1 : 37) {
    std::vector<typename T::code_type> codes(n), back(n);
    for (auto& c : codes) c = static_cast<typename T::code_type>(r.between(T::qmin, T::qmax));
    std::vector<std::byte> bytes(Pack::template bytes_for<T>(n), std::byte{0xa5});
    tq::pack<T, Pack>(codes, bytes);
    INFO(T::name << " " << Pack::name << " " << n);
    CHECK(bytes == oracle::bytes<T, Pack>(codes));
    tq::unpack<T, Pack>(bytes, back);
    CHECK(back == codes);
  }
}
template <class T>
void round_trips() {
  round_trip<T, tq::LowFirst>();
  round_trip<T, tq::HighFirst>();
  round_trip<T, tq::Unpacked>();
}

}  // namespace

TEST_CASE("codes survive packing, and the bytes are the layout's", "[pack]") {
  round_trips<tq::int2>();
  round_trips<tq::uint2>();
  round_trips<tq::int3>();
  round_trips<tq::int4>();
  round_trips<tq::uint4>();
  round_trips<tq::uint5>();
  round_trips<tq::int6>();
  round_trips<tq::uint7>();
  round_trips<tq::int8>();
  round_trips<tq::uint8>();
  round_trips<tq::int16>();
  round_trips<tq::uint16>();
}

TEST_CASE("sizes that do not fit are refused", "[pack]") {
  std::vector<std::int8_t> codes(5, 9);
  std::vector<std::byte> bytes(2, std::byte{7});
  test::raises(tq::errc::shape_mismatch, {"tq::pack", "3", "got 2"},
               [&] { tq::pack<tq::int4>(codes, bytes); });
  test::raises(tq::errc::shape_mismatch, {"tq::unpack", "3", "got 2"},
               [&] { tq::unpack<tq::int4>(bytes, codes); });
  CHECK(codes == std::vector<std::int8_t>(5, 9));
  CHECK(bytes == std::vector<std::byte>(2, std::byte{7}));
}

TEST_CASE("an unpacked code outside the type is refused", "[pack]") {
  const std::vector<std::byte> bytes{std::byte{7}, std::byte{8}};
  std::vector<std::int8_t> codes(2);
  test::raises(tq::errc::bad_argument, {"tq::unpack", "[-8, 7]", "got 8", "element 1"},
               [&] { tq::unpack<tq::int4, tq::Unpacked>(bytes, codes); });
}
