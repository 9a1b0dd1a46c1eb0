// SPDX-License-Identifier: MIT
// Sizes of files are known before they are written, and no choice of layers has smaller files than
// the smallest, or less error within a size than a choice that is said to be the best.
#include <tq/store/select_checkpoint.hpp>

#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/checkpoint_sizes.hpp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/measure_checkpoint.ipp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_checkpoint.hpp>
#include <tq/store/write_checkpoint.ipp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/select/sized_nodes.hpp"

using namespace tq;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;
using Shard = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

const std::string block = "model.layers.0.";
const std::map<std::string, format::compressed_tensors> packed_schemes{
    {"int4_g32", {.scheme = "int4", .group_size = 32}},
    {"int8_g32", {.scheme = "int8", .group_size = 32}},
    {"fp8", {.scheme = "fp8-weight-only"}}};
const std::map<std::string, format::mlx> mlx_schemes{{"int2", {.bits = 2, .group_size = 32}},
                                                     {"int4", {.bits = 4, .group_size = 32}},
                                                     {"int8", {.bits = 8, .group_size = 32}}};

// A model of zeros: one file, or several with an index.
void write_model(const fs::path& folder, const std::vector<Shard>& shards,
                 const std::string& config) {
  fs::create_directories(folder);
  io::Json map = io::Json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::string file = "model.safetensors";
    if (shards.size() > 1)
      file = "model-0000" + std::to_string(i + 1) + "-of-0000" + std::to_string(shards.size()) +
             ".safetensors";
    std::vector<io::Tensor> tensors;
    for (const auto& [name, shape] : shards[i]) {
      const std::vector<float> zeros(static_cast<std::size_t>(*io::element_count(shape)));
      tensors.push_back(io::from_float32(name, shape, zeros, io::DType::bf16));
      map[name] = file;
    }
    io::write_safetensors(folder / file, tensors, {{"format", "pt"}, {"by", "somebody"}});
  }
  if (shards.size() > 1)
    spill(folder / "model.safetensors.index.json", io::Json{{"weight_map", map}}.dump());
  spill(folder / "config.json", config);
}

std::uint64_t weight_bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  for (const auto& file : fs::directory_iterator(folder))
    if (file.path().extension() == ".safetensors") sum += file.file_size();
  return sum;
}

// The candidates, with errors that fall with the bytes.
template <class F>
CheckpointMeasurement with_errors(const fs::path& in, const std::map<std::string, F>& schemes) {
  CheckpointMeasurement out = checkpoint_candidates<Small>(in, schemes);
  double factor = 1;
  for (PrecisionNode& node : out.layers.nodes) {
    factor = factor > 0.2 ? factor * 0.7 : 1;
    for (PrecisionCandidate& c : node.candidates)
      if (c.scheme != float_scheme)
        c.error = factor * static_cast<double>(node.weights) /
                  (static_cast<double>(c.bytes) * static_cast<double>(c.bytes));
  }
  return out;
}

// The bytes and the error of a choice.
struct Choice {
  std::uint64_t bytes;
  double error;
};

template <class F>
std::vector<Choice> all_choices(const fs::path& folder, const CheckpointMeasurement& measured,
                                const CheckpointSizes<F>& bytes_of) {
  std::vector<Choice> all;
  sized_test::for_each_selection(
      PrecisionSelector(measured.layers), [&](const PrecisionSelection& s) {
        all.push_back({bytes_of(s), s.cost.error});
        const auto mixture = bytes_of.mixture(s);
        if (mixture.layers.empty() || all.size() % 32 != 3) return;
        fs::remove_all(folder / "out");
        (void)write_checkpoint<Small>(folder / "out", folder / "in", mixture);
        CHECK(weight_bytes_in(folder / "out") == all.back().bytes);
      });
  return all;
}

template <class F>
void check_sizes(const std::map<std::string, F>& schemes, const std::vector<Shard>& shards,
                 const std::string& config) {
  const TempDir folder;
  write_model(folder / "in", shards, config);
  const CheckpointMeasurement measured = with_errors(folder / "in", schemes);
  const CheckpointSizes<F> bytes_of(folder / "in", schemes);
  const std::vector<Choice> all = all_choices(folder / std::string(), measured, bytes_of);
  REQUIRE(all.size() > 16);
  const std::uint64_t fewest = std::ranges::min(all, {}, &Choice::bytes).bytes,
                      most = std::ranges::max(all, {}, &Choice::bytes).bytes;
  CHECK(all.front().bytes == weight_bytes_in(folder / "in"));  // floats
  CHECK(bytes_of(select_smallest_checkpoint(measured, bytes_of)) == fewest);
  int proven = 0;
  for (std::uint64_t limit = fewest; limit < most + 400; limit += (most - fewest) / 20) {
    INFO(limit);
    const PrecisionSelection best =
        select_checkpoint(measured, {.goal = PrecisionGoal::custom, .max_bytes = limit}, bytes_of);
    CHECK(bytes_of(best) <= limit);
    double least = std::numeric_limits<double>::infinity();
    for (const Choice& c : all)
      if (c.bytes <= limit) least = std::min(least, c.error);
    CHECK(best.cost.error >= least * (1 - 1e-12));
    if (best.optimal) CHECK(best.cost.error <= least * (1 + 1e-12));
    proven += best.optimal ? 1 : 0;
    std::uint64_t layers = 0;
    for (const SelectedPrecision& node : best.nodes) layers += node.choice.bytes;
    CHECK(layers == best.cost.bytes);
  }
  CHECK(proven > 10);
  test::raises(errc::bad_argument, {"expected max_bytes of at least"}, [&] {
    (void)select_checkpoint(measured, {.goal = PrecisionGoal::custom, .max_bytes = fewest - 1},
                            bytes_of);
  });
}

const std::string llama = R"({"model_type": "llama", "dtype": "bfloat16", "vocab_size": 128})";
const Shard attention{{"model.embed_tokens.weight", {128, 64}},
                      {block + "self_attn.q_proj.weight", {64, 64}},
                      {block + "self_attn.k_proj.weight", {32, 64}},
                      {block + "self_attn.v_proj.weight", {32, 64}},
                      {block + "self_attn.o_proj.weight", {64, 64}}};
const Shard others{{block + "mlp.gate_proj.weight", {80, 64}},
                   {block + "mlp.up_proj.weight", {80, 64}},
                   {block + "mlp.down_proj.weight", {64, 96}},
                   {"model.norm.weight", {64}},
                   {"lm_head.weight", {128, 64}}};

}  // namespace

TEST_CASE("sizes of a model in shards are exact in every mixture") {
  check_sizes(packed_schemes, {attention, others}, llama);
  check_sizes(mlx_schemes, {attention, others}, llama);
}

TEST_CASE("sizes of a model with a tied head leave the head out") {
  Shard all = attention;
  all.insert(all.end(), others.begin(), others.end());
  const std::string tied =
      R"({"model_type": "llama", "dtype": "bfloat16", "vocab_size": 128, "tie_word_embeddings": true})";
  check_sizes(packed_schemes, {all}, tied);
  check_sizes(mlx_schemes, {all}, tied);
}

TEST_CASE("sizes of experts are exact, of fused ones too") {
  Shard fused = attention;
  fused.emplace_back(block + "mlp.experts.gate_up_proj", std::vector<std::size_t>{2, 64, 64});
  fused.emplace_back(block + "mlp.experts.down_proj", std::vector<std::size_t>{2, 64, 32});
  check_sizes(packed_schemes, {fused, {{"model.norm.weight", {64}}}},
              R"({"model_type": "qwen3_moe", "dtype": "bfloat16", "hidden_size": 64, )"
              R"("num_experts": 2})");
  Shard experts = attention;
  for (const char* const name : {"0.w1", "0.w3", "0.w2", "1.w1", "1.w3", "1.w2"})
    experts.emplace_back(block + "block_sparse_moe.experts." + name + ".weight",
                         std::vector<std::size_t>{32, 32});
  check_sizes(mlx_schemes, {experts},
              R"({"model_type": "mixtral", "dtype": "bfloat16", "num_local_experts": 2})");
}

TEST_CASE("mixtures that the engine does not load have no size") {
  Shard experts = attention;
  for (const char* const name :
       {"0.gate_proj", "0.up_proj", "0.down_proj", "1.gate_proj", "1.up_proj", "1.down_proj"})
    experts.emplace_back(block + "mlp.experts." + name + ".weight",
                         std::vector<std::size_t>{32, 32});
  const TempDir folder;
  write_model(folder / "in", {experts},
              R"({"model_type": "qwen3_moe", "dtype": "bfloat16", "num_experts": 2})");
  const CheckpointOptions options{.engine = "transformers"};
  const CheckpointMeasurement measured = with_errors(folder / "in", packed_schemes);
  const CheckpointSizes sizes(folder / "in", packed_schemes, options);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::size_t loaded = 0, refused = 0;
  sized_test::for_each_selection(
      PrecisionSelector(measured.layers), [&](const PrecisionSelection& s) {
        const std::string problem = sizes.problem(s);
        CHECK(problem.empty() == (sizes(s) != std::numeric_limits<std::uint64_t>::max()));
        least = std::min(least, sizes(s));
        (problem.empty() ? loaded : refused) += 1;
        if (refused == 1 && !problem.empty())
          test::raises(errc::unsupported, {problem.c_str()}, [&] {
            (void)write_checkpoint<Small>(folder / "no", folder / "in", sizes.mixture(s), options);
          });
      });
  CHECK(loaded > 1);
  CHECK(refused > 1);
  const PrecisionSelection smallest = select_smallest_checkpoint(measured, sizes);
  CHECK(sizes(smallest) == least);
  const PrecisionSelection best = select_checkpoint(
      measured, {.goal = PrecisionGoal::custom, .max_bytes = least + 3000}, sizes);
  CHECK(sizes(best) <= least + 3000);
  CHECK(sizes.problem(best).empty());
  (void)write_checkpoint<Small>(folder / "out", folder / "in", sizes.mixture(best), options);
}

TEST_CASE("layers so small that headers outweigh their codes stay in float in the smallest files") {
  Shard tiny{{"model.embed_tokens.weight", {8, 32}}};
  for (const char* const name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    tiny.emplace_back(block + "self_attn." + name + ".weight", std::vector<std::size_t>{4, 32});
  tiny.emplace_back(block + "mlp.gate_proj.weight", std::vector<std::size_t>{64, 32});
  tiny.emplace_back(block + "mlp.up_proj.weight", std::vector<std::size_t>{64, 32});
  const TempDir folder;
  write_model(folder / "in", {tiny}, llama);
  const CheckpointMeasurement measured = with_errors(folder / "in", packed_schemes);
  const CheckpointSizes<format::compressed_tensors> bytes_of(folder / "in", packed_schemes);
  const PrecisionSelection smallest = select_smallest_checkpoint(measured, bytes_of);
  for (const SelectedPrecision& node : smallest.nodes)
    CHECK((node.choice.scheme == float_scheme) ==
          (node.name.find("self_attn") != std::string::npos));
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  sized_test::for_each_selection(
      PrecisionSelector(measured.layers),
      [&](const PrecisionSelection& s) { least = std::min(least, bytes_of(s)); });
  CHECK(bytes_of(smallest) == least);
}

TEST_CASE("a limit of bits holds beside that of files, for layers without headers") {
  const TempDir folder;
  write_model(folder / "in", {attention, others}, llama);
  const CheckpointMeasurement measured = with_errors(folder / "in", packed_schemes);
  const CheckpointSizes<format::compressed_tensors> bytes_of(folder / "in", packed_schemes);
  PrecisionCriteria both{.goal = PrecisionGoal::custom, .max_bytes = 1000000};
  for (const double bits : {4.6, 5.0, 6.0, 8.0, 8.5}) {
    both.max_bits_per_weight = bits;
    const PrecisionSelection best = select_checkpoint(measured, both, bytes_of);
    CHECK(best.bits_per_weight() <= bits);
    PrecisionCriteria alone = both;
    alone.max_bytes.reset();
    CHECK(select_checkpoint(measured, alone, bytes_of).cost.error <= best.cost.error);
  }
  both.max_bits_per_weight = 4.4;
  test::raises(errc::bad_argument, {"expected limits that a selection can keep"},
               [&] { (void)select_checkpoint(measured, both, bytes_of); });
  both.max_bits_per_weight = 4.6;
  both.max_bytes = bytes_of(PrecisionSelector(measured.layers).uniform("int8_g32"));
  CHECK(select_checkpoint(measured, both, bytes_of).bits_per_weight() <= 4.6);
}

TEST_CASE("sizes of schemes that were not given are refused") {
  const TempDir folder;
  write_model(folder / "in", {attention}, llama);
  const CheckpointMeasurement measured = with_errors(folder / "in", packed_schemes);
  const CheckpointSizes<format::mlx> bytes_of(folder / "in", mlx_schemes);
  const PrecisionSelection other = PrecisionSelector(measured.layers).uniform("fp8");
  test::raises(errc::unknown_name, {"expected one of the schemes", "\"fp8\""},
               [&] { (void)bytes_of(other); });
}
