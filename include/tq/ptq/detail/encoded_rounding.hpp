// SPDX-License-Identifier: MIT
#pragma once
// EncodedRounding and EncodedGrid: numbers rounded to the codes of a scheme that is a value.

#include <tq/core/symmetry.hpp>
#include <tq/driver/planes.hpp>
#include <tq/driver/span.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ptq/detail/column_map.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq::detail {

/// The numbers of a parameter block. A scheme has a zero point, an offset, or neither.
struct EncodedAffine {
  float scale = 1;
  std::int32_t zero_point = 0;
  float offset = 0;
};

/// The kernels of a scheme, and its way from a range to numbers. Codes and values are those of
/// `encode` and `decode` under the same numbers.
template <Backend B = default_backend>
class EncodedRounding {
 public:
  /// Precondition: a scheme that `validate_encoding` accepts.
  template <class Types, class ScaleTypes>
  static EncodedRounding of(const QuantSpec& spec, const EncodedLayout& layout) {
    EncodedRounding out;
    out.has_offset = layout.has_offsets;
    out.has_origin = layout.has_offsets || layout.has_zero_points;
    out.code_size = layout.code_size();
    out.quantize_ = quantize_kernel_of<Types, B>(spec, layout.codes);
    out.dequantize_ = dequantize_kernel_of<Types, B>(spec);
    out.params_ = &params_fit<Types>(spec);
    out.fit_ =
        visit_scale<ScaleTypes>(spec, []<class Scale>() -> FitFunction { return &fit_one<Scale>; });
    return out;
  }

  bool has_offset = false, has_origin = false;
  std::size_t code_size = 1;

  /// The scale and origin for a range by itself, as they are stored.
  [[nodiscard]] EncodedAffine fit(Range range) const { return fit_(range, *params_); }

  /// The values of the codes of `x` under the numbers of one block.
  template <class A>
  void round(const A& affine, std::span<const float> x, float* values) {
    codes_.resize(x.size() * code_size);
    driver::Parameters parameters{.scales = driver::plain<B>(&affine.scale)};
    float offset = 0;
    if constexpr (requires { affine.offset; }) offset = affine.offset;
    set_origins(parameters, &affine.zero_point, &offset);
    sweep(x.data(), x.size(), codes_.data(), values, parameters);
  }

  /// Codes and values of numbers that have a scale and origin each.
  void round(const float* x, std::span<const float> scales, const std::int32_t* zero_points,
             const float* offsets, void* codes, float* values) const noexcept {
    driver::Parameters parameters{.scales = driver::plain<B>(scales.data()), .group = 1};
    set_origins(parameters, zero_points, offsets);
    sweep(x, scales.size(), codes, values, parameters);
  }

 private:
  using FitFunction = EncodedAffine (*)(Range, const ParamsFit&);

  template <class Scale>
  static EncodedAffine fit_one(Range range, const ParamsFit& fit) {
    const std::span<const Range> ranges(&range, 1);
    auto scales = scales_for<Scale>(ranges, fit);
    EncodedAffine out{scales.values()[0]};
    if constexpr (OffsetType<Scale>)
      if (fit.offsets != nullptr)
        out.offset = offsets_for<Scale>(ranges, scales.values(), *fit.offsets).values()[0];
    if (fit.zero_points != nullptr)
      out.zero_point = fit.zero_points(ranges, StoredNumbers<float>(std::move(scales)))[0];
    return out;
  }

  void set_origins(driver::Parameters& parameters, const std::int32_t* zero_points,
                   const float* offsets) const noexcept {
    if (has_offset) parameters.origins = {offsets, &offset_bits<B, float>};
    else if (has_origin) parameters.origins = driver::plain<B>(zero_points);
  }
  void sweep(const float* x, std::size_t size, void* codes, float* values,
             const driver::Parameters& parameters) const noexcept {
    driver::sweep(quantize_.get(), {.source = x, .target = codes}, {.length = size}, parameters);
    driver::sweep(dequantize_.get(), {.source = codes, .target = values}, {.length = size},
                  parameters);
  }

  HeldOperation quantize_, dequantize_;
  const ParamsFit* params_ = nullptr;
  FitFunction fit_ = nullptr;
  std::vector<std::byte> codes_;
};

/// A grid of a strip, as LaneGrid, for a scheme that is a value. `Code` has the bytes of a code.
template <class Code, Backend B>
class EncodedGrid {
 public:
  using code_type = Code;

  /// Precondition: codes of the rounding have sizeof(Code) bytes.
  EncodedGrid(std::size_t size, const EncodedRounding<B>& rounding)
      : rounding_(rounding), scales_(size, 1.0f), zero_points_(size), offsets_(size) {}

  void set(std::size_t i, const EncodedAffine& affine) noexcept {
    scales_[i] = affine.scale;
    zero_points_[i] = affine.zero_point;
    offsets_[i] = affine.offset;
  }
  void round(const float* x, code_type* codes, float* values) const noexcept {
    rounding_.round(x, scales_, zero_points_.data(), offsets_.data(), codes, values);
  }

 private:
  EncodedRounding<B> rounding_;
  std::vector<float> scales_;
  std::vector<std::int32_t> zero_points_;
  std::vector<float> offsets_;
};

/// The parameters of encoded weights [outputs, ...] by row and group of columns, as ColumnGroups.
class EncodedGroups {
 public:
  explicit EncodedGroups(const EncodedTensor& tensor)
      : map_(tensor.shape, AnyGranularity(tensor.spec).block(tensor.shape)),
        affines_(tensor.scales.size()) {
    for (std::size_t i = 0; i < affines_.size(); ++i) {
      affines_[i].scale = tensor.scales[i];
      if (!tensor.zero_points.empty()) affines_[i].zero_point = tensor.zero_points[i];
      if (!tensor.offsets.empty()) affines_[i].offset = tensor.offsets[i];
    }
  }

  [[nodiscard]] std::size_t group(std::size_t column) const noexcept { return map_.group(column); }
  [[nodiscard]] const EncodedAffine& affine(std::size_t row, std::size_t group) const noexcept {
    return affines_[map_.parameter(row, group)];
  }

 private:
  ColumnMap map_;
  std::vector<EncodedAffine> affines_;
};

}  // namespace tq::detail
