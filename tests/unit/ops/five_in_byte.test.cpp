// SPDX-License-Identifier: MIT
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

static_assert(tq::Packing<tq::FiveInByte> && tq::PackingFor<tq::FiveInByte, tq::ternary>);
static_assert(!tq::PackingFor<tq::FiveInByte, tq::int2>);
static_assert(!tq::PackingFor<tq::FiveInByte, tq::int8>);
static_assert(!tq::PackingFor<tq::FiveInByte, tq::binary>);
static_assert(tq::PackingFor<tq::LowFirst, tq::ternary> && tq::PackingFor<tq::Unpacked, tq::int16>);
static_assert(!tq::PackingFor<int, tq::ternary>);
static_assert(!tq::is_unpacked<tq::FiveInByte, tq::ternary>);

namespace {

using Codes = std::vector<std::int8_t>;
using Bytes = std::vector<std::byte>;
using Tensor = tq::QuantParams<tq::ternary, tq::PerTensor, tq::Symmetric>;
using Rows = tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>;
using Groups = tq::QuantParams<tq::ternary, tq::PerGroup<7>, tq::Symmetric>;

Bytes packed(const Codes& codes) {
  std::vector<int> sums((codes.size() + 4) / 5);
  int power = 1;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    power = i % 5 == 0 ? 1 : power * 3;
    sums[i / 5] += (codes[i] + 1) * power;
  }
  Bytes bytes;
  for (const int s : sums) bytes.push_back(static_cast<std::byte>(s));
  return bytes;
}

Codes ternary_codes(std::size_t n, std::uint64_t seed) {
  inputs::Random r(seed);
  Codes codes(n);
  for (auto& c : codes) c = static_cast<std::int8_t>(r.between(-1, 1));
  return codes;
}

template <class Params>
Bytes bytes_of(const tq::QuantizedTensor<Params, tq::FiveInByte>& q) {
  return {q.bytes().begin(), q.bytes().end()};
}

// Packed tensors are the unpacked ones with their codes packed, and mean the same.
template <class Params, class... Executor>
void check_tensor(tq::ConstTensorView x, const Params& p, const Executor&... executor) {
  using N = tq::numerics::onnx;
  const auto plain = tq::quantize<tq::Unpacked>(x, p, N{}, executor...);
  const auto five = tq::quantize<tq::FiveInByte>(x, p, N{}, executor...);
  INFO(to_string(x.shape()) << " " << Params::granularity_type::name);
  CHECK(bytes_of(five) == packed({plain.codes().begin(), plain.codes().end()}));
  CHECK(tq::dequantize(five, executor...) == tq::dequantize(plain, executor...));
}

}  // namespace

TEST_CASE("ternary codes take a fifth of a byte", "[five_in_byte]") {
  for (std::size_t n = 0; n < 40; ++n)
    CHECK(tq::FiveInByte::bytes_for<tq::ternary>(n) == (n + 4) / 5);
  constexpr std::size_t most = ~std::size_t{0};
  CHECK(tq::FiveInByte::bytes_for<tq::ternary>(most) == most / 5);
  CHECK(tq::FiveInByte::bytes_for<tq::ternary>(most - 1) == most / 5);
}

TEST_CASE("codes survive packing in fives", "[five_in_byte]") {
  for (std::size_t n = 0; n < 300; n += n < 20 ? 1 : 37) {
    const Codes codes = ternary_codes(n, n);
    Bytes bytes(tq::FiveInByte::bytes_for<tq::ternary>(n), std::byte{0xa5});
    tq::pack<tq::ternary, tq::FiveInByte>(codes, bytes);
    INFO(n);
    CHECK(bytes == packed(codes));
    Codes back(n);
    tq::unpack<tq::ternary, tq::FiveInByte>(bytes, back);
    CHECK(back == codes);
  }
  CHECK(packed({1, 1, 1, 1, 1}) == Bytes{std::byte{242}});
  CHECK(packed({1}) == Bytes{std::byte{2}});
}

TEST_CASE("bytes that no five codes have are refused", "[five_in_byte]") {
  Bytes bytes(3, std::byte{242});
  Codes codes(11, 0);
  tq::unpack<tq::ternary, tq::FiveInByte>(bytes, codes);
  CHECK(codes == Codes(11, 1));
  bytes[2] = std::byte{243};
  codes.assign(11, 0);
  test::raises(tq::errc::bad_argument, {"tq::unpack", "[0, 242]", "got 243 at byte 2"},
               [&] { tq::unpack<tq::ternary, tq::FiveInByte>(bytes, codes); });
  CHECK(codes == Codes(11, 0));
  codes.push_back(0);
  codes.resize(16);
  test::raises(tq::errc::shape_mismatch, {"tq::unpack", "4", "got 3"},
               [&] { tq::unpack<tq::ternary, tq::FiveInByte>(bytes, codes); });
  test::raises(tq::errc::shape_mismatch, {"tq::pack", "4", "got 3"},
               [&] { tq::pack<tq::ternary, tq::FiveInByte>(codes, bytes); });
  CHECK(bytes[0] == std::byte{242});
}

TEST_CASE("the code that ternary has no use for is refused in two bits, too", "[five_in_byte]") {
  Bytes bytes(700, std::byte{0});
  Codes codes(2797, 7);
  tq::unpack<tq::ternary>(bytes, codes);
  CHECK(codes == Codes(2797, 0));
  bytes[600] = std::byte{0b00100000};
  test::raises(tq::errc::bad_argument, {"tq::unpack", "[-1, 1]", "got -2 at element 2402"},
               [&] { tq::unpack<tq::ternary>(bytes, codes); });
  CHECK(codes == Codes(2797, 0));
}

TEST_CASE("tensors are quantized into fives and back", "[five_in_byte]") {
  inputs::Random r(3);
  for (const std::size_t n : {0u, 1u, 4u, 5u, 6u, 38u, 4095u, 4099u, 20001u}) {
    std::vector<float> x(n);
    for (float& v : x) v = inputs::value(r, 0.02f);
    check_tensor(tq::ConstTensorView(x.data(), {n}), Tensor(0.5f));
    std::vector<float> scales((n + 6) / 7);
    for (float& s : scales) s = inputs::ordinary_scale(r);
    check_tensor(tq::ConstTensorView(x.data(), {n}), Groups({}, scales));
  }
  const std::vector<float> x = inputs::normals(7 * 613, 4);
  std::vector<float> seven(7), many(613);
  for (float& s : seven) s = inputs::ordinary_scale(r);
  for (float& s : many) s = inputs::ordinary_scale(r);
  check_tensor({x.data(), {7, 613}}, Rows({}, seven));
  check_tensor({x.data(), {613, 7}, {1, 613}}, Rows({}, many));  // a transposed view
}

TEST_CASE("threads never share a byte of five codes", "[five_in_byte]") {
  const std::vector<float> x = inputs::normals((std::size_t{1} << 19) + 13, 5);
  check_tensor(tq::ConstTensorView(x), Tensor(0.75f), test::Threads{3});
}

TEST_CASE("dynamic quantization packs in fives", "[five_in_byte]") {
  const std::vector<float> x = inputs::normals(103, 6);
  const auto q = tq::quantize_dynamic<Tensor, tq::FiveInByte>(x);
  const auto plain = tq::quantize_dynamic<Tensor, tq::Unpacked>(x);
  CHECK(bytes_of(q) == packed({plain.codes().begin(), plain.codes().end()}));
}
