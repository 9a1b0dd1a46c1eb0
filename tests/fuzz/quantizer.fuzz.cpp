// SPDX-License-Identifier: MIT
// States of quantizers: what is read is written as a document that means the same, goes on, and can
// be merged.
#include <tq/json/quantizer_json.hpp>

#include "fuzz.hpp"

namespace {

using namespace tq;
using tq::io::Json;

const std::vector<float> numbers{0.0f, -1.5f, 0.25f, 3e38f, 1e-44f, -7.0f, 2.0f, 0.0f, 1.0f};

// Few types, as every one is a quantizer of its own to compile.
using Small = Quantizer<TypeList<int8, uint4>, TypeList<float>>;
[[nodiscard]] Small read(const Json& json) {
  return io::quantizer_from_json<TypeList<int8, uint4>>(json);
}

void check_same(const Small& quantizer) {
  const Json first = io::quantizer_to_json(quantizer);
  fuzz::require(io::quantizer_to_json(read(io::parse_json(first.dump()))) == first,
                "a state that is read as it was written");
}

const fuzz::Target quantizer_target("quantizer", [](fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const Json json = io::parse_json(std::string(bytes.begin(), bytes.end()));
    Small quantizer = read(json);
    check_same(quantizer);
    Small other = read(json);
    for (const NodeState& state : other.state())
      for (const Shape& shape : {Shape{9}, Shape{3, 3}})
        fuzz::accepts(
            [&] { other.observe(state.node.name, ConstTensorView(numbers.data(), shape)); });
    check_same(other);
    fuzz::accepts([&] { quantizer.merge(other); });
    check_same(quantizer);
    fuzz::accepts([&] { quantizer.finalize(); });
    fuzz::require(quantizer.summary().nodes.size() == quantizer.state().size(),
                  "a summary of every node");
  });
});

}  // namespace
