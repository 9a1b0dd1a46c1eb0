// SPDX-License-Identifier: MIT
// The code books of bitsandbytes: 4 bits, 8 bits, and scales that are quantized themselves.

#include "elements.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

namespace {

using Bytes = std::vector<std::uint8_t>;

// bitsandbytes flattens tensors: blocks do not end with rows.
template <class T>
using Blockwise = tq::QuantParams<T, tq::PerGroup<tq::dynamic>, tq::Symmetric>;

template <class T>
auto fit(const Case& c, tq::ConstTensorView x) {
  const tq::PerGroup<tq::dynamic> blocks(c.attributes.at("block").get<int>());
  return tq::calibrate<Blockwise<T>>(x, blocks, tq::numerics::bitsandbytes{});
}

// Where values stand among those of the code book; codes of one value stand in one place.
template <class T>
std::vector<std::int16_t> places(const Bytes& codes) {
  std::vector<float> values = tq::cast_from<T>(codes);
  std::vector<std::int16_t> out;
  for (const float v : values) {
    std::vector<float> below;
    for (const float entry : T::format::values)
      if (entry < v) below.push_back(entry);
    std::sort(below.begin(), below.end());
    below.erase(std::unique(below.begin(), below.end()), below.end());
    out.push_back(static_cast<std::int16_t>(below.size()));
  }
  return out;
}

// Codes within the tolerance; the tolerance is one of neighbours in the code book.
template <class T>
void require_codes(const Case& c, const Bytes& expected, const Bytes& got) {
  const std::vector<std::size_t> shape{expected.size()};
  require("codes", codes_exact_off_midpoint(code_tensor(shape, places<T>(expected)),
                                            code_tensor(shape, places<T>(got)),
                                            c.tolerance.number("max_fraction_off_by_one")));
}

template <class Params>
void require_values(const Case& c, const Bytes& codes, const Params& params) {
  const Tensor expected = c.output("values").load();
  std::vector<float> values(codes.size());
  tq::dequantize(codes, params, values);
  require("values", exact(expected, tq::io::from_float32("values", expected.shape, values), "",
                          ZeroSign::ignored));
}

template <class T>
Bytes check_blockwise(const Case& c) {
  const std::vector<float> x = c.input("x").floats();
  const auto params = fit<T>(c, tq::ConstTensorView(x));
  const Tensor absmax = c.output("absmax").load();
  require("absmax", exact(absmax, tq::io::from_values("absmax", absmax.shape, params.scales())));

  const Bytes expected = codes_of<T>(c.output("codes").load());
  Bytes codes(x.size());
  tq::quantize(tq::ConstTensorView(x), params, codes, tq::numerics::bitsandbytes{});
  require_codes<T>(c, expected, codes);
  // The default divides, and differs at most where the tolerance allows it.
  Bytes divided(x.size());
  tq::quantize(tq::ConstTensorView(x), params, divided);
  require_codes<T>(c, expected, divided);
  require_values(c, expected, params);
  return codes;
}

// Two codes a byte, the first one high. bitsandbytes pads with the code of 0, tq with zeros.
template <class T>
void check_packed(const Case& c, const Bytes& expected, std::span<const float> x,
                  const Bytes& codes) {
  const auto theirs = tq::io::values<std::uint8_t>(c.output("packed").load());
  const auto bytes = std::as_bytes(std::span(theirs));
  Bytes unpacked(expected.size());
  tq::unpack<T, tq::HighFirst>(bytes, unpacked);
  const std::vector<std::size_t> shape{expected.size()};
  require("packed, unpacked", exact(code_tensor(shape, expected), code_tensor(shape, unpacked)));

  std::vector<std::byte> packed(tq::HighFirst::bytes_for<T>(expected.size()));
  tq::pack<T, tq::HighFirst>(expected, packed);
  const std::size_t whole = expected.size() / 2;
  require("packed", exact_bytes(bytes.first(whole), std::span(packed).first(whole)));

  tq::pack<T, tq::HighFirst>(codes, packed);
  const auto q = tq::quantize<tq::HighFirst>(tq::ConstTensorView(x), fit<T>(c, x),
                                             tq::numerics::bitsandbytes{});
  require("packed while quantizing", exact_bytes(packed, q.bytes()));
}

template <class T>
void check_4bit(const Case& c) {
  const Bytes codes = check_blockwise<T>(c);
  check_packed<T>(c, codes_of<T>(c.output("codes").load()), c.input("x").floats(), codes);
}

template <class T>
void check_codebook(const Case& c) {
  const Tensor expected = c.output("values").load();
  Bytes codes(T::format::size);
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  // The second zero of FP4 is a -0 in tq, so that it keeps a sign.
  require("values",
          exact(expected, tq::io::from_float32("values", {codes.size()}, tq::cast_from<T>(codes)),
                "", ZeroSign::ignored));
}

}  // namespace

void codebook(const Case& c) {
  const auto type = c.attributes.at("type").get<std::string>();
  if (type == "nf4") check_codebook<tq::nf4>(c);
  else if (type == "fp4") check_codebook<tq::bnb_fp4>(c);
  else if (type == "dynamic8 signed") check_codebook<tq::dynamic8>(c);
  else throw Skip{"code book " + type + " is not built yet"};
}

void bnb_quantize_4bit(const Case& c) {
  const auto type = c.attributes.at("type").get<std::string>();
  if (type == "nf4") check_4bit<tq::nf4>(c);
  else if (type == "fp4") check_4bit<tq::bnb_fp4>(c);
  else throw Skip{"code book " + type + " is not built yet"};
}

void bnb_quantize_blockwise8(const Case& c) {
  const auto map = c.attributes.at("map").get<std::string>();
  if (map != "dynamic8") throw Skip{"code book " + map + " is not built yet"};
  check_blockwise<tq::dynamic8>(c);
}

void bnb_double_quant(const Case& c) {
  if (c.attributes.at("type").get<std::string>() != "nf4" ||
      c.attributes.at("block").get<int>() != 64 || c.attributes.at("block2").get<int>() != 256)
    throw Skip{"other blocks than those of NF4 with 64 and 256"};
  const std::vector<float> x = c.input("x").floats();
  const auto near = [&](const char* name, std::span<const float> got) {
    const Tensor expected = c.output(name).load();
    require(name, within(c.tolerance, expected, tq::io::from_float32(name, expected.shape, got)));
  };
  // bitsandbytes makes the codes before it quantizes their scales.
  const auto exact_params = fit<tq::nf4>(c, tq::ConstTensorView(x));
  near("absmax", exact_params.scales());
  const auto packed = tq::quantize<tq::HighFirst>(tq::ConstTensorView(x), exact_params,
                                                  tq::numerics::bitsandbytes{});
  const auto theirs = tq::io::values<std::uint8_t>(c.output("packed").load());
  require("packed", exact_bytes(std::as_bytes(std::span(theirs)), packed.bytes()));

  const auto scales = tq::Scales<tq::DoubleQuantized>::nearest(exact_params.scales());
  const Tensor absmax_codes = c.output("absmax_codes").load();
  require("absmax_codes",
          exact(absmax_codes, tq::io::from_values("codes", absmax_codes.shape, scales.stored())));
  near("absmax2", scales.block_scales());
  const float offset = scales.offset();
  near("offset", {&offset, 1});
  const auto rebuilt = scales.values();
  near("absmax_rebuilt", std::vector<float>(rebuilt.begin(), rebuilt.end()));

  Bytes codes(x.size());
  tq::unpack<tq::nf4, tq::HighFirst>(packed.bytes(), codes);
  std::vector<float> values(x.size());
  tq::dequantize(codes, tq::nf4_64_double({}, scales), values);
  near("values", values);
  const auto fitted =
      tq::calibrate<tq::nf4_64_double>(tq::ConstTensorView(x), tq::numerics::bitsandbytes{});
  if (!(fitted.stored_scales() == scales))
    throw std::runtime_error("calibrate gives other scales than Scales::nearest");
}

}  // namespace conformance
