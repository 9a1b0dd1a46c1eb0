// SPDX-License-Identifier: MIT
#pragma once
// Hessian: the mean products of a layer's inputs over tokens, exact, whatever batches they come in.

#include <tq/arch/isa.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/readable.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/input_steps.hpp>
#include <tq/ptq/detail/pair_panels.hpp>
#include <tq/ptq/detail/token_rows.hpp>
#include <tq/ptq/detail/triangle.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// H[i][j] = the mean of x[i] * x[j] over tokens x, where every input is first rounded to a
/// power-of-two step of its own. Sums are integers, so that any cut into batches, threads and
/// processes gives the same bits. Tokens with NaN or infinities are counted and left out.
class Hessian {
 public:
  /// Steps from the range of every input: the last axis of activations [..., inputs]. 14 `bits`
  /// are enough for weights of 8 bits and fewer; 16 bits take twice the time. Throws:
  /// `errc::no_data` when `range` saw nothing; `errc::bad_argument` for other `bits`.
  template <int Axis, class NonFinite>
  explicit Hessian(const Observer<AbsMax, PerChannel<Axis>, NonFinite>& range, int bits = 14)
      : Hessian(range.accumulators(), bits) {}
  /// The same from the range of each input.
  explicit Hessian(std::span<const AbsMax> inputs, int bits = 14)
      : steps_(bits, exponents_of(inputs, bits)), sums_(triangle().size()) {}

  /// Adds the tokens of activations [..., inputs], which count as float32. The result does not
  /// depend on `executor`. Throws: `errc::shape_mismatch` for other inputs; `errc::out_of_range`
  /// for a value beyond the range that steps were made of; `errc::bad_argument` for more than 2^32
  /// tokens. Nothing is added then.
  template <class Arch = arch::native, Executor E = Serial, Readable X = ConstTensorView>
  void add(const X& x, const E& executor = serial) {
    const auto floats = detail::read_floats("tq::Hessian::add", x);
    const auto& view = floats.view();
    const detail::TokenRows rows("tq::Hessian::add", view, inputs());
    require_range(rows);
    require_tokens("tq::Hessian::add", rows.used().size());
    detail::PairPanels panels(steps_);
    const std::span<const std::size_t> used = rows.used();
    for (std::size_t t = 0; t < used.size(); t += panels.tokens) {
      panels.take(rows, used.subspan(t, std::min(panels.tokens, used.size() - t)));
      executor(panels.panels(), [&](std::size_t a) { add_panel<Arch>(panels, a); });
    }
    tokens_ += used.size();
    left_out_ += rows.left_out();
  }

  /// Takes the tokens of another Hessian of the same steps. Throws: `errc::shape_mismatch` for
  /// other inputs; `errc::bad_argument` for other steps.
  void merge(const Hessian& other) {
    detail::require_count("tq::Hessian::merge", "inputs", inputs(), other.inputs());
    if (!(steps_ == other.steps_))
      raise(errc::bad_argument,
            "tq::Hessian::merge: expected a Hessian of the same steps, got one of other ranges or "
            "bits: observe the range of all activations first");
    require_tokens("tq::Hessian::merge", other.tokens_);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    tokens_ += other.tokens_;
    left_out_ += other.left_out_;
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return steps_.size(); }
  /// Tokens that were added.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
  /// Tokens that were left out, for NaN or infinities.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  /// The mean product of inputs i and j; 0 without tokens. Precondition: i, j < inputs().
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const noexcept {
    if (tokens_ == 0) return 0.0;
    const double sum = static_cast<double>(sums_[triangle().either(i, j)]);
    return sum * steps_.step(i) * steps_.step(j) / static_cast<double>(tokens_);
  }

  /// Everything there is to know, to be stored. `sums` is the upper triangle, row by row.
  struct State {
    int bits;
    std::uint64_t tokens, left_out;
    std::vector<int> exponents;
    std::vector<std::int64_t> sums;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State state() const {
    return {steps_.bits(), tokens_, left_out_, steps_.exponents(), sums_};
  }
  /// Continues from a stored state. Throws: `errc::malformed` for a state that no tokens lead to.
  [[nodiscard]] static Hessian from_state(State s) {
    constexpr const char* function = "tq::Hessian::from_state";
    const auto refuse = [&](detail::TextParts expected, detail::TextParts got) {
      detail::raise_expected(errc::malformed, function, expected, got);
    };
    if (s.bits != 14 && s.bits != 16) refuse({"14 or 16 bits"}, {s.bits});
    const std::size_t n = s.exponents.size();
    if (n == 0 || n > detail::most_inputs) refuse({"inputs"}, {n});
    const detail::Triangle triangle(n);
    if (s.sums.size() != triangle.size())
      refuse({triangle.size(), " sums of ", n, " inputs"}, {s.sums.size()});
    if (s.tokens > most_tokens) refuse({"at most 2^32 tokens"}, {s.tokens});
    Hessian out(detail::InputSteps(s.bits, std::move(s.exponents)), std::move(s.sums));
    out.tokens_ = s.tokens;
    out.left_out_ = s.left_out;
    out.require_possible(refuse);
    return out;
  }
  friend bool operator==(const Hessian&, const Hessian&) = default;

 private:
  static constexpr std::uint64_t most_tokens = std::uint64_t{1} << 32;  // sums of 62 bits

  Hessian(detail::InputSteps steps, std::vector<std::int64_t> sums)
      : steps_(std::move(steps)), sums_(std::move(sums)) {}

  static std::vector<int> exponents_of(std::span<const AbsMax> inputs, int bits) {
    detail::require_bits("tq::Hessian", bits);
    if (inputs.empty())
      raise(errc::no_data, "tq::Hessian: expected the range of inputs, but the observer saw none");
    detail::require_inputs("tq::Hessian", inputs.size());
    std::vector<int> out;
    for (const AbsMax& seen : inputs)
      out.push_back(detail::InputSteps::exponent_for(seen.abs_max(), bits));
    return out;
  }

  [[nodiscard]] detail::Triangle triangle() const noexcept { return detail::Triangle(inputs()); }

  void require_tokens(const char* function, std::uint64_t more) const {
    if (more > most_tokens - tokens_)
      detail::raise_expected(errc::bad_argument, function, {"at most 2^32 tokens"},
                             {tokens_, " and ", more});
  }

  void require_range(const detail::TokenRows& rows) const {
    std::vector<float> memory(inputs()), tops(inputs());
    for (const std::size_t t : rows.used()) {
      const float* values = rows.row(t, memory.data());
      for (std::size_t i = 0; i < inputs(); ++i) tops[i] = std::max(tops[i], std::fabs(values[i]));
    }
    for (std::size_t i = 0; i < inputs(); ++i)
      if (static_cast<double>(tops[i]) > steps_.reach(i))
        detail::raise_expected(errc::out_of_range, "tq::Hessian::add",
                               {"magnitudes of at most ", static_cast<float>(steps_.reach(i)),
                                " in input ", i, ", as observed before"},
                               {tops[i]});
  }

  template <class Arch>
  void add_panel(const detail::PairPanels& panels, std::size_t a) {
    constexpr std::size_t columns = kernels::pair_columns;
    const detail::Triangle at = triangle();
    for (std::size_t b = a; b < panels.panels(); ++b) {
      alignas(64) kernels::PairSums part{};
      panels.add<arch::pair_dot<Arch>>(a, b, part);
      const std::size_t rows = std::min(columns, inputs() - a * columns),
                        width = std::min(columns, inputs() - b * columns);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = a == b ? r : 0; c < width; ++c)
          sums_[at.at(a * columns + r, b * columns + c)] += part[r * columns + c];
    }
  }

  // Sums of products are at most those of the diagonal, and none of an input without a range.
  template <class Refuse>
  void require_possible(const Refuse& refuse) const {
    const detail::Triangle at = triangle();
    const auto most = static_cast<std::int64_t>(tokens_) * steps_.limit() * steps_.limit();
    for (std::size_t i = 0; i < inputs(); ++i) {
      const int e = steps_.exponents()[i];
      const bool has_range = e != detail::InputSteps::no_range;
      if (has_range && (e < detail::InputSteps::least || e > detail::InputSteps::most))
        refuse({"exponents of steps of float32 inputs"}, {e, " of input ", i});
      if (sums_[at.at(i, i)] < 0)
        refuse({"sums of squares"}, {sums_[at.at(i, i)], " of input ", i});
      for (std::size_t j = i; j < inputs(); ++j) {
        const std::int64_t sum = sums_[at.at(i, j)];
        const bool both = has_range && steps_.exponents()[j] != detail::InputSteps::no_range;
        if (sum > (both ? most : 0) || sum < (both ? -most : 0))
          refuse({"sums of ", tokens_, " products within their range"},
                 {sum, " of inputs ", i, " and ", j});
        const auto twice = 2 * static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
        if (twice > static_cast<std::uint64_t>(sums_[at.at(i, i)]) +
                        static_cast<std::uint64_t>(sums_[at.at(j, j)]))
          refuse({"sums of products that those of squares allow"},
                 {sum, " of inputs ", i, " and ", j});
      }
    }
  }

  detail::InputSteps steps_;
  std::vector<std::int64_t> sums_;
  std::uint64_t tokens_ = 0, left_out_ = 0;
};

}  // namespace tq
