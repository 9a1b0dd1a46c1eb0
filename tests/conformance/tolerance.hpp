// SPDX-License-Identifier: MIT
#pragma once
// The tolerance kinds of the manifests. Every function returns what leaves the tolerance, or
// nothing.

#include <tq/containers/tensor.hpp>
#include <tq/files/little_endian.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

using tq::io::DType;
using tq::io::Tensor;

/// Where and how an output leaves its tolerance.
struct Difference {
  std::string text;                  // what is wrong, where a pair of values does not say it
  std::optional<std::size_t> index;  // first differing element, row-major
  std::string expected, got;
};
using Verdict = std::optional<Difference>;

/// The tolerance of a case: its kind and the numbers that go with it.
class Tolerance {
 public:
  explicit Tolerance(nlohmann::json fields) : fields_(std::move(fields)) {}
  [[nodiscard]] std::string kind() const { return fields_.at("kind").get<std::string>(); }
  [[nodiscard]] bool has(const char* name) const { return fields_.contains(name); }
  [[nodiscard]] double number(const char* name) const {
    if (!fields_.contains(name))
      throw std::runtime_error("tolerance " + kind() + ": expected a field " + name + ", got none");
    return fields_.at(name).get<double>();
  }

 private:
  nlohmann::json fields_;
};

namespace detail {

// Complex numbers are compared part by part.
inline DType part_of(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}
inline std::size_t part_bytes(DType t) { return tq::io::bits(part_of(t)) / 8; }

inline std::uint64_t bits_at(const Tensor& t, std::size_t i) {
  const std::size_t n = part_bytes(t.dtype);
  std::uint64_t v = 0;
  for (std::size_t k = 0; k < n; ++k)
    v |= std::uint64_t{std::to_integer<std::uint8_t>(t.bytes[i * n + k])} << 8 * k;
  return v;
}

// `logical` is the dtype of the manifest, for tensors of codes.
inline bool is_nan(DType dtype, std::string_view logical, std::uint64_t v) {
  if (logical == "float8_e4m3fn") return (v & 0x7f) == 0x7f;
  if (logical == "float8_e5m2") return (v & 0x7f) > 0x7c;
  if (logical == "float8_e4m3fnuz" || logical == "float8_e5m2fnuz") return v == 0x80;
  if (logical == "float8_e8m0fnu") return v == 0xff;
  if (dtype == DType::f16 || logical == "float16") return (v & 0x7fff) > 0x7c00;
  if (dtype == DType::bf16 || logical == "bfloat16") return (v & 0x7fff) > 0x7f80;
  if (dtype == DType::f32) return (v & 0x7fffffff) > 0x7f800000;
  if (dtype == DType::f64) return (v & 0x7fffffffffffffff) > 0x7ff0000000000000;
  return false;
}

inline std::int64_t sign_extended(std::uint64_t v, unsigned bits) {
  return static_cast<std::int64_t>(v << (64 - bits)) >> (64 - bits);
}
inline bool is_signed(DType t) {
  return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
}

inline double real_of(DType dtype, std::uint64_t v) {
  switch (dtype) {
    case DType::f16: return double{tq::io::half_to_float(static_cast<std::uint16_t>(v))};
    case DType::bf16: return double{tq::io::bfloat16_to_float(static_cast<std::uint16_t>(v))};
    case DType::f32: return double{std::bit_cast<float>(static_cast<std::uint32_t>(v))};
    case DType::f64: return std::bit_cast<double>(v);
    default: break;
  }
  if (is_signed(dtype)) return static_cast<double>(sign_extended(v, tq::io::bits(dtype)));
  return static_cast<double>(v);
}

inline std::string text_of(DType dtype, std::uint64_t v) {
  char out[64];
  if (tq::io::is_float(dtype) && tq::io::bits(dtype) >= 16) {
    const int digits = dtype == DType::f64 ? 17 : 9;
    std::snprintf(out, sizeof out, "%.*g (0x%llx)", digits, real_of(dtype, v),
                  static_cast<unsigned long long>(v));
  } else if (is_signed(dtype)) {
    std::snprintf(out, sizeof out, "%lld",
                  static_cast<long long>(sign_extended(v, tq::io::bits(dtype))));
  } else {
    std::snprintf(out, sizeof out, "%llu", static_cast<unsigned long long>(v));
  }
  return out;
}

inline Difference at(const Tensor& expected, const Tensor& got, std::size_t i,
                     std::string text = "") {
  return {std::move(text), i, text_of(part_of(expected.dtype), bits_at(expected, i)),
          text_of(part_of(got.dtype), bits_at(got, i))};
}

// Type, extents and size; `same_type` false leaves the type out.
inline Verdict same_form(const Tensor& expected, const Tensor& got, bool same_type = true) {
  if (same_type && expected.dtype != got.dtype)
    return Difference{
        "type", {}, std::string(to_string(expected.dtype)), std::string(to_string(got.dtype))};
  if (expected.shape != got.shape)
    return Difference{
        "shape", {}, tq::io::shape_text(expected.shape), tq::io::shape_text(got.shape)};
  if (same_type && expected.bytes.size() != got.bytes.size())
    return Difference{
        "bytes", {}, std::to_string(expected.bytes.size()), std::to_string(got.bytes.size())};
  return {};
}

inline std::size_t parts(const Tensor& t) { return t.bytes.size() / part_bytes(t.dtype); }

// At most `max_fraction` of the elements differ, and each of those by at most `max`.
inline Verdict steps_apart(const Tensor& expected, const Tensor& got,
                           std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                           double max, double max_fraction) {
  std::size_t differing = 0;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    // Differences of 64-bit codes may overflow; double is exact for those that can pass.
    if (std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) > max)
      return at(expected, got, i, "codes too far apart");
    if (!first) first = i;
    ++differing;
  }
  if (static_cast<double>(differing) <= max_fraction * static_cast<double>(a.size())) return {};
  return at(expected, got, *first,
            std::to_string(differing) + " of " + std::to_string(a.size()) + " codes differ");
}

}  // namespace detail

/// The elements as integers. Throws: std::runtime_error for other types.
inline std::vector<std::int64_t> integers(const Tensor& t) {
  if (tq::io::is_float(t.dtype) || t.dtype == DType::c64 || t.dtype == DType::c128)
    throw std::runtime_error("expected codes, got " + std::string(to_string(t.dtype)));
  std::vector<std::int64_t> out(detail::parts(t));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t v = detail::bits_at(t, i);
    out[i] = detail::is_signed(t.dtype) ? detail::sign_extended(v, tq::io::bits(t.dtype))
                                        : static_cast<std::int64_t>(v);
  }
  return out;
}

/// The elements as double.
inline std::vector<double> reals(const Tensor& t) {
  std::vector<double> out(detail::parts(t));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = detail::real_of(detail::part_of(t.dtype), detail::bits_at(t, i));
  return out;
}

/// Whether -0 differs from +0; a group's notes may say that it does not.
enum class ZeroSign : std::uint8_t { counts, ignored };

/// "exact": equal; floats bit for bit, any NaN equals any NaN. `logical` names the type of codes.
inline Verdict exact(const Tensor& expected, const Tensor& got, std::string_view logical = "",
                     ZeroSign zeros = ZeroSign::counts) {
  if (Verdict v = detail::same_form(expected, got)) return v;
  const DType part = detail::part_of(expected.dtype);
  for (std::size_t i = 0; i < detail::parts(expected); ++i) {
    const std::uint64_t a = detail::bits_at(expected, i), b = detail::bits_at(got, i);
    if (a == b) continue;
    if (detail::is_nan(part, logical, a) && detail::is_nan(part, logical, b)) continue;
    if (zeros == ZeroSign::ignored && tq::io::is_float(part) && detail::real_of(part, a) == 0 &&
        detail::real_of(part, b) == 0)
      continue;
    return detail::at(expected, got, i);
  }
  return {};
}

/// "exact_bytes": equal bytes, whatever they mean.
inline Verdict exact_bytes(std::span<const std::byte> expected, std::span<const std::byte> got) {
  if (expected.size() != got.size())
    return Difference{"bytes", {}, std::to_string(expected.size()), std::to_string(got.size())};
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != got[i])
      return Difference{"byte", i, std::to_string(std::to_integer<int>(expected[i])),
                        std::to_string(std::to_integer<int>(got[i]))};
  return {};
}

/// "max_code_diff": codes differ by at most `max`, on at most `max_fraction` of the elements.
inline Verdict max_code_diff(const Tensor& expected, const Tensor& got, double max,
                             double max_fraction) {
  if (Verdict v = detail::same_form(expected, got)) return v;
  return detail::steps_apart(expected, got, integers(expected), integers(got), max, max_fraction);
}

/// "codes_exact_off_midpoint": codes equal except a fraction of them, which are off by one.
inline Verdict codes_exact_off_midpoint(const Tensor& expected, const Tensor& got,
                                        double max_fraction_off_by_one) {
  return max_code_diff(expected, got, 1, max_fraction_off_by_one);
}

/// "exact_or_neighbour" of a fake quantization: values equal or one step (`step`, one per element)
/// apart, gradients equal; at most `max_fraction` of the elements differ in either. A gradient may
/// differ where the value does not: at the ends of the range both neighbours clamp to one value.
inline Verdict exact_or_neighbour(const Tensor& expected, const Tensor& got,
                                  std::span<const float> step, const Tensor& expected_gradient,
                                  const Tensor& gradient, double max_fraction) {
  if (Verdict v = detail::same_form(expected, got)) return v;
  if (Verdict v = detail::same_form(expected_gradient, gradient)) return v;
  const std::vector<double> a = reals(expected), b = reals(got), ga = reals(expected_gradient),
                            gb = reals(gradient);
  if (step.size() != a.size() || ga.size() != a.size())
    return Difference{"elements", {}, std::to_string(a.size()), std::to_string(ga.size())};
  const auto same = [](double x, double y) { return x == y || (x != x && y != y); };
  std::size_t differing = 0;
  Verdict first;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Each value is rounded once, so two neighbours may lie a little more than a step apart.
    const double allowed = double{step[i]} + 0x1p-22 * std::max(std::abs(a[i]), std::abs(b[i]));
    if (!same(a[i], b[i]) && !(std::abs(a[i] - b[i]) <= allowed))
      return detail::at(expected, got, i, "more than one step apart");
    if (same(a[i], b[i]) && same(ga[i], gb[i])) continue;
    ++differing;
    if (!first)
      first = same(a[i], b[i]) ? detail::at(expected_gradient, gradient, i, "gradient")
                               : detail::at(expected, got, i);
  }
  if (static_cast<double>(differing) <= max_fraction * static_cast<double>(a.size())) return {};
  first->text += (first->text.empty() ? "" : ", ") + std::to_string(differing) + " of " +
                 std::to_string(a.size()) + " elements differ";
  return first;
}

/// "rel_abs": |got - expected| <= abs + rel * |expected|; infinities and NaN must be the same.
inline Verdict rel_abs(const Tensor& expected, const Tensor& got, double rel, double abs) {
  if (Verdict v = detail::same_form(expected, got, false)) return v;
  const std::vector<double> a = reals(got), b = reals(expected);
  if (a.size() != b.size())
    return Difference{"elements", {}, std::to_string(b.size()), std::to_string(a.size())};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) continue;
    if (!std::isfinite(b[i]) || !(std::abs(a[i] - b[i]) <= abs + rel * std::abs(b[i])))
      return detail::at(expected, got, i);
  }
  return {};
}

/// "scale_rel_zp_abs": a relative bound on scales, an absolute one on zero points.
inline Verdict scale_rel_zp_abs(const Tensor& expected_scale, const Tensor& scale,
                                const Tensor& expected_zero, const Tensor& zero, double scale_rel,
                                double zp_abs) {
  if (Verdict v = rel_abs(expected_scale, scale, scale_rel, 0)) {
    v->text = "scale";
    return v;
  }
  if (Verdict v = rel_abs(expected_zero, zero, 0, zp_abs)) {
    v->text = "zero point";
    return v;
  }
  return {};
}

/// "error_ratio": per row of `x` (`columns` long), the sum of squared errors of `got` is at most
/// `max_ratio` times that of `reference`, plus `abs`. `weights` is empty or has one per column.
inline Verdict error_ratio(std::span<const float> x, std::size_t columns,
                           std::span<const float> reference, std::span<const float> got,
                           std::span<const float> weights, double max_ratio, double abs) {
  if (x.size() != got.size() || x.size() != reference.size() || columns == 0 ||
      x.size() % columns != 0 || (!weights.empty() && weights.size() != columns))
    return Difference{"elements", {}, std::to_string(x.size()), std::to_string(got.size())};
  for (std::size_t row = 0; row < x.size() / columns; ++row) {
    double theirs = 0, ours = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = row * columns + c;
      const double w = weights.empty() ? 1.0 : double{weights[c]};
      const double e = double{reference[i]} - double{x[i]}, f = double{got[i]} - double{x[i]};
      theirs += w * e * e;
      ours += w * f * f;
    }
    const double allowed = max_ratio * theirs + abs;
    if (!(ours <= allowed))
      return Difference{"squared error of row " + std::to_string(row), row * columns,
                        "at most " + std::to_string(allowed), std::to_string(ours)};
  }
  return {};
}

/// "nvfp4": block scales exact, codes (of float4_e2m1fn) one step off on at most a fraction.
inline Verdict nvfp4(const Tensor& expected_scales, const Tensor& scales,
                     const Tensor& expected_codes, const Tensor& codes,
                     double codes_max_fraction_off_by_one) {
  if (Verdict v = exact(expected_scales, scales)) {
    v->text = "scale";
    return v;
  }
  if (Verdict v = detail::same_form(expected_codes, codes)) return v;
  const auto ordinals = [](const Tensor& t) {  // the place of the value among all values
    std::vector<std::int64_t> out = integers(t);
    for (std::int64_t& c : out) c = (c & 8) != 0 ? -(c & 7) : c & 7;
    return out;
  };
  return detail::steps_apart(expected_codes, codes, ordinals(expected_codes), ordinals(codes), 1,
                             codes_max_fraction_off_by_one);
}

/// The outcome of reading a file.
enum class Reading : std::uint8_t {
  accepted,
  rejected,          // with a tq::error
  rejected_by_rule,  // the same, by a rule that is stricter than the reference and documented
};

/// "must_reject" and "should_reject": the reader reports an error. Where the reference is lax tq is
/// strict, so both kinds ask for the same.
inline Verdict rejection(Reading reading) {
  if (reading != Reading::accepted) return {};
  return Difference{"reader", {}, "an error", "a file read without complaint"};
}

/// "verdict" of one fuzzed file: 0 must be rejected; 1 may be rejected only by a documented
/// stricter rule; 2 (the reference crashed) may go either way.
inline Verdict fuzz_verdict(int verdict, Reading reading) {
  switch (verdict) {
    case 0: return rejection(reading);
    case 1:
      if (reading != Reading::rejected) return {};
      return Difference{"reader", {}, "no error, as the reference", "an error no rule explains"};
    case 2: return {};
    default: return Difference{"verdict", {}, "0, 1 or 2", std::to_string(verdict)};
  }
}

/// True for the kinds that compare one output with one expected tensor.
inline bool is_elementwise(std::string_view kind) {
  return kind == "exact" || kind == "exact_bytes" || kind == "max_code_diff" || kind == "rel_abs" ||
         kind == "codes_exact_off_midpoint";
}

/// Compares by an elementwise kind. Throws: std::runtime_error for other kinds and missing fields.
inline Verdict within(const Tolerance& t, const Tensor& expected, const Tensor& got,
                      std::string_view logical = "", ZeroSign zeros = ZeroSign::counts) {
  const std::string kind = t.kind();
  if (kind == "exact") return exact(expected, got, logical, zeros);
  if (kind == "exact_bytes") return exact_bytes(expected.bytes, got.bytes);
  if (kind == "max_code_diff")
    return max_code_diff(expected, got, t.number("max"), t.number("max_fraction"));
  if (kind == "rel_abs") return rel_abs(expected, got, t.number("rel"), t.number("abs"));
  if (kind == "codes_exact_off_midpoint")
    return codes_exact_off_midpoint(expected, got, t.number("max_fraction_off_by_one"));
  throw std::runtime_error("expected an elementwise tolerance kind, got " + kind);
}

}  // namespace conformance
