// SPDX-License-Identifier: MIT
#include <tq/containers/npy.hpp>
#include <tq/core/formats.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/ops/dequantize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {
namespace bnb = tq::layouts::bitsandbytes;
using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;
using fp4_64 = tq::QuantParams<tq::bnb_fp4, tq::PerGroup<64>, tq::Symmetric>;
using nf4_any = tq::QuantParams<tq::nf4, tq::PerGroup<>, tq::Symmetric>;

static_assert(bnb::PlainFormat<tq::nf4_64> && bnb::PlainFormat<fp4_64> &&
              bnb::PlainFormat<nf4_any> && bnb::NestedFormat<tq::nf4_64_double>);
static_assert(!bnb::Format<tq::nvfp4> && !bnb::Format<tq::Microscaled<tq::nf4>> &&
              !bnb::PlainFormat<tq::nf4_64_double> && !bnb::NestedFormat<tq::nf4_64>);
static_assert(!bnb::Format<tq::QuantParams<tq::nf4, tq::PerGroup<64, 0>, tq::Symmetric>>);

template <class T>
std::vector<T> golden(const std::string& name) {
  const tq::io::Tensor t =
      tq::io::read_npy(std::string(test::golden_dir) + "/nf4/" + name + ".npy");
  std::vector<T> out(t.bytes.size() / sizeof(T));
  std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

// A tensor that bitsandbytes made is read, means the same, and is written back byte for byte.
template <class Params>
void check_recorded(const std::string& name) {
  const Bytes packed = golden<std::uint8_t>(name + "_packed"),
              codes = golden<std::uint8_t>(name + "_codes");
  const Floats absmax = golden<float>(name + "_absmax"), values = golden<float>(name + "_values");
  INFO(name);
  REQUIRE(codes.size() == values.size());
  const auto q = bnb::load_tensor<Params>({codes.size()}, packed, absmax);
  CHECK(tq::dequantize(q) == values);
  Bytes got(codes.size());
  tq::unpack<typename Params::type, bnb::Codes>(q.bytes(), got);
  CHECK(got == codes);

  inputs::Random r(1);
  Bytes bytes = bits::noise<std::uint8_t>(r, packed.size());
  Floats scales(absmax.size(), -1.0f);
  bnb::store_tensor(q, bytes, scales);
  CHECK(bytes == packed);
  CHECK(scales == absmax);

  // The same from another packing.
  tq::QuantizedTensor<Params> low({codes.size()}, q.params());
  tq::pack<typename Params::type>(codes, low.bytes());
  bytes = bits::noise<std::uint8_t>(r, packed.size());
  bnb::store_tensor(low, bytes, scales);
  CHECK(bytes == packed);
}
}  // namespace

TEST_CASE("bitsandbytes has the first code in the high nibble", "[bitsandbytes]") {
  inputs::Random r(1);
  for (std::size_t n = 0; n < 300; n += n < 20 ? 1 : 37) {
    const Bytes codes = bits::codes<tq::uint4>(r, n);
    Bytes expected((n + 1) / 2);
    for (std::size_t i = 0; i < 2 * expected.size(); ++i)
      bits::put(expected, i / 2, 1, i % 2 == 0 ? 4 : 0, 4, i < n ? codes[i] : 7);
    INFO(n);
    CHECK(bnb::bytes_for(n) == expected.size());
    Bytes bytes = bits::noise<std::uint8_t>(r, expected.size());
    bnb::store(codes, bnb::nf4_zero, bytes);
    CHECK(bytes == expected);
    Bytes back(n, 99);
    bnb::load(bytes, back);
    CHECK(back == codes);
  }
}

TEST_CASE("the last nibble of an odd number is the code of 0", "[bitsandbytes]") {
  const Bytes codes{1, 2, 3};
  Bytes bytes(2);
  bnb::store(codes, bnb::nf4_zero, bytes);
  CHECK(bytes == Bytes{0x12, 0x37});
  bnb::store(codes, bnb::fp4_zero, bytes);
  CHECK(bytes == Bytes{0x12, 0x30});
}

TEST_CASE("bitsandbytes refuses what does not fit", "[bitsandbytes]") {
  Bytes codes{1, 2, 3}, bytes(2, 77), more(3, 77);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::load: expected 2 bytes, got 3"},
               [&] { bnb::load(more, codes); });
  CHECK(codes == Bytes{1, 2, 3});
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::store: expected 2 bytes, got 3"},
               [&] { bnb::store(codes, 7, more); });
  test::raises(tq::errc::bad_argument, {"a code of zero in [0, 15], got 16"},
               [&] { bnb::store(codes, 16, bytes); });
  codes[2] = 16;
  test::raises(tq::errc::bad_argument, {"codes in [0, 15], got 16 at element 2"},
               [&] { bnb::store(codes, 7, bytes); });
  CHECK(bytes == Bytes(2, 77));
  CHECK(more == Bytes(3, 77));
}

TEST_CASE("tensors of bitsandbytes are read and written", "[bitsandbytes]") {
  check_recorded<tq::nf4_64>("nf4_short_b64");  // of an odd number of elements
  check_recorded<tq::nf4_64>("nf4_zero_block_b64");
  check_recorded<fp4_64>("fp4_short_b64");
  check_recorded<fp4_64>("fp4_zero_block_b64");
  const Floats absmax = golden<float>("nf4_zero_block_b64_absmax");
  CHECK(std::count(absmax.begin(), absmax.end(), 0.0f) > 0);
}

TEST_CASE("double-quantized absmax is rebuilt as bitsandbytes does", "[bitsandbytes]") {
  const Bytes packed = golden<std::uint8_t>("dq_packed"),
              codes = golden<std::uint8_t>("dq_absmax_codes");
  const Floats nested = golden<float>("dq_absmax2"), rebuilt = golden<float>("dq_absmax_rebuilt");
  const float offset = golden<float>("dq_offset").at(0);
  const std::size_t n = 2 * packed.size();
  for (const tq::Shape& shape : {tq::Shape{n}, tq::Shape{n / 64, 64}, tq::Shape{7, n / 7}}) {
    INFO(to_string(shape));
    const auto q = bnb::load_tensor<tq::nf4_64_double>(shape, packed, codes, nested, offset);
    const auto scales = q.params().scales();
    CHECK(Floats(scales.begin(), scales.end()) == rebuilt);
    const Floats values = tq::dequantize(q);
    const auto value = [&](std::size_t i) {
      const int code = i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
      return tq::codebooks::nf4::values[static_cast<std::size_t>(code)] * rebuilt[i / 64];
    };
    int wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += values[i] != value(i);
    CHECK(wrong == 0);

    Bytes bytes(packed.size()), absmax(codes.size());
    Floats absmax2(nested.size());
    CHECK(bnb::store_tensor(q, bytes, absmax, absmax2) == offset);
    CHECK(bytes == packed);
    CHECK(absmax == codes);
    CHECK(absmax2 == nested);
  }
}

TEST_CASE("blocks of any size of bitsandbytes, along the last axis", "[bitsandbytes]") {
  inputs::Random r(7);
  const tq::Shape shapes[] = {{1},     {32},        {33},   {4097}, {3, 128},
                              {1, 77}, {2, 3, 256}, {0, 5}, {5, 0}};
  for (const tq::Shape& shape : shapes)
    for (const int size : {32, 64, 128, 4096}) {
      const std::size_t n = shape.size(), length = shape[shape.rank() - 1];
      const auto block = static_cast<std::size_t>(size);
      if (n > length && length % block != 0) continue;
      const Bytes codes = bits::codes<tq::uint4>(r, n);
      Bytes packed((n + 1) / 2, 0x77);
      for (std::size_t i = 0; i < n; ++i)
        bits::put(packed, i / 2, 1, i % 2 == 0 ? 4 : 0, 4, codes[i]);
      const Floats absmax = bits::scales(r, (n + block - 1) / block);
      INFO(to_string(shape) << " " << size);
      const auto q = bnb::load_tensor<nf4_any>(shape, packed, absmax, tq::PerGroup<>(size));
      const Floats values = tq::dequantize(q);
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(values[i] == tq::codebooks::nf4::values[codes[i]] * absmax[i / block]);
      Bytes bytes(packed.size());
      Floats scales(absmax.size());
      bnb::store_tensor(q, bytes, scales);
      CHECK(bytes == packed);
      CHECK(scales == absmax);
    }
}

TEST_CASE("tensors that bitsandbytes cannot have are refused", "[bitsandbytes]") {
  constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                  inf = std::numeric_limits<float>::infinity();
  Bytes packed(65, 0x11), codes(3, 5), some(2, 77);
  const Floats absmax{1.0f, 0.0f, 2.0f};
  const auto load = [&](const tq::Shape& shape, const Bytes& bytes, const Floats& a) {
    (void)bnb::load_tensor<tq::nf4_64>(shape, bytes, a);
  };
  load({130}, packed, absmax);
  load({1, 130}, packed, absmax);
  test::raises(tq::errc::unsupported,
               {"tq::layouts::bitsandbytes::load_tensor", "multiples of 64", "[2, 65]", "[130]"},
               [&] { load({2, 65}, packed, absmax); });
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::load_tensor: expected 66 bytes, got 65"},
               [&] { load({131}, packed, absmax); });
  test::raises(tq::errc::shape_mismatch, {"expected 2 entries of absmax, got 3"},
               [&] { load({2, 64}, Bytes(64), absmax); });
  test::raises(tq::errc::bad_axis, {"tq::layouts::bitsandbytes::load_tensor", "[]"},
               [&] { load({}, packed, absmax); });
  test::raises(tq::errc::bad_argument, {"extents"},
               [&] { load({std::size_t{1} << 60, 64}, packed, absmax); });
  for (const float bad : {-1.0f, nan_value, inf})
    test::raises(tq::errc::bad_scale,
                 {"tq::layouts::bitsandbytes::load_tensor: expected absmax", "for block 1"},
                 [&] { load({130}, packed, Floats{1.0f, bad, 1.0f}); });
  for (const int size : {16, 48, 8192, 0})
    test::raises(tq::errc::bad_group_size, {"tq::layouts::bitsandbytes::load_tensor"}, [&] {
      (void)bnb::load_tensor<nf4_any>({130}, packed, absmax, tq::PerGroup<>(size));
    });

  const auto nested = [&](const Bytes& a, const Floats& a2, float offset) {
    return bnb::load_tensor<tq::nf4_64_double>({130}, packed, a, a2, offset);
  };
  test::raises(tq::errc::shape_mismatch, {"expected 3 entries of absmax, got 2"},
               [&] { (void)nested(some, Floats{1.0f}, 1.0f); });
  test::raises(tq::errc::shape_mismatch, {"expected 1 entries of nested_absmax, got 2"},
               [&] { (void)nested(codes, Floats{1.0f, 1.0f}, 1.0f); });
  test::raises(tq::errc::bad_scale,
               {"tq::layouts::bitsandbytes::load_tensor",
                "nested_absmax that is finite, got inf for block 0"},
               [&] { (void)nested(codes, Floats{inf}, 1.0f); });
  test::raises(tq::errc::bad_scale,
               {"tq::layouts::bitsandbytes::load_tensor", "nested_offset that is finite"},
               [&] { (void)nested(codes, Floats{1.0f}, nan_value); });

  const auto q = bnb::load_tensor<tq::nf4_64>({130}, packed, absmax);
  const auto d = nested(codes, Floats{0.5f}, 1.0f);
  Bytes bytes(65, 77), few(64, 77);
  Floats out(3, 77.0f), one(1, 77.0f), two(2, 77.0f);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::store_tensor: expected 65 bytes, got 64"},
               [&] { bnb::store_tensor(q, few, out); });
  test::raises(tq::errc::shape_mismatch, {"expected 3 entries of absmax, got 2"},
               [&] { bnb::store_tensor(q, bytes, two); });
  test::raises(tq::errc::shape_mismatch, {"expected 3 entries of absmax, got 2"},
               [&] { (void)bnb::store_tensor(d, bytes, some, one); });
  test::raises(tq::errc::shape_mismatch, {"expected 1 entries of nested_absmax, got 2"},
               [&] { (void)bnb::store_tensor(d, bytes, codes, two); });
  const tq::QuantizedTensor<tq::nf4_64> rows({2, 65}, tq::nf4_64({}, {1.0f, 1.0f, 1.0f, 1.0f}));
  test::raises(tq::errc::unsupported, {"tq::layouts::bitsandbytes::store_tensor", "[2, 65]"},
               [&] { bnb::store_tensor(rows, bytes, out); });
  CHECK(bytes == Bytes(65, 77));
  CHECK(few == Bytes(64, 77));
  CHECK(codes == Bytes(3, 5));
  CHECK(some == Bytes(2, 77));
  CHECK(out == Floats(3, 77.0f));
  CHECK(one == Floats(1, 77.0f));
  CHECK(two == Floats(2, 77.0f));
}

TEST_CASE("weights are read by the maps of their file", "[bitsandbytes]") {
  inputs::Random r(77);
  const Bytes codes{0, 255, 17, 17, 255};
  Floats map(256);
  for (float& m : map) m = static_cast<float>(r.unit() - 0.5);
  const Floats nested{0.3f, 7.0f};
  const Floats absmax = bnb::restore_absmax(codes, map, nested, 3, 0.7f);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto product = static_cast<float>(double{map[codes[i]]} * double{nested[i / 3]});
    CHECK(absmax[i] == static_cast<float>(double{product} + double{0.7f}));
  }
  Floats out(5, 4.0f);
  const Floats small(map.begin(), map.begin() + 16);
  bnb::dequantize_by_map(Bytes{0, 15, 3, 3, 9}, small, nested, 4, out);
  CHECK(out[1] == static_cast<float>(double{small[15]} * double{nested[0]}));
  CHECK(out[4] == static_cast<float>(double{small[9]} * double{nested[1]}));

  out.assign(5, 4.0f);
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::bitsandbytes::dequantize_by_map", "[0, 15], got 255"},
               [&] { bnb::dequantize_by_map(codes, small, nested, 4, out); });
  test::raises(tq::errc::shape_mismatch, {"expected 5 entries of absmax, got 2"},
               [&] { bnb::dequantize_by_map(codes, map, nested, 1, out); });
  test::raises(tq::errc::bad_group_size, {"blocks of at least 1"},
               [&] { bnb::dequantize_by_map(codes, map, nested, 0, out); });
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::restore_absmax", "256 entries of a map"},
               [&] { (void)bnb::restore_absmax(codes, small, nested, 3, 0); });
  CHECK(out == Floats(5, 4.0f));
}

TEST_CASE("int8 rows have the value code * SCB / 127", "[bitsandbytes]") {
  const std::vector<std::int8_t> codes{127, -127, 5, 0, -128, 1};
  const Floats scb{2.5f, 0.0f};
  Floats out(6, 4.0f);
  bnb::dequantize_rows(codes, scb, out);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(std::abs(double{out[i]} - static_cast<double>(codes[i]) * double{scb[i / 3]} / 127) <=
          3e-7);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::bitsandbytes::dequantize_rows", "6 outputs, got 5"},
               [&] { bnb::dequantize_rows(codes, scb, std::span(out).first(5)); });
  test::raises(tq::errc::shape_mismatch, {"whole rows"},
               [&] { bnb::dequantize_rows(codes, Floats(4), out); });
}
