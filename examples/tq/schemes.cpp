// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include <tq/files/failure.hpp>
#include <tq/scheme/name_lists.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tool {

namespace {

using examples::Scales;
using examples::Types;

template <tq::Element T>
Element element_of() {
  Element e{std::string(T::name), T::bits, 0, 0, std::numeric_limits<double>::infinity()};
  const auto see = [&](double value) {
    if (!std::isfinite(value)) return;
    e.lowest = std::min(e.lowest, value);
    e.largest = std::max(e.largest, value);
    if (value > 0) e.smallest = std::min(e.smallest, value);
  };
  if constexpr (tq::CodedElement<T>) {
    const float first = T::format::decode(0);
    e.lowest = e.largest = double{first};
    for (std::uint32_t code = 0; code < 1u << T::bits; ++code) see(double{T::format::decode(code)});
  } else {
    for (const int code : {int{T::qmin}, 1, int{T::qmax}}) see(code);
  }
  return e;
}

}  // namespace

void validate(const tq::QuantSpec& spec) { tq::validate_encoding<Types, Scales>(spec); }

bool is_type(std::string_view name) { return tq::is_type_name<Types>(name); }

tq::QuantSpec scheme_of(const std::string& name) { return tq::scheme_of<Types>(name); }

std::string default_symmetry(const std::string& type) { return tq::default_symmetry<Types>(type); }

std::vector<Element> elements() {
  return []<class... Ts>(tq::TypeList<Ts...>) {
    return std::vector<Element>{element_of<Ts>()...};
  }(Types{});
}

std::string scheme_names() { return tq::joined_names(tq::scheme_names<Types>()); }
std::string type_names() { return tq::joined_names(tq::type_names<Types>()); }
std::string granularity_names() { return tq::joined_names(tq::granularity_names()); }
std::string symmetry_names() { return tq::joined_names(tq::symmetry_names()); }
std::string scale_type_names() { return tq::joined_names(tq::scale_type_names<Scales>()); }
std::string numerics_names() { return tq::joined_names(tq::numerics_names()); }
std::string calibrator_names() { return tq::joined_names(tq::spec_calibrator_names()); }

}  // namespace tool
