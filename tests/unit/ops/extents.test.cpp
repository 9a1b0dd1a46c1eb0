// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/error_check.hpp"
#include "support/extents.hpp"

namespace {

using Whole = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
using Tokens = tq::QuantParams<tq::int4, tq::PerToken, tq::Asymmetric>;
using Groups = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;

template <class Params>
void try_parameters(const tq::Shape& shape, const Params& params) {
  float value = 0.5f, other = 0.5f;
  typename Params::code_type code = 1;
  const tq::ConstTensorView x(&value, shape);
  const tq::TensorView<typename Params::code_type> codes(&code, shape);
  const tq::TensorView<float> out(&other, shape);
  test::works_or_refuses([&] { tq::quantize(x, params, codes); });
  test::works_or_refuses([&] { (void)tq::quantize(x, params); });
  test::works_or_refuses([&] { tq::dequantize(codes, params, out, tq::on<tq::default_backend>); });
  test::works_or_refuses([&] { (void)tq::dequantize(codes, params); });
  test::works_or_refuses([&] { tq::fake_quantize(x, params, out); });
  test::works_or_refuses([&] { (void)tq::fake_quantize(x, params); });
  test::works_or_refuses([&] { (void)tq::QuantizedTensor<Params>(shape, params); });
  for (const std::size_t bytes : {0u, 1u, 8u})
    test::works_or_refuses(
        [&] { (void)tq::QuantizedTensor<Params>(shape, params, tq::Buffer<std::byte>(bytes)); });
  test::works_or_refuses([&] { (void)tq::quantize_dynamic<Params>(x); });
  float scale = 0;
  std::int32_t zero = 0;
  if constexpr (Params::has_zero_point)
    test::works_or_refuses([&] {
      tq::quantize_dynamic<Params>(
          x, tq::detail::dynamic_outputs<Params>(codes, std::span(&scale, 1), std::span(&zero, 1)));
    });
  else
    test::works_or_refuses(
        [&] { tq::quantize_dynamic<Params>(x, {.codes = codes, .scales = std::span(&scale, 1)}); });
}

}  // namespace

TEST_CASE("operations work on shapes of any extents, or refuse them", "[extents]") {
  for (int rank = 0; rank <= 3; ++rank)
    test::for_each_shape(rank, [](const tq::Shape& shape) {
      if (!test::fits_one_element(shape)) return;
      INFO(to_string(shape));
      try_parameters(shape, Whole(1.0f));
      for (const bool none : {false, true}) {
        try_parameters(shape, Tokens({}, none ? std::vector<float>{} : std::vector{1.0f},
                                     none ? std::vector<std::int32_t>{} : std::vector{0}));
        try_parameters(shape, Groups({}, none ? std::vector<float>{} : std::vector{1.0f}));
      }
      float from = 0.5f, to = 0;
      const tq::ConstTensorView x(&from, shape);
      test::works_or_refuses([&] { tq::copy(x, tq::TensorView<float>(&to, shape)); });
      test::works_or_refuses([&] { tq::copy(x, tq::TensorView<float>(&to, {0}, {7})); });
      test::works_or_refuses([&] { (void)tq::compare(x, tq::ConstTensorView(&to, shape)); });
    });
}

TEST_CASE("operations name the extents that memory cannot hold", "[extents]") {
  float value = 0;
  const std::size_t half = std::size_t{1} << 63;
  const tq::ConstTensorView x(&value, {2, half});  // whose size would wrap to 0
  for (const char* name : {"tq::quantize", "tq::fake_quantize", "tq::quantize_dynamic"})
    test::raises(tq::errc::bad_argument, {name, "memory can hold", "[2, 9223372036854775808]"},
                 [&] {
                   const std::string_view function(name);
                   if (function == "tq::quantize") (void)tq::quantize(x, Whole(1.0f));
                   else if (function == "tq::fake_quantize")
                     (void)tq::fake_quantize(x, Whole(1.0f));
                   else (void)tq::quantize_dynamic<Whole>(x);
                 });
}

TEST_CASE("a tensor without elements has not any number of parameters", "[extents]") {
  float value = 0;
  test::raises(
      tq::errc::bad_argument,
      {"tq::quantize_dynamic", "at most 1048576 parameters", "got 4294967296", "per_token"}, [&] {
        (void)tq::quantize_dynamic<Tokens>(tq::ConstTensorView(&value, {std::size_t{1} << 32, 0}));
      });
  CHECK(tq::quantize_dynamic<Tokens>(tq::ConstTensorView(&value, {1000, 0})).size() == 0);
}
