// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/files/file_lock.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace io_test;
using tq::io::FileLock;

TEST_CASE("a lock is held by one, and its file is made and removed") {
  const TempDir dir;
  const fs::path path = dir / "work/lock";
  auto first = FileLock::take(path);
  REQUIRE(first);
  CHECK(fs::exists(path));
  CHECK_FALSE(FileLock::take(path));
  auto moved = std::move(*first);
  CHECK_FALSE(FileLock::take(path));
  moved.remove();
  CHECK_FALSE(fs::exists(path));
  {
    const auto again = FileLock::take(path);
    CHECK(again);
  }
  CHECK(fs::exists(path));  // the end of a lock leaves the file
  CHECK(FileLock::take(path));
}

TEST_CASE("a lock is not that of a link's target") {
  const TempDir dir;
  spill(dir / "target", "kept");
  fs::create_symlink("target", dir / "lock");
  const Outcome o = outcome([&] { return FileLock::take(dir / "lock"); });
  CHECK(o.code == tq::errc::io_failure);
  CHECK(slurp(dir / "target") == "kept");
}

TEST_CASE("no two hold a lock whose file is removed again and again") {
  const TempDir dir;
  std::atomic<int> inside = 0, most = 0, taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto lock = FileLock::take(dir / "work/lock");
        if (!lock) continue;
        if (++inside > most) most = inside.load();
        ++taken;
        --inside;
        lock->remove();
        std::error_code code;
        fs::remove(dir / "work", code);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(taken > 0);
  CHECK(most == 1);
}
