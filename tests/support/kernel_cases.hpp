// SPDX-License-Identifier: MIT
#pragma once
// Spans that reach every path of the kernels, with data, parameters and room for guards around the
// output.

#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>
#include <tq/numeric/code_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "support/inputs.hpp"
#include "support/share.hpp"

namespace cases {

using tq::CodeRange;

/// Memory that begins where the largest registers are aligned.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) noexcept {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, std::align_val_t{64}); }
  friend bool operator==(const Aligned&, const Aligned&) { return true; }
};
template <class T>
using Outputs = std::vector<T, Aligned<T>>;

/// The form of a span: its numbers without pointers.
struct Form {
  std::size_t length, count;
  std::ptrdiff_t source_stride, target_stride;
  std::size_t param_stride, step;

  [[nodiscard]] std::size_t params() const {
    return count == 0 ? 1 : (count - 1) * param_stride + std::max<std::size_t>(length * step, 1);
  }
  [[nodiscard]] bool packable()
      const {  // what pack asks for: a dense target, stretches of whole bytes
    return count <= 1 || (target_stride == static_cast<std::ptrdiff_t>(length) && length % 4 == 0);
  }
  [[nodiscard]] bool unpackable() const {  // the same of the source
    return count <= 1 || (source_stride == static_cast<std::ptrdiff_t>(length) && length % 4 == 0);
  }
  // Where offset 0 must lie so that every element has a position of at least 0.
  [[nodiscard]] static std::size_t origin(std::ptrdiff_t stride, std::size_t count) {
    return stride >= 0 || count == 0 ? 0 : static_cast<std::size_t>(-stride) * (count - 1);
  }
  [[nodiscard]] static std::size_t extent(std::ptrdiff_t stride, std::size_t count,
                                          std::size_t length) {
    const auto step = static_cast<std::size_t>(stride < 0 ? -stride : stride);
    return count == 0 ? 0 : step * (count - 1) + length;
  }
  [[nodiscard]] std::string text() const {
    return "length " + std::to_string(length) + ", count " + std::to_string(count) +
           ", source stride " + std::to_string(source_stride) + ", target stride " +
           std::to_string(target_stride) + ", param stride " + std::to_string(param_stride) +
           ", step " + std::to_string(step);
  }
};

/// All forms. `block` is the number of elements the kernels take at once.
inline std::vector<Form> all_forms(std::size_t block) {
  std::vector<Form> all;
  const auto signed_of = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
  const auto dense = [&](std::size_t length, std::size_t count, std::size_t param_stride,
                         std::size_t step) {
    all.push_back({length, count, signed_of(length), signed_of(length), param_stride, step});
  };
  for (std::size_t n = 0; n <= 2 * block + 3; ++n) {  // one stretch
    dense(n, 1, 0, 0);
    dense(n, 1, 0, 1);
    all.push_back({n, 1, 0, 0, 0, 1});
  }
  for (const std::size_t n : {511u, 513u, 1024u, 1025u, 2100u}) {
    dense(n, 1, 0, 0);
    dense(n, 1, 0, 1);
  }
  for (const std::size_t n : {4 * block - 1, 4 * block, 4 * block + 1, 7 * block + 2})
    dense(n, 1, 0, 0);
  for (std::size_t n = 1; n <= 70; ++n) {  // short stretches: own parameter, shared ones, columns
    dense(n, 3 + n % 5, 1, 0);
    dense(n, 2 + n % 3, 0, 1);
    if (n % 3 == 0) dense(n, 5, 0, 0);
    if (n % 7 == 0) dense(n, 4, n, 1);
    if (n % 5 == 0) dense(n, 7, 3, 0);
  }
  for (const std::size_t n : {8u, 16u, 32u, 64u}) {  // groups; more of them than are staged at once
    dense(n, 1, 1, 0);
    dense(n, 7, 1, 0);
    dense(n, 520 / (n / 8), 1, 0);
  }
  dense(8, 1030, 1, 0);
  dense(1, 1100, 1, 0);
  dense(9, 130, 1, 0);
  dense(25, 90, 1, 0);
  dense(100, 23, 3, 0);
  dense(127, 17, 1, 0);
  dense(128, 5, 1, 0);
  dense(3, 400, 0, 1);
  for (const std::size_t n :
       {1u, 31u, 32u, 33u, 63u, 64u, 65u, 100u, 127u, 128u, 130u, 200u, 255u, 256u, 257u})
    dense(n, 4, 0, 1);
  dense(600, 3, 0, 1);
  dense(520, 2, 520, 1);
  dense(100, 3, 101, 1);
  // Past the cache: rows long enough to be shifted, or with more parameters than are staged.
  dense(4133, 1, 0, 0);
  dense(4100, 2, 1, 0);
  for (const std::size_t n : {1088u, 1100u}) {
    dense(n, 3, 0, 1);
    dense(n, 2, n, 1);
    all.push_back({n, 3, signed_of(n) + 3, signed_of(n) + 4, 0, 1});
  }
  // Rows apart from one another, backwards, and elements one by one.
  for (const std::size_t n : {1u, 5u, 8u, 16u, 33u, 64u, 100u}) {
    const std::ptrdiff_t d = signed_of(n);
    for (const std::size_t step : {0u, 1u})
      for (const std::size_t param_stride : {0u, 1u, 5u}) {
        all.push_back({n, 6, d + 3, d, param_stride, step});
        all.push_back({n, 6, d, d + 2, param_stride, step});
        all.push_back({n, 4, d + 1, d + 5, param_stride, step});
        all.push_back({n, 3, -d, d, param_stride, step});
        all.push_back({n, 3, d, -d - 1, param_stride, step});
        all.push_back({n, 3, 0, d, param_stride, step});
      }
  }
  all.push_back({1, 600, 2, 3, 1, 0});
  all.push_back({8, 0, 8, 8, 1, 0});
  all.push_back({8, 0, 8, 8, 0, 1});
  return all;
}

/// The forms that one loop of a test tries.
inline std::vector<Form> forms(std::size_t block) {
  std::vector<Form> some = all_forms(block);
  test::Share share;
  std::erase_if(some, [&](const Form&) { return !share.takes(); });
  return some;
}

/// A span with its memory. `x` starts at some distance from any alignment, and nothing follows its
/// last value.
struct Case {
  Form form;
  std::vector<float> scales, source;
  std::vector<std::int32_t> zeros;
  std::size_t source_at = 0, target_at = 0;  // position of offset 0
  std::uint64_t index = 0;
  bool has_zero = false, streaming = false;

  Case(const Form& f, const CodeRange& codes, inputs::Random& r) : form(f) {
    const bool tame = r.chance(40);
    const std::size_t params = f.params();
    for (std::size_t i = 0; i < params; ++i) {
      scales.push_back(tame || r.chance(60) ? inputs::ordinary_scale(r) : inputs::scale(r));
      zeros.push_back(r.chance(20) ? (r.chance(50) ? codes.min : codes.max)
                                   : r.between(codes.min, codes.max));
    }
    if (r.chance(10)) std::fill(scales.begin(), scales.end(), inputs::scale(r));
    has_zero = r.chance(60);
    streaming = r.chance(40);
    index = r.chance(50) ? r.below(1000) : 0xfffffff0u + r.below(32);
    const std::size_t lead = r.below(4);
    source_at = lead + Form::origin(f.source_stride, f.count);
    target_at = 64 + (r.chance(30) ? 0 : r.below(64)) + Form::origin(f.target_stride, f.count);
    source.resize(lead + Form::extent(f.source_stride, f.count, f.length));
    each([&](std::size_t s, std::size_t, std::size_t p) {
      source[s] = tame ? inputs::ordinary_value(r, scales[p]) : inputs::value(r, scales[p]);
    });
    if (!source.empty() && tame && r.chance(50))
      source[r.below(source.size())] = inputs::value(r, scales[0]);
  }

  [[nodiscard]] std::size_t target_size() const {
    return target_at - Form::origin(form.target_stride, form.count) +
           Form::extent(form.target_stride, form.count, form.length) + 64;
  }
  [[nodiscard]] const float* x() const { return source.data() + source_at; }
  [[nodiscard]] std::int32_t zero(std::size_t p) const { return has_zero ? zeros[p] : 0; }
  [[nodiscard]] tq::driver::Span driver_span() const {
    return {form.length, form.count, form.source_stride, form.target_stride};
  }
  template <class Arch>
  [[nodiscard]] tq::driver::Parameters parameters() const {
    tq::driver::Parameters p{.scales = tq::driver::plain<Arch>(scales.data()),
                             .row_step = form.param_stride};
    if (has_zero) p.origins = tq::driver::plain<Arch>(zeros.data());
    if (form.step == 1) p.group = 1;
    return p;
  }
  // f(position in the source, position in the target, parameter) for every element.
  template <class F>
  void each(F&& f) const {
    for (std::size_t r = 0; r < form.count; ++r)
      for (std::size_t i = 0; i < form.length; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(r), col = static_cast<std::ptrdiff_t>(i);
        f(source_at + static_cast<std::size_t>(row * form.source_stride + col),
          target_at + static_cast<std::size_t>(row * form.target_stride + col),
          r * form.param_stride + i * form.step);
      }
  }
};

/// The codes from `at` on in `bits` bits each, the first one lowest, with nothing after them.
template <class Code>
std::vector<unsigned char> packed(const std::vector<Code>& codes, std::size_t at, int bits) {
  std::vector<unsigned char> bytes;
  std::size_t used = 0;
  for (std::size_t i = at; i < codes.size(); ++i, used += static_cast<std::size_t>(bits)) {
    if (used % 8 == 0) bytes.push_back(0);
    const unsigned code = static_cast<unsigned>(codes[i]) & ((1u << bits) - 1u);
    bytes.back() = static_cast<unsigned char>(bytes.back() | code << used % 8);
  }
  return bytes;
}

/// The ranges of the types kept in `Code`, and some others.
template <class Code>
std::vector<CodeRange> ranges() {
  if constexpr (sizeof(Code) == 1 && Code(-1) < 0)
    return {{-128, 127}, {-127, 127}, {-8, 7}, {-7, 7}, {-2, 1}, {-1, 1}, {-16, 15}, {-128, 127}};
  else if constexpr (sizeof(Code) == 1)
    return {{0, 255}, {0, 15}, {0, 3}, {0, 31}, {0, 127}, {0, 255}};
  else if constexpr (sizeof(Code) == 4)
    return {{-2147483647 - 1, 2147483647}, {-2147483647, 2147483647}, {-100000, 20000000}};
  else if constexpr (Code(-1) < 0) return {{-32768, 32767}, {-32767, 32767}, {-200, 300}};
  else return {{0, 65535}, {0, 65535}, {0, 1000}};
}

}  // namespace cases
