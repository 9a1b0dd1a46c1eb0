// SPDX-License-Identifier: MIT
// The kernels of this build against the scalar contract, element by element: any bits as floats,
// any scales and zero points that parameters take, any layout of source and target.
#include <tq/core/float_elements.hpp>
#include <tq/core/make_params.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/scheme/any_granularity.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "fuzz.hpp"
#include "support/index_oracle.hpp"

namespace {

using namespace tq;
using fuzz::require, fuzz::accepts;

// The same bits; one NaN is as good as another.
[[nodiscard]] bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

[[nodiscard]] Shape draw_shape(fuzz::Input& in) {
  static constexpr std::array<std::size_t, 16> extents{0,  1,  2,  3,  4,  5,  7,  8,
                                                       15, 16, 17, 31, 33, 64, 70, 130};
  std::array<std::size_t, 4> e{};
  const std::size_t rank = in.below(5);
  std::size_t n = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    e[i] = extents[in.below(extents.size())];
    if (e[i] * n > 2048) e[i] = 2048 / n;
    n = std::max<std::size_t>(n * e[i], 1);
  }
  return Shape(std::span<const std::size_t>(e.data(), rank));
}

[[nodiscard]] AnyGranularity draw_granularity(fuzz::Input& in) {
  static constexpr std::array names{"per_tensor", "per_channel", "per_group", "per_token",
                                    "per_block"};
  QuantSpec spec;
  spec.granularity = names[in.below(names.size())];
  if (spec.uses_axis()) spec.axis = static_cast<int>(in.below(6)) - 3;
  if (spec.uses_group_size()) spec.group_size = static_cast<int>(in.below(40)) + 1;
  if (spec.uses_block()) {
    spec.block_rows = static_cast<int>(in.below(8)) + 1;
    spec.block_cols = static_cast<int>(in.below(40)) + 1;
  }
  return AnyGranularity(spec);
}

// Axes in any order, neighbours apart, backwards, or (`shares`) all at one place.
[[nodiscard]] oracle::Layout draw_layout(fuzz::Input& in, const Shape& shape, bool shares) {
  const auto kind = in.take<std::uint8_t>(), back = in.take<std::uint8_t>();
  oracle::Layout l;
  std::size_t step = (kind & 1u) != 0 ? 2 : 1;
  const int rank = shape.rank();
  for (int i = 0; i < rank; ++i) {
    // Reversed or rotated orders of axes; the last axis is the innermost of the usual one.
    const int axis = (kind & 2u) != 0   ? i
                     : (kind & 4u) != 0 ? (rank - 1 - i + 1) % rank
                                        : rank - 1 - i;
    const bool is_back = (back >> axis & 1u) != 0,
               is_shared = shares && (back >> (4 + axis) & 1u) != 0;
    const std::size_t n = shape[axis];
    auto& stride = l.strides[static_cast<std::size_t>(axis)];
    if (is_shared) continue;  // a stride of 0
    stride = is_back ? -static_cast<std::ptrdiff_t>(step) : static_cast<std::ptrdiff_t>(step);
    if (is_back && n > 0) l.first += static_cast<std::ptrdiff_t>(step * (n - 1));
    step *= std::max<std::size_t>(n, 1);
    if ((kind & 8u) != 0) step += kind >> 6;
  }
  const std::size_t offset = kind >> 4 & 3u;  // where memory begins
  l.first += static_cast<std::ptrdiff_t>(offset);
  l.extent = step + offset;
  return l;
}

// A target between guards.
template <class T>
struct Target {
  T guard;
  std::vector<T> memory;
  TensorView<T> view;
  Target(const Shape& shape, const oracle::Layout& l, T g)
      : guard(g), memory(l.extent + 32, g), view(memory.data() + 16 + l.first, shape, l.strides) {}
  // Checks every element by expected(index, number), and that nothing else was written.
  template <class F>
  void check(F&& expected, const char* what) {
    std::size_t i = 0;
    oracle::each_index(view.shape(), [&](const std::vector<std::size_t>& index) {
      T& v = view.data()[oracle::offset(index, view.strides())];
      if constexpr (std::is_same_v<T, float>) require(same(v, expected(index, i)), what);
      else require(v == expected(index, i), what);
      v = guard;
      ++i;
    });
    for (const T& v : memory) require(v == guard, "nothing written between elements");
  }
};

// The parts of a case beside its element type.
struct Case {
  Shape shape;
  AnyGranularity granularity;
  oracle::Layout source, target;
  std::vector<float> scales, memory;
  std::vector<std::int32_t> zeros;
  [[nodiscard]] ConstTensorView x() const {
    return {memory.data() + source.first, shape, source.strides};
  }
};

[[nodiscard]] float draw_scale(fuzz::Input& in) {
  const auto bits = in.take<std::uint32_t>() & 0x7fffffffu;
  const float s = std::bit_cast<float>(bits);
  return s > 0 && s <= std::numeric_limits<float>::max() ? s : 0.0625f;
}
// Any bits, or a tie between codes of that scale and what lies beside it.
[[nodiscard]] float draw_value(fuzz::Input& in, float scale) {
  const auto kind = in.take<std::uint8_t>();
  if (kind % 2 == 0) return std::bit_cast<float>(in.take<std::uint32_t>());
  const float v = static_cast<float>(in.take<std::int16_t>()) * 0.5f * scale;
  const std::uint32_t ulps = kind / 2 % 4;
  return v == 0 || !std::isfinite(v)
             ? v
             : std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) + ulps - 1);
}

template <class T>
[[nodiscard]] Case draw_case(fuzz::Input& in, bool has_zeros) {
  Case c;
  c.shape = draw_shape(in);
  c.granularity = draw_granularity(in);
  c.source = draw_layout(in, c.shape, true);
  c.target = draw_layout(in, c.shape, false);
  std::vector<float> scales(1 + in.below(4));
  for (float& s : scales) s = draw_scale(in);
  const std::size_t n =
      c.granularity.check(c.shape) == errc::ok ? param_count(c.granularity, c.shape) : 1;
  for (std::size_t i = 0; i < n; ++i) c.scales.push_back(scales[i % scales.size()]);
  if (has_zeros) {
    std::vector<std::int32_t> zeros(1 + in.below(3));
    for (std::int32_t& z : zeros) z = in.take<std::int16_t>();
    for (std::size_t i = 0; i < n; ++i) c.zeros.push_back(zeros[i % zeros.size()]);
  }
  std::vector<float> values;
  do values.push_back(draw_value(in, scales[values.size() % scales.size()]));
  while (!in.rest().empty() && values.size() < c.source.extent);
  for (std::size_t i = 0; i < c.source.extent; ++i)
    c.memory.push_back(values[(i + i / values.size()) % values.size()]);
  return c;
}

// The contract for one element: its code, and the value of a code.
template <class Params>
struct Contract {
  using T = typename Params::type;
  const Params& params;
  Shape block;
  [[nodiscard]] std::int32_t code(float x, std::size_t slot) const {
    const float scale = params.scales()[slot];
    constexpr numerics::onnx n{};
    if constexpr (CodedParams<Params>)
      return static_cast<std::int32_t>(reference::encode<typename T::format>(x, scale, n, 0));
    else
      return reference::quantize(x, {scale, zero(slot), Params::codes.min, Params::codes.max}, n,
                                 0);
  }
  [[nodiscard]] float value(std::int32_t code, std::size_t slot) const {
    const float scale = params.scales()[slot];
    if constexpr (CodedParams<Params>)
      return reference::decode<typename T::format>(static_cast<std::uint32_t>(code), scale);
    else return reference::dequantize(code, scale, zero(slot));
  }

 private:
  [[nodiscard]] std::int32_t zero(std::size_t slot) const {
    if constexpr (Params::has_zero_point) return params.zero_points()[slot];
    else return 0;
  }
};

template <class Params, class Pack>
void check_operations(const Case& c, const Params& params) {
  using T = typename Params::type;
  using code_type = typename Params::code_type;
  const ConstTensorView x = c.x();
  if (params.check(c.shape) != errc::ok) {
    require(!accepts([&] { static_cast<void>(quantize(x, params)); }), "parameters that fit");
    return;
  }
  const Shape block = c.granularity.block(c.shape);
  const Contract<Params> contract{params, block};
  std::vector<code_type> codes;
  std::vector<float> values;
  oracle::each_index(c.shape, [&](const std::vector<std::size_t>& index) {
    const std::size_t slot = oracle::param(index, c.shape, block);
    const float v = x.data()[oracle::offset(index, x.strides())];
    codes.push_back(static_cast<code_type>(contract.code(v, slot)));
    values.push_back(contract.value(codes.back(), slot));
  });
  const auto code = [&](const auto&, std::size_t i) { return codes[i]; };
  const auto value = [&](const auto&, std::size_t i) { return values[i]; };

  Target<code_type> as_codes(c.shape, c.target, code_type{99});
  quantize(x, params, as_codes.view);
  const TensorView<const code_type> made = as_codes.view;
  Target<float> as_values(c.shape, c.target, -77.0f);
  dequantize(made, params, as_values.view);
  as_values.check(value, "the value of the contract");
  as_codes.check(code, "the code of the contract");
  fake_quantize(x, params, as_values.view);
  as_values.check(value, "fake quantization to be both");

  std::vector<std::byte> bytes(Pack::template bytes_for<T>(c.shape.size()));
  QuantizedTensor<Params, Pack> packed(c.shape, params);
  quantize(x, packed);
  pack_unchecked<T, Pack, backend::native<arch::scalar>>(codes, bytes);
  require(std::ranges::equal(packed.bytes(), bytes), "codes packed on their way");
  dequantize(packed, as_values.view);
  as_values.check(value, "the value of packed codes");
}

template <class T, class S, class Pack>
void check(fuzz::Input in) {
  using Params = QuantParams<T, AnyGranularity, S>;
  const Case c = draw_case<T>(in, Params::has_zero_point);
  accepts([&] {
    std::vector<std::int32_t> zeros = c.zeros;
    if constexpr (Params::has_zero_point)
      for (std::int32_t& z : zeros) z = std::clamp(z, Params::codes.min, Params::codes.max);
    const auto params = make_params<Params>(c.granularity, c.scales, zeros);
    check_operations<Params, Pack>(c, params);
  });
}

// Parameters of the moment are those of scalar kernels, and codes follow from them.
template <class T, class S>
void check_dynamic(fuzz::Input in) {
  using Params = QuantParams<T, AnyGranularity, S>;
  using Scalar = backend::native<arch::scalar>;
  const Case c = draw_case<T>(in, false);
  accepts([&] {
    const auto native = quantize_dynamic<Params>(c.x(), c.granularity);
    const auto scalar = quantize_dynamic<Params>(c.x(), c.granularity, on<Scalar>);
    require(native == scalar, "the parameters and codes of scalar kernels");
    check_operations<Params, LowFirst>(c, native.params());
    require(quantize(c.x(), native.params()) == native, "the codes of those parameters");
  });
}

// Extremes of rows and columns, by every kernel for them.
void check_extremes(fuzz::Input in) {
  const std::size_t count = 1 + in.below(20), length = in.below(100), gap = in.below(4);
  const std::size_t stride = length + gap;
  std::vector<float> x;
  const auto first = in.rest().size() / 5 + 1;
  for (std::size_t i = 0; i < first; ++i) x.push_back(draw_value(in, 0.5f));
  const std::size_t size = count * stride + 1;
  for (std::size_t i = 0; x.size() < size; ++i) x.push_back(x[i]);
  using Kernel = default_backend::min_max;
  using Plain = backend::native<arch::scalar>::min_max;
  std::vector<float> low(count), high(count), top(count);
  const auto at = static_cast<std::ptrdiff_t>(stride);
  Kernel::rows(x.data(), count, length, at, low.data(), high.data());
  default_backend::abs_max::rows(x.data(), count, length, at, top.data());
  std::vector<kernels::Extremes> columns(length), expected(length);
  Kernel::columns(x.data(), count, length, at, columns.data());
  for (std::size_t r = 0; r < count; ++r) {
    const float* row = x.data() + r * stride;
    kernels::Extremes e;
    kernels::detail::add_exactly<arch::scalar>(row, length, e);
    const kernels::Extremes run = Kernel::run(row, length);
    require(run.min == e.min && run.max == e.max && run.nan == e.nan && run.infinite == e.infinite,
            "the extremes of a row");
    require(e.min > e.max ? low[r] > high[r] : low[r] == e.min && high[r] == e.max,
            "the extremes of every row");
    require(top[r] == (e.min > e.max ? 0.0f : std::max(-e.min, e.max)), "the largest magnitudes");
  }
  Plain::columns(x.data(), count, length, at, expected.data());
  for (std::size_t k = 0; k < length; ++k)
    require(columns[k].min == expected[k].min && columns[k].max == expected[k].max &&
                columns[k].nan == expected[k].nan && columns[k].infinite == expected[k].infinite,
            "the extremes of a column");
}

using Check = void (*)(fuzz::Input);
constexpr std::array<Check, 9> checks{
    &check<int8, Symmetric, LowFirst>,
    &check<int8, Asymmetric, LowFirst>,
    &check<uint4, Asymmetric, HighFirst>,
    &check<int4, Symmetric, LowFirst>,
    &check<int16, Asymmetric, LowFirst>,
    &check<float8_e4m3fn, Symmetric, LowFirst>,
    &check_dynamic<int8, Asymmetric>,
    &check_dynamic<int4, Symmetric>,
    &check_extremes,
};

// The first byte chooses element type and operation.
const fuzz::Target differential("differential", [](fuzz::Bytes bytes) {
  if (!bytes.empty()) checks[bytes[0] % checks.size()](fuzz::Input(bytes.subspan(1)));
});

}  // namespace
