// SPDX-License-Identifier: MIT
#include <tq/model/model_size_finder.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/named_schemes.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

using namespace tq;

namespace {

using Extents = std::vector<std::size_t>;

WeightAxes axes(const char* name, const Extents& shape, const ModelSizes& sizes = {}) {
  return weight_axes(name, guess_node_kind(name, shape, sizes), shape, sizes);
}

// The default granularity of a tensor in a scheme.
std::string granularity(const char* scheme, const Extents& shape, WeightAxes of) {
  return to_string(AnyGranularity(spec_for(scheme_of(scheme), shape, of)));
}

}  // namespace

TEST_CASE("axes of weights follow from what they are") {
  using enum WeightAxes;
  CHECK(axes("model.layers.0.mlp.up_proj.weight", {128, 64}) == outputs_first);
  CHECK(axes("model.layers.0.mlp.experts.gate_up_proj", {4, 128, 64}) == stacked);
  CHECK(axes("blk.0.ffn_up_exps.weight", {4, 128, 64}) == stacked);
  CHECK(axes("layer1.0.conv1.weight", {64, 32, 3, 3}) == outputs_first);
  CHECK(axes("encoder.conv1.weight", {64, 32, 3}) == outputs_first);
  CHECK(axes("decoder.deconv.weight", {64, 32, 4, 4}) == inputs_first);
  CHECK(axes("decoder.deconv.weight", {64, 1, 4, 4}) == outputs_first);
  CHECK(axes("hidden", {4, 128, 64}) == outputs_first);  // activations, as far as names tell
}

TEST_CASE("stacks with inputs first are told by the width of the model, or by its type") {
  using enum WeightAxes;
  const char *up = "model.layers.0.mlp.experts.gate_up_proj",
             *down = "model.layers.0.mlp.experts.down_proj";
  const ModelSizes wide{.widths = {64}};
  CHECK(axes(up, {4, 64, 96}, wide) == stacked_inputs_first);
  CHECK(axes(up, {4, 96, 64}, wide) == stacked);
  CHECK(axes(down, {4, 48, 64}, wide) == stacked_inputs_first);
  CHECK(axes(down, {4, 64, 48}, wide) == stacked);
  CHECK(axes(down, {4, 64, 64}, wide) == stacked);
  ModelSizes typed = wide;
  typed.stacks_have_inputs_first = true;
  CHECK(axes(down, {4, 64, 64}, typed) == stacked_inputs_first);
  CHECK(axes(down, {4, 64, 48}, typed) == stacked);
  CHECK(axes("layers.0.w.weight", {4, 64, 64}, typed) == stacked);
  // A stack of the model that leaves nothing open says it of the others.
  ModelSizeFinder finder;
  finder.add("model.layers.0.mlp.router.weight", Extents{4, 64});
  finder.add(down, Extents{4, 64, 64});
  finder.add(up, Extents{4, 64, 128});
  const ModelSizes found = finder.sizes();
  CHECK(axes(down, {4, 64, 64}, found) == stacked_inputs_first);
  CHECK(found.experts == std::set<std::size_t>{4});
}

TEST_CASE("defaults of granularities follow the axes; an axis that is given stays") {
  using enum WeightAxes;
  const Extents stack{4, 128, 64};
  CHECK(granularity("int4", {128, 64}, outputs_first) == "per_channel(axis 0)");
  CHECK(granularity("int4", stack, stacked) == "per_group(64, axis -1)");
  CHECK(granularity("int4", stack, stacked_inputs_first) == "per_group(128, axis -2)");
  CHECK(granularity("int4_g32", stack, stacked) == "per_group(32, axis -1)");
  CHECK(granularity("mxfp4", stack, stacked_inputs_first) == "per_group(32, axis -2)");
  CHECK(granularity("int8", {64, 32, 4, 4}, inputs_first) == "per_channel(axis 1)");
  CHECK(granularity("fp8_e4m3", stack, stacked) == "per_tensor");
  CHECK(granularity("int8", {}, outputs_first) == "per_tensor");
  CHECK(granularity("int8", {4, 0, 0}, stacked) == "per_group(1, axis -1)");
  for (const char* name : {"int4", "int4_g32"})
    for (const WeightAxes of : {outputs_first, inputs_first, stacked, stacked_inputs_first}) {
      QuantSpec given = scheme_of(name);
      given.axis = 0;
      CHECK(spec_for(given, stack, of) == given);
    }
  // The blocks are those of the matrices one by one.
  const AnyGranularity all(spec_for(scheme_of("int4"), stack, stacked)), one(scheme_of("int4"));
  CHECK(all.block({4, 128, 64}) == Shape{1, 1, 64});
  CHECK(one.block({128, 64}) == Shape{1, 64});
}
