// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/files/atomic_file.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

using namespace io_test;
using tq::errc;
using tq::io::AtomicFile;

namespace {

// The one file beside it.
fs::path other_than(const TempDir& dir, const std::string& name) {
  fs::path other;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    if (entry.path().filename() != name) {
      CHECK(other.empty());
      other = entry.path();
    }
  return other;
}

}  // namespace

TEST_CASE("a committed file has the new content and leaves nothing else") {
  const TempDir dir;
  spill(dir / "f", "old");
  AtomicFile file(dir / "f");
  file.write(to_bytes("new "));
  file.write(to_bytes("content"));
  CHECK(file.position() == 11);
  CHECK(slurp(dir / "f") == "old");
  file.commit();
  CHECK(slurp(dir / "f") == "new content");
  CHECK(dir.file_count() == 1);
  CHECK(outcome_of([&] { file.write(to_bytes("x")); }).code == errc::bad_argument);
  CHECK(outcome_of([&] { file.commit(); }).code == errc::bad_argument);
}

TEST_CASE("without commit the old file is whole and the temporary one gone") {
  const TempDir dir;
  spill(dir / "f", "old");
  {
    AtomicFile file(dir / "f");
    file.write(to_bytes("new"));
    CHECK(dir.file_count() == 2);
    const AtomicFile moved(std::move(file));
    CHECK(dir.file_count() == 2);
  }
  CHECK(slurp(dir / "f") == "old");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("what is flushed is written, but not under its name before the commit") {
  const TempDir dir;
  spill(dir / "f", "old");
  AtomicFile file(dir / "f");
  file.write(to_bytes("new"));
  file.flush();
  CHECK(slurp(other_than(dir, "f")) == "new");
  CHECK(slurp(dir / "f") == "old");
  file.write(to_bytes("er"));
  file.commit();
  CHECK(slurp(dir / "f") == "newer");
  CHECK(outcome_of([&] { file.flush(); }).code == errc::bad_argument);
}

TEST_CASE("two writers of one name do not meet") {
  const TempDir dir;
  AtomicFile a(dir / "f");
  AtomicFile b(dir / "f");
  a.write(to_bytes("a"));
  b.write(to_bytes("b"));
  b.commit();
  a.commit();
  CHECK(slurp(dir / "f") == "a");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("a folder that does not exist or cannot be written is a failure of io") {
  const TempDir dir;
  const Outcome o = outcome([&] { return AtomicFile(dir / "none/f"); });
  CHECK(o.code == errc::io_failure);
  CHECK(o.text.find("No such file") != std::string::npos);
  CHECK(outcome([&] { return AtomicFile(dir.path()); }).code == errc::io_failure);

  fs::create_directory(dir / "locked");
  spill(dir / "locked/f", "old");
  fs::permissions(dir / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  spill(dir / "locked/probe", "x");
  if (!fs::exists(dir / "locked/probe"))  // a superuser may write anywhere
    CHECK(outcome([&] { return AtomicFile(dir / "locked/f"); }).code == errc::io_failure);
  CHECK(slurp(dir / "locked/f") == "old");
  fs::permissions(dir / "locked", fs::perms::owner_all);
}

TEST_CASE("a symbolic link stays one and its target gets the content and keeps its rights") {
  const TempDir dir;
  spill(dir / "target", "old");
  fs::permissions(dir / "target", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", dir / "link");
  AtomicFile file(dir / "link");
  file.write(to_bytes("new"));
  file.commit();
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(slurp(dir / "target") == "new");
  CHECK(fs::status(dir / "target").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a symbolic link to a file that does not exist yet makes that file") {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  fs::create_symlink("folder/second", dir / "first");
  fs::create_symlink("target", dir / "folder/second");
  AtomicFile file(dir / "first");
  file.write(to_bytes("new"));
  file.commit();
  CHECK(fs::is_symlink(dir / "first"));
  CHECK(fs::is_symlink(dir / "folder/second"));
  CHECK(slurp(dir / "folder/target") == "new");
  fs::create_symlink("none/target", dir / "lost");
  CHECK(outcome([&] { return AtomicFile(dir / "lost"); }).code == errc::io_failure);
  fs::create_symlink("round", dir / "round");
  const Outcome o = outcome([&] { return AtomicFile(dir / "round"); });
  CHECK(o.code == errc::io_failure);
  CHECK(o.text.find("expected at most 40 symbolic links, got more") != std::string::npos);
  CHECK(fs::is_symlink(dir / "round"));
}

TEST_CASE("neither files that were left behind nor a long name are in the way") {
  const TempDir dir;
  for (int i = 0; i < 1000; ++i) spill(dir / ("f.tmp" + std::to_string(i)), "");
  AtomicFile file(dir / "f");
  file.commit();
  CHECK(dir.file_count() == 1001);
  const TempDir other;
  const std::string name(255, 'n');
  AtomicFile longest(other / name);
  longest.write(to_bytes("x"));
  longest.commit();
  CHECK(slurp(other / name) == "x");
  CHECK(other.file_count() == 1);
}

TEST_CASE("all temporary files that exist are removed at once, and nothing else") {
  const TempDir dir;
  spill(dir / "a", "old");
  {
    AtomicFile a(dir / "a"), b(dir / "b"), done(dir / "done");
    a.write(to_bytes("new"));
    done.commit();
    AtomicFile moved(std::move(b));
    {
      const AtomicFile gone(dir / "gone");
    }
    const AtomicFile c(dir / "c");  // in the place of `gone`
    CHECK(dir.file_count() == 5);
    tq::io::remove_temporary_files();
    CHECK(dir.file_count() == 2);
    tq::io::remove_temporary_files();
    CHECK(outcome_of([&] { moved.commit(); }).code == errc::io_failure);
  }
  CHECK(slurp(dir / "a") == "old");
  CHECK(fs::exists(dir / "done"));
  AtomicFile again(dir / "a");
  again.write(to_bytes("new"));
  again.commit();
  CHECK(slurp(dir / "a") == "new");
  CHECK(dir.file_count() == 2);
}

TEST_CASE("a full disk is reported at the write or at the flush") {
  std::FILE* full = std::fopen("/dev/full", "wb");
  if (full == nullptr) return;
  const Outcome small = outcome_of([&] {
    tq::io::detail::write_all(full, "model", to_bytes("x"));
    tq::io::detail::flush_to_disk(full, "model");
  });
  CHECK(small.code == errc::io_failure);
  CHECK(small.text == "tq::io::AtomicFile: model: flush failed: No space left on device");
  const Outcome large = outcome_of([&] {
    tq::io::detail::write_all(full, "model", std::vector<std::byte>(std::size_t{1} << 20));
  });
  CHECK(large.text == "tq::io::AtomicFile: model: write failed: No space left on device");
  std::fclose(full);
}

TEST_CASE("a device is not replaced by a file") {
  if (!fs::exists("/dev/null")) return;
  CHECK(outcome([] { return AtomicFile("/dev/null"); }).code == errc::io_failure);
}

TEST_CASE("bytes go to places of their own, and what none were written to is 0") {
  const TempDir dir;
  tq::io::AtomicFile file(dir / "f");
  file.write(to_bytes("head"));
  file.write_at(10, to_bytes("ten"));
  file.write(to_bytes("!"));
  file.write_at(5, to_bytes("5"));
  CHECK(file.position() == 6);
  file.commit();
  CHECK(slurp(dir / "f") == std::string("head\0005\0\0\0\0ten!", 14));
}

TEST_CASE("files that killed programs have left are removed, and no others") {
  const TempDir dir;
  const std::string left = "tq-0123456789abcdef.tmp", other = "tq-0123456789abcdeg.tmp",
                    locked = "tq-0123456789abcdec.tmp", link = "tq-0123456789abcdee.tmp";
  for (const std::string& name : {left, other, locked}) spill(dir / name, "half");
  fs::create_symlink(other, dir / link);
  std::FILE* const in_use = std::fopen((dir / locked).string().c_str(), "rb");
  REQUIRE(in_use != nullptr);
  tq::io::detail::lock_temporary(in_use);
  CHECK(tq::io::remove_abandoned_files(dir.path()) == 1);
  CHECK_FALSE(std::filesystem::exists(dir / left));
  CHECK(dir.file_count() == 3);
  std::fclose(in_use);
  CHECK(tq::io::remove_abandoned_files(dir.path()) == 1);
  CHECK(dir.file_count() == 2);
  // A writer at work keeps its file.
  AtomicFile file(dir / "target");
  CHECK(tq::io::remove_abandoned_files(dir.path()) == 0);
  file.write(to_bytes("whole"));
  file.commit();
  CHECK(slurp(dir / "target") == "whole");
  CHECK(tq::io::remove_abandoned_files(dir / "no such folder") == 0);
}

TEST_CASE("a link is replaced where that is asked for") {
  const TempDir dir;
  spill(dir / "target", "old");
  fs::create_symlink("target", dir / "link");
  fs::create_symlink("none/target", dir / "lost");
  for (const char* name : {"link", "lost", "new"}) {
    AtomicFile file(dir / name, tq::io::Links::replaced);
    file.write(to_bytes("new"));
    file.commit();
    CHECK(fs::is_regular_file(fs::symlink_status(dir / name)));
    CHECK(slurp(dir / name) == "new");
  }
  CHECK(slurp(dir / "target") == "old");
  CHECK(outcome([&] { return AtomicFile(dir.path(), tq::io::Links::replaced); }).code ==
        errc::io_failure);
}

TEST_CASE("writers lose no file to those that remove what was left") {
  const TempDir dir;
  std::atomic<bool> ends = false;
  std::thread remover([&] {
    while (!ends) static_cast<void>(tq::io::remove_abandoned_files(dir.path()));
  });
  std::vector<std::thread> writers;
  std::atomic<int> lost = 0;
  for (int w = 0; w < 2; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 100; ++i) {
        const std::string name = std::to_string(w) + "." + std::to_string(i);
        const Outcome o = outcome([&] {
          AtomicFile file(dir / name);
          file.write(to_bytes(name));
          file.commit();
        });
        if (o.code != errc::ok || slurp(dir / name) != name) ++lost;
      }
    });
  for (std::thread& t : writers) t.join();
  ends = true;
  remover.join();
  CHECK(lost == 0);
  CHECK(dir.file_count() == 200);
}
