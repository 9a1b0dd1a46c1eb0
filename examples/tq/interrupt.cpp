// SPDX-License-Identifier: MIT
#include "interrupt.hpp"

#include <tq/files/temporary_file.hpp>

#include <string_view>

#if TQ_IO_POSIX
#include <signal.h>
#include <unistd.h>
#endif

namespace tool {

#if TQ_IO_POSIX

namespace {

// The message for ends that the shell does not report, or the user has not asked for.
std::string_view message_of(int number) {
  switch (number) {
    case SIGXCPU: return "tq: ended by the limit of processor time (SIGXCPU)\n";
    case SIGBUS: return "tq: ended by SIGBUS: an input became shorter, or its device failed\n";
    default: return "";
  }
}

// Its own signal waits until the handler returns, and then finds the default action.
extern "C" void remove_files_and_end(int number) {
  tq::io::remove_temporary_files();
  const std::string_view message = message_of(number);
  static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
  ::raise(number);
}

}  // namespace

void clean_up_when_interrupted() {
  // A file beyond the limit of its size is then an error of the write, which has a message.
  ::signal(SIGXFSZ, SIG_IGN);
  for (const int number :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2,
        SIGXCPU, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS}) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_handler = remove_files_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigfillset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
}

#else

void clean_up_when_interrupted() {}

#endif

}  // namespace tool
