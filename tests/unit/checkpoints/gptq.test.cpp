// SPDX-License-Identifier: MIT
#include <tq/checkpoints/gptq.hpp>
#include <tq/layouts/gptq.hpp>

#include <numeric>
#include <type_traits>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;
using tq::layouts::gptq::V1;
using tq::layouts::gptq::V2;

// The group size of a weight of K inputs and G groups.
std::size_t group_size(std::size_t k, std::size_t groups,
                       const tq::io::CheckpointHints& hints = {}) {
  const auto found =
      find({info("q.qweight", DType::i32, {k / 8, 8}), info("q.qzeros", DType::i32, {groups, 1}),
            info("q.scales", DType::f16, {groups, 8})},
           hints);
  return found.weights.empty() ? 0 : found.weights[0].group_size;
}

// A weight in a file, and the values it stands for.
struct Weight {
  File file;
  std::vector<double> values;  // [N, K]
};

template <class T, class V>
Weight make(inputs::Random& r, std::size_t k, std::size_t n, std::size_t size, bool is_shuffled) {
  const tq::GroupedShape shape{k, n, size};
  const std::size_t groups = shape.groups();
  std::vector<std::uint8_t> codes(k * n);
  std::vector<std::int32_t> zeros(groups * n), g_idx(k);
  std::vector<float> scales(groups * n);
  for (auto& c : codes) c = static_cast<std::uint8_t>(r.between(0, T::qmax));
  for (auto& z : zeros) z = r.between(V::lowest_zero_point, T::qmax);
  // Dead and negative groups are in such files.
  for (float& s : scales)
    s = r.chance(5) ? 0.0f : static_cast<float>(r.unit() - (r.chance(10) ? 1 : 0));
  for (std::size_t i = 0; i < k; ++i) g_idx[i] = static_cast<std::int32_t>(i / size);
  for (std::size_t i = k; is_shuffled && i-- > 1;) std::swap(g_idx[i], g_idx[r.below(i + 1)]);
  std::vector<std::int32_t> qweight(tq::layouts::gptq::qweight_words<T>(shape)),
      qzeros(tq::layouts::gptq::qzeros_words<T>(shape));
  tq::layouts::gptq::store<T, V>(shape, codes, zeros, qweight, qzeros);
  Weight out;
  out.file.hints.group_size = size;
  out.file.hints.is_gptq_v2 = std::is_same_v<V, V2>;
  out.file.add("q.qweight", {qweight.size() / n, n}, qweight);
  out.file.add("q.qzeros", {groups, qzeros.size() / groups}, qzeros);
  out.file.add("q.scales", {groups, n}, scales);
  if (is_shuffled) out.file.add("q.g_idx", {k}, g_idx);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t p = static_cast<std::size_t>(g_idx[i]) * n + j;
      out.values.push_back(double{scales[p]} * (codes[i * n + j] - zeros[p]));
    }
  return out;
}

}  // namespace

TEST_CASE("the size of groups follows from the shapes, from the hints, or is asked for",
          "[checkpoints][gptq]") {
  CHECK(group_size(4096, 32) == 128);
  CHECK(group_size(4096, 1) == 4096);
  CHECK(group_size(4160, 33) == 128);  // the last of 64
  CHECK(group_size(96, 2) == 0);       // 48, or 64 and 32
  CHECK(group_size(96, 2, {.group_size = 64}) == 64);
  CHECK(group_size(96, 2, {.group_size = 48}) == 48);
  CHECK(group_size(96, 2, {.group_size = 32}) == 0);  // not of this weight
  CHECK(group_size(4096, 32, {.group_size = 64}) == 0);
  const auto found =
      find({info("q.qweight", DType::i32, {12, 8}), info("q.qzeros", DType::i32, {2, 1}),
            info("q.scales", DType::f16, {2, 8})});
  CHECK(found.left_alone.at("q.scales").is_unreadable);
  CHECK(found.left_alone.at("q.scales").reason.find("2 groups of 96 inputs") != std::string::npos);
}

TEST_CASE("GPTQ weights of every width go to values and to layers, their inputs in any order",
          "[checkpoints][gptq]") {
  inputs::Random r(31);
  const auto check = [&]<class T, class V>(T, V) {
    for (const bool is_shuffled : {false, true})
      for (const std::size_t size : {std::size_t{16}, std::size_t{64}, std::size_t{96}}) {
        INFO(T::name << " groups of " << size << (is_shuffled ? " shuffled" : ""));
        const Weight w = make<T, V>(r, 96, 32, size, is_shuffled);
        const tq::CheckpointTensor loaded = w.file.load();
        CHECK(loaded.tensor.spec.type == T::name);
        CHECK(loaded.tensor.shape == tq::Shape{32, 96});
        CHECK(loaded.input_order.empty() == (!is_shuffled || size == 96));
        const std::vector<float> values = decode(loaded);
        REQUIRE(values.size() == w.values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
          REQUIRE(values[i] == static_cast<float>(w.values[i]));
        check_layer(loaded);
      }
  };
  check(tq::uint2{}, V1{});
  check(tq::uint3{}, V1{});
  check(tq::uint4{}, V1{});
  check(tq::uint4{}, V2{});
  check(tq::uint8{}, V2{});
}

TEST_CASE("symmetric GPTQ weights of version 2 are not taken for version 1",
          "[checkpoints][gptq]") {
  inputs::Random r(32);
  Weight w = make<tq::uint4, V1>(r, 64, 16, 32, false);
  w.file.add("q.qzeros", {2, 2}, std::vector<std::int32_t>(4, std::int32_t(0x88888888u)));
  test::raises(tq::errc::unsupported, {"tq::io::load_checkpoint", "qzeros of 8", "gptq_v2"},
               [&] { (void)w.file.values(); });
  w.file.hints.is_gptq_v2 = true;
  CHECK(w.file.values().size() == 64 * 16);
}

TEST_CASE("groups of g_idx that are no groups, and scales that cannot be meant, are errors",
          "[checkpoints][gptq]") {
  inputs::Random r(33);
  Weight w = make<tq::uint4, V1>(r, 64, 16, 32, true);
  File uneven = w.file, outside = w.file, scales = w.file;
  std::vector<std::int32_t> g_idx(64, 0);
  uneven.add("q.g_idx", {64}, g_idx);
  test::raises(tq::errc::unsupported, {"32 inputs in group 0", "got more"},
               [&] { (void)uneven.load(); });
  g_idx[7] = 2;
  outside.add("q.g_idx", {64}, g_idx);
  test::raises(tq::errc::bad_argument, {"[0, 2)", "got 2 for input 7"},
               [&] { (void)outside.load(); });
  std::vector<float> bad(32, 1.0f);
  bad[16 + 3] = std::nanf("");
  scales.add("q.scales", {2, 16}, bad);
  test::raises(tq::errc::bad_scale, {"got nan for group 1 of output 3"},
               [&] { (void)scales.load(); });
}
