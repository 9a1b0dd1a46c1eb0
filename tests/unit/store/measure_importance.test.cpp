// SPDX-License-Identifier: MIT
// The importance of inputs from activations, by the names of modules.
#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/store/measure_importance.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;

namespace {

// Integers, so that sums of squares are exact.
std::vector<float> integers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(random() % 201) - 100.0f;
  return out;
}

void write_batch(const fs::path& path, const std::map<std::string, std::vector<float>>& layers,
                 std::size_t inputs) {
  std::vector<io::Tensor> tensors;
  for (const auto& [name, values] : layers)
    tensors.push_back(io::from_values<float>(name, {values.size() / inputs, inputs}, values));
  io::write_safetensors(path, tensors);
}

std::vector<double> squares(const std::vector<float>& x, std::size_t inputs) {
  std::vector<double> out(inputs);
  for (std::size_t i = 0; i < x.size(); ++i) out[i % inputs] += double{x[i]} * double{x[i]};
  return out;
}

}  // namespace

TEST_CASE("activations of modules become the importance of GGUF weights") {
  const TempDir dir;
  const std::size_t n = 8;
  const auto up = integers(5 * n, 1), more = integers(3 * n, 2), down = integers(4 * n, 3),
             first = integers(2 * n, 4), third = integers(6 * n, 5), own = integers(n, 6);
  auto broken = down;
  broken[n + 3] = std::numeric_limits<float>::quiet_NaN();
  broken[2 * n] = std::numeric_limits<float>::infinity();
  const std::string experts = "model.layers.3.block_sparse_moe.experts.";
  write_batch(dir / "1.safetensors",
              {{"model.layers.0.mlp.up_proj", up},
               {"model.layers.0.mlp.down_proj.weight", broken},
               {experts + "0.w1", first},
               {experts + "2.w1", third},
               {"blk.7.attn_q", own},
               {"mine", own}},
              n);
  write_batch(dir / "2.safetensors", {{"model.layers.0.mlp.up_proj", more}}, n);
  const MeasuredImportance made = measure_importance({dir.path().string()});
  CHECK(made.files.size() == 2);
  CHECK(made.sums.datasets == std::vector<std::string>{dir.path().string()});
  CHECK(made.sums.weights.size() == 5);

  const auto& all = made.sums.weights.at("blk.0.ffn_up.weight");
  CHECK(all.counts == std::vector<std::uint64_t>{8});
  auto joined = up;
  joined.insert(joined.end(), more.begin(), more.end());
  CHECK(all.sums == squares(joined, n));

  auto whole = down;
  whole.erase(whole.begin() + n, whole.begin() + 3 * n);
  CHECK(made.sums.weights.at("blk.0.ffn_down.weight").sums == squares(whole, n));
  CHECK(made.sums.weights.at("blk.0.ffn_down.weight").counts == std::vector<std::uint64_t>{2});

  const auto& stacked = made.sums.weights.at("blk.3.ffn_gate_exps.weight");
  CHECK(stacked.counts == std::vector<std::uint64_t>{2, 0, 6});
  auto sums = squares(first, n);
  sums.resize(2 * n);
  for (const double sum : squares(third, n)) sums.push_back(sum);
  CHECK(stacked.sums == sums);
  CHECK(made.sums.weights.at("blk.7.attn_q.weight").sums == squares(own, n));

  for (const auto& layer : made.layers) {
    CHECK(layer.is_in_mapping == (layer.name != "mine"));
    CHECK(layer.left_out == (layer.weight == "blk.0.ffn_down.weight" ? 2 : 0));
    CHECK(layer.inputs == n);
  }
  CHECK(made.sums.weights.contains("mine.weight"));
}

TEST_CASE("activations that contradict one another are refused") {
  const TempDir dir;
  const auto x = integers(16, 1);
  const auto refused = [&](const std::map<std::string, std::vector<float>>& layers, errc code,
                           std::initializer_list<const char*> texts) {
    write_batch(dir / "x.safetensors", layers, 8);
    test::raises(code, texts, [&] {
      static_cast<void>(measure_importance({(dir / "x.safetensors").string()}));
    });
  };
  refused({{"model.norm", x}, {"model.norm.weight", x}}, errc::bad_argument,
          {"\"output_norm.weight\" under one name", "\"model.norm\" and \"model.norm.weight\""});
  fs::copy_file(dir / "x.safetensors", dir / "x.gguf");
  test::raises(errc::bad_argument, {"x.gguf: expected .npy, .npz or .safetensors files"},
               [&] { static_cast<void>(measure_importance({(dir / "x.gguf").string()})); });
  const std::string experts = "model.layers.0.block_sparse_moe.experts.";
  refused({{experts + "4096.w1", x}}, errc::bad_argument, {"an expert below 4096"});
  write_batch(dir / "1.safetensors", {{experts + "0.w1", x}}, 8);
  write_batch(dir / "2.safetensors", {{experts + "1.w1", x}}, 4);
  test::raises(errc::shape_mismatch, {"experts.1.w1", "expected 8 inputs", "got 4"}, [&] {
    static_cast<void>(
        measure_importance({(dir / "1.safetensors").string(), (dir / "2.safetensors").string()}));
  });
}
