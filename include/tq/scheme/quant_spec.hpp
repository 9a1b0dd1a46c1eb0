// SPDX-License-Identifier: MIT
#pragma once
// QuantSpec: a quantization scheme as a value, the way JSON and command lines carry it.

#include <tq/bodies.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/type_list.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tq {

/// A scheme by name. The names are those of the C++ types; fields that the granularity does not use
/// are ignored. `visit` (visit.hpp) leads from a spec to the static types.
struct QuantSpec {
  std::string type = "int8";
  std::string granularity = "per_channel";
  std::string symmetry = "symmetric";
  /// The axis of per_channel (0 where absent) and per_group (-1 where absent). Where it is absent,
  /// quantization of models takes the axes of the tensor into account (`spec_for`).
  std::optional<int> axis{};
  int group_size = 32;   ///< of per_group
  int block_rows = 128;  ///< of per_block
  int block_cols = 128;  ///< of per_block
  std::string scale_type = "float32";
  std::string numerics = "onnx";
  std::string calibrator =
      "min_max";  ///< or mean_abs: ranges of +-mean|x|, what is beyond saturates

  [[nodiscard]] TQ_API bool uses_axis() const noexcept;
  [[nodiscard]] bool uses_group_size() const noexcept { return granularity == PerGroup<>::name; }
  [[nodiscard]] bool uses_block() const noexcept { return granularity == PerBlock<>::name; }
  /// Codes stand for the values themselves: what is beyond the largest code saturates, what is tiny
  /// is lost.
  [[nodiscard]] bool is_cast() const noexcept { return scale_type == Unscaled::name; }
  /// The axis asked for, or the default of the granularity.
  [[nodiscard]] TQ_API int axis_or_default() const noexcept;

  /// True when both name the same scheme: unused fields do not count.
  friend bool operator==(const QuantSpec& a, const QuantSpec& b) noexcept {
    return a.type == b.type && a.granularity == b.granularity && a.symmetry == b.symmetry &&
           a.scale_type == b.scale_type && a.numerics == b.numerics &&
           a.calibrator == b.calibrator &&
           (!a.uses_axis() || a.axis_or_default() == b.axis_or_default()) &&
           (!a.uses_group_size() || a.group_size == b.group_size) &&
           (!a.uses_block() || (a.block_rows == b.block_rows && a.block_cols == b.block_cols));
  }
};

namespace detail {
// "per_group(32, axis -1)".
[[nodiscard]] TQ_API std::string granularity_text(const QuantSpec& spec);
}  // namespace detail

/// "int4 per_group(32, axis -1) symmetric", "float8_e4m3fn cast without scales": for tables and
/// messages.
[[nodiscard]] TQ_API std::string to_string(const QuantSpec& spec);

}  // namespace tq

/// A hash that is the same for equal specs.
template <>
struct std::hash<tq::QuantSpec> {
  [[nodiscard]] std::size_t operator()(const tq::QuantSpec& spec) const {
    return std::hash<std::string>{}(to_string(spec));  // which has what `==` compares
  }
};

namespace tq {

namespace detail {

template <class List>
void require_known(const char* function, const char* what, List list, std::string_view name) {
  if (!has_name(list, name))
    raise_expected(errc::unknown_name, function, {what, " to be one of ", known_names(list)},
                   {in_quotes(name), did_you_mean(name, names_of(list))});
}

// Whether a scale type is a `SuperBlock<...>`, which programs list themselves.
[[nodiscard]] inline bool names_super_block(std::string_view scale_type) noexcept {
  return scale_type.find("_super_block_") != std::string_view::npos;
}
// Whether offsets can be stored as scales of that name.
[[nodiscard]] inline bool is_offset_scale(std::string_view scale_type) noexcept {
  return has_name(all_offset_scales{}, scale_type) || names_super_block(scale_type);
}

// Everything about a spec that does not depend on the types a program knows.
TQ_API void require_valid(const char* function, const QuantSpec& spec);

// The granularity object of a spec, and back; one overload per granularity that has a name.
TQ_API void describe_granularity(const PerTensor&, QuantSpec&) noexcept;
TQ_API void describe_granularity(const PerToken&, QuantSpec&) noexcept;
template <int Axis>
void describe_granularity(const PerChannel<Axis>& g, QuantSpec& spec) noexcept {
  spec.axis = g.axis();
}
template <int Size, int Axis>
void describe_granularity(const PerGroup<Size, Axis>& g, QuantSpec& spec) noexcept {
  spec.group_size = g.size();
  spec.axis = g.axis();
}
template <int Rows, int Cols>
void describe_granularity(const PerBlock<Rows, Cols>& g, QuantSpec& spec) noexcept {
  spec.block_rows = g.rows();
  spec.block_cols = g.cols();
}

// One that is chosen at run time knows what it is.
template <class G>
  requires requires(const G& g, QuantSpec& spec) { g.describe(spec); }
void describe_granularity(const G& g, QuantSpec& spec) {
  g.describe(spec);
}

template <class G>
struct granularity_from;
template <>
struct granularity_from<PerTensor> {
  static PerTensor make(const QuantSpec&) noexcept { return {}; }
};
template <>
struct granularity_from<PerToken> {
  static PerToken make(const QuantSpec&) noexcept { return {}; }
};
template <int Axis>
struct granularity_from<PerChannel<Axis>> {
  static PerChannel<Axis> make(const QuantSpec& s) noexcept {
    if constexpr (Axis == dynamic) return PerChannel<Axis>(s.axis_or_default());
    else return {};
  }
};
template <int Size, int Axis>
struct granularity_from<PerGroup<Size, Axis>> {
  static PerGroup<Size, Axis> make(const QuantSpec& s) noexcept {
    if constexpr (Size == dynamic && Axis == dynamic)
      return PerGroup<Size, Axis>(s.group_size, s.axis_or_default());
    else if constexpr (Size == dynamic) return PerGroup<Size, Axis>(s.group_size);
    else return {};
  }
};
template <int Rows, int Cols>
struct granularity_from<PerBlock<Rows, Cols>> {
  static PerBlock<Rows, Cols> make(const QuantSpec& s) noexcept {
    if constexpr (Rows == dynamic) return PerBlock<Rows, Cols>(s.block_rows, s.block_cols);
    else return {};
  }
};

}  // namespace detail

namespace detail {
// The name of the first preset that is `N`, or of the default where `N` is no preset.
template <NumericsPolicy N>
[[nodiscard]] constexpr std::string_view preset_name() {
  std::string_view name;
  const auto look = [&]<class... Presets>(TypeList<Presets...>) {
    ((name.empty() && std::same_as<typename Presets::type, N> ? void(name = Presets::name)
                                                              : void()),
     ...);
  };
  look(all_numerics{});
  return name.empty() ? std::string_view(onnx_preset::name) : name;
}
}  // namespace detail

/// The spec of a static scheme. `numerics` is the preset that the parameters remember; numerics of
/// no preset are not recorded, and the spec says the default.
template <AnyParams Params>
[[nodiscard]] QuantSpec spec_of(
    typename Params::granularity_type granularity = typename Params::granularity_type{}) {
  QuantSpec spec;
  spec.type = Params::type::name;
  spec.granularity = Params::granularity_type::name;
  spec.symmetry = Params::symmetry_type::name;
  spec.scale_type = scale_type_name<typename Params::scale_type>;
  spec.numerics = detail::preset_name<typename Params::numerics_type>();
  detail::describe_granularity(granularity, spec);
  return spec;
}

/// The spec of the scheme of `params`.
template <AnyParams Params>
[[nodiscard]] QuantSpec spec_of(const Params& params) {
  return spec_of<Params>(params.granularity());
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/quant_spec.ipp>
#endif
