// SPDX-License-Identifier: MIT
#pragma once
// convolve_depthwise: convolutions whose outputs have one channel each, place by place, with all
// channels beside each other.

#include <tq/arch/tap_dot.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/kernels/depthwise.hpp>
#include <tq/linear/conv_geometry.hpp>
#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/detail/packed_filters.hpp>
#include <tq/linear/output/detail/store_row.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tq::detail {

// Places from `first` to before `last` along an axis.
struct AxisRange {
  std::size_t first, last;
  [[nodiscard]] std::size_t size() const noexcept { return last - first; }
};
// Along height and width.
using Window = std::array<AxisRange, 2>;

// The inputs inside the image that some outputs take.
inline Window inputs_of(const Window& outputs, const ConvGeometry& geometry,
                        const std::array<std::size_t, 2>& kernel, const Shape& x) noexcept {
  Window in{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::size_t before = geometry.pads_before[axis], stride = geometry.strides[axis],
                      reach = (kernel[axis] - 1) * geometry.dilations[axis] + 1,
                      first = outputs[axis].first * stride,
                      last = (outputs[axis].last - 1) * stride + reach;
    in[axis].last = std::min(last - std::min(last, before), x[static_cast<int>(axis) + 2]);
    in[axis].first = std::min(first - std::min(first, before), in[axis].last);
  }
  return in;
}

// Some inputs of an image, those of a place beside each other: where they lie if they lie so, else
// a copy, in which every channel is there for each of its outputs.
template <ByteCode Code>
class ChannelsBeside {
 public:
  ChannelsBeside(const TensorView<const Code>& x, std::size_t image, const Window& places,
                 const PackedFilters& filters)
      : places_(places) {
    const Code* first = x.data() + static_cast<std::ptrdiff_t>(image) * x.stride(0) +
                        static_cast<std::ptrdiff_t>(places[0].first) * x.stride(2) +
                        static_cast<std::ptrdiff_t>(places[1].first) * x.stride(3);
    const std::size_t lanes = filters.depthwise().lanes();
    if (x.stride(1) == 1 && lanes == x.shape()[1]) {
      first_ = first;
      steps_ = {x.stride(2), x.stride(3)};
      return;
    }
    copy_ = Buffer<Code>(places[0].size() * places[1].size() * lanes);
    first_ = copy_.data();
    steps_ = {static_cast<std::ptrdiff_t>(places[1].size() * lanes),
              static_cast<std::ptrdiff_t>(lanes)};
    if (lanes != filters.outputs()) std::fill_n(copy_.data(), copy_.size(), Code{0});
    for (std::size_t h = 0; h < places[0].size(); ++h)
      copy_line(first + static_cast<std::ptrdiff_t>(h) * x.stride(2), x, filters,
                copy_.data() + static_cast<std::ptrdiff_t>(h) * steps_[0]);
  }

  // The codes of a row, and of a column in it; null outside of the image.
  [[nodiscard]] const Code* line(std::size_t row) const noexcept {
    return row < places_[0].last
               ? first_ + static_cast<std::ptrdiff_t>(row - places_[0].first) * steps_[0]
               : nullptr;
  }
  [[nodiscard]] const Code* at(const Code* line, std::size_t column) const noexcept {
    return line != nullptr && column < places_[1].last
               ? line + static_cast<std::ptrdiff_t>(column - places_[1].first) * steps_[1]
               : nullptr;
  }

 private:
  void copy_line(const Code* from, const TensorView<const Code>& x, const PackedFilters& filters,
                 Code* to) const noexcept {
    const std::size_t each = filters.outputs_of_group(), width = places_[1].size();
    if (x.stride(1) == 1 && each == 1) {
      for (std::size_t w = 0; w < width; ++w, from += x.stride(3), to += steps_[1])
        std::copy_n(from, filters.outputs(), to);
      return;
    }
    for (std::size_t n = 0; n < filters.outputs(); ++n) {
      const Code* channel = from + static_cast<std::ptrdiff_t>(n / each) * x.stride(1);
      for (std::size_t w = 0; w < width; ++w)
        to[static_cast<std::ptrdiff_t>(w) * steps_[1] + static_cast<std::ptrdiff_t>(n)] =
            channel[static_cast<std::ptrdiff_t>(w) * x.stride(3)];
    }
  }

  Window places_;
  Buffer<Code> copy_;
  const Code* first_ = nullptr;
  std::array<std::ptrdiff_t, 2> steps_{};  // from row to row and from column to column
};

// The sums of a place.
template <class Arch, ByteCode Code>
void depthwise_sums(const kernels::Taps<Code>& taps, const kernels::TapWeights& weights,
                    std::int32_t* sums) noexcept {
  if constexpr (!is_library<Arch>) kernels::depthwise<arch::tap_dot<Arch>>(taps, weights, sums);
  else if constexpr (std::is_signed_v<Code>)
    kernel_library::products().depthwise_int8(taps, weights, sums);
  else kernel_library::products().depthwise_uint8(taps, weights, sums);
}

// The kernels of one image over some of its outputs. `start`: that of the weights for the zero
// point.
template <class Arch, ByteCode Code>
class DepthwiseTask {
 public:
  DepthwiseTask(const TensorView<const Code>& x, std::int32_t zero_point,
                const PackedFilters& filters, const ConvGeometry& geometry, std::size_t image,
                const Window& outputs, const std::vector<std::int32_t>& start)
      : filters_(filters),
        geometry_(geometry),
        x_(x, image, inputs_of(outputs, geometry, filters.kernel(), x.shape()), filters),
        padding_(filters.depthwise().lanes()),
        sums_(padding_.size()),
        start_(start),
        lines_(filters.kernel()[0]),
        taps_(2 * filters.depthwise().pairs(), padding_.data()) {
    std::fill_n(padding_.data(), padding_.size(), static_cast<Code>(zero_point));
  }

  void begin_row(std::size_t row) noexcept {
    for (std::size_t h = 0; h < lines_.size(); ++h) lines_[h] = x_.line(geometry_.input(0, row, h));
  }
  // The sums of all outputs, at a column of the row that was begun.
  const std::int32_t* sums(std::size_t column) noexcept {
    const std::size_t width = filters_.kernel()[1];
    for (std::size_t w = 0; w < width; ++w) {
      const std::size_t k = geometry_.input(1, column, w);
      for (std::size_t h = 0; h < lines_.size(); ++h) {
        const Code* p = x_.at(lines_[h], k);
        taps_[h * width + w] = p == nullptr ? padding_.data() : p;
      }
    }
    const DepthwiseWeights& weights = filters_.depthwise();
    depthwise_sums<Arch>(kernels::Taps<Code>{taps_.data(), weights.pairs()},
                         kernels::TapWeights{weights.numbers(), start_.data(), weights.lanes()},
                         sums_.data());
    return sums_.data();
  }

 private:
  const PackedFilters& filters_;
  const ConvGeometry& geometry_;
  ChannelsBeside<Code> x_;
  Buffer<Code> padding_;
  Buffer<std::int32_t> sums_;
  const std::vector<std::int32_t>& start_;
  std::vector<const Code*> lines_, taps_;
};

// How the outputs of an image are cut into tasks: some rows each, or some columns of one.
inline std::array<std::size_t, 2> depthwise_cut(const Shape& out, const DepthwiseWeights& w,
                                                std::size_t threads) noexcept {
  constexpr driver::GemmTuning tuning = driver::gemm_tuning;
  std::size_t places = tuning.block_bytes / w.lanes();
  if (threads > 1) {
    const std::size_t all = out[0] * out[2] * out[3],
                      worth = tuning.task_products / (w.lanes() * (w.taps() + 1));
    places = std::min(places, std::max(worth, all / (tuning.tasks_per_thread * threads)));
  }
  places = std::max(places, std::size_t{1});
  return places < out[3] ? std::array{std::size_t{1}, places} : std::array{places / out[3], out[3]};
}

// As convolve. Precondition: the filters are depthwise.
template <class Arch, ByteCode Code, class Out, class Make, Executor E>
void convolve_depthwise(const TensorView<const Code>& x, std::int32_t zero_point,
                        const PackedFilters& filters, const ConvGeometry& geometry,
                        const TensorView<Out>& out, const Make& make, const E& executor) {
  const Shape& shape = out.shape();
  const auto [rows, columns] =
      depthwise_cut(shape, filters.depthwise(), std::max<std::size_t>(executor.concurrency(), 1));
  const std::size_t down = (shape[2] + rows - 1) / rows,
                    across = (shape[3] + columns - 1) / columns;
  const std::vector<std::int32_t> start = filters.depthwise().start(zero_point);
  executor(shape[0] * down * across, [&, rows = rows, columns = columns](std::size_t i) {
    const std::size_t image = i / (down * across), top = i / across % down * rows,
                      left = i % across * columns;
    const Window places{AxisRange{top, std::min(top + rows, shape[2])},
                        AxisRange{left, std::min(left + columns, shape[3])}};
    DepthwiseTask<Arch, Code> task(x, zero_point, filters, geometry, image, places, start);
    for (std::size_t h = places[0].first; h < places[0].last; ++h) {
      task.begin_row(h);
      Out* to = out.data() + static_cast<std::ptrdiff_t>(image) * out.stride(0) +
                static_cast<std::ptrdiff_t>(h) * out.stride(2);
      for (std::size_t w = places[1].first; w < places[1].last; ++w) {
        const std::int32_t* sums = task.sums(w);
        store_row(to + static_cast<std::ptrdiff_t>(w) * out.stride(3), out.stride(1),
                  filters.outputs(), [&](std::size_t first, std::size_t n, Out* values) {
                    make(sums + first, first, n, values);
                  });
      }
    }
  });
}

}  // namespace tq::detail
