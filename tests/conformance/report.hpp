// SPDX-License-Identifier: MIT
#pragma once
// Runs cases, counts them and says what happened, to people or to programs.

#include "case.hpp"

#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace conformance {

struct FailedCase {
  std::string group, id, op, output;
  Difference difference;
};

struct Counts {
  std::size_t passed = 0, failed = 0, skipped = 0;
  std::map<std::string, std::size_t> reasons;  // of the skipped ones
};

struct Report {
  std::map<std::string, std::map<std::string, Counts>> by_op;  // operator, then group
  std::vector<FailedCase> failures;

  [[nodiscard]] Counts total() const;
};

/// Runs one case and enters the outcome.
void run_case(const Case& c, Report& report);

/// One line: "FAIL group/id (op): output: element 3: expected 1, got 2".
[[nodiscard]] std::string failure_line(const FailedCase& f);

/// "N passed, N failed, N skipped".
[[nodiscard]] std::string summary(const Report& report);

/// The failures, the table per operator (with the reasons of skipping where `verbose`), the
/// summary.
void print_text(std::ostream& out, const Report& report, bool verbose);
void print_json(std::ostream& out, const Report& report);

}  // namespace conformance
