// SPDX-License-Identifier: MIT
#include <tq/containers/detail/counted_name.hpp>

#include "support/catch.hpp"

using tq::io::detail::counted_name, tq::io::detail::CountedName;

TEST_CASE("names that say how many files there are, are made and taken apart") {
  const CountedName model{"a/model", ".gguf"};
  CHECK(model.name(0, 1) == "a/model-00001-of-00001.gguf");
  CHECK(model.name(99, 65535) == "a/model-00100-of-65535.gguf");
  CHECK(model.name(99999, 100000) == "a/model-100000-of-100000.gguf");
  CHECK(counted_name("a/model-00001-of-00001.gguf") == model);
  CHECK(counted_name(model.name(99, 65535)) == model);
  CHECK(counted_name("-00003-of-00009") == CountedName{});
  for (const char* name : {"", "model.gguf", "model-0001-of-0002", "model-00001-of-0000x",
                           "model-0000x-of-00002", "0001-of-00002", "x-00001-of-"})
    CHECK(counted_name(name) == std::nullopt);
}
