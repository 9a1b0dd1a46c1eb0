// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/files/byte_source.hpp>
#include <tq/files/utf8.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>

using namespace io_test;
using tq::errc;
using tq::io::ByteSource;

TEST_CASE("a file and memory give the same bytes and the same refusals") {
  const TempDir dir;
  spill(dir / "f", "0123456789");
  const std::vector<std::byte> memory = to_bytes("0123456789");
  for (const ByteSource& source :
       {ByteSource::open(dir / "f"), ByteSource::from_memory(memory, "m")}) {
    CHECK(source.size() == 10);
    std::array<std::byte, 3> out{};
    source.read(7, out);
    CHECK(hex(out) == "373839");
    source.read(10, {});
    CHECK(source.contains(10, 0));
    CHECK_FALSE(source.contains(11, 0));
    for (const std::uint64_t at :
         {std::uint64_t{8}, std::uint64_t{11}, std::numeric_limits<std::uint64_t>::max()}) {
      const Outcome o = outcome_of([&] { source.read(at, out); });
      CHECK(o.code == errc::malformed);
      CHECK(o.text.find("at offset " + std::to_string(at)) != std::string::npos);
    }
  }
}

TEST_CASE("what is not a regular file is refused without waiting") {
  const TempDir dir;
  CHECK(outcome([&] { return ByteSource::open(dir / "none"); }).text.find("No such file") !=
        std::string::npos);
  CHECK(outcome([&] { return ByteSource::open(dir.path()); }).code == errc::io_failure);
#if TQ_IO_POSIX
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(outcome([&] { return ByteSource::open(dir / "fifo"); }).code == errc::io_failure);
#endif
}

TEST_CASE("UTF-8 excludes overlong forms, surrogates and what lies beyond") {
  using tq::io::is_utf8;
  for (const char* good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(good));
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xff"})
    CHECK_FALSE(is_utf8(bad));
}
