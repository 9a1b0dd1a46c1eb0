// SPDX-License-Identifier: MIT
#pragma once
// OptionError: an error of the arguments of a call, in contrast to an error of files.

#include <tq/error.hpp>

#include <string>

namespace tq::store {

/// Options or names of files that make no sense together. A program that has them from its command
/// line can say how it is used. Its code is `errc::bad_argument`.
class OptionError : public error {
 public:
  explicit OptionError(const std::string& what) : error(errc::bad_argument, what) {}
};

/// Throws: `OptionError`.
[[noreturn]] inline void raise_option(const std::string& what) {
#if TQ_HAS_EXCEPTIONS
  throw OptionError(what);
#else
  raise(errc::bad_argument, what);
#endif
}

}  // namespace tq::store
