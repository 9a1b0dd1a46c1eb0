// SPDX-License-Identifier: MIT
// Block layouts of other programs: bytes of any content and of almost the right size become codes
// and values that agree with one another, and are written as they were read.
#include <tq/core/formats.hpp>
#include <tq/layouts/awq.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/detail/scale_grid.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/matmul_nbits.hpp>
#include <tq/layouts/microscaling.hpp>
#include <tq/layouts/nvfp4.hpp>
#include <tq/ops/dequantize.hpp>

#include <array>
#include <cmath>

#include "fuzz.hpp"

namespace {

using namespace tq;
using fuzz::require, fuzz::accepts;
using Words = std::vector<std::int32_t>;
using Codes = std::vector<std::uint8_t>;

constexpr std::size_t most = 4096;  // elements of a tensor whose spans have the right sizes

// Extents and the numbers in spans of them, drawn from an input.
class Draw : public fuzz::Input {
 public:
  using Input::Input;
  std::size_t extent() {
    static constexpr std::array<std::size_t, 16> usual{0,  1,  2,  3,  7,  8,  16, 24,
                                                       31, 32, 33, 48, 64, 65, 96, 128};
    const auto b = take<std::uint8_t>();
    return b == 0xff ? take<std::size_t>() : usual[b % usual.size()];
  }
  // `n` numbers, as a span should have, or one more or fewer; empty if they are too many.
  template <class T>
  std::vector<T> span(std::size_t n) {
    const std::size_t kind = below(32);
    if (n > 8 * most) n = 0;
    return many<T>(kind == 0 ? n + 1 : kind == 1 && n != 0 ? n - 1 : n);
  }
  // The group of every input, one beyond the last among them; the first is `first`.
  Words order(std::size_t n, std::size_t groups, std::int32_t first) {
    Words out = span<std::int32_t>(n);
    const auto choices = static_cast<std::uint32_t>(std::min(groups, most) + 1);
    for (std::int32_t& g : out)
      g = first + static_cast<std::int32_t>(static_cast<std::uint32_t>(g) % choices);
    return out;
  }
  GroupedShape grouped() {
    GroupedShape s;
    s.inputs = extent(), s.outputs = extent(), s.group_size = extent();
    return s;
  }
};

[[nodiscard]] bool is_small(const GroupedShape& s) {
  return s.inputs <= most && s.outputs <= most && s.inputs * s.outputs <= most && s.group_size != 0;
}
[[nodiscard]] std::size_t groups(const GroupedShape& s) {
  return s.group_size == 0 ? 0 : s.groups();
}
// Equal, but for the sign of zeros; NaN equals NaN.
[[nodiscard]] bool same(float a, float b) { return a == b || (a != a && b != b); }
[[nodiscard]] bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return same(x, y); });
}

// A weight has the value (code - zero point) * scale of every input and output.
template <class Params, class Code>
void check_values(const GroupedWeight<Params>& weight, const GroupedShape& s, bool inputs_first,
                  const std::vector<Code>& codes, const Words& zeros,
                  const std::vector<float>& scales, std::span<const std::int32_t> g_idx) {
  const std::vector<float> out = dequantize(weight);
  require(out.size() == s.inputs * s.outputs, "a value for every code");
  for (std::size_t k = 0; k < s.inputs; ++k)
    for (std::size_t n = 0; n < s.outputs; ++n) {
      const std::size_t g = g_idx.empty() ? k / s.group_size : static_cast<std::size_t>(g_idx[k]);
      const std::size_t at = inputs_first ? k * s.outputs + n : n * s.inputs + k;
      const std::size_t param = inputs_first ? g * s.outputs + n : n * s.groups() + g;
      const std::int32_t zero = zeros.empty() ? 0 : zeros[param];
      require(same(out[at], static_cast<float>(std::int32_t{codes[at]} - zero) * scales[param]),
              "(code - zero point) * scale");
    }
}

template <class T, class V>
void check_gptq(Draw in) {
  const GroupedShape s = in.grouped();
  const bool has_order = in.below(2) != 0;
  const auto qweight = in.span<std::int32_t>(layouts::gptq::qweight_words<T>(s));
  const auto qzeros =
      in.span<std::int32_t>(s.group_size == 0 ? 0 : layouts::gptq::qzeros_words<T>(s));
  const auto scales = in.span<float>(groups(s) * s.outputs);
  const Words g_idx = in.order(has_order ? s.inputs : 0, groups(s), 0);
  accepts([&] {
    const auto weight = layouts::gptq::load_weight<T, V>(s, qweight, qzeros, scales, g_idx);
    require(dequantize(weight).size() == s.inputs * s.outputs, "a value for every code");
    if (!is_small(s)) return;
    std::vector<typename T::code_type> codes(s.inputs * s.outputs);
    Words zeros(s.groups() * s.outputs), qweight2(qweight.size()), qzeros2(qzeros.size());
    layouts::gptq::load<T, V>(s, qweight, qzeros, codes, zeros);
    check_values(weight, s, true, codes, zeros, scales, g_idx);
    if (accepts([&] { layouts::gptq::store<T, V>(s, codes, zeros, qweight2, qzeros2); }))
      require(qweight2 == qweight && qzeros2 == qzeros, "the words that were read");
  });
}

void check_awq(Draw in) {
  const GroupedShape s = in.grouped();
  const auto qweight = in.span<std::int32_t>(layouts::awq::qweight_words(s));
  const auto qzeros = in.span<std::int32_t>(s.group_size == 0 ? 0 : layouts::awq::qzeros_words(s));
  const auto scales = in.span<float>(groups(s) * s.outputs);
  accepts([&] {
    const auto weight = layouts::awq::load_weight(s, qweight, qzeros, scales);
    if (!is_small(s)) return;
    Codes codes(s.inputs * s.outputs);
    Words zeros(s.groups() * s.outputs), qweight2(qweight.size()), qzeros2(qzeros.size());
    layouts::awq::load(s, qweight, qzeros, codes, zeros);
    check_values(weight, s, true, codes, zeros, scales, {});
    layouts::awq::store(s, codes, zeros, qweight2, qzeros2);
    require(qweight2 == qweight && qzeros2 == qzeros, "the words that were read");
  });
}

template <class T>
void check_compressed(Draw in) {
  namespace ct = tq::layouts::compressed_tensors;
  const GroupedShape s = in.grouped();
  const bool has_zeros = in.below(2) != 0, has_order = in.below(2) != 0;
  const auto words = in.span<std::int32_t>(ct::words_for<T, 1>(s.outputs, s.inputs));
  const auto scales = in.span<float>(groups(s) * s.outputs);
  const auto packed_zeros = in.span<std::int32_t>(ct::words_for<T, 0>(s.outputs, groups(s)));
  const Words g_idx = in.order(has_order ? s.inputs : 0, groups(s), -1);
  const auto check = [&](const auto& weight, bool with_zeros) {
    require(dequantize(weight).size() == s.inputs * s.outputs, "a value for every code");
    if (!is_small(s)) return;
    std::vector<typename T::code_type> codes(s.inputs * s.outputs);
    ct::load<T, 1>(s.outputs, s.inputs, words, codes);
    Words zeros(with_zeros ? s.groups() * s.outputs : 0);
    if (with_zeros) ct::load<T, 0, std::int32_t>(s.outputs, s.groups(), packed_zeros, zeros);
    check_values(weight, s, false, codes, zeros, scales, detail::used_g_idx(g_idx));
    Words again(words.size());
    ct::store<T, 1>(s.outputs, s.inputs, codes, again);
    std::vector<typename T::code_type> codes2(codes.size());
    ct::load<T, 1>(s.outputs, s.inputs, again, codes2);
    require(codes2 == codes, "the codes that were stored");
  };
  if (has_zeros)
    accepts(
        [&] { check(ct::load_asymmetric_weight<T>(s, words, scales, packed_zeros, g_idx), true); });
  else accepts([&] { check(ct::load_weight<T>(s, words, scales, g_idx), false); });
}

template <class T>
void check_nbits(Draw in) {
  namespace nbits = tq::layouts::matmul_nbits;
  GroupedShape s = in.grouped();
  const bool has_zeros = in.below(2) != 0;
  const bool is_size = s.group_size >= 16;
  const auto bytes = in.span<std::uint8_t>(is_size ? nbits::row_bytes<T>(s) * s.outputs : 0);
  const auto scales = in.span<float>(groups(s) * s.outputs);
  const auto packed_zeros =
      in.span<std::uint8_t>(has_zeros && is_size ? nbits::zero_point_bytes<T>(s) : 0);
  accepts([&] {
    const auto weight = nbits::load_weight<T>(s, bytes, scales, packed_zeros);
    const auto differences = nbits::load_differences<T>(s, bytes, scales, packed_zeros);
    require(same(dequantize(differences), dequantize(weight)), "the same values by differences");
    if (!is_small(s)) return;
    std::vector<typename T::code_type> codes(s.inputs * s.outputs), again(codes.size());
    Words zeros(s.groups() * s.outputs, 1 << (T::bits - 1));
    if (!packed_zeros.empty()) nbits::load_zero_points<T>(s, packed_zeros, zeros);
    nbits::load<T>(s, bytes, codes);
    check_values(weight, s, false, codes, zeros, scales, {});
    Codes stored(bytes.size()), stored_zeros(nbits::zero_point_bytes<T>(s));
    nbits::store<T>(s, codes, stored);
    nbits::load<T>(s, stored, again);
    require(again == codes, "the codes that were stored");
    Words zeros2(zeros.size());
    nbits::store_zero_points<T>(s, zeros, stored_zeros);
    nbits::load_zero_points<T>(s, stored_zeros, zeros2);
    require(zeros2 == zeros, "the zero points that were stored");
  });
}

// A tensor of rank 0 to 3, perhaps with extents whose product overflows.
[[nodiscard]] Shape draw_shape(Draw& in) {
  std::array<std::size_t, 3> extents{};
  const std::size_t rank = in.below(4);
  for (std::size_t i = 0; i < rank; ++i) extents[i] = in.extent();
  return Shape(std::span<const std::size_t>(extents.data(), rank));
}
[[nodiscard]] std::size_t lines_of(const Shape& s) {
  return s.rank() == 0 ? 0 : s.product(0, s.rank() - 1);
}
[[nodiscard]] std::size_t last_of(const Shape& s) { return s.rank() == 0 ? 0 : s[s.rank() - 1]; }
[[nodiscard]] bool is_small(const Shape& s) {
  for (const std::size_t e : s.extents())
    if (e > most) return false;
  return s.size() <= most;
}

template <class Params, class L>
void check_separate(Draw in) {
  using T = typename Params::type;
  const Shape s = draw_shape(in);
  const std::size_t blocks = detail::blocks_along(last_of(s), 32);
  const auto codes = in.span<std::uint8_t>(L::packing::template bytes_for<T>(s.size()));
  const auto scales =
      in.span<std::uint8_t>(L::scale_layout::bytes_for(s.size() == 0 ? 0 : lines_of(s), blocks));
  accepts([&] {
    const auto tensor = layouts::microscaling::load_tensor<Params, L>(s, codes, scales);
    require(dequantize(tensor).size() == s.size(), "a value for every code");
    if (!is_small(s)) return;
    Codes codes2(codes.size()), scales2(scales.size());
    layouts::microscaling::store_tensor<L>(tensor, codes2, scales2);
    require((layouts::microscaling::load_tensor<Params, L>(s, codes2, scales2)) == tensor,
            "the tensor that was stored");
  });
}

template <class Params, class L>
void check_interleaved(Draw in) {
  const Shape s = draw_shape(in);
  const std::size_t blocks = s.size() == 0 ? 0 : lines_of(s) * detail::blocks_along(last_of(s), 32);
  const auto bytes = in.span<std::uint8_t>(blocks * layouts::microscaling::block_bytes<Params>);
  accepts([&] {
    const auto tensor = layouts::microscaling::load_tensor<Params, L>(s, bytes);
    if (!is_small(s)) return;
    Codes again(bytes.size());
    layouts::microscaling::store_tensor<L>(tensor, again);
    require((layouts::microscaling::load_tensor<Params, L>(s, again)) == tensor,
            "the tensor that was stored");
    if (last_of(s) % 32 == 0) require(again == bytes, "the blocks that were read");
  });
}

template <class Convention, class Layout>
void check_nvfp4(Draw in) {
  const Shape s = draw_shape(in);
  const std::size_t blocks = detail::blocks_along(last_of(s), 16);
  const float scale = in.take<float>();
  const auto codes = in.span<std::uint8_t>(LowFirst::bytes_for<nvfp4::type>(s.size()));
  const auto scales =
      in.span<std::uint8_t>(Layout::bytes_for(s.size() == 0 ? 0 : lines_of(s), blocks));
  accepts([&] {
    const auto tensor =
        layouts::nvidia::load_tensor<nvfp4, Convention, Layout>(s, codes, scales, scale);
    if (!is_small(s)) return;
    for (const float v : dequantize(tensor)) require(std::isfinite(v) || std::isinf(v), "numbers");
    Codes codes2(codes.size()), scales2(scales.size());
    const float scale2 = layouts::nvidia::store_tensor<Convention, Layout>(tensor, codes2, scales2);
    const auto again =
        layouts::nvidia::load_tensor<nvfp4, Convention, Layout>(s, codes2, scales2, scale2);
    require(std::ranges::equal(again.bytes(), tensor.bytes()), "the codes that were stored");
    if (std::is_same_v<Convention, layouts::nvidia::Multiplier>)
      require(again == tensor, "the tensor that was stored");
  });
}

void check_bitsandbytes(Draw in) {
  namespace bnb = tq::layouts::bitsandbytes;
  using Plain = QuantParams<nf4, PerGroup<dynamic>, Symmetric>;
  const Shape s = draw_shape(in);
  const std::size_t size = in.extent();
  const auto bytes = in.span<std::uint8_t>(bnb::bytes_for(s.size()));
  const std::size_t blocks = size == 0 ? 0 : lines_of(s) * detail::blocks_along(last_of(s), size);
  const auto absmax = in.span<float>(blocks);
  accepts([&] {
    const PerGroup<dynamic> groups(static_cast<int>(size % 8192));
    const auto tensor = bnb::load_tensor<Plain>(s, bytes, absmax, groups);
    if (!is_small(s)) return;
    Codes codes(s.size()), bytes2(bytes.size());
    bnb::load(bytes, codes);
    std::vector<float> map(16), out(s.size()), absmax2(absmax.size());
    for (std::size_t i = 0; i < map.size(); ++i)
      map[i] = nf4::format::decode(static_cast<std::uint32_t>(i));
    bnb::dequantize_by_map(codes, map, absmax, size, out);
    require(same(out, dequantize(tensor)), "the values by the map");
    bnb::store_tensor(tensor, bytes2, absmax2);
    require(bnb::load_tensor<Plain>(s, bytes2, absmax2, groups) == tensor,
            "the tensor that was stored");
  });
}

void check_nested(Draw in) {
  namespace bnb = tq::layouts::bitsandbytes;
  const Shape s = draw_shape(in);
  const float offset = in.take<float>();
  const std::size_t blocks = lines_of(s) * detail::blocks_along(last_of(s), 64);
  const auto bytes = in.span<std::uint8_t>(bnb::bytes_for(s.size()));
  const auto absmax = in.span<std::uint8_t>(blocks);
  const auto nested = in.span<float>(detail::nested_blocks(blocks));
  accepts([&] {
    const auto tensor = bnb::load_tensor<nf4_64_double>(s, bytes, absmax, nested, offset);
    if (!is_small(s)) return;
    Codes bytes2(bytes.size()), absmax2(absmax.size());
    std::vector<float> nested2(nested.size());
    const float offset2 = bnb::store_tensor(tensor, bytes2, absmax2, nested2);
    require(bnb::load_tensor<nf4_64_double>(s, bytes2, absmax2, nested2, offset2) == tensor,
            "the tensor that was stored");
  });
}

void check_maps(Draw in) {
  namespace bnb = tq::layouts::bitsandbytes;
  const std::size_t n = in.extent(), block = in.extent(),
                    map_size = in.below(2) != 0 ? 256 : in.extent();
  if (n > most || map_size > most) return;
  const auto codes = in.span<std::uint8_t>(n);
  const auto absmax = in.span<float>(block == 0 ? 0 : detail::blocks_along(n, block));
  const auto map = in.span<float>(map_size);
  std::vector<float> out(codes.size());
  accepts([&] { bnb::dequantize_by_map(codes, map, absmax, block, out); });
  accepts([&] { static_cast<void>(bnb::restore_absmax(codes, map, absmax, block, 0.5f)); });
  std::vector<std::int8_t> rows(codes.begin(), codes.end());
  accepts([&] { bnb::dequantize_rows(rows, absmax, out); });
}

void check_grid(Draw in) {
  const Shape s = draw_shape(in);
  ScaleGrid grid;
  std::size_t count = 1;
  for (std::size_t i = in.below(8) == 0 ? in.below(4) : static_cast<std::size_t>(s.rank());
       i-- > 0;)
    grid.block.push_back(in.extent());
  for (std::size_t i = 0; i < grid.block.size() && i < s.extents().size(); ++i)
    count *= grid.block[i] == 0 ? 1 : detail::blocks_along(s.extents()[i], grid.block[i]);
  auto values = in.span<float>(s.size());
  const auto scales = in.span<float>(count);
  const auto before = values;
  if (!accepts([&] { multiply_by_blocks(values, s, grid, scales); }))
    require(same(values, before), "nothing written after an error");
}

using Check = void (*)(Draw);
constexpr std::array<Check, 26> checks{
    &check_gptq<uint2, layouts::gptq::V1>,
    &check_gptq<uint3, layouts::gptq::V1>,
    &check_gptq<uint4, layouts::gptq::V2>,
    &check_gptq<uint8, layouts::gptq::V2>,
    &check_awq,
    &check_compressed<layouts::compressed_tensors::int1>,
    &check_compressed<int3>,
    &check_compressed<int4>,
    &check_compressed<int5>,
    &check_compressed<int8>,
    &check_nbits<uint2>,
    &check_nbits<uint4>,
    &check_nbits<uint8>,
    &check_separate<mxfp4, layouts::microscaling::Separate<>>,
    &check_separate<mxfp4, layouts::microscaling::Separate<HighFirst, ScaleTiles>>,
    &check_separate<mxfp6_e2m3, layouts::microscaling::Separate<>>,
    &check_separate<mxfp8_e4m3, layouts::microscaling::Separate<LowFirst, ScaleTiles>>,
    &check_interleaved<mxfp4, layouts::microscaling::Interleaved<layouts::microscaling::Halves>>,
    &check_interleaved<mxfp6_e3m2,
                       layouts::microscaling::Interleaved<layouts::microscaling::Sequential>>,
    &check_interleaved<mxint8,
                       layouts::microscaling::Interleaved<layouts::microscaling::Sequential>>,
    &check_nvfp4<layouts::nvidia::Multiplier, ScaleRows>,
    &check_nvfp4<layouts::nvidia::Divisor, ScaleTiles>,
    &check_bitsandbytes,
    &check_nested,
    &check_maps,
    &check_grid,
};

// The first byte chooses the layout.
const fuzz::Target all_layouts("layouts", [](fuzz::Bytes bytes) {
  if (!bytes.empty()) checks[bytes[0] % checks.size()](Draw(bytes.subspan(1)));
});

}  // namespace
