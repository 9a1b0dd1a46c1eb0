// SPDX-License-Identifier: MIT
// Writing that fails or ends anywhere: a file has its old content or all of the new one.
#include "fault_test.hpp"

#include <tq/files/temporary_file.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "system_calls.hpp"

using namespace io_test;
using tq::errc;

namespace {

// The largest size of a file, until the end of a scope.
class FileLimit {
 public:
  explicit FileLimit(rlim_t most) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = most;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

// Whether a name is one of a temporary file.
bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("tq-") && name.ends_with(".tmp");
}

int pipe_to_parent = -1;

// Tells the parent that it may kill, and waits for that.
void wait_to_be_killed() {
  static_cast<void>(!::write(pipe_to_parent, "x", 1));
  for (;;) ::pause();
}

// Runs a child that ends by a signal or by itself. Its status.
template <class Child, class Parent>
int run_child(Child&& child, Parent&& parent) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::close(ends[0]);
    pipe_to_parent = ends[1];
    child();
    ::_exit(0);
  }
  ::close(ends[1]);
  parent(pid, ends[0]);
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

}  // namespace

TEST_CASE("a file that may not grow is a failure of io, wherever it happens", "[fault]") {
  const tq::io::Tensor old = fault::tensor(100, 1), next = fault::tensor(300000, 2);
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    format.write(dir / format.file, old, &fault::nothing);
    const std::string before = slurp(dir / format.file);
    for (const rlim_t most : {0U, 1U, 60U, 4096U, 150000U, 299000U, 300000U}) {
      Outcome o;
      {
        const FileLimit limit(most);
        o = outcome_of([&] { format.write(dir / format.file, next, &fault::nothing); });
      }
      if (o.code == errc::ok && most == 300000) continue;  // of plain bytes these are enough
      INFO(most << ": " << o.text);
      CHECK(o.code == errc::io_failure);
      CHECK(o.text.find("File too large") != std::string::npos);
      CHECK(o.text.find(format.file) != std::string::npos);
      CHECK(slurp(dir / format.file) == before);
      CHECK(dir.file_count() == 1);
    }
    format.write(dir / format.file, next, &fault::nothing);
    CHECK(slurp(dir / format.file).size() >= next.bytes.size());
  }
}

TEST_CASE("what cannot be pushed to the device or renamed leaves the old file", "[fault]") {
  const tq::io::Tensor old = fault::tensor(100, 1), next = fault::tensor(3000, 2);
  fault::Behaviour full, broken, moved;
  full.fsync_error = ENOSPC;
  broken.fsync_error = EIO;
  moved.rename_error = EACCES;
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    format.write(dir / format.file, old, &fault::nothing);
    const std::string before = slurp(dir / format.file);
    for (const auto& [behaviour, text] : {std::pair(full, "fsync failed: No space left on device"),
                                          std::pair(broken, "fsync failed: Input/output error"),
                                          std::pair(moved, "rename failed: Permission denied")}) {
      const fault::With fault(behaviour);
      const Outcome o = outcome_of([&] { format.write(dir / format.file, next, &fault::nothing); });
      INFO(o.text);
      CHECK(o.code == errc::io_failure);
      CHECK(o.text.find(text) != std::string::npos);
      CHECK(slurp(dir / format.file) == before);
      CHECK(dir.file_count() == 1);
    }
  }
}

namespace {

fs::path folder_of_rename;
std::size_t removed_before_rename = 0;

}  // namespace

TEST_CASE("a file is in use until it has its name", "[fault]") {
  const tq::io::Tensor next = fault::tensor(3000, 2);
  fault::Behaviour removes;
  removes.before_rename = [] {
    removed_before_rename += tq::io::remove_abandoned_files(folder_of_rename);
  };
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    folder_of_rename = dir.path();
    const fault::With fault(removes);
    format.write(dir / format.file, next, &fault::nothing);
    CHECK(removed_before_rename == 0);
    CHECK(dir.file_count() == 1);
  }
}

TEST_CASE("a writer that is killed half way leaves the old file, and nothing that is taken for it",
          "[fault]") {
  const tq::io::Tensor old = fault::tensor(100, 1), next = fault::tensor(300000, 2);
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    format.write(dir / format.file, old, &fault::nothing);
    const std::string before = slurp(dir / format.file);
    const int status = run_child([&] { format.write(dir / format.file, next, &wait_to_be_killed); },
                                 [&](pid_t pid, int from_child) {
                                   char c = 0;
                                   CHECK(::read(from_child, &c, 1) == 1);
                                   ::kill(pid, SIGKILL);
                                 });
    CHECK(WIFSIGNALED(status));
    CHECK(slurp(dir / format.file) == before);
    for (const auto& entry : fs::directory_iterator(dir.path()))
      CHECK((entry.path().filename() == format.file || is_temporary(entry.path())));
    format.write(dir / format.file, next, &fault::nothing);  // what is left is not in the way
    CHECK(slurp(dir / format.file) != before);
    // The lock of the killed writer is free: what it left goes at once.
    const std::size_t left = dir.file_count() - 1;
    CHECK(tq::io::remove_abandoned_files(dir.path()) == left);
    CHECK(dir.file_count() == 1);
  }
}

TEST_CASE("a writer that is killed at any moment leaves one of the contents whole", "[fault]") {
  const tq::io::Tensor a = fault::tensor(20000, 1), b = fault::tensor(30000, 2);
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    format.write(dir / format.file, b, &fault::nothing);
    const std::string second = slurp(dir / format.file);
    format.write(dir / format.file, a, &fault::nothing);
    const std::string first = slurp(dir / format.file);
    for (int i = 0; i < 15; ++i) {
      static_cast<void>(run_child(
          [&] {
            static_cast<void>(!::write(pipe_to_parent, "x", 1));
            for (bool turn = true;; turn = !turn)
              format.write(dir / format.file, turn ? b : a, &fault::nothing);
          },
          [&](pid_t pid, int from_child) {
            char c = 0;
            CHECK(::read(from_child, &c, 1) == 1);
            std::this_thread::sleep_for(std::chrono::microseconds(137 * i));
            ::kill(pid, SIGKILL);
          }));
      const std::string now = slurp(dir / format.file);
      CHECK((now == first || now == second));
    }
  }
}

TEST_CASE("a handler of signals removes what is half written", "[fault]") {
  const tq::io::Tensor old = fault::tensor(100, 1), next = fault::tensor(300000, 2);
  for (const fault::Format& format : fault::formats) {
    INFO(format.file);
    const TempDir dir;
    format.write(dir / format.file, old, &fault::nothing);
    const std::string before = slurp(dir / format.file);
    const int status = run_child(
        [&] {
          std::signal(SIGTERM, [](int) {
            tq::io::remove_temporary_files();
            ::_exit(3);
          });
          format.write(dir / format.file, next, &wait_to_be_killed);
        },
        [&](pid_t pid, int from_child) {
          char c = 0;
          CHECK(::read(from_child, &c, 1) == 1);
          ::kill(pid, SIGTERM);
        });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(slurp(dir / format.file) == before);
    CHECK(dir.file_count() == 1);
  }
}
