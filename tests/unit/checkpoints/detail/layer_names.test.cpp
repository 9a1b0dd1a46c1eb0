// SPDX-License-Identifier: MIT
#include <tq/checkpoints/detail/layer_names.hpp>

#include <optional>
#include <string>

#include "support/catch.hpp"

namespace names = tq::io::detail;

TEST_CASE("the module of an expert is a mixture, a number and a layer") {
  const std::string module = names::expert_module("model.layers.0.mlp", 12, "up_proj");
  CHECK(module == "model.layers.0.mlp.experts.12.up_proj");
  const auto expert = names::expert_name(module);
  REQUIRE(expert.has_value());
  CHECK(expert->mixture == "model.layers.0.mlp");
  CHECK(expert->index() == std::size_t{12});
  CHECK(expert->layer == "up_proj");
  CHECK_FALSE(names::expert_name("model.layers.0.mlp.up_proj").has_value());
  CHECK_FALSE(names::expert_name("a.experts").has_value());  // of "a.experts.weight"
}

TEST_CASE("experts without a number, or of too many digits, have no index") {
  for (const char* const module :
       {"a.experts.up_proj", "a.experts..up_proj", "a.experts.1x.up_proj",
        "a.experts.123456789.up_proj", "a.experts."}) {
    INFO(module);
    const auto expert = names::expert_name(module);
    REQUIRE(expert.has_value());
    CHECK_FALSE(expert->index().has_value());
  }
  CHECK(names::expert_name("a.experts.3")->index() == std::size_t{3});
  CHECK(names::expert_name("a.experts.3")->layer.empty());
}
