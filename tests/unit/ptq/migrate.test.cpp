// SPDX-License-Identifier: MIT
#include <tq/ptq/divided_hessian.hpp>
#include <tq/ptq/equalize.hpp>
#include <tq/ptq/migrate.hpp>
#include <tq/ptq/powers_of_two.hpp>
#include <tq/ptq/smooth_scales.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;

tq::TensorView<float> matrix(std::vector<float>& v, std::size_t columns) {
  return {v.data(), {v.size() / columns, columns}};
}

// Outputs of a norm's gain and bias, and a layer behind it, in float32.
std::vector<float> outputs(const Layer& l, const std::vector<float>& gain,
                           const std::vector<float>& bias, const std::vector<float>& w) {
  std::vector<float> out;
  for (std::size_t t = 0; t < l.tokens; ++t)
    for (std::size_t r = 0; r < w.size() / l.columns; ++r) {
      float sum = 0;
      for (std::size_t c = 0; c < l.columns; ++c)
        sum += (l.x[t * l.columns + c] * gain[c] + bias[c]) * w[r * l.columns + c];
      out.push_back(sum);
    }
  return out;
}

}  // namespace

TEST_CASE("powers of two migrate into a norm without changing a bit") {
  const Layer l(6, 10, 1);
  const tq::FloatHessian& h = l.h;
  std::vector<float> gain(10), bias(10), q = l.w, k = l.w;
  for (std::size_t c = 0; c < 10; ++c) gain[c] = 0.3f + static_cast<float>(c), bias[c] = 0.7f;
  for (float& v : k) v *= 0.3f;
  const std::vector<float> before_q = outputs(l, gain, bias, q),
                           before_k = outputs(l, gain, bias, k);
  std::vector<float> magnitudes(10);
  for (std::size_t c = 0; c < 10; ++c) magnitudes[c] = static_cast<float>(std::sqrt(h(c, c)));
  const std::vector<float> scales =
      tq::powers_of_two(tq::smooth_scales(magnitudes, {matrix(q, 10), matrix(k, 10)}));
  CHECK(*std::ranges::max_element(scales) > *std::ranges::min_element(scales));
  const std::vector<float> old = q;
  tq::migrate(scales, tq::into_norm({"q", "k"}, gain, bias),
              {{"q", matrix(q, 10)}, {"k", matrix(k, 10)}});
  CHECK(q != old);
  CHECK((outputs(l, gain, bias, q) == before_q));
  CHECK((outputs(l, gain, bias, k) == before_k));

  // The Hessian of the divided inputs is that of divided inputs that are seen.
  std::vector<float> x = l.x;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] /= scales[i % 10];
  tq::FloatHessian seen(10);
  seen.add(tq::ConstTensorView(x.data(), {l.tokens, 10}));
  const tq::FloatHessian divided = tq::divided_hessian(h, scales);
  CHECK(divided.tokens() == seen.tokens());
  double largest = 0;
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j < 10; ++j)
      largest = std::max(largest, std::fabs(divided(i, j) - seen(i, j)) /
                                      std::sqrt(seen(i, i) * seen(j, j) + 1e-300));
  CHECK(largest < 1e-15);
}

TEST_CASE("scales twice are their product, and rows of the layer before are divided") {
  std::vector<float> w1{1, 2, 3, 4, 5, 6}, b1{7, 8}, w2{1, 2, 3, 4};
  const auto source = [&] { return tq::into_rows({"w2"}, matrix(w1, 3), b1); };
  tq::migrate(std::vector<float>{2, 4}, source(), {{"w2", matrix(w2, 2)}});
  CHECK((w1 == std::vector<float>{0.5f, 1, 1.5f, 1, 1.25f, 1.5f}));
  CHECK((b1 == std::vector<float>{3.5f, 2}));
  CHECK((w2 == std::vector<float>{2, 8, 6, 16}));
  tq::migrate(std::vector<float>{0.5f, 0.25f}, source(), {{"w2", matrix(w2, 2)}});
  CHECK((w1 == std::vector<float>{1, 2, 3, 4, 5, 6}));
  CHECK((w2 == std::vector<float>{1, 2, 3, 4}));
}

TEST_CASE("equalised channels have one range in both layers") {
  Layer first(12, 7, 3), second(5, 12, 4);
  for (std::size_t c = 0; c < 7; ++c) first.w[3 * 7 + c] = 0;  // a channel that is always 0
  std::vector<float> bias(12, 1.0f), w1 = first.w, w2 = second.w;
  const std::vector<float> scales = tq::equalize(matrix(w1, 7), bias, matrix(w2, 12));
  CHECK(scales[3] == 1.0f);
  for (std::size_t c = 0; c < 12; ++c) {
    float row = 0, column = 0;
    for (std::size_t i = 0; i < 7; ++i) row = std::max(row, std::fabs(w1[c * 7 + i]));
    for (std::size_t r = 0; r < 5; ++r) column = std::max(column, std::fabs(w2[r * 12 + c]));
    if (c == 3) CHECK(row == 0.0f);
    else CHECK(std::fabs(row / column - 1) < 1e-6f);
    CHECK(bias[c] == 1.0f / scales[c]);
  }
  for (const float s : tq::equalization_scales(matrix(w1, 7), matrix(w2, 12)))
    CHECK(std::fabs(s - 1) < 1e-6f);
}

TEST_CASE("scales of activations' outliers are those of their formulas") {
  std::vector<float> w{1, -4, 0, 2, 3, 0};  // [2, 3]
  const std::vector<float> magnitudes{4, 0, 5};
  CHECK((tq::smooth_scales(magnitudes, {matrix(w, 3)}) ==
         std::vector<float>{static_cast<float>(2 / std::sqrt(2.0)), 1, 1}));
  CHECK((tq::smooth_scales(magnitudes, {matrix(w, 3)}, 1.0) == std::vector<float>{4, 1, 1}));
  CHECK((tq::smooth_scales(magnitudes, {matrix(w, 3)}, 0.0) == std::vector<float>{0.5f, 1, 1}));
  CHECK((tq::log_scales(std::vector<float>{6, 0, 14}) == std::vector<float>{2, 1, 3.5f}));
  tq::Observer<tq::AbsMax, tq::PerChannel<-1>> inputs;
  inputs.observe(tq::ConstTensorView(w.data(), {2, 3}));
  CHECK((tq::magnitudes_of(inputs) == std::vector<float>{2, 4, 0}));
  CHECK((tq::powers_of_two(std::vector<float>{1, 1.41f, 1.42f, 3, 0.7f, 0.75f, 1e-39f}) ==
         std::vector<float>{1, 1, 2, 4, 0.5f, 1, 0x1p-126f}));
}

TEST_CASE("migrating refuses readers that are left out, and changes nothing") {
  using test::raises;
  std::vector<float> gain{1, 2}, bias{1, 1}, q{1, 2, 3, 4}, k = q;
  const std::vector<float> scales{2, 3};
  const auto norm = [&] { return tq::into_norm({"q", "k"}, gain, bias); };
  const auto refuse = [&](tq::errc code, const char* text, const std::vector<float>& s,
                          const tq::InputSource& source,
                          const std::vector<tq::InputReader>& readers) {
    raises(code, {"tq::migrate", text}, [&] { tq::migrate(s, source, readers); });
    CHECK((gain == std::vector<float>{1, 2}));
    CHECK((q == std::vector<float>{1, 2, 3, 4}));
  };
  const tq::InputReader reads_q{"q", matrix(q, 2)}, reads_k{"k", matrix(k, 2)};
  refuse(tq::errc::bad_argument, "(k, q), got q", scales, norm(), {reads_q});
  refuse(tq::errc::bad_argument, "(k, q), got q, q", scales, norm(), {reads_q, reads_q});
  refuse(tq::errc::bad_argument, "(k, q), got none", scales, norm(), {});
  refuse(tq::errc::bad_argument, "(q), got k, q", scales, tq::into_norm({"q"}, gain),
         {reads_q, reads_k});
  refuse(tq::errc::bad_scale, "got 0 for input 1", {2, 0}, norm(), {reads_q, reads_k});
  refuse(tq::errc::shape_mismatch, "a source of 3 outputs, got shape [2]", {2, 2, 2}, norm(),
         {reads_q, reads_k});
  refuse(tq::errc::shape_mismatch, "[outputs, 2]", scales, norm(),
         {reads_q, {"k", tq::TensorView<float>(k.data(), {4, 1})}});
  constexpr float most = std::numeric_limits<float>::max();
  k[3] = most;
  refuse(tq::errc::not_finite, "at row 1 and column 1", scales, norm(), {reads_q, reads_k});
  raises(tq::errc::bad_argument, {"a strength of 0 to 1"},
         [&] { static_cast<void>(tq::smooth_scales(scales, {matrix(q, 2)}, 2.0)); });
  raises(tq::errc::no_data, {"tq::smooth_scales", "got none"},
         [&] { static_cast<void>(tq::smooth_scales(scales, {})); });
  raises(tq::errc::not_finite, {"tq::log_scales", "for input 0"},
         [] { static_cast<void>(tq::log_scales(std::vector<float>{-1})); });
  raises(tq::errc::shape_mismatch, {"[outputs, 4]"}, [&] {
    static_cast<void>(tq::equalize(tq::TensorView<float>(q.data(), {4, 1}), {}, matrix(k, 2)));
  });
}
