// SPDX-License-Identifier: MIT
#pragma once
// Every operation on one random tensor of a coded element, against the oracle, element by element.

#include <tq/core/formats.hpp>
#include <tq/core/make_params.hpp>

#include <cmath>

#include "support/format_oracle.hpp"
#include "unit/ops/ops_cases.hpp"

namespace coded_cases {

using ops_cases::same, ops_cases::Target;

// Scales of any kind, with zeros, and NaN where scales may be.
template <class Params>
Params random_params(const typename Params::granularity_type& g, std::size_t n, inputs::Random& r) {
  using S = typename Params::scale_type;
  if constexpr (std::same_as<S, float>) {
    std::vector<float> scales(n);
    for (float& s : scales)
      s = r.chance(5) ? 0.0f : r.chance(90) ? inputs::ordinary_scale(r) : inputs::scale(r);
    return tq::make_params<Params>(g, std::move(scales));
  } else if constexpr (std::same_as<S, tq::float8_e8m0fnu>) {
    std::vector<std::uint8_t> codes(n);
    for (auto& c : codes)
      c = static_cast<std::uint8_t>(r.chance(80) ? r.between(110, 140) : r.between(0, 255));
    return tq::make_params<Params>(g, tq::Scales<S>(std::move(codes)));
  } else {
    std::vector<std::uint8_t> codes(n);
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.between(0, 0x7e));
    return tq::make_params<Params>(g, tq::Scales<S>(std::move(codes), inputs::ordinary_scale(r)));
  }
}

template <class Params, class N>
std::uint32_t code(float x, float s, const N& n, std::uint64_t index) {
  using Scaling = std::conditional_t<std::same_as<typename Params::scale_type, tq::float8_e8m0fnu>,
                                     tq::Divide, typename N::scaling_type>;
  const float v =
      s == 0 && !oracle::is_nan(static_cast<double>(x)) ? 0.0f : oracle::quotient<Scaling>(x, s);
  return oracle::encode(oracle::cached_format<typename Params::type>(), static_cast<double>(v),
                        n.rounding, std::same_as<typename N::overflow_type, tq::Saturate>, index);
}
template <class Params>
float value(std::uint32_t code, float s) {
  return static_cast<float>(oracle::cached_format<typename Params::type>().value(code) *
                            static_cast<double>(s));
}

/// All of it for one shape.
template <class Params, class B, class N>
std::string check(const typename Params::granularity_type& g, const tq::Shape& shape,
                  inputs::Random& r, const N& n) {
  using code_type = typename Params::code_type;
  std::string bad;
  const tq::Shape block = oracle::block(g, shape);
  const Params p = random_params<Params>(g, oracle::slots(g, shape), r);
  const bool gaps = r.chance(40);
  const oracle::Layout from = oracle::layout(shape, r, r.chance(40), gaps, r.chance(20));
  const oracle::Layout to = oracle::layout(shape, r, r.chance(40), r.chance(40), r.chance(20));
  const std::vector<double> marks = oracle::marks(oracle::cached_format<typename Params::type>());
  std::vector<float> memory(from.extent, 0.0f);
  const tq::ConstTensorView x(memory.data() + from.first, shape, from.strides);
  const bool specials = r.chance(50);
  std::vector<code_type> codes, moved;
  std::vector<float> values, moved_values;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    const float s = p.scales()[oracle::param(i, shape, block)];
    float v = specials ? oracle::value_near(marks, s, r) : oracle::ordinary_value_near(marks, s, r);
    if (std::isnan(s) && std::isnan(v)) v = std::fabs(v);  // whose sign the product has is open
    memory[static_cast<std::size_t>(from.first + oracle::offset(i, from.strides))] = v;
    // Draws are numbered by the place in the output.
    codes.push_back(static_cast<code_type>(code<Params>(v, s, n, codes.size())));
    values.push_back(value<Params>(codes.back(), s));
    const auto place = static_cast<std::uint64_t>(oracle::offset(i, to.strides));
    moved.push_back(static_cast<code_type>(code<Params>(v, s, n, place)));
    moved_values.push_back(value<Params>(moved.back(), s));
  });

  std::vector<code_type> flat(shape.size(), code_type{99});
  tq::quantize(x, p, flat, n, tq::on<B>);
  if (!same(flat, codes)) bad += "quantize; ";
  Target<code_type> strided(shape, to, code_type{99});
  tq::quantize(x, p, strided.view, n, tq::on<B>);
  if (!same(strided.row_major(), moved) || !strided.gaps_intact()) bad += "quantize to strides; ";
  Target<float> out(shape, from, -77.0f);
  tq::dequantize(strided.view, p, out.view, tq::on<B>);
  if (!same(out.row_major(), moved_values) || !out.gaps_intact())
    bad += "dequantize between strides; ";

  if (!same(tq::fake_quantize(x, p, n, tq::on<B>), values)) bad += "fake_quantize; ";
  Target<float> fake(shape, to, -77.0f);
  tq::fake_quantize(x, p, fake.view, n, tq::on<B>);
  if (!same(fake.row_major(), moved_values) || !fake.gaps_intact())
    bad += "fake_quantize to strides; ";

  ops_cases::check_packed<B, tq::LowFirst>(bad, x, p, n, codes, values, to);
  ops_cases::check_packed<B, tq::HighFirst>(bad, x, p, n, codes, values, to);
  ops_cases::check_packed<B, tq::Unpacked>(bad, x, p, n, codes, values, to);
  if (!same(tq::dequantize(tq::quantize(x, p, n, tq::on<B>), tq::on<B>),
            tq::fake_quantize(x, p, n, tq::on<B>)))
    bad += "fake_quantize is not dequantize of quantize; ";
  return bad.empty() ? bad
                     : bad + std::string(Params::granularity_type::name) + " over " +
                           to_string(shape) + "\n";
}

/// `rounds` random shapes of every rank from `least` on.
template <class Params, class B = ops_cases::Scalar, class N = tq::Numerics<>>
void check_all(const typename Params::granularity_type& g, int least, std::uint64_t seed,
               int rounds = 5, const N& n = {}) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int rank = least; rank <= 6; ++rank)
    for (int round = 0; round < rounds; ++round) {
      const tq::Shape shape = oracle::shape(r, rank, 700);
      const std::string bad = check<Params, B, N>(g, shape, r, n);
      if (!bad.empty() && ++failed <= 5) failures += bad;
    }
  INFO(Params::type::name << ", " << N::rounding_type::name << ": " << failed << " tensors differ\n"
                          << failures);
  CHECK(failed == 0);
}

}  // namespace coded_cases
