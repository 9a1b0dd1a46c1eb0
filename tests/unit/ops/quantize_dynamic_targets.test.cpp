// SPDX-License-Identifier: MIT
// Codes and parameters into memory of the caller's: views of any layout, bytes, scales as they are
// stored.
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>

#include <array>
#include <span>

#include "quantize_dynamic_cases.hpp"
#include "support/thread_executor.hpp"

namespace {

using dynamic_cases::Blocks;
using dynamic_cases::Scalar;
using dynamic_cases::Tensor;

// Memory for the parameters of a tensor, each array with a guard behind it.
template <class Params>
struct Room {
  using stored = typename tq::Scales<typename Params::scale_type>::stored_type;
  std::vector<stored> scales;
  std::vector<std::int32_t> zero_points;
  explicit Room(std::size_t n)
      : scales(n + 1, stored{77}), zero_points(Params::has_zero_point ? n + 1 : 1, 77) {}
  [[nodiscard]] std::span<stored> scales_out() {
    return std::span(scales).first(scales.size() - 1);
  }
  [[nodiscard]] std::span<std::int32_t> zero_points_out() {
    return std::span(zero_points).first(zero_points.size() - 1);
  }

  [[nodiscard]] bool holds(const Params& wanted) {
    if (scales.back() != stored{77} || zero_points.back() != 77) return false;
    if constexpr (Params::has_zero_point)
      if (!std::ranges::equal(zero_points_out(), wanted.zero_points())) return false;
    return std::ranges::equal(scales_out(), wanted.stored_scales().stored());
  }
};

// Calls tq::quantize_dynamic with the tensor scale of `wanted`, where there is one.
template <class Params, class B, class Out, class E>
void run(const Tensor& t, const Params& wanted, Out out, Room<Params>& room, const E& executor) {
  const tq::numerics::onnx n;
  if constexpr (tq::PlainScaleType<typename Params::scale_type>)
    tq::quantize_dynamic<Params>(
        t.x, tq::detail::dynamic_outputs<Params>(out, room.scales_out(), room.zero_points_out()),
        t.granularity, n, executor, tq::on<B>);
  else
    tq::quantize_dynamic<Params>(t.x,
                                 {.codes = out,
                                  .scales = room.scales_out(),
                                  .tensor_scale = wanted.stored_scales().tensor_scale(),
                                  .zero_points = room.zero_points_out()},
                                 t.granularity, n, executor, tq::on<B>);
}
template <class Params, class Pack, class B, class E>
void run_packed(const Tensor& t, const Params& wanted, std::span<std::byte> out, Room<Params>& room,
                const E& executor) {
  const tq::numerics::onnx n;
  if constexpr (tq::PlainScaleType<typename Params::scale_type>)
    tq::quantize_dynamic<Params>(
        t.x, tq::detail::dynamic_outputs<Params>(out, room.scales_out(), room.zero_points_out()),
        t.granularity, Pack{}, n, executor, tq::on<B>);
  else
    tq::quantize_dynamic<Params>(t.x,
                                 {.codes = out,
                                  .scales = room.scales_out(),
                                  .tensor_scale = wanted.stored_scales().tensor_scale(),
                                  .zero_points = room.zero_points_out()},
                                 t.granularity, Pack{}, n, executor, tq::on<B>);
}

template <class Params, class Pack, class E>
std::string difference_in_bytes(const Tensor& t, const Params& wanted, const E& executor) {
  const auto codes = tq::quantize<Pack>(t.x, wanted, tq::on<Scalar>);
  std::vector<std::byte> bytes(codes.bytes().size() + 1, std::byte{77});
  Room<Params> room(t.ranges.size());
  run_packed<Params, Pack, Scalar>(t, wanted, std::span(bytes).first(bytes.size() - 1), room,
                                   executor);
  if (!room.holds(wanted)) return "parameters beside bytes";
  if (!std::equal(codes.bytes().begin(), codes.bytes().end(), bytes.begin())) return "bytes";
  return bytes.back() == std::byte{77} ? "" : "what is behind the bytes";
}

template <class Params, class E>
std::string difference_in_view(const Tensor& t, const Params& wanted, const E& executor,
                               inputs::Random& r) {
  using code_type = typename Params::code_type;
  const oracle::Layout to = oracle::layout(t.x.shape(), r, r.chance(50), true, true);
  std::vector<code_type> memory(to.extent, code_type{77}), expected = memory;
  const auto view = [&](std::vector<code_type>& m) {
    return tq::TensorView<code_type>(m.data() + to.first, t.x.shape(), to.strides);
  };
  tq::quantize(t.x, wanted, view(expected), tq::on<Scalar>);
  Room<Params> room(t.ranges.size());
  run<Params, Scalar>(t, wanted, view(memory), room, executor);
  if (!room.holds(wanted)) return "parameters beside a view";
  return memory == expected ? "" : "a view";
}

template <class T, class S, class Scale>
void check_targets() {
  using Params = tq::QuantParams<T, Blocks, S, Scale>;
  inputs::Random r(3);
  std::string failures;
  for (const Tensor& t : dynamic_cases::tensors()) {
    const auto wanted = tq::fit_params<Params>(t.granularity, t.ranges);
    const std::array<std::string, 4> all{
        difference_in_bytes<Params, tq::LowFirst>(t, wanted, tq::serial),
        difference_in_bytes<Params, tq::HighFirst>(t, wanted, tq::serial),
        difference_in_bytes<Params, tq::Unpacked>(t, wanted, tq::serial),
        difference_in_view(t, wanted, tq::serial, r)};
    for (const std::string& what : all)
      if (!what.empty() && failures.size() < 500)
        failures += what + " of " + to_string(t.x.shape()) + " in blocks of " +
                    to_string(t.granularity.extents) + "\n";
  }
  INFO(T::name << ' ' << S::name << ' ' << tq::scale_type_name<Scale>);
  CHECK(failures == "");
}

}  // namespace

TEST_CASE("codes and parameters in memory of the caller's are those of two steps",
          "[quantize_dynamic]") {
  check_targets<tq::int4, tq::Symmetric, tq::float16>();  // Q4_0
  check_targets<tq::uint4, tq::Asymmetric, tq::bfloat16>();
  check_targets<tq::uint2, tq::Asymmetric, float>();
  check_targets<tq::int3, tq::Symmetric, tq::float8_e8m0fnu>();
  check_targets<tq::int8, tq::Asymmetric, float>();
  check_targets<tq::int8, tq::Asymmetric, tq::TwoLevel<tq::float8_e4m3fn>>();
  check_targets<tq::float4_e2m1fn, tq::Symmetric, tq::TwoLevel<tq::float8_e4m3fn>>();
  check_targets<tq::float6_e2m3fn, tq::Symmetric, tq::float8_e8m0fnu>();
}

namespace {

// Tensors of more than one task, on threads and backwards, with the kernels of this build.
template <class T, class S, class Scale>
void check_threads() {
  using Params = tq::QuantParams<T, Blocks, S, Scale>;
  constexpr std::size_t every = std::numeric_limits<std::size_t>::max();
  inputs::Random r(4);
  for (const tq::Shape& block : {tq::Shape{1, 1, 32}, tq::Shape{1, 32, 1}, tq::Shape{1, 1, every},
                                 tq::Shape{every, every, every}})
    for (const tq::Shape& shape : {tq::Shape{2, 129, 1056}, tq::Shape{2, 129, 1061}}) {
      const oracle::Layout layout = oracle::layout(shape, r, false, false);
      const std::vector<float> x = inputs::normals(layout.extent, 5);
      const tq::ConstTensorView view(x.data(), shape);
      const auto wanted =
          tq::fit_params<Params>(Blocks{block}, oracle::ranges(view, Blocks{block}.block(shape)));
      const auto codes = tq::quantize(view, wanted);
      INFO(T::name << ' ' << S::name << ' ' << tq::scale_type_name<Scale> << ' ' << to_string(shape)
                   << ' ' << to_string(block));
      CHECK((tq::quantize_dynamic<Params>(view, Blocks{block}, test::Threads{}) == codes));
      CHECK((tq::quantize_dynamic<Params>(view, Blocks{block}, test::Backwards{}) == codes));
    }
}

}  // namespace

TEST_CASE("many tasks make the same", "[quantize_dynamic]") {
  check_threads<tq::int4, tq::Symmetric, tq::float16>();
  check_threads<tq::uint8, tq::Asymmetric, tq::bfloat16>();
  check_threads<tq::uint3, tq::Asymmetric, float>();
  check_threads<tq::float4_e2m1fn, tq::Symmetric, tq::TwoLevel<tq::float8_e4m3fn>>();
}
