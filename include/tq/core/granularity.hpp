// SPDX-License-Identifier: MIT
#pragma once
// Granularities: which elements of a tensor share a scale. Each one is the shape of a parameter
// block.

#include <tq/core/shape.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace tq {

/// In place of an axis or a size: the value is in the object, not in the type.
inline constexpr int dynamic = std::numeric_limits<int>::min();

namespace detail {
// A value that is in the type or, for `dynamic`, in the object (the std::extents idea).
template <int Static, int Tag>
struct static_or_dynamic {
  static constexpr int value() noexcept { return Static; }
  friend constexpr bool operator==(const static_or_dynamic&, const static_or_dynamic&) = default;
};
template <int Tag>
struct static_or_dynamic<dynamic, Tag> {
  int stored = 0;
  [[nodiscard]] constexpr int value() const noexcept { return stored; }
  friend constexpr bool operator==(const static_or_dynamic&, const static_or_dynamic&) = default;
};

// A block of extent 1 along every axis: each element its own parameter.
constexpr Shape unit_block(const Shape& shape) noexcept {
  Shape b = shape;
  for (int i = 0; i < b.rank(); ++i) b[i] = 1;
  return b;
}
constexpr std::size_t at_least_one(std::size_t n) noexcept { return std::max<std::size_t>(n, 1); }
}  // namespace detail

/// One parameter for the whole tensor.
struct PerTensor {
  static constexpr std::string_view name = "per_tensor";
  [[nodiscard]] static constexpr errc check(const Shape&) noexcept { return errc::ok; }
  [[nodiscard]] static constexpr Shape block(const Shape& shape) noexcept {
    Shape b = shape;
    for (int i = 0; i < b.rank(); ++i) b[i] = detail::at_least_one(b[i]);
    return b;
  }
  friend constexpr bool operator==(const PerTensor&, const PerTensor&) = default;
};

/// One parameter per index of `Axis`; negative axes count from the back.
template <int Axis = dynamic>
class PerChannel : private detail::static_or_dynamic<Axis, 0> {
  using axis_base = detail::static_or_dynamic<Axis, 0>;

 public:
  static constexpr std::string_view name = "per_channel";
  constexpr PerChannel()
    requires(Axis != dynamic)
  = default;
  constexpr explicit PerChannel(int axis)
    requires(Axis == dynamic)
  {
    this->stored = axis;
  }
  [[nodiscard]] constexpr int axis() const noexcept { return axis_base::value(); }
  [[nodiscard]] constexpr errc check(const Shape& shape) const noexcept {
    return resolve_axis(axis(), shape.rank()) ? errc::ok : errc::bad_axis;
  }
  [[nodiscard]] constexpr Shape block(const Shape& shape) const noexcept {
    Shape b = PerTensor::block(shape);
    b[*resolve_axis(axis(), shape.rank())] = 1;
    return b;
  }
  friend constexpr bool operator==(const PerChannel&, const PerChannel&) = default;
};

/// One parameter per `Size` neighbours along `Axis`; the last group of a line may be shorter.
template <int Size = dynamic, int Axis = -1>
class PerGroup : private detail::static_or_dynamic<Size, 0>,
                 private detail::static_or_dynamic<Axis, 1> {
  using size_base = detail::static_or_dynamic<Size, 0>;
  using axis_base = detail::static_or_dynamic<Axis, 1>;
  static_assert(Size == dynamic || Size >= 1, "tq::PerGroup: the group size is at least 1");

 public:
  static constexpr std::string_view name = "per_group";
  constexpr PerGroup()
    requires(Size != dynamic && Axis != dynamic)
  = default;
  constexpr explicit PerGroup(int size)
    requires(Size == dynamic && Axis != dynamic)
  {
    size_base::stored = size;
  }
  constexpr PerGroup(int size, int axis)
    requires(Size == dynamic && Axis == dynamic)
  {
    size_base::stored = size;
    axis_base::stored = axis;
  }
  [[nodiscard]] constexpr int size() const noexcept { return size_base::value(); }
  [[nodiscard]] constexpr int axis() const noexcept { return axis_base::value(); }
  [[nodiscard]] constexpr errc check(const Shape& shape) const noexcept {
    if (size() < 1) return errc::bad_group_size;
    return resolve_axis(axis(), shape.rank()) ? errc::ok : errc::bad_axis;
  }
  [[nodiscard]] constexpr Shape block(const Shape& shape) const noexcept {
    Shape b = detail::unit_block(shape);
    const int a = *resolve_axis(axis(), shape.rank());
    b[a] = std::min(static_cast<std::size_t>(size()), detail::at_least_one(shape[a]));
    return b;
  }
  friend constexpr bool operator==(const PerGroup&, const PerGroup&) = default;
};

/// One parameter per row: per line of the last axis. What "per token" means for activations.
struct PerToken {
  static constexpr std::string_view name = "per_token";
  [[nodiscard]] static constexpr errc check(const Shape& shape) noexcept {
    return shape.rank() >= 1 ? errc::ok : errc::bad_axis;
  }
  [[nodiscard]] static constexpr Shape block(const Shape& shape) noexcept {
    Shape b = detail::unit_block(shape);
    const int last = shape.rank() - 1;
    b[last] = detail::at_least_one(shape[last]);
    return b;
  }
  friend constexpr bool operator==(const PerToken&, const PerToken&) = default;
};

/// One parameter per tile of `Rows` x `Cols` over the last two axes; tiles at the edges may be
/// smaller.
template <int Rows = dynamic, int Cols = Rows>
class PerBlock : private detail::static_or_dynamic<Rows, 0>,
                 private detail::static_or_dynamic<Cols, 1> {
  using rows_base = detail::static_or_dynamic<Rows, 0>;
  using cols_base = detail::static_or_dynamic<Cols, 1>;
  static_assert((Rows == dynamic) == (Cols == dynamic),
                "tq::PerBlock: both extents static, or both dynamic");
  static_assert(Rows == dynamic || (Rows >= 1 && Cols >= 1),
                "tq::PerBlock: extents are at least 1");

 public:
  static constexpr std::string_view name = "per_block";
  constexpr PerBlock()
    requires(Rows != dynamic)
  = default;
  constexpr PerBlock(int rows, int cols)
    requires(Rows == dynamic)
  {
    rows_base::stored = rows;
    cols_base::stored = cols;
  }
  [[nodiscard]] constexpr int rows() const noexcept { return rows_base::value(); }
  [[nodiscard]] constexpr int cols() const noexcept { return cols_base::value(); }
  [[nodiscard]] constexpr errc check(const Shape& shape) const noexcept {
    if (rows() < 1 || cols() < 1) return errc::bad_group_size;
    return shape.rank() >= 2 ? errc::ok : errc::bad_axis;
  }
  [[nodiscard]] constexpr Shape block(const Shape& shape) const noexcept {
    Shape b = detail::unit_block(shape);
    const int r = shape.rank() - 2, c = shape.rank() - 1;
    b[r] = std::min(static_cast<std::size_t>(rows()), detail::at_least_one(shape[r]));
    b[c] = std::min(static_cast<std::size_t>(cols()), detail::at_least_one(shape[c]));
    return b;
  }
  friend constexpr bool operator==(const PerBlock&, const PerBlock&) = default;
};

/// A granularity says which block of elements shares a parameter. Smallest model:
///
///     struct PerMatrix {  // one parameter per slice of the first axis
///       static constexpr std::string_view name = "per_matrix";
///       static tq::errc check(const tq::Shape& s) noexcept {
///         return s.rank() == 3 ? tq::errc::ok : tq::errc::bad_axis;
///       }
///       static tq::Shape block(const tq::Shape& s) noexcept { return {1, s[1], s[2]}; }
///     };
template <class G>
concept Granularity = std::copyable<G> && requires(const G g, const Shape& shape) {
  { G::name } -> std::convertible_to<std::string_view>;
  { g.check(shape) } noexcept -> std::same_as<errc>;
  { g.block(shape) } noexcept -> std::same_as<Shape>;
};

/// The grid of parameters: how many blocks lie along each axis. An axis without elements has no
/// blocks, except where a block spans the axis, however long: then there is one. Precondition:
/// g.check(shape) is ok.
template <Granularity G>
[[nodiscard]] constexpr Shape param_shape(const G& g, const Shape& shape) noexcept {
  Shape lengthened = shape;  // an endless axis in place of each empty one tells the two apart
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == 0) lengthened[i] = std::numeric_limits<std::size_t>::max();
  const Shape block = g.block(lengthened);
  Shape grid = shape;
  for (int i = 0; i < grid.rank(); ++i)
    grid[i] = shape[i] != 0               ? detail::blocks_along(shape[i], block[i])
              : block[i] == lengthened[i] ? 1
                                          : 0;
  return grid;
}

/// The number of parameters of a tensor; a tensor without elements may still have some (one, per
/// tensor). Precondition: g.check(shape) is ok.
template <Granularity G>
[[nodiscard]] constexpr std::size_t param_count(const G& g, const Shape& shape) noexcept {
  return param_shape(g, shape).size();
}

namespace detail {
/// Most parameters of a tensor without elements, whose extents bound nothing.
inline constexpr std::size_t most_without_elements = std::size_t{1} << 20;

// The text is made in a function that is no template, once for all types.
[[noreturn]] inline void refuse_count(std::string_view function, std::string_view granularity,
                                      const Shape& shape, std::size_t got) {
  raise_expected(errc::bad_argument, function,
                 {"at most ", most_without_elements, " parameters of a tensor without elements"},
                 {got, " (", granularity, " over shape ", shape.extents(), ")"});
}

// Throws what `g.check(shape)` finds; `function` begins the text. Also `errc::bad_argument` for
// extents that memory cannot hold, and for parameters that no elements bound.
template <Granularity G>
void require_possible(std::string_view function, const G& g, const Shape& shape) {
  const std::size_t elements = shape.size();
  if (elements > most_in_memory) refuse_extents(function, shape);
  const errc e = g.check(shape);
  if (e == errc::ok) {
    if (elements != 0) return;
    if (const std::size_t n = param_count(g, shape); n > most_without_elements)
      refuse_count(function, G::name, shape, n);
    return;
  }
  if (e == errc::bad_group_size) {
    const TextParts expected{"sizes of at least 1 for ", G::name};
    if constexpr (requires { g.rows() + g.cols(); })
      raise_expected(e, function, expected, {g.rows(), " x ", g.cols()});
    else if constexpr (requires { g.size(); }) raise_expected(e, function, expected, {g.size()});
    else raise_expected(e, function, expected, {"others"});
  }
  const TextParts got{"shape ", shape.extents()};
  if constexpr (requires { g.axis(); })
    raise_expected(e, function, {"a tensor with an axis ", g.axis(), " for ", G::name}, got);
  else if constexpr (requires { g.rows(); })
    raise_expected(e, function, {"a tensor of rank 2 or more for ", G::name}, got);
  else if constexpr (std::same_as<G, PerToken>)
    raise_expected(e, function, {"a tensor of rank 1 or more for ", G::name}, got);
  else raise_expected(e, function, {"a tensor that fits ", G::name}, got);
}
}  // namespace detail

}  // namespace tq
