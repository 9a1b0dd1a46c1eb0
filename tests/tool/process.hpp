// SPDX-License-Identifier: MIT
#pragma once
// The tool as a process that a test sends signals to, and whose memory it looks at.

#include "program.hpp"
#include "support/catch.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tool_test {

class Process {
 public:
  explicit Process(std::vector<std::string> arguments, int ignored = 0) {
    arguments.insert(arguments.begin(), tool_test::program);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    id_ = ::fork();
    if (id_ != 0) return;
    if (ignored != 0) ::signal(ignored, SIG_IGN);
    static_cast<void>(!std::freopen("/dev/null", "w", stdout));
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  void send(int number) const { REQUIRE(::kill(id_, number) == 0); }
  [[nodiscard]] bool runs() { return ::wait4(id_, &status_, WNOHANG, &usage_) == 0; }
  // The signal that ended it, or its status.
  [[nodiscard]] int wait() {
    ::wait4(id_, &status_, 0, &usage_);
    return WIFSIGNALED(status_) ? WTERMSIG(status_) : WEXITSTATUS(status_);
  }
  // The most memory that was its own at a time. Precondition: wait().
  [[nodiscard]] std::size_t peak_bytes() const {
    return static_cast<std::size_t>(usage_.ru_maxrss) * 1024;
  }

 private:
  ::pid_t id_ = 0;
  int status_ = 0;
  struct rusage usage_{};
};

}  // namespace tool_test
