// SPDX-License-Identifier: MIT
// tq-conformance: runs the cases of independent implementations through tq's public functions.
//
//   tq-conformance DIR [--group NAME] [--op NAME] [--json] [--verbose]
//
// DIR holds one folder per group, each with a manifest.json. Every failing case is one line, then a
// table per operator follows, and the last line is "N passed, N failed, N skipped". What tq cannot
// do yet is skipped, never passed; --verbose and --json say why. With --json stdout is one JSON
// object, and the last line goes to stderr.
//
// Exit status: 0 when nothing failed, 1 when a case failed, 2 for wrong usage or unusable data.

#include "case.hpp"
#include "report.hpp"

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* usage =
    "usage: tq-conformance DIR [--group NAME] [--op NAME] [--json] [--verbose]\n";

struct Options {
  std::string folder, group, op;
  bool json = false, verbose = false, help = false;
};

// False when the arguments are not understood.
bool parse(const std::vector<std::string>& arguments, Options& out) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--group" || a == "--op") {
      std::string& value = a == "--op" ? out.op : out.group;
      if (++i == arguments.size() || arguments[i].empty() || !value.empty()) return false;
      value = arguments[i];
    } else if (a == "--json") {
      out.json = true;
    } else if (a == "--verbose") {
      out.verbose = true;
    } else if (a == "--help" || a == "-h") {
      out.help = true;
    } else if (a.empty() || a.front() == '-' || !out.folder.empty()) {
      return false;
    } else {
      out.folder = a;
    }
  }
  return out.help || !out.folder.empty();
}

int run(const Options& options) {
  conformance::Report report;
  std::size_t chosen = 0;
  for (const conformance::Case& c : conformance::read_cases(options.folder)) {
    if (!options.group.empty() && c.group != options.group) continue;
    if (!options.op.empty() && c.op != options.op) continue;
    ++chosen;
    conformance::run_case(c, report);
  }
  if (chosen == 0) {
    std::cerr << "tq-conformance: " << options.folder << ": no such cases\n";
    return 2;
  }
  if (options.json) {
    conformance::print_json(std::cout, report);
    std::cerr << conformance::summary(report) << '\n';
  } else {
    conformance::print_text(std::cout, report, options.verbose);
  }
  return report.failures.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    if (!parse({argv + 1, argv + argc}, options)) {
      std::cerr << usage;
      return 2;
    }
    if (options.help) {
      std::cout << usage;
      return 0;
    }
    return run(options);
  } catch (const std::exception& e) {
    std::cerr << "tq-conformance: " << e.what() << '\n';
    return 2;
  }
}
