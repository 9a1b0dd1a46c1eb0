// SPDX-License-Identifier: MIT
// Feeds files to a fuzz target: `tq-fuzz-replay <target> <file or folder>...`.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(path)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// A copy of exactly its size, so that what is read past the end is no part of it.
void replay(const fuzz::Target& target, const fs::path& path) {
  std::printf("%s\n", path.string().c_str());  // the last one is the one that failed
  std::fflush(stdout);
  std::ifstream in(path, std::ios::binary);
  fuzz::require(in.is_open(), "a file that can be read");
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::uint8_t> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  target(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const fuzz::Target* target = fuzz::Target::first();
  while (target != nullptr && target->name() != name) target = target->next();
  if (target == nullptr || argc < 3) {
    std::fprintf(stderr,
                 "tq-fuzz-replay: expected a target and files, got %s; targets:", argv[argc > 1]);
    for (target = fuzz::Target::first(); target != nullptr; target = target->next())
      std::fprintf(stderr, " %s", target->name());
    std::fprintf(stderr, "\n");
    return 2;
  }
  std::size_t count = 0;
  for (int i = 2; i < argc; ++i)
    for (const fs::path& path : files_of(argv[i])) replay(*target, path), ++count;
  fuzz::require(count != 0, "files to replay");
  std::printf("%s: %zu files\n", target->name(), count);
}
