// SPDX-License-Identifier: MIT
// The entry of libFuzzer: the one target that this program is linked with.
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (*fuzz::Target::first())({data, size});
  return 0;
}
