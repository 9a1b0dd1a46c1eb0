// SPDX-License-Identifier: MIT
#pragma once
// Checks that something throws tq::error with a code, and a text that contains what it should.

#include <tq/error.hpp>

#include <initializer_list>
#include <string>

#include "support/catch.hpp"

namespace test {

template <class F>
void raises(tq::errc code, std::initializer_list<const char*> parts, F&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    const std::string text = e.what();
    INFO(text);
    CHECK(e.code() == code);
    for (const char* part : parts) {
      INFO("expected: " << part);
      CHECK(text.find(part) != std::string::npos);
    }
    return;
  }
  FAIL_CHECK("expected an error: " << to_string(code));
}

// The text of the error that f() raises, which must have that code.
template <class F>
std::string refused(tq::errc code, F&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    CHECK(std::string(tq::to_string(e.code())) == tq::to_string(code));
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace test
