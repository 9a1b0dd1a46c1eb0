// SPDX-License-Identifier: MIT
#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/layouts/compressed_tensors.hpp>

#include <algorithm>
#include <type_traits>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;
namespace ct = tq::layouts::compressed_tensors;

enum class Zeros { none, packed, bytes, wide_bytes };

// A weight of N outputs and K inputs in groups of 32, and the values it stands for.
struct Packed {
  File file;
  std::vector<double> values;
};

template <class T>
Packed make(inputs::Random& r, std::size_t n, std::size_t k, Zeros kind, bool is_shuffled) {
  const std::size_t groups = (k + 31) / 32;
  std::vector<std::int8_t> codes(n * k);
  std::vector<std::int32_t> zeros(n * groups), g_idx(k);
  std::vector<float> scales(n * groups);
  for (auto& c : codes) c = static_cast<std::int8_t>(r.between(T::qmin, T::qmax));
  for (float& s : scales)
    s = r.chance(5) ? 0.0f : static_cast<float>(r.unit() - (r.chance(10) ? 1 : 0));
  for (auto& z : zeros)
    if (kind == Zeros::wide_bytes) z = r.between(-128, 127);
    else if (kind != Zeros::none) z = r.between(T::qmin, T::qmax);
  for (std::size_t i = 0; i < k; ++i) g_idx[i] = static_cast<std::int32_t>(i / 32);
  for (std::size_t i = k; is_shuffled && i-- > 1;) std::swap(g_idx[i], g_idx[r.below(i + 1)]);
  Packed out;
  out.file.hints.group_size = 32;
  std::vector<std::int32_t> words(ct::words_for<T, 1>(n, k));
  ct::store<T, 1>(n, k, codes, words);
  out.file.add("q.weight_packed", {n, words.size() / n}, words);
  out.file.add("q.weight_scale", {n, groups}, scales);
  out.file.add("q.weight_shape", {2}, std::vector<std::int64_t>{std::int64_t(n), std::int64_t(k)});
  if (is_shuffled) out.file.add("q.weight_g_idx", {k}, g_idx);
  if (kind == Zeros::packed) {
    std::vector<std::int32_t> packed(ct::words_for<T, 0>(n, groups));
    ct::store<T, 0, std::int32_t>(n, groups, zeros, packed);
    out.file.add("q.weight_zero_point", {packed.size() / groups, groups}, packed);
  } else if (kind != Zeros::none) {
    out.file.add("q.weight_zero_point", {n, groups},
                 std::vector<std::int8_t>(zeros.begin(), zeros.end()));
  }
  for (std::size_t i = 0; i < n * k; ++i) {
    const std::size_t p = i / k * groups + static_cast<std::size_t>(g_idx[i % k]);
    out.values.push_back(double{scales[p]} * (codes[i] - zeros[p]));
  }
  return out;
}

}  // namespace

TEST_CASE("integers of every width that compressed-tensors packs go to values and to layers",
          "[checkpoints][compressed_tensors]") {
  inputs::Random r(51);
  const auto check = [&]<class T>(T) {
    for (const Zeros zeros : {Zeros::none, Zeros::packed, Zeros::bytes, Zeros::wide_bytes})
      for (const bool is_shuffled : {false, true}) {
        INFO(T::name << (is_shuffled ? " shuffled" : "") << ", zeros " << int(zeros));
        const Packed w = make<T>(r, 5, is_shuffled ? 96 : 70, zeros, is_shuffled);
        const tq::CheckpointTensor loaded = w.file.load();
        const std::vector<float> values = decode(loaded);
        REQUIRE(values.size() == w.values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
          REQUIRE(values[i] == static_cast<float>(w.values[i]));
        check_layer(loaded);
      }
  };
  check(ct::int1{});
  check(tq::int2{});
  check(tq::int3{});
  check(tq::int4{});
  check(tq::int5{});
  check(tq::int7{});
  check(tq::int8{});
}

TEST_CASE("symmetric integers stay symmetric and as narrow as they are",
          "[checkpoints][compressed_tensors]") {
  inputs::Random r(52);
  Packed w = make<tq::int4>(r, 4, 64, Zeros::none, false);
  w.file.add("q.weight_scale", {4, 2}, std::vector<float>(8, 0.5f));
  const tq::CheckpointTensor loaded = w.file.load();
  CHECK(to_string(loaded.tensor.spec) == "int4 per_group(32, axis -1) symmetric");
  CHECK(loaded.tensor.codes.size() == 4 * 64 / 2);
  // An order of nothing but -1 is none.
  w.file.add("q.weight_g_idx", {64}, std::vector<std::int32_t>(64, -1));
  CHECK(w.file.load().input_order.empty());
}

TEST_CASE("one scale an output makes weights of integer layers",
          "[checkpoints][compressed_tensors]") {
  File file;
  std::vector<std::int32_t> words(8, 0x76543210);
  words[7] = static_cast<std::int32_t>(0xfedcba98u);
  file.add("q.weight_packed", {2, 4}, words);
  file.add("q.weight_scale", {2, 1}, std::vector<float>{0.5f, 2});
  file.add("q.weight_shape", {2}, std::vector<std::int64_t>{2, 32});
  const tq::CheckpointTensor loaded = file.load();
  CHECK(to_string(loaded.tensor.spec) == "int4 per_channel(axis 0) symmetric");
  const tq::ByteWeights weights = tq::byte_weights_of(loaded);
  CHECK(weights.scales()[1] == 2);
  for (int i = 0; i < 64; ++i) CHECK(weights.codes().data()[i] == i % 8 - (i < 56 ? 8 : 0));
}
