// SPDX-License-Identifier: MIT
#pragma once
// The only way from this tool to the static types of tq.

#include "common/encoding.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

using examples::layout_of;
using examples::PieceCoder;

// Throws: tq::error where the spec has a name that does not exist, or a size out of range.
void validate(const tq::QuantSpec& spec);

// True for the name of an element type.
[[nodiscard]] bool is_type(std::string_view name);
// The scheme a name stands for: a named one, or an element type per channel with its default
// symmetry. Throws:
// errc::unknown_name, with the names there are.
[[nodiscard]] tq::QuantSpec scheme_of(const std::string& name);
// asymmetric for unsigned integers, which have no other way to tell negative values; symmetric.
[[nodiscard]] std::string default_symmetry(const std::string& type);

// The values of a number format, from all of its codes.
struct Element {
  std::string name;
  int bits = 0;
  double lowest = 0, largest = 0, smallest = 0;  // the last: of the positive values
};
[[nodiscard]] std::vector<Element> elements();

// "int2, int3, ...": for the help texts.
[[nodiscard]] std::string type_names();
[[nodiscard]] std::string scheme_names();
[[nodiscard]] std::string granularity_names();
[[nodiscard]] std::string symmetry_names();
[[nodiscard]] std::string scale_type_names();
[[nodiscard]] std::string numerics_names();
[[nodiscard]] std::string calibrator_names();

}  // namespace tool
