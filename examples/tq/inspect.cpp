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

// Of finite values, in the type that has them all.
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

std::string text(const tq::io::Json& number) {
  return number.is_null() ? "-" : short_number(number.get<double>());
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
  PieceReader pieces(model);
  ExactValues exact;
  for (const StoredTensor& t : model.tensors()) {
    elements += t.elements();
    plain += t.plain_bytes();
    bytes += t.bytes;
    quantized += t.spec ? 1 : 0;
    std::vector<std::string> row{printable(t.name),
                                 std::string(to_string(t.dtype)),
                                 tq::io::shape_text(t.shape),
                                 t.spec ? to_string(*t.spec) : "-",
                                 fixed(bits_per_weight(t), 2),
                                 grouped(t.bytes)};
    tq::io::Json entry{{"name", t.name},
                       {"dtype", std::string(to_string(t.dtype))},
                       {"shape", t.shape},
                       {"spec", t.spec ? tq::io::spec_to_json(*t.spec) : tq::io::Json()},
                       {"bits_per_weight", bits_per_weight(t)},
                       {"bytes", t.bytes}};
    if (options.statistics && is_real(t.dtype)) {
      Statistics seen;
      in_memory(t, [&] {
        for_each_piece(t.elements(), [&](std::size_t first, std::size_t count) {
          exact.with(t.dtype, pieces.bytes(t, first, count),
                     [&](const auto& values) { seen.add(values); });
        });
      });
      row.insert(row.end(), {text(seen.min), text(seen.max), std::to_string(seen.nan),
                             std::to_string(seen.infinite)});
      entry["min"] = seen.min;
      entry["max"] = seen.max;
      entry["nan"] = seen.nan;
      entry["infinite"] = seen.infinite;
    } else if (options.statistics) {
      row.insert(row.end(), 4, "-");
    }
    table.add(std::move(row));
    list.push_back(std::move(entry));
  }
  if (options.json) {
    print_json({{"file", options.file},
                {"metadata", model.other_metadata()},
                {"tensors", std::move(list)},
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
}

}  // namespace tool
