// SPDX-License-Identifier: MIT
// These take the place of the C library's, for all of this program.
#include "system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int refuse(int number) {
  errno = number;
  return -1;
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* out, size_t count, off_t offset) {
  const fault::Behaviour& b = fault::behaviour;
  const std::size_t call = fault::reads++;
  if (b.interrupts && call % 2 == 0) return refuse(EINTR);
  if (b.read_error != 0 && call >= b.reads_before) return refuse(b.read_error);
  if (b.most_read != 0) count = std::min(count, b.most_read);
  return static_cast<ssize_t>(::syscall(SYS_pread64, fd, out, count, offset));
}

int fsync(int fd) {
  if (fault::behaviour.fsync_error != 0) return refuse(fault::behaviour.fsync_error);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
  if (fault::behaviour.before_rename != nullptr) fault::behaviour.before_rename();
  if (fault::behaviour.rename_error != 0) return refuse(fault::behaviour.rename_error);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}
