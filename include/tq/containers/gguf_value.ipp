// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf_value.hpp.

#include <tq/containers/gguf_value.hpp>
#include <tq/core/detail/with_alternative.hpp>

#include <algorithm>
#include <type_traits>

namespace tq::io {

TQ_API std::string_view type_name(const GgufValue& value) noexcept {
  return detail::gguf_value_types[value.index()];
}

TQ_API const GgufValue* find_gguf_value(std::span<const GgufEntry> entries,
                                        std::string_view key) noexcept {
  const auto found = std::ranges::find(entries, key, &GgufEntry::name);
  return found == entries.end() ? nullptr : &found->value;
}

TQ_API std::optional<std::uint64_t> gguf_count(std::span<const GgufEntry> entries,
                                               std::string_view key) {
  const GgufValue* const value = find_gguf_value(entries, key);
  if (value == nullptr) return std::nullopt;
  const auto number = [](const auto& v) -> std::optional<std::uint64_t> {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (v >= T{0}) return static_cast<std::uint64_t>(v);
    }
    return std::nullopt;
  };
  if (const auto* const array = std::get_if<GgufArray>(value))
    return tq::detail::with_alternative(
        *array, [&](const auto& list) -> std::optional<std::uint64_t> {
          if constexpr (requires { list.front(); })
            return list.empty() ? std::nullopt : number(list.front());
          else return std::nullopt;
        });
  return tq::detail::with_alternative(*value, number);
}

}  // namespace tq::io
