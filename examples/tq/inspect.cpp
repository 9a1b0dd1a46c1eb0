// SPDX-License-Identifier: MIT
// tq inspect: what a tensor file holds, and in how many bits.
#include "commands.hpp"
#include "output.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tool {

namespace {

double bits_per_weight(const StoredTensor& t) {
  return t.elements() == 0 ? 0.0
                           : 8.0 * static_cast<double>(t.bytes) / static_cast<double>(t.elements());
}

// Statistics of finite values, in the type that has them all.
struct Statistics {
  tq::io::Json min, max;  // null where there is none
  std::uint64_t nan = 0, infinite = 0;

  // Takes more values of the same type.
  template <class T>
  void add(std::span<const T> values) {
    std::optional<std::pair<T, T>> ends;
    if (!min.is_null()) ends.emplace(min.get<T>(), max.get<T>());
    for (const T x : values) {
      if constexpr (std::is_floating_point_v<T>) {
        nan += std::isnan(x) ? 1 : 0;
        infinite += std::isinf(x) ? 1 : 0;
        if (!std::isfinite(x)) continue;
      }
      ends =
          ends ? std::pair(std::min(ends->first, x), std::max(ends->second, x)) : std::pair(x, x);
    }
    if (!ends) return;
    min = ends->first;
    max = ends->second;
  }
};

// The scheme of a quantized tensor; in parentheses, why another is no weight.
std::string scheme_text(const StoredTensor& t) {
  if (t.encoding) return to_string(t.encoding->spec);
  if (t.foreign || !t.blocks.empty()) return t.scheme();
  return t.left_alone.empty() ? "-" : "(" + t.left_alone + ")";
}

tq::io::Json to_json(const tq::io::CheckpointWeight& weight) {
  tq::io::Json parts = tq::io::Json::array();
  for (const auto& [role, name] : weight.parts) parts.push_back(name);
  return {{"format", std::string(weight.format)},
          {"scheme", weight.scheme},
          {"bits", weight.bits},
          {"parts", std::move(parts)}};
}

tq::io::Json to_json(std::span<const tq::io::OtherMember> others) {
  tq::io::Json list = tq::io::Json::array();
  for (const tq::io::OtherMember& other : others)
    list.push_back({{"name", other.name}, {"reason", other.reason}});
  return list;
}

// An end of a range; `f` rounds it outwards.
template <class F>
std::string text(const tq::io::Json& number, F&& f) {
  return number.is_null() ? "-" : f(number.get<double>());
}

tq::io::Json to_json(const StoredTensor& t, const std::optional<Statistics>& seen) {
  tq::io::Json entry{{"name", t.name},
                     {"dtype", std::string(to_string(t.dtype))},
                     {"shape", t.shape},
                     {"spec", t.encoding ? tq::io::spec_to_json(t.encoding->spec) : tq::io::Json()},
                     {"bits_per_weight", bits_per_weight(t)},
                     {"bytes", t.bytes}};
  if (t.foreign) entry["checkpoint"] = to_json(*t.foreign);
  if (!t.left_alone.empty()) entry["reason"] = t.left_alone;
  if (seen) {
    entry["min"] = seen->min;
    entry["max"] = seen->max;
    entry["nan"] = seen->nan;
    entry["infinite"] = seen->infinite;
  }
  return entry;
}

std::vector<std::string> row_of(const StoredTensor& t, const std::optional<Statistics>& seen,
                                bool has_statistics) {
  std::vector<std::string> row{
      printable(t.name), std::string(to_string(t.dtype)), tq::io::shape_text(t.shape),
      scheme_text(t),    fixed(bits_per_weight(t), 2),    grouped(t.bytes)};
  if (seen)
    row.insert(row.end(), {text(seen->min, short_down), text(seen->max, short_up),
                           std::to_string(seen->nan), std::to_string(seen->infinite)});
  else if (has_statistics) row.insert(row.end(), 4, "-");
  return row;
}

}  // namespace

void inspect(const InspectOptions& options) {
  StoredModel model(options.file);
  std::vector<Table::Column> columns{
      {"tensor"}, {"dtype"}, {"shape"}, {"scheme"}, {"bits/weight", true}, {"bytes", true}};
  if (options.statistics)
    for (const char* title : {"min", "max", "NaN", "infinite"}) columns.push_back({title, true});
  Table table(columns);
  tq::io::Json list = tq::io::Json::array();
  std::uint64_t elements = 0, plain = 0, bytes = 0;
  std::size_t quantized = 0;
  ExactValues exact;
  for (const StoredTensor& t : model.tensors()) {
    elements += t.elements();
    plain += t.plain_bytes();
    bytes += t.bytes;
    quantized += t.encoding || t.foreign || !t.blocks.empty() ? 1 : 0;
    std::optional<Statistics> seen;
    if (options.statistics && is_real(t.dtype)) {
      seen.emplace();
      in_memory(t, [&] {
        for_each_piece(t.elements(), [&](std::size_t first, std::size_t count) {
          exact.with(t.dtype, model.piece(t, first, count),
                     [&](const auto& values) { seen->add(values); });
        });
      });
    }
    if (options.json) list.push_back(to_json(t, seen));
    else table.add(row_of(t, seen, options.statistics));
  }
  if (options.json) {
    print_json({{"file", options.file},
                {"metadata", model.other_metadata()},
                {"tensors", std::move(list)},
                {"others", to_json(model.others())},
                {"total",
                 {{"tensors", model.tensors().size()},
                  {"quantized", quantized},
                  {"elements", elements},
                  {"bytes", bytes},
                  {"bytes_unquantized", plain},
                  {"saved", saved_percent(plain, bytes) / 100}}}});
    return;
  }
  table.print();
  std::cout << '\n'
            << model.tensors().size() << " tensors, " << grouped(elements) << " elements, "
            << grouped(bytes) << " bytes";
  if (quantized != 0)
    std::cout << "; " << quantized << " quantized, " << grouped(plain) << " bytes before, "
              << fixed(saved_percent(plain, bytes), 1) << " % saved";
  std::cout << '\n';
  for (const tq::io::OtherMember& other : model.others())
    std::cout << "beside them: " << printable(other.name) << " (" << other.reason << ")\n";
}

}  // namespace tool
