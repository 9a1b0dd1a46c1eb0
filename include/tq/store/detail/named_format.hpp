// SPDX-License-Identifier: MIT
#pragma once
// NamedFormat: a scheme of a format, by the name that its user gave.

#include <tq/checkpoints/writable_format.hpp>
#include <tq/store/detail/erased_format.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tq::store::detail {

struct NamedFormat {
  std::string name;
  std::shared_ptr<const AnyFormat> format;
};

template <io::WritableFormat F>
[[nodiscard]] std::vector<NamedFormat> named_formats(const std::map<std::string, F>& schemes) {
  std::vector<NamedFormat> out;
  for (const auto& [name, format] : schemes) out.push_back({name, erased(format)});
  return out;
}

// Whether errors of layers are measured, or stay 0 and no tensor is read.
enum class LayerErrors { measured, none };

}  // namespace tq::store::detail
