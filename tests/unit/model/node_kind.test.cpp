// SPDX-License-Identifier: MIT
#include <tq/model/node_kind.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace tq;

TEST_CASE("kinds have names, and names kinds") {
  for (const std::string& name : node_kinds()) CHECK(to_string(node_kind(name)) == name);
  CHECK(node_kinds().size() == 11);
  CHECK_FALSE(find_node_kind("Linear"));
  test::raises(errc::unknown_name, {"linear, conv", "did you mean \"linear\""},
               [] { (void)node_kind("linaer"); });
}

TEST_CASE(
    "what is said of linear nodes goes for projections of attentions, not the other way round") {
  CHECK(is_of_kind(NodeKind::attention, NodeKind::linear));
  CHECK_FALSE(is_of_kind(NodeKind::linear, NodeKind::attention));
  CHECK(is_of_kind(NodeKind::conv, NodeKind::conv));
  CHECK_FALSE(is_of_kind(NodeKind::conv, NodeKind::linear));
  CHECK_FALSE(is_of_kind(NodeKind::head, NodeKind::linear));
  CHECK_FALSE(is_of_kind(NodeKind::position, NodeKind::embedding));
}

TEST_CASE("kinds that make no product stay in float by default; tables are looked up") {
  for (const std::string& name : node_kinds()) {
    const NodeKind kind = node_kind(name);
    const bool stays = std::find(default_float_kinds.begin(), default_float_kinds.end(), kind) !=
                       default_float_kinds.end();
    CHECK(stays == (name == "head" || name == "router" || name == "position" || name == "norm" ||
                    name == "elementwise"));
    CHECK(is_table(kind) == (name == "embedding" || name == "position"));
  }
}
