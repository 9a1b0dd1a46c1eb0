// SPDX-License-Identifier: MIT
#include <map>
#include <string>

int main() {
  std::map<std::string, std::string> metadata;
  metadata["tq"] = "{}";
}
