// SPDX-License-Identifier: MIT
// tq compare: how far the tensors of one file are from those of another.
#include "commands.hpp"
#include "kind_table.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tool {

namespace {

// NaN is the worst there is.
double larger_error(double a, double b) { return b <= a || std::isnan(a) ? a : b; }
bool is_lower_sqnr(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; }

struct Row {
  const StoredTensor* expected;
  bool identical = false;  // the same bytes
  bool measured = false;   // otherwise only known to differ
  tq::ErrorMetrics metrics;
};

// As tq::Comparison, of values that float32 does not have. Sums are wider than the values: squares
// of doubles overflow, and differences of large integers would be rounded away.
class WideComparison {
 public:
  template <class A, class B>
  void add(std::span<const A> expected, std::span<const B> actual) {
    using Common = std::conditional_t<std::is_same_v<A, B>, A, double>;
    count_ += expected.size();
    for (std::size_t i = 0; i < expected.size(); ++i)
      add(static_cast<Wide>(static_cast<Common>(expected[i])),
          static_cast<Wide>(static_cast<Common>(actual[i])));
  }

  [[nodiscard]] tq::ErrorMetrics metrics() const {
    tq::ErrorMetrics m;
    m.count = count_;
    if (m.count == 0) return m;
    const auto n = static_cast<Wide>(m.count);
    m.max_abs = max_abs_;
    m.mse = static_cast<double>(error2_ / n);
    m.mae = static_cast<double>(error1_ / n);
    if (!(error2_ == 0)) m.sqnr_db = static_cast<double>(10 * std::log10(signal_ / error2_));
    if (!(signal_ == 0 && other_ == 0))
      m.cosine = dot_ == 0 ? 0 : static_cast<double>(dot_ / std::sqrt(signal_) / std::sqrt(other_));
    return m;
  }

 private:
  using Wide = long double;
  void add(Wide x, Wide y) {
    const Wide e = std::abs(x - y);
    error2_ += e * e;
    error1_ += e;
    max_abs_ = larger_error(max_abs_, static_cast<double>(e));
    signal_ += x * x;
    other_ += y * y;
    dot_ += x * y;
  }

  std::size_t count_ = 0;
  Wide error2_ = 0, error1_ = 0, signal_ = 0, other_ = 0, dot_ = 0;
  double max_abs_ = 0;
};

// Compares pairs of tensors, piece by piece, in memory that is kept from pair to pair.
class Pairs {
 public:
  Pairs(StoredModel& a, StoredModel& b) : a_(a), b_(b) {}

  Row measured(const StoredTensor& x, const StoredTensor& y) {
    if (x.shape != y.shape)
      throw tq::error(tq::errc::shape_mismatch,
                      "tensor " + tq::io::shown(x.name) + ": expected shape " +
                          tq::io::shape_text(x.shape) + " in both files, got " +
                          tq::io::shape_text(y.shape) + " in the second");
    Row row{&x, false, false, {}};
    row.identical = x.dtype == y.dtype && identical(x, y);
    row.metrics.count = x.elements();
    const bool is_part = !x.left_alone.empty() || !y.left_alone.empty();
    if (row.identical || is_part || !is_real(x.dtype) || !is_real(y.dtype)) return row;
    row.measured = true;
    row.metrics = metrics(x, y);
    return row;
  }

 private:
  using Bytes = std::span<const std::byte>;

  bool identical(const StoredTensor& x, const StoredTensor& y) {
    bool same = true;
    for_each_piece(x.elements(), [&](std::size_t first, std::size_t count) {
      if (!same) return;
      const Bytes left = a_.piece(x, first, count), right = b_.piece(y, first, count);
      same = std::equal(left.begin(), left.end(), right.begin(), right.end());
    });
    return same;
  }

  tq::ErrorMetrics metrics(const StoredTensor& x, const StoredTensor& y) {
    tq::Comparison<> floats;
    WideComparison others;
    bool are_floats = true;
    for_each_piece(x.elements(), [&](std::size_t first, std::size_t count) {
      const Bytes left = a_.piece(x, first, count), right = b_.piece(y, first, count);
      exact_a_.with(x.dtype, left, [&]<class A>(std::span<const A> a) {
        exact_b_.with(y.dtype, right, [&]<class B>(std::span<const B> b) {
          are_floats = std::is_same_v<A, float> && std::is_same_v<B, float>;
          if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) floats.add(a, b);
          else others.add(a, b);
        });
      });
    });
    return are_floats ? floats.metrics() : others.metrics();
  }

  StoredModel &a_, &b_;
  ExactValues exact_a_, exact_b_;
};

tq::io::Json to_json(const Row& row) {
  const bool has_error = row.identical || row.measured;
  return {{"name", row.expected->name},
          {"shape", row.expected->shape},
          {"identical", row.identical},
          {"error", has_error ? tool::to_json(row.metrics) : tq::io::Json()}};
}

std::vector<std::string> cells_of(const Row& row) {
  std::vector<std::string> cells{printable(row.expected->name),
                                 tq::io::shape_text(row.expected->shape)};
  const tq::ErrorMetrics& m = row.metrics;
  if (row.identical || row.measured)
    cells.insert(cells.end(), {row.identical ? "identical" : fixed(m.sqnr_db, 2),
                               short_up(m.max_abs), short_number(m.mae), fixed(m.cosine, 6)});
  else cells.insert(cells.end(), {"differs", "-", "-", "-"});
  return cells;
}

std::string stored_as(const StoredTensor& t) {
  if (t.encoding) return to_string(t.encoding->spec);
  return t.foreign || !t.blocks.empty() ? t.scheme() : std::string(to_string(t.dtype));
}

KindRow kind_row(const Row& row, const StoredTensor& b) {
  KindRow out{stored_as(b) + (row.identical ? ", identical" : ""), b.name, b.elements(), b.bytes};
  if (!row.measured) return out;
  out.sqnr_db = row.metrics.sqnr_db;
  out.max_error = row.metrics.max_abs;
  return out;
}

std::vector<std::string> missing(const StoredModel& from, const StoredModel& in) {
  std::vector<std::string> names;
  for (const StoredTensor& t : from.tensors())
    if (in.find(t.name) == nullptr) names.push_back(t.name);
  return names;
}

}  // namespace

void compare(const CompareOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  StoredModel a(options.expected), b(options.actual);
  std::vector<std::pair<const StoredTensor*, const StoredTensor*>> pairs;
  std::vector<std::string> only_a, only_b;
  if (a.tensors().size() == 1 && b.tensors().size() == 1) {  // names of .npy are those of the files
    pairs.emplace_back(&a.tensors().front(), &b.tensors().front());
  } else {
    only_a = missing(a, b);
    only_b = missing(b, a);
    for (const StoredTensor& t : a.tensors())
      if (const StoredTensor* other = b.find(t.name)) pairs.emplace_back(&t, other);
    if (pairs.empty() && !(a.tensors().empty() && b.tensors().empty()))
      throw tq::error(tq::errc::bad_argument,
                      "expected tensors of the same name in both files, got none");
  }

  Table table({{"tensor"},
               {"shape"},
               {"SQNR dB", true},
               {"max error", true},
               {"mean error", true},
               {"cosine", true}});
  KindTable kinds("B stored as");
  tq::io::Json list = tq::io::Json::array();
  std::size_t identical = 0;
  const StoredTensor* worst = nullptr;
  double worst_sqnr = std::numeric_limits<double>::infinity(), max_abs = 0;
  std::uint64_t work = 0;
  for (const auto& pair : pairs) work += pair.first->bytes;
  Progress progress("compare", work);
  Pairs compared(a, b);
  for (const auto& [x, y] : pairs) {
    const Row row = in_memory(*x, [&, &x = x, &y = y] { return compared.measured(*x, *y); });
    progress.advance(x->bytes);
    const tq::ErrorMetrics& m = row.metrics;
    if (options.json) list.push_back(to_json(row));
    else table.add(cells_of(row));
    kinds.add(kind_row(row, *y));
    identical += row.identical ? 1 : 0;
    if (row.measured && is_lower_sqnr(m.sqnr_db, worst_sqnr)) {
      worst = x;
      worst_sqnr = m.sqnr_db;
    }
    if (row.measured) max_abs = larger_error(max_abs, m.max_abs);
  }
  if (options.json) {
    tq::io::Json total{{"compared", pairs.size()},
                       {"identical", identical},
                       {"worst_tensor", worst ? tq::io::Json(worst->name) : tq::io::Json()},
                       {"worst_sqnr_db", nullptr}};
    if (worst) put_number(total, "worst_sqnr_db", worst_sqnr);
    put_number(total, "max_abs", max_abs);
    print_json({{"expected", options.expected},
                {"actual", options.actual},
                {"tensors", std::move(list)},
                {"only_in_expected", only_a},
                {"only_in_actual", only_b},
                {"total", std::move(total)}});
    return;
  }
  if (options.talk.quiet) return;
  if (pairs.size() > most_rows && !options.talk.verbose) kinds.print();
  else table.print();
  std::cout << '\n' << pairs.size() << " tensors compared, " << identical << " identical";
  if (worst)
    std::cout << "; lowest SQNR " << fixed_down(worst_sqnr, 2) << " dB (" << printable(worst->name)
              << "), max error " << short_up(max_abs);
  std::cout << '\n';
  for (const std::string& name : only_a) std::cout << "only in A: " << printable(name) << '\n';
  for (const std::string& name : only_b) std::cout << "only in B: " << printable(name) << '\n';
}

}  // namespace tool
