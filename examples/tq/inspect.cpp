// SPDX-License-Identifier: MIT
// tq inspect: what a tensor file holds, and in how many bits.
#include "commands.hpp"
#include "output.hpp"
#include "stored_model.hpp"

#include <tq/observe/min_max.hpp>

#include <iostream>

namespace tool {

namespace {

double bits_per_weight(const StoredTensor& t) {
  return t.elements() == 0 ? 0.0
                           : 8.0 * static_cast<double>(t.bytes) / static_cast<double>(t.elements());
}

bool has_statistics(tq::io::DType d) { return d != tq::io::DType::c64 && d != tq::io::DType::c128; }

tq::MinMax statistics(StoredModel& model, const StoredTensor& t) {
  tq::MinMax seen;
  seen.add(tq::io::to_float32(model.read(t)));
  return seen;
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
    if (options.statistics && has_statistics(t.dtype)) {
      const tq::MinMax seen = statistics(model, t);
      const tq::Range range = seen.empty() ? tq::Range{} : seen.range();
      row.insert(row.end(),
                 {seen.empty() ? "-" : short_number(range.min),
                  seen.empty() ? "-" : short_number(range.max), std::to_string(seen.nan_count()),
                  std::to_string(seen.infinite_count())});
      entry["min"] = seen.empty() ? tq::io::Json() : tq::io::Json(range.min);
      entry["max"] = seen.empty() ? tq::io::Json() : tq::io::Json(range.max);
      entry["nan"] = seen.nan_count();
      entry["infinite"] = seen.infinite_count();
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
