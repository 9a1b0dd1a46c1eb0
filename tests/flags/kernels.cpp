// SPDX-License-Identifier: MIT
// Prints a digest of the bits that every kernel computes, a line each. run.py builds it with many
// flags and compares the lines.
#include <tq/core/element_lists.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_int16.hpp>
#include <tq/tq.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/inputs.hpp"

#if !TQ_HAS_EXCEPTIONS
// Nothing here is wrong, so this is not called.
[[noreturn]] void tq::raise(errc code, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", to_string(code), what.c_str());
  std::exit(1);
}
#endif

namespace {

/// 23 rows of 95: no row ends with a register, and every third element is of extreme magnitude.
std::vector<float> data() {
  inputs::Random random(45);
  std::vector<float> x(23 * 95);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i % 3 == 0 ? inputs::any_bits(random) : inputs::value(random, 0.05f);
  return x;
}

/// FNV-1a over what the elements hold; every NaN is the same one.
class Digest {
 public:
  void add(std::uint64_t bits) {
    for (int shift = 0; shift < 64; shift += 8)
      hash_ = (hash_ ^ (bits >> shift & 255)) * 1099511628211u;
  }
  template <class T>
  void add_all(std::span<const T> elements) {
    for (const T v : elements) {
      if constexpr (std::is_same_v<T, float>)
        add(v != v ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v));
      else add(static_cast<std::uint64_t>(v));
    }
  }
  void print(std::string_view kernel, std::string_view type) const {
    std::printf("%s %s %016llx\n", kernel.data(), type.data(),
                static_cast<unsigned long long>(hash_));
  }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

template <class T>
void print(std::string_view kernel, std::string_view type, const std::vector<T>& elements) {
  Digest digest;
  digest.add_all(std::span<const T>(elements));
  digest.print(kernel, type);
}

template <class Quantized>
void print_codes(std::string_view kernel, std::string_view type, const Quantized& quantized) {
  Digest digest;
  digest.add_all(quantized.bytes());
  digest.print(kernel, type);
  print("dequantize", type, tq::dequantize(quantized));
}

template <class T>
void casts(const std::vector<float>& x) {
  const auto codes = tq::cast_to<T>(std::span<const float>(x));
  print("cast_to", T::name, codes);
  print("cast_from", T::name, tq::cast_from<T>(std::span<const typename T::code_type>(codes)));
}

template <class T, class Granularity, class Symmetry>
void passes(std::string_view name, const tq::ConstTensorView& x, const tq::ConstTensorView& seen) {
  using P = tq::QuantParams<T, Granularity, Symmetry>;
  const P params = tq::calibrate<P>(seen);
  print_codes("quantize", name, tq::quantize(x, params));
  print("fake_quantize", name, tq::fake_quantize(x, params));
}

template <class P>
void dynamic(std::string_view name, const tq::ConstTensorView& x) {
  print_codes("quantize_dynamic", name, tq::quantize_dynamic<P>(x));
}

template <class Acc, class Calibrator>
void observers(std::string_view name, const tq::ConstTensorView& x) {
  using P = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  tq::Observer<Acc> seen;
  seen.observe(x);
  const auto params = tq::calibrate<P>(seen, Calibrator{});
  print("observe", name, std::vector<float>(params.scales().begin(), params.scales().end()));
}

template <class Code>
void products(std::string_view name) {
  using limits = std::numeric_limits<Code>;
  inputs::Random random(46);
  std::vector<Code> x(7 * 95), w(23 * 95);
  for (Code& c : x) c = static_cast<Code>(random.between(limits::min(), limits::max()));
  for (Code& c : w) c = static_cast<Code>(random.between(limits::min(), limits::max()));
  const tq::PackedWeights packed(tq::TensorView<const Code>(w.data(), {23, 95}));
  std::vector<std::int32_t> out(7 * 23);
  tq::matmul_integer(tq::TensorView<const Code>(x.data(), {7, 95}), {}, packed,
                     tq::TensorView<std::int32_t>(out.data(), {7, 23}));
  print("matmul_integer", name, out);
}

void products_of_16() {
  inputs::Random random(47);
  std::vector<std::int16_t> x(7 * 1035), w(23 * 1035);
  for (std::int16_t& c : x) c = static_cast<std::int16_t>(random.between(-32768, 32767));
  for (std::int16_t& c : w) c = static_cast<std::int16_t>(random.between(-32768, 32767));
  const tq::PackedInt16Weights packed(tq::TensorView<const std::int16_t>(w.data(), {23, 1035}),
                                      std::array{-5});
  std::vector<std::int64_t> out(7 * 23);
  tq::matmul_integer(tq::TensorView<const std::int16_t>(x.data(), {7, 1035}), std::array{9}, packed,
                     tq::TensorView<std::int64_t>(out.data(), {7, 23}));
  print("matmul_integer", "int16", out);
}

}  // namespace

int main() {
  const std::vector<float> all = data();
  std::vector<float> ordinary = all;
  for (float& v : ordinary)
    if (!(v < 100.0f && v > -100.0f)) v = 1.5f;
  const tq::ConstTensorView x(all.data(), {23, 95}), seen(ordinary.data(), {23, 95});

  [&]<class... Ts>(tq::TypeList<Ts...>) { (casts<Ts>(all), ...); }(tq::all_floats{});
  casts<tq::nf4>(all);
  casts<tq::dynamic8>(all);
  passes<tq::int8, tq::PerTensor, tq::Symmetric>("int8", x, seen);
  passes<tq::uint8, tq::PerChannel<0>, tq::Asymmetric>("uint8", x, seen);
  passes<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>("uint4", x, seen);
  passes<tq::int2, tq::PerChannel<1>, tq::Symmetric>("int2", x, seen);
  passes<tq::int3, tq::PerGroup<16>, tq::Symmetric>("int3", x, seen);
  passes<tq::uint16, tq::PerTensor, tq::Asymmetric>("uint16", x, seen);
  passes<tq::float8_e4m3fn, tq::PerGroup<32>, tq::Symmetric>("float8_e4m3fn", x, seen);
  passes<tq::nf4, tq::PerGroup<64>, tq::Symmetric>("nf4", x, seen);
  dynamic<tq::mxfp4>("mxfp4", seen);
  dynamic<tq::mxfp6_e2m3>("mxfp6_e2m3", seen);
  dynamic<tq::mxfp8_e5m2>("mxfp8_e5m2", seen);
  dynamic<tq::mxint8>("mxint8", seen);
  dynamic<tq::nvfp4>("nvfp4", seen);
  products<std::int8_t>("int8");
  products<std::uint8_t>("uint8");
  products_of_16();
  observers<tq::MinMax, tq::MinMaxCalibrator>("min_max", x);
  observers<tq::Histogram, tq::MseCalibrator>("histogram", seen);
  observers<tq::MeanAbs, tq::MeanAbsCalibrator>("mean_abs", seen);
  observers<tq::MeanStd, tq::MeanStdCalibrator>("mean_std", seen);
}
