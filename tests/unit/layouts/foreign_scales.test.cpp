// SPDX-License-Identifier: MIT
// Every loader of a checkpoint, with scales that tq's own parameters do not have: groups of scale 0
// load, as do negative scales where the format has them; scales that cannot be meant as numbers are
// refused, with loader and place.
#include <tq/layouts/awq.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/matmul_nbits.hpp>
#include <tq/layouts/nvfp4.hpp>
#include <tq/ops/dequantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

using Words = std::vector<std::int32_t>;
using Bytes = std::vector<std::uint8_t>;
constexpr float inf = std::numeric_limits<float>::infinity();

// Codes, zero points and scales of a weight: what a loader has to make of its words. Of the scales
// of a row some are 0, and with `signed_scales` some negative; the groups lie as `inputs_first`
// says.
template <class T>
struct Plain {
  tq::GroupedShape shape;
  bool inputs_first;
  std::vector<typename T::code_type> codes;
  Words zeros;
  std::vector<float> scales;

  Plain(const tq::GroupedShape& s, bool first, bool has_zeros, bool signed_scales, int lowest_zero)
      : shape(s), inputs_first(first) {
    inputs::Random r(static_cast<std::uint64_t>(T::bits) * 7 + s.inputs);
    codes = bits::codes<T>(r, s.inputs * s.outputs);
    zeros = has_zeros ? bits::codes<T, std::int32_t>(r, s.groups() * s.outputs, lowest_zero)
                      : Words(s.groups() * s.outputs, 0);
    scales = bits::scales(r, zeros.size());
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (i % 3 == 1) scales[i] = i % 2 == 0 ? 0.0f : -0.0f;
      if (i % 3 == 2 && signed_scales) scales[i] = -scales[i];
    }
  }

  // (code - zero point) * scale in double, rounded once.
  [[nodiscard]] std::vector<float> values(const Words& g_idx = {}) const {
    std::vector<float> out(codes.size());
    for (std::size_t k = 0; k < shape.inputs; ++k)
      for (std::size_t n = 0; n < shape.outputs; ++n) {
        const std::size_t g =
            g_idx.empty() ? k / shape.group_size : static_cast<std::size_t>(g_idx[k]);
        const std::size_t at = inputs_first ? k * shape.outputs + n : n * shape.inputs + k;
        const std::size_t p = inputs_first ? g * shape.outputs + n : n * shape.groups() + g;
        out[at] = static_cast<float>(
            double{scales[p]} * (static_cast<double>(codes[at]) - static_cast<double>(zeros[p])));
      }
    return out;
  }
};

// load(scales) is a weight: its values are those of the checkpoint, and scales without a meaning
// are refused by the loader's name and the group's place.
template <class T, class Load>
void check(const Plain<T>& plain, const char* loader, bool refuses_negative, Load&& load,
           const Words& g_idx = {}) {
  INFO(loader << " " << T::name);
  const auto weight = load(plain.scales);
  CHECK(tq::dequantize(weight) == plain.values(g_idx));
  for (const float s : weight.tensor.params().scales()) CHECK((s > 0 && s < inf));

  const std::size_t last = plain.scales.size() - 1;
  const std::string place = "group " + std::to_string(plain.shape.groups() - 1) + " of output " +
                            std::to_string(plain.shape.outputs - 1);
  std::vector<float> bad{std::nanf(""), inf, -inf};
  if (refuses_negative) bad.push_back(-1.0f);
  for (const float s : bad) {
    std::vector<float> scales = plain.scales;
    scales[last] = s;
    test::raises(tq::errc::bad_scale, {loader, place.c_str()}, [&] { (void)load(scales); });
  }
}

template <class T, class V>
void gptq(bool act_order) {
  constexpr int lowest = V::lowest_zero_point;
  const Plain<T> plain({64, 32, 16}, true, true, true, lowest);
  Words qweight(tq::layouts::gptq::qweight_words<T>(plain.shape)), g_idx;
  Words qzeros(tq::layouts::gptq::qzeros_words<T>(plain.shape));
  tq::layouts::gptq::store<T, V>(plain.shape, plain.codes, plain.zeros, qweight, qzeros);
  if (act_order)
    for (std::int32_t k = 0; k < 64; ++k) g_idx.push_back(k % 4);
  check(
      plain, "tq::layouts::gptq::load_weight", false,
      [&](const std::vector<float>& s) {
        return tq::layouts::gptq::load_weight<T, V>(plain.shape, qweight, qzeros, s, g_idx);
      },
      g_idx);
}

template <class T>
void compressed() {
  namespace ct = tq::layouts::compressed_tensors;
  const tq::GroupedShape shape{21, 3, 8};
  for (const bool has_zeros : {false, true}) {
    const Plain<T> plain(shape, false, has_zeros, has_zeros, T::qmin);
    Words words(ct::words_for<T, 1>(3, 21)), zero_words(ct::words_for<T, 0>(3, 3));
    ct::store<T, 1>(3, 21, plain.codes, words);
    ct::store<T, 0, std::int32_t>(3, 3, plain.zeros, zero_words);
    if (has_zeros)
      check(plain, "tq::layouts::compressed_tensors::load_asymmetric_weight", false,
            [&](const std::vector<float>& s) {
              return ct::load_asymmetric_weight<T>(shape, words, s, zero_words);
            });
    else
      check(plain, "tq::layouts::compressed_tensors::load_weight", true,
            [&](const std::vector<float>& s) { return ct::load_weight<T>(shape, words, s); });
  }
}

template <class T>
void nbits() {
  namespace nb = tq::layouts::matmul_nbits;
  const tq::GroupedShape shape{40, 3, 16};
  const Plain<T> plain(shape, false, true, true, 0);
  Bytes bytes(3 * nb::row_bytes<T>(shape)), zero_bytes(nb::zero_point_bytes<T>(shape));
  nb::store<T>(shape, plain.codes, bytes);
  nb::store_zero_points<T>(shape, plain.zeros, zero_bytes);
  check(plain, "tq::layouts::matmul_nbits::load_weight", false, [&](const std::vector<float>& s) {
    return nb::load_weight<T>(shape, bytes, s, zero_bytes);
  });
  check(plain, "tq::layouts::matmul_nbits::load_differences", false,
        [&](const std::vector<float>& s) {
          return nb::load_differences<T>(shape, bytes, s, zero_bytes);
        });
}

}  // namespace

TEST_CASE("dead groups and negative scales load in every integer layout", "[foreign_scales]") {
  using tq::layouts::gptq::V1;
  using tq::layouts::gptq::V2;
  for (const bool act_order : {false, true}) {
    gptq<tq::uint2, V1>(act_order);
    gptq<tq::uint3, V2>(act_order);
    gptq<tq::uint4, V1>(act_order);
    gptq<tq::uint4, V2>(act_order);
    gptq<tq::uint8, V1>(act_order);
  }
  const Plain<tq::uint4> awq({32, 16, 8}, true, true, true, 0);
  Words qweight(tq::layouts::awq::qweight_words(awq.shape)),
      qzeros(tq::layouts::awq::qzeros_words(awq.shape));
  tq::layouts::awq::store(awq.shape, awq.codes, awq.zeros, qweight, qzeros);
  check(awq, "tq::layouts::awq::load_weight", false, [&](const std::vector<float>& s) {
    return tq::layouts::awq::load_weight(awq.shape, qweight, qzeros, s);
  });
  compressed<tq::layouts::compressed_tensors::int1>();
  compressed<tq::int3>();
  compressed<tq::int4>();
  compressed<tq::int8>();
  nbits<tq::uint2>();
  nbits<tq::uint4>();
  nbits<tq::uint8>();
}

TEST_CASE("a weight of dead groups is written back as one that says the same", "[foreign_scales]") {
  const Plain<tq::uint4> p({32, 16, 8}, true, true, true, 0);
  Words qweight(tq::layouts::awq::qweight_words(p.shape)),
      qzeros(tq::layouts::awq::qzeros_words(p.shape));
  tq::layouts::awq::store(p.shape, p.codes, p.zeros, qweight, qzeros);
  const auto first = tq::layouts::awq::load_weight(p.shape, qweight, qzeros, p.scales);
  const auto codes = first.tensor.codes();
  const auto scales = first.tensor.params().scales();
  const auto stored = first.tensor.params().zero_points();
  const std::vector<std::int32_t> zeros(stored.begin(), stored.end());
  tq::layouts::awq::store(p.shape, codes, zeros, qweight, qzeros);
  const auto second = tq::layouts::awq::load_weight(p.shape, qweight, qzeros, scales);
  CHECK(tq::dequantize(second) == p.values());
  CHECK(second.tensor.params() == first.tensor.params());
}

TEST_CASE("blocks of zeros load in the float layouts, and others are refused by place",
          "[foreign_scales]") {
  namespace bnb = tq::layouts::bitsandbytes;
  const Bytes bytes(64, 0x70);
  const auto plain = bnb::load_tensor<tq::nf4_64>({128}, bytes, std::vector<float>{0.0f, 2.0f});
  const std::vector<float> values = tq::dequantize(plain);
  for (std::size_t i = 0; i < 64; ++i) CHECK(values[i] == 0);
  CHECK(values[65] == -2.0f);
  for (const float bad : {std::nanf(""), inf, -1.0f})
    test::raises(
        tq::errc::bad_scale, {"tq::layouts::bitsandbytes::load_tensor", "for block 1"},
        [&] { (void)bnb::load_tensor<tq::nf4_64>({128}, bytes, std::vector<float>{0.0f, bad}); });
  test::raises(tq::errc::bad_scale,
               {"tq::layouts::bitsandbytes::load_tensor", "rebuilt", "for block 1"}, [&] {
                 constexpr float most = std::numeric_limits<float>::max();
                 (void)bnb::load_tensor<tq::nf4_64_double>({128}, bytes, Bytes{0, 255},
                                                           std::vector<float>{most}, most);
               });

  namespace nv = tq::layouts::nvidia;
  const Bytes scales{0x38, 0x00, 0x7e, 0x38};
  const auto is_zero = [](const auto& tensor) {
    for (const float x : tq::dequantize(tensor)) CHECK(x == 0);
    CHECK(tensor.params().stored_scales().tensor_scale() == 1.0f);
  };
  is_zero(nv::load_tensor<tq::nvfp4, nv::Multiplier>({2, 32}, Bytes(32, 0x35), scales, 0.0f));
  is_zero(nv::load_tensor<tq::nvfp4, nv::Divisor>({2, 32}, Bytes(32, 0x35), scales, inf));
  test::raises(tq::errc::bad_scale, {"tq::layouts::nvidia::load_tensor", "for block 2"}, [&] {
    (void)nv::load_tensor<tq::nvfp4, nv::Multiplier>({2, 32}, Bytes(32, 0x35), scales, 1e37f);
  });
}
