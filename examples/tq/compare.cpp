// SPDX-License-Identifier: MIT
// tq compare: how far the tensors of one file are from those of another.
#include "commands.hpp"
#include "output.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/ops/compare.hpp>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::io::Tensor;

// NaN is the worst there is.
double larger_error(double a, double b) { return b <= a || std::isnan(a) ? a : b; }
bool is_lower_sqnr(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; }

struct Row {
  const StoredTensor* expected;
  bool identical = false;  // the same bytes
  bool measured = false;   // otherwise only known to differ
  tq::ErrorMetrics metrics;
};

// As tq::compare, of values that float32 does not have. Sums are wider than the values: squares of
// doubles overflow, and differences of large integers would be rounded away.
template <class T>
tq::ErrorMetrics compared(const std::vector<T>& expected, const std::vector<T>& actual) {
  using Wide = long double;
  tq::ErrorMetrics m;
  m.count = expected.size();
  if (m.count == 0) return m;
  Wide error2 = 0, error1 = 0, signal = 0, other = 0, dot = 0;
  for (std::size_t i = 0; i < m.count; ++i) {
    const auto x = static_cast<Wide>(expected[i]), y = static_cast<Wide>(actual[i]);
    const Wide e = std::abs(x - y);
    error2 += e * e;
    error1 += e;
    m.max_abs = larger_error(m.max_abs, static_cast<double>(e));
    signal += x * x;
    other += y * y;
    dot += x * y;
  }
  const auto n = static_cast<Wide>(m.count);
  m.mse = static_cast<double>(error2 / n);
  m.mae = static_cast<double>(error1 / n);
  if (!(error2 == 0)) m.sqnr_db = static_cast<double>(10 * std::log10(signal / error2));
  if (!(signal == 0 && other == 0))
    m.cosine = dot == 0 ? 0 : static_cast<double>(dot / std::sqrt(signal) / std::sqrt(other));
  return m;
}

tq::ErrorMetrics compared(const Tensor& expected, const Tensor& actual) {
  return with_exact_values(expected, [&]<class A>(const std::vector<A>& a) {
    return with_exact_values(actual, [&]<class B>(const std::vector<B>& b) {
      if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) return tq::compare(a, b);
      else if constexpr (std::is_same_v<A, B>) return compared<A>(a, b);
      else
        return compared<double>(std::vector<double>(a.begin(), a.end()),
                                std::vector<double>(b.begin(), b.end()));
    });
  });
}

Row measured(StoredModel& a, const StoredTensor& x, StoredModel& b, const StoredTensor& y) {
  if (x.shape != y.shape)
    throw tq::error(tq::errc::shape_mismatch,
                    "tensor " + tq::io::detail::shown(x.name) + ": expected shape " +
                        tq::io::shape_text(x.shape) + " in both files, got " +
                        tq::io::shape_text(y.shape) + " in the second");
  const Tensor expected = a.read(x), actual = b.read(y);
  Row row{&x, false, false, {}};
  row.identical = expected.dtype == actual.dtype && expected.bytes == actual.bytes;
  row.metrics.count = x.elements();
  const bool is_part = !x.left_alone.empty() || !y.left_alone.empty();
  if (row.identical || is_part || !is_real(x.dtype) || !is_real(y.dtype)) return row;
  row.measured = true;
  row.metrics = compared(expected, actual);
  return row;
}

std::vector<std::string> missing(const StoredModel& from, const StoredModel& in) {
  std::vector<std::string> names;
  for (const StoredTensor& t : from.tensors())
    if (in.find(t.name) == nullptr) names.push_back(t.name);
  return names;
}

}  // namespace

void compare(const CompareOptions& options) {
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
  tq::io::Json list = tq::io::Json::array();
  std::size_t identical = 0;
  const StoredTensor* worst = nullptr;
  double worst_sqnr = std::numeric_limits<double>::infinity(), max_abs = 0;
  std::uint64_t work = 0;
  for (const auto& pair : pairs) work += pair.first->bytes;
  Progress progress("compare", work);
  for (const auto& [x, y] : pairs) {
    const Row row = in_memory(*x, [&, &x = x, &y = y] { return measured(a, *x, b, *y); });
    progress.advance(x->bytes);
    const tq::ErrorMetrics& m = row.metrics;
    tq::io::Json entry{{"name", x->name}, {"shape", x->shape}, {"identical", row.identical}};
    std::vector<std::string> cells{printable(x->name), tq::io::shape_text(x->shape)};
    if (row.identical || row.measured) {
      entry["error"] = to_json(m);
      cells.insert(cells.end(), {row.identical ? "identical" : fixed(m.sqnr_db, 2),
                                 short_number(m.max_abs), short_number(m.mae), fixed(m.cosine, 6)});
    } else {
      entry["error"] = nullptr;
      cells.insert(cells.end(), {"differs", "-", "-", "-"});
    }
    identical += row.identical ? 1 : 0;
    if (row.measured && is_lower_sqnr(m.sqnr_db, worst_sqnr)) {
      worst = x;
      worst_sqnr = m.sqnr_db;
    }
    if (row.measured) max_abs = larger_error(max_abs, m.max_abs);
    table.add(std::move(cells));
    list.push_back(std::move(entry));
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
  table.print();
  std::cout << '\n' << pairs.size() << " tensors compared, " << identical << " identical";
  if (worst)
    std::cout << "; lowest SQNR " << fixed(worst_sqnr, 2) << " dB (" << printable(worst->name)
              << "), max error " << short_number(max_abs);
  std::cout << '\n';
  for (const std::string& name : only_a) std::cout << "only in A: " << printable(name) << '\n';
  for (const std::string& name : only_b) std::cout << "only in B: " << printable(name) << '\n';
}

}  // namespace tool
