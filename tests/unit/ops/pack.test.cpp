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

TEST_CASE("tensors of any kind and strides are packed row-major", "[pack]") {
  using Codes = tq::TensorView<std::int8_t>;
  std::vector<std::int8_t> turned{1, -2, 3, 4, -5, 6}, packed_in_order{1, 4, -2, -5, 3, 6};
  std::vector<std::byte> bytes(3), wanted(3);
  tq::pack<tq::int4>(packed_in_order, wanted);
  tq::pack<tq::int4>(Codes(turned.data(), {3, 2}, {1, 3}), bytes);
  CHECK(bytes == wanted);
  const std::int8_t arrays[3][2] = {{1, 4}, {-2, -5}, {3, 6}};
  tq::pack<tq::int4>(arrays, bytes);
  CHECK(bytes == wanted);
  std::vector<std::int8_t> back(6);
  tq::unpack<tq::int4>(wanted, Codes(back.data(), {3, 2}, {1, 3}));
  CHECK(back == turned);
  std::int8_t into[3][2] = {};
  tq::unpack<tq::int4>(wanted, into);
  CHECK(into[1][1] == -5);
  std::vector<std::int8_t> apart(12, 99);  // elements between those of the tensor stay
  tq::unpack<tq::int4>(wanted, Codes(apart.data(), {3, 2}, {4, 2}));
  CHECK(apart == std::vector<std::int8_t>{1, 99, 4, 99, -2, 99, -5, 99, 3, 99, 6, 99});
}
