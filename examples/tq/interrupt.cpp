// SPDX-License-Identifier: MIT
#include "interrupt.hpp"

#include <tq/io/temporary_file.hpp>

#if TQ_IO_POSIX
#include <signal.h>
#endif

namespace tool {

#if TQ_IO_POSIX

namespace {

// Its own signal waits until the handler returns, and then finds the default action.
extern "C" void remove_files_and_end(int number) {
  tq::io::remove_temporary_files();
  ::raise(number);
}

}  // namespace

void clean_up_when_interrupted() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
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
