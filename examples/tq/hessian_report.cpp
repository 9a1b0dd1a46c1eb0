// SPDX-License-Identifier: MIT
#include "hessian_report.hpp"

#include <iostream>

namespace tool {

HessianReport::HessianReport()
    : table_({{"tensor"},
              {"inputs", true},
              {"tokens", true},
              {"left out", true},
              {"dead columns", true}}) {}

void HessianReport::add(const std::string& name, const tq::Hessian& hessian) {
  std::size_t dead = 0;
  for (std::size_t i = 0; i < hessian.inputs(); ++i) dead += hessian(i, i) == 0;
  table_.add({printable(name), grouped(hessian.inputs()), grouped(hessian.tokens()),
              grouped(hessian.left_out()), grouped(dead)});
  list_.push_back({{"name", name},
                   {"inputs", hessian.inputs()},
                   {"tokens", hessian.tokens()},
                   {"left_out", hessian.left_out()},
                   {"dead_columns", dead}});
}

void HessianReport::print(const std::vector<std::string>& in, const std::string& out, bool json,
                          const Talk& talk) const {
  if (json) return print_json({{"inputs", in}, {"output", out}, {"hessians", list_}});
  if (talk.quiet) return;
  if (talk.verbose) table_.print();
  else table_.print_first(most_rows);
  std::cout << '\n' << list_.size() << " Hessians in " << out << '\n';
}

}  // namespace tool
