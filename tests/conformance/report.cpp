// SPDX-License-Identifier: MIT
#include "report.hpp"

#include "operators.hpp"

#include <algorithm>
#include <exception>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

namespace conformance {

namespace {

using nlohmann::json;

void add(Counts& to, const Counts& c) {
  to.passed += c.passed;
  to.failed += c.failed;
  to.skipped += c.skipped;
  for (const auto& [reason, n] : c.reasons) to.reasons[reason] += n;
}

json numbers(const Counts& c) {
  json out{{"passed", c.passed}, {"failed", c.failed}, {"skipped", c.skipped}};
  out["reasons"] = c.reasons;
  return out;
}

}  // namespace

Counts Report::total() const {
  Counts all;
  for (const auto& [op, groups] : by_op)
    for (const auto& [group, counts] : groups) add(all, counts);
  return all;
}

void run_case(const Case& c, Report& report) {
  Counts& counts = report.by_op[c.op][c.group];
  const auto fail = [&](std::string output, Difference d) {
    ++counts.failed;
    report.failures.push_back({c.group, c.id, c.op, std::move(output), std::move(d)});
  };
  try {
    const Operator run = find_operator(c.op);
    if (run == nullptr) throw Skip{"operator " + c.op + " is not built yet"};
    if (c.tolerance.kind() == "informational") throw Skip{"informational, no test"};
    run(c);
    ++counts.passed;
  } catch (const Skip& skip) {
    ++counts.skipped;
    ++counts.reasons[skip.reason];
  } catch (const Failure& f) {
    fail(f.output, f.difference);
  } catch (const std::exception& e) {
    fail("", {e.what(), {}, "", ""});
  }
}

std::string failure_line(const FailedCase& f) {
  std::string line = "FAIL " + f.group + "/" + f.id + " (" + f.op + ")";
  if (!f.output.empty()) line += ": " + f.output;
  if (!f.difference.text.empty()) line += ": " + f.difference.text;
  if (f.difference.index) line += ": index " + std::to_string(*f.difference.index);
  if (!f.difference.expected.empty() || !f.difference.got.empty())
    line += ": expected " + f.difference.expected + ", got " + f.difference.got;
  return line;
}

std::string summary(const Report& report) {
  const Counts all = report.total();
  return std::to_string(all.passed) + " passed, " + std::to_string(all.failed) + " failed, " +
         std::to_string(all.skipped) + " skipped";
}

void print_text(std::ostream& out, const Report& report, bool verbose) {
  for (const FailedCase& f : report.failures) out << failure_line(f) << '\n';
  std::size_t width = 8;
  for (const auto& [op, groups] : report.by_op) width = std::max(width, op.size());
  const int w = static_cast<int>(width);
  out << std::left << std::setw(w) << "operator" << std::right << std::setw(9) << "passed"
      << std::setw(9) << "failed" << std::setw(9) << "skipped" << '\n';
  for (const auto& [op, groups] : report.by_op) {
    Counts c;
    for (const auto& [group, counts] : groups) add(c, counts);
    out << std::left << std::setw(w) << op << std::right << std::setw(9) << c.passed << std::setw(9)
        << c.failed << std::setw(9) << c.skipped << '\n';
    if (verbose)
      for (const auto& [reason, n] : c.reasons)
        out << "    " << n << " skipped: " << reason << '\n';
  }
  out << summary(report) << '\n';
}

void print_json(std::ostream& out, const Report& report) {
  json all = numbers(report.total());
  all["operators"] = json::array();
  for (const auto& [op, groups] : report.by_op)
    for (const auto& [group, counts] : groups) {
      json row = numbers(counts);
      row["op"] = op;
      row["group"] = group;
      all["operators"].push_back(std::move(row));
    }
  all["failures"] = json::array();
  for (const FailedCase& f : report.failures) {
    const Difference& d = f.difference;
    json row{{"group", f.group},       {"id", f.id},     {"op", f.op},
             {"output", f.output},     {"text", d.text}, {"index", nullptr},
             {"expected", d.expected}, {"got", d.got}};
    if (d.index) row["index"] = *d.index;
    all["failures"].push_back(std::move(row));
  }
  // Names and messages may hold bytes of fuzzed files.
  out << all.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace conformance
