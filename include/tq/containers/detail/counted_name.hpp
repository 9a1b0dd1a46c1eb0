// SPDX-License-Identifier: MIT
#pragma once
// Names of files that say how many there are: "model-00001-of-00003.safetensors".

#include <tq/bodies.hpp>
#include <tq/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tq::io::detail {

// "model" and ".safetensors" of "model-00001-of-00003.safetensors".
struct CountedName {
  std::string before, after;

  friend bool operator==(const CountedName&, const CountedName&) = default;

  // File `i`, from 0 on, of `count`; numbers have at least five digits.
  [[nodiscard]] TQ_API std::string name(std::uint64_t i, std::uint64_t count) const;
};

// The parts of a name with two numbers of five digits, or nothing.
[[nodiscard]] TQ_API std::optional<CountedName> counted_name(std::string_view name);

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/detail/counted_name.ipp>
#endif
