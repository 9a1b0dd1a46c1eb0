// SPDX-License-Identifier: MIT
#include "kind_table.hpp"

#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

namespace tool {

namespace {

// NaN is the worst of all.
double rank_of(double sqnr_db) {
  return std::isnan(sqnr_db) ? -std::numeric_limits<double>::infinity() : sqnr_db;
}

}  // namespace

void KindTable::add(const KindRow& row) {
  ++tensors_;
  const auto found = std::ranges::find(sums_, row.kind, [](const Sum& s) { return s.all.kind; });
  if (found == sums_.end()) {
    sums_.push_back({row, 1});
    return;
  }
  Sum& sum = *found;
  ++sum.tensors;
  sum.all.elements += row.elements;
  sum.all.bytes += row.bytes;
  if (row.max_error && !(sum.all.max_error && *row.max_error <= *sum.all.max_error))
    sum.all.max_error = row.max_error;
  if (row.sqnr_db && !(sum.all.sqnr_db && rank_of(*sum.all.sqnr_db) <= rank_of(*row.sqnr_db))) {
    sum.all.sqnr_db = row.sqnr_db;
    sum.all.name = row.name;
  }
}

void KindTable::print() const {
  Table table({{kind_},
               {"tensors", true},
               {"elements", true},
               {"bits/weight", true},
               {"lowest SQNR dB", true},
               {"max error", true},
               {"lowest in"}});
  for (const Sum& sum : sums_) {
    const KindRow& all = sum.all;
    const double bits = all.elements == 0 ? 0.0
                                          : 8.0 * static_cast<double>(all.bytes) /
                                                static_cast<double>(all.elements);
    table.add({all.kind, grouped(sum.tensors), grouped(all.elements), fixed(bits, 2),
               all.sqnr_db ? fixed_down(*all.sqnr_db, 2) : "-",
               all.max_error ? short_up(*all.max_error) : "-",
               all.sqnr_db ? printable(all.name) : "-"});
  }
  table.print();
  std::cout << "A row for all tensors of a kind; --verbose prints a row for each of the "
            << grouped(tensors_) << " tensors.\n";
}

}  // namespace tool
