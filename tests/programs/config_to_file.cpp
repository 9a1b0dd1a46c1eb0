// SPDX-License-Identifier: MIT
// Named tensors are quantized as a JSON configuration says, and go to a file.
#include <tq/json/quant_config_json.hpp>
#include <tq/model/guess_node_kind.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/store/save.hpp>
#include <tq/tq.hpp>

#include <cmath>
#include <iostream>
#include <map>

using Types = tq::TypeList<tq::int4, tq::int8>;
using Scales = tq::TypeList<float>;

int main() {
  const std::map<std::string, tq::Shape> shapes{{"layers.0.attn.q.weight", {64, 64}},
                                                {"layers.0.mlp.up.weight", {128, 64}},
                                                {"layers.0.norm.weight", {64}},
                                                {"lm_head.weight", {32, 64}}};
  const auto config = tq::io::quant_config_from_json<Types, Scales>(
      tq::io::Json::parse(R"({"version": 1, "default": "int4_g32"})"));
  std::vector<tq::SavedTensor> out;
  for (const auto& [name, shape] : shapes) {
    std::vector<float> data(shape.size());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::sin(0.37f * float(i));
    const auto x = tq::as_tensor(data, shape);
    const tq::NodeDecision d = tq::decide(config, name, tq::guess_node_kind(name, shape.rank()));
    std::cout << name << ": " << (d.scheme ? to_string(*d.scheme) : "float") << " (" << d.decided_by
              << ")\n";
    if (d.scheme) out.emplace_back(name, tq::encode<Types>(x, *d.scheme));
    else out.emplace_back(name, x);
  }
  tq::save<Types, Scales>("config.safetensors", out);
}
