// SPDX-License-Identifier: MIT
// Memory that operations ask for, and that what they return holds.
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/inputs.hpp"

namespace {

using tq::Asymmetric;
using tq::PerChannel;
using tq::PerGroup;
using tq::PerTensor;
using tq::QuantParams;
using tq::Symmetric;

// Parameters of n channels, of ranges drawn at random.
template <class Params>
Params channels(std::size_t n) {
  inputs::Random random(n);
  std::vector<tq::Range> ranges;
  for (std::size_t i = 0; i < n; ++i)
    ranges.push_back({-static_cast<float>(random.unit()), static_cast<float>(random.unit())});
  return tq::fit_params<Params>({}, ranges);
}

// Holds that f() asks for no memory, when it is called for the second time.
template <class F>
void check_no_memory(const char* what, const F& f) {
  f();
  const std::ptrdiff_t before = test::allocations;
  f();
  const std::ptrdiff_t after = test::allocations;
  INFO(what);
  CHECK(after == before);
}

// All that writes into memory of the caller's.
template <class Params>
void check_operations(const tq::ConstTensorView& x, const Params& params) {
  std::vector<typename Params::code_type> codes(x.size());
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(x.size()));
  std::vector<float> out(x.size());
  INFO(Params::type::name << " " << Params::granularity_type::name << " "
                          << Params::symmetry_type::name);
  check_no_memory("quantize", [&] { tq::quantize(x, params, codes); });
  check_no_memory("quantize, packed", [&] { tq::quantize(x, params, std::span(bytes)); });
  check_no_memory("dequantize", [&] {
    tq::dequantize(codes, params, tq::TensorView<float>(out.data(), x.shape()));
  });
  check_no_memory("fake_quantize", [&] {
    tq::fake_quantize(x, params, tq::TensorView<float>(out.data(), x.shape()));
  });
}

// Bytes a tensor has stored.
template <class Params>
std::size_t stored_bytes(const tq::QuantizedTensor<Params>& q) {
  std::size_t bytes = q.bytes().size();
  const auto& scales = q.params().stored_scales();
  bytes += scales.stored().size_bytes();
  if constexpr (std::same_as<typename Params::scale_type, tq::DoubleQuantized>)
    bytes += scales.block_scales().size_bytes();
  if constexpr (Params::has_zero_point)
    bytes += q.params().stored_zero_points().stored().size_bytes();
  return bytes;
}

// Holds that what `make` returns holds no more than that.
template <class F>
void check_result(const char* what, const F& make) {
  const std::ptrdiff_t before = test::held;
  const auto q = make();
  const std::ptrdiff_t got = test::held - before;
  INFO(what);
  CHECK(got == static_cast<std::ptrdiff_t>(stored_bytes(q)));
}

}  // namespace

TEST_CASE("zero points are stored as the codes of a tensor are", "[memory]") {
  using Params = QuantParams<tq::int5, PerChannel<0>, Asymmetric>;
  const auto params = channels<Params>(77);
  std::vector<std::int8_t> codes;
  for (const std::int32_t z : params.zero_points()) codes.push_back(static_cast<std::int8_t>(z));
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<tq::int5>(77));
  tq::pack<tq::int5>(codes, bytes);
  CHECK(std::ranges::equal(params.stored_zero_points().stored(), bytes));
}

TEST_CASE("operations on memory of the caller's ask for none", "[memory]") {
  std::vector<float> data(512 * 64);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 701) / 350 - 1;
  const tq::ConstTensorView x(data.data(), {512, 64});
  check_operations(x, QuantParams<tq::int8, PerTensor, Symmetric>(0.01f));
  check_operations(x, QuantParams<tq::uint4, PerTensor, Asymmetric>(0.1f, 3));
  check_operations(x, channels<QuantParams<tq::int4, PerChannel<0>, Symmetric>>(512));
  check_operations(x, channels<QuantParams<tq::int8, PerChannel<0>, Asymmetric>>(512));
  using Groups = QuantParams<tq::int4, PerGroup<8>, Symmetric>;
  check_operations(x, Groups({}, std::vector<float>(512 * 8, 0.1f)));
  check_operations(x,
                   channels<QuantParams<tq::uint4, PerChannel<0>, Asymmetric, tq::float16>>(512));
  check_operations(x, tq::quantize_dynamic<tq::mxfp4>(x).params());
  check_operations(x, tq::quantize_dynamic<tq::nvfp4>(x).params());
  check_operations(x, tq::quantize_dynamic<tq::nf4_64_double>(x).params());
}

TEST_CASE("tensors that operations return hold what is stored", "[memory]") {
  std::vector<float> data(8 * 1024);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 701) / 350 - 1;
  const tq::ConstTensorView x(data.data(), {8, 1024});
  check_result("mxfp4", [&] { return tq::quantize_dynamic<tq::mxfp4>(x); });
  check_result("nvfp4", [&] { return tq::quantize_dynamic<tq::nvfp4>(x); });
  check_result("nf4_64_double", [&] { return tq::quantize_dynamic<tq::nf4_64_double>(x); });
  check_result("int4", [&] {
    return tq::quantize_dynamic<QuantParams<tq::int4, PerGroup<32>, Asymmetric>>(x);
  });
}
