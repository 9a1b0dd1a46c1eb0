// SPDX-License-Identifier: MIT
#pragma once
// main() of an example that may be shortened.

#include "common/data_folder.hpp"

#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// `name [--quick] [folder of the data]`: run(folder, quick), whose result it returns, or 1 after
/// the text of an error. Without a folder `data_folder() / data` is taken.
template <class Run>
int quick_main(const char* name, int argc, char** argv, const std::filesystem::path& data,
               Run&& run) {
  try {
    bool quick = false;
    std::filesystem::path folder = data_folder() / data;
    for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
      if (argument == "--quick") quick = true;
      else if (argument.starts_with("-"))
        throw std::invalid_argument("expected [--quick] [folder of the data], got " + argument);
      else folder = argument;
    }
    return run(folder, quick);
  } catch (const std::exception& e) {
    std::cout.flush();
    std::cerr << name << ": " << e.what() << '\n';
    return 1;
  }
}

}  // namespace examples
