// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/files/read_ahead.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

using namespace io_test;
using tq::io::ByteSource;

TEST_CASE("what is read ahead is what the source has, in any order of reads", "[read_ahead]") {
  std::mt19937 random(5);
  std::vector<std::byte> all(200'000);
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  const ByteSource source = ByteSource::from_memory(all, "m");
  tq::io::detail::ReadAhead ahead;
  std::size_t at = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = random() % 50 == 0 ? random() % 5000 : random() % 40;
    switch (random() % 20) {
      case 0: at = random() % all.size(); break;
      case 1: at -= std::min<std::size_t>(at, random() % 100); break;
      case 2: at += random() % 2000; break;
      default: break;
    }
    if (at + size > all.size()) at = 0;
    std::vector<std::byte> out(size);
    ahead.read(source, at, out);
    REQUIRE(std::equal(out.begin(), out.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
    at += size;
  }
}

TEST_CASE("a read past the end is refused as by the source, whatever was read before",
          "[read_ahead]") {
  const std::vector<std::byte> all(100);
  const ByteSource source = ByteSource::from_memory(all, "m");
  tq::io::detail::ReadAhead ahead;
  std::vector<std::byte> out(10);
  ahead.read(source, 0, out);
  ahead.read(source, 90, out);
  CHECK(outcome_of([&] { ahead.read(source, 91, out); }).code == tq::errc::malformed);
  CHECK(outcome_of([&] { ahead.read(source, ~std::uint64_t{0} - 4, out); }).code ==
        tq::errc::malformed);
  ahead.read(source, 80, out);
}

TEST_CASE("small reads in order are few reads of the file", "[read_ahead]") {
  const TempDir dir;
  spill(dir / "m", std::string(50'000, 'a'));
  const ByteSource source = ByteSource::open(dir / "m");
  tq::io::detail::ReadAhead ahead;
  std::vector<std::byte> out(4);
  ahead.read(source, 0, out);
  fs::resize_file(dir / "m", 0);  // what was read ahead is in memory
  for (std::uint64_t at = 4; at < 50'000; at += 4) ahead.read(source, at, out);
  CHECK(out[3] == std::byte{'a'});
  CHECK(outcome_of([&] { source.read(0, out); }).code == tq::errc::io_failure);
}
