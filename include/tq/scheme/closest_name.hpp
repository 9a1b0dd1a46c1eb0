// SPDX-License-Identifier: MIT
#pragma once
// Guesses the name that a user meant by a name that does not exist: "did you mean".

#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

namespace detail {

// Lower case, and without what people put between words.
[[nodiscard]] inline std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ' || c == '.') continue;
    plain += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

// Names in other libraries, as `plain_name` leaves them. The first existing name is suggested.
struct OtherName {
  std::string_view said, meant;
};
inline constexpr std::array<OtherName, 54> other_names{{
    {"fp8", "fp8_e4m3"},
    {"float8", "fp8_e4m3"},
    {"f8", "fp8_e4m3"},
    {"e4m3", "fp8_e4m3"},
    {"e5m2", "fp8_e5m2"},
    {"fp8", "float8_e4m3fn"},
    {"float8", "float8_e4m3fn"},
    {"f8", "float8_e4m3fn"},
    {"fp8e4m3fn", "float8_e4m3fn"},
    {"fp8e4m3", "float8_e4m3fn"},
    {"fp8e5m2", "float8_e5m2"},
    {"f8e4m3", "float8_e4m3fn"},
    {"f8e5m2", "float8_e5m2"},
    {"e4m3", "float8_e4m3fn"},
    {"e5m2", "float8_e5m2"},
    {"e8m0", "float8_e8m0fnu"},
    {"ue8m0", "float8_e8m0fnu"},
    {"e2m1", "float4_e2m1fn"},
    {"fp4", "float4_e2m1fn"},
    {"f4", "float4_e2m1fn"},
    {"e2m3", "float6_e2m3fn"},
    {"e3m2", "float6_e3m2fn"},
    {"fp6", "float6_e2m3fn"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"bf16", "bfloat16"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"qint8", "int8"},
    {"quint8", "uint8"},
    {"q8", "int8"},
    {"q4", "int4"},
    {"int1", "binary"},
    {"int158", "ternary"},
    {"bnbnf4", "nf4"},
    {"cast", "none"},
    {"unscaled", "none"},
    {"affine", "asymmetric"},
    {"zeropoint", "asymmetric"},
    {"channel", "per_channel"},
    {"channelwise", "per_channel"},
    {"perrow", "per_channel"},
    {"group", "per_group"},
    {"groupwise", "per_group"},
    {"blockwise", "per_block"},
    {"tensorwise", "per_tensor"},
    {"pytorch", "torch"},
    {"onnxruntime", "onnx"},
    {"bnb", "bitsandbytes"},
    {"kldivergence", "kl"},
    {"absolutemax", "abs_max"},
    {"ema", "moving_average"},
}};

// The least number of characters to insert, delete, replace, or swap with a neighbour.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

// The shortest that goes on where `plain` ends ("asym"), or else has it in it.
[[nodiscard]] inline std::string longer_name(const std::string& plain,
                                             const std::vector<std::string>& known) {
  const std::string* begins = nullptr;
  const std::string* contains = nullptr;
  for (const std::string& candidate : known) {
    const std::size_t at = plain_name(candidate).find(plain);
    if (at == std::string::npos) continue;
    const std::string*& best = at == 0 ? begins : contains;
    if (best == nullptr || candidate.size() < best->size()) best = &candidate;
  }
  return begins != nullptr ? *begins : contains != nullptr ? *contains : "";
}

}  // namespace detail

/// The one of `known` that was probably meant by `name`: the same but for case and dashes, what
/// others call it, one that begins with it or contains it, or one that differs in few characters
/// where no other is as close. Empty where none is.
[[nodiscard]] inline std::string closest_name(std::string_view name,
                                              const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64, shortest_part = 3;
  if (name.empty() || name.size() > longest) return "";
  const std::string plain = detail::plain_name(name);
  for (const std::string& candidate : known)
    if (detail::plain_name(candidate) == plain) return candidate;
  for (const detail::OtherName& other : detail::other_names)
    if (other.said == plain && std::find(known.begin(), known.end(), other.meant) != known.end())
      return std::string(other.meant);
  if (plain.size() >= shortest_part)
    if (const std::string longer = detail::longer_name(plain, known); !longer.empty())
      return longer;
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, plain.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = detail::edit_distance(plain, detail::plain_name(candidate));
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    } else if (distance == fewest && candidate != best) {
      best.clear();  // a guess would be one of several
    }
  }
  return best;
}

/// `; did you mean "int8"?` for the end of a message, or nothing.
[[nodiscard]] inline std::string did_you_mean(std::string_view name,
                                              const std::vector<std::string>& known) {
  const std::string closest = closest_name(name, known);
  return closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
}

}  // namespace tq
