// SPDX-License-Identifier: MIT
#pragma once
// The searches of ggml for the scale of a few values: its make_qx_quants, make_q3_quants,
// make_qkx2_quants, make_qkx3_quants and make_qp_quants, with the same order of operations.

#include <tq/layouts/gguf/detail/arithmetic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

// Magnitudes below it count as zero.
inline constexpr float negligible = 1e-15f;

// The sums of a weighted least-squares fit x ~ scale * l.
struct Fit {
  float xl = 0.0f, ll = 0.0f;
  void add(float w, float x, int l) noexcept {
    const auto code = static_cast<float>(l);
    xl += triple(w, x, code);
    ll += triple(w, code, code);
  }
  // The same sums without a value, or with it again.
  [[nodiscard]] Fit without(float w, float x, int l) const noexcept {
    const auto code = static_cast<float>(l);
    return {xl - triple(w, x, code), ll - triple(w, code, code)};
  }
  [[nodiscard]] float scale() const noexcept { return ll > 0.0f ? xl / ll : 0.0f; }
  [[nodiscard]] bool is_better_than(const Fit& other) const noexcept {
    return uncontracted(uncontracted(xl * xl) * other.ll) >
           uncontracted(uncontracted(other.xl * other.xl) * ll);
  }
};

// The codes that a search may choose. With `needs_square` a code moves only while others are not 0.
struct CodeRule {
  int low, high;
  bool needs_square;
};

// Up to five passes that change single codes, kept where the fit improves.
template <class Weight>
void improve_codes(std::size_t n, const float* x, Weight weight, CodeRule rule, int* l,
                   Fit& fit) noexcept {
  for (int pass = 0; pass < 5; ++pass) {
    bool changed = false;
    for (std::size_t i = 0; i < n; ++i) {
      const float w = weight(i);
      Fit other = fit.without(w, x[i], l[i]);
      if (!(other.xl > 0.0f) || (rule.needs_square && !(other.ll > 0.0f))) continue;
      const int code = nearest_in(uncontracted(x[i] * other.ll) / other.xl, rule.low, rule.high);
      if (code == l[i]) continue;
      other.add(w, x[i], code);
      if (!(other.ll > 0.0f) || !other.is_better_than(fit)) continue;
      l[i] = code;
      fit = other;
      changed = true;
    }
    if (!changed) return;
  }
}

// Codes 0 to 2 nmax - 1 that stand for code - nmax; returns the scale, of either sign. Weights are
// x^2 where none are given.
[[nodiscard]] inline float search_symmetric(std::size_t n, int nmax, const float* x,
                                            const float* weights, int* codes) noexcept {
  const float most = extreme(x, n);
  std::fill_n(codes, n, 0);
  if (std::fabs(most) < negligible) return 0.0f;
  const auto weight = [&](std::size_t i) {
    return weights != nullptr ? weights[i] : uncontracted(x[i] * x[i]);
  };
  const auto code_at = [&](float inverse_scale, std::size_t i) {
    return nearest_in(uncontracted(inverse_scale * x[i]), -nmax, nmax - 1);
  };
  const auto fit_of = [&](float inverse_scale) {
    Fit fit;
    for (std::size_t i = 0; i < n; ++i) fit.add(weight(i), x[i], code_at(inverse_scale, i));
    return fit;
  };
  float chosen = static_cast<float>(-nmax) / most;
  Fit fit = fit_of(chosen);
  float scale = fit.ll != 0.0f ? fit.xl / fit.ll : 0.0f;
  float best = uncontracted(scale * fit.xl);
  for (int k = -9; k <= 9; ++k) {
    if (k == 0) continue;
    const float inverse_scale =
        -(static_cast<float>(nmax) + uncontracted(0.1f * static_cast<float>(k))) / most;
    fit = fit_of(inverse_scale);
    if (!(fit.ll > 0.0f) || !(uncontracted(fit.xl * fit.xl) > uncontracted(best * fit.ll)))
      continue;
    chosen = inverse_scale;
    scale = fit.xl / fit.ll;
    best = uncontracted(scale * fit.xl);
  }
  for (std::size_t i = 0; i < n; ++i) codes[i] = code_at(chosen, i) + nmax;
  return scale;
}

// As `search_symmetric`, with single codes changed in place of a search.
[[nodiscard]] inline float search_single_codes(std::size_t n, int nmax, const float* x,
                                               int* codes) noexcept {
  const float most = extreme(x, n);
  std::fill_n(codes, n, 0);
  if (std::fabs(most) < negligible) return 0.0f;
  const auto weight = [&](std::size_t i) { return uncontracted(x[i] * x[i]); };
  const float inverse_scale = static_cast<float>(-nmax) / most;
  Fit fit;
  for (std::size_t i = 0; i < n; ++i) {
    codes[i] = nearest_in(uncontracted(inverse_scale * x[i]), -nmax, nmax - 1);
    fit.add(weight(i), x[i], codes[i]);
  }
  improve_codes(n, x, weight, {-nmax, nmax - 1, false}, codes, fit);
  for (std::size_t i = 0; i < n; ++i) codes[i] += nmax;
  return fit.scale();
}

// Codes 0 to nmax of values that are not negative; returns the scale.
[[nodiscard]] inline float search_positive(std::size_t n, int nmax, const float* x,
                                           const float* weights, int* codes) noexcept {
  float most = 0.0f;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, x[i]);
  std::fill_n(codes, n, 0);
  if (most < negligible) return 0.0f;
  const auto code_at = [&](float inverse_scale, std::size_t i) {
    return nearest_in(uncontracted(inverse_scale * x[i]), 0, nmax);
  };
  const auto error_of = [&](float inverse_scale) {
    const float scale = 1.0f / inverse_scale;
    float error = 0.0f;
    for (std::size_t i = 0; i < n; ++i) {
      const float e = x[i] - uncontracted(scale * static_cast<float>(code_at(inverse_scale, i)));
      error += triple(weights[i], e, e);
    }
    return error;
  };
  float chosen = static_cast<float>(nmax) / most;
  float least = error_of(chosen);
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const float inverse_scale =
        (uncontracted(0.1f * static_cast<float>(k)) + static_cast<float>(nmax)) / most;
    const float error = error_of(inverse_scale);
    if (error < least) least = error, chosen = inverse_scale;
  }
  Fit fit;
  for (std::size_t i = 0; i < n; ++i) {
    codes[i] = code_at(chosen, i);
    fit.add(weights[i], x[i], codes[i]);
  }
  improve_codes(n, x, [&](std::size_t i) { return weights[i]; }, {0, nmax, true}, codes, fit);
  return fit.scale();
}

// How far, and in how many steps, `search_offset` tries scales; errors are squared or absolute.
struct OffsetSteps {
  float first, step;
  int last;
  bool absolute = false;
};
// The steps of the quantizers with importance.
inline constexpr OffsetSteps offset_steps{-0.9f, 0.05f, 36};

struct OffsetScale {
  float scale = 0.0f, minimum = 0.0f;  // x ~ scale * code - minimum
};

// Codes 0 to nmax; the minimum is at least 0.
[[nodiscard]] inline OffsetScale search_offset(std::size_t n, int nmax, const float* x,
                                               const float* weights, const OffsetSteps& steps,
                                               int* codes) noexcept {
  auto [low, high] = bounds(x, n);
  float sum_w = weights[0], sum_x = uncontracted(sum_w * x[0]);
  for (std::size_t i = 1; i < n; ++i) {
    sum_w += weights[i];
    sum_x += uncontracted(weights[i] * x[i]);
  }
  if (low > 0.0f) low = 0.0f;
  std::fill_n(codes, n, 0);
  if (high == low) return {0.0f, -low};
  const auto error_of = [&](const int* l, float scale, float offset) {
    float error = 0.0f;
    for (std::size_t i = 0; i < n; ++i) {
      const float e = product_plus(scale, static_cast<float>(l[i]), offset) - x[i];
      error += uncontracted(weights[i] * (steps.absolute ? std::fabs(e) : uncontracted(e * e)));
    }
    return error;
  };
  const auto take_codes = [&](float inverse_scale, float offset, int* l) {
    for (std::size_t i = 0; i < n; ++i)
      l[i] = nearest_in(uncontracted(inverse_scale * (x[i] - offset)), 0, nmax);
  };
  const float first = static_cast<float>(nmax) / (high - low);
  float scale = 1.0f / first, offset = low;
  take_codes(first, offset, codes);
  float least = error_of(codes, scale, offset);
  for (int k = 0; k <= steps.last; ++k) {
    const float reach =
        (steps.first + uncontracted(steps.step * static_cast<float>(k))) + static_cast<float>(nmax);
    int l[32];
    take_codes(reach / (high - offset), offset, l);
    float sum_l = 0.0f, sum_ll = 0.0f, sum_xl = 0.0f;
    for (std::size_t i = 0; i < n; ++i) {
      const auto code = static_cast<float>(l[i]);
      const float weighted = uncontracted(weights[i] * code);
      sum_l += weighted;
      sum_ll += uncontracted(weighted * code);
      sum_xl += uncontracted(weighted * x[i]);
    }
    const float spread = uncontracted(sum_w * sum_ll) - uncontracted(sum_l * sum_l);
    if (!(spread > 0.0f)) continue;
    float s = (uncontracted(sum_w * sum_xl) - uncontracted(sum_x * sum_l)) / spread;
    float m = (uncontracted(sum_ll * sum_x) - uncontracted(sum_l * sum_xl)) / spread;
    if (m > 0.0f) m = 0.0f, s = sum_xl / sum_ll;
    const float error = error_of(l, s, m);
    if (!(error < least)) continue;
    std::copy_n(l, n, codes);
    least = error, scale = s, offset = m;
  }
  return {scale, -offset};
}

}  // namespace tq::layouts::gguf::detail
