// SPDX-License-Identifier: MIT
#pragma once
// System calls of this program that fail, or do less than they were asked for, when a test says so.

#include <cstddef>

namespace fault {

/// How calls behave from now on; the default is as the system does.
struct Behaviour {
  std::size_t most_read = 0;  ///< bytes that pread gives at once; 0: as many as were asked for
  bool interrupts = false;    ///< every second pread is interrupted by a signal (EINTR)
  int read_error = 0;         ///< errno of pread, from call `reads_before` on
  std::size_t reads_before = 0;
  int fsync_error = 0;                ///< errno of fsync
  int rename_error = 0;               ///< errno of rename
  void (*before_rename)() = nullptr;  ///< called by rename
};

inline Behaviour behaviour;
inline std::size_t reads = 0;  ///< calls of pread since a behaviour was set

/// A behaviour until the end of a scope.
class With {
 public:
  explicit With(const Behaviour& wanted) noexcept {
    behaviour = wanted;
    reads = 0;
  }
  With(const With&) = delete;
  With& operator=(const With&) = delete;
  ~With() { behaviour = {}; }
};

}  // namespace fault
