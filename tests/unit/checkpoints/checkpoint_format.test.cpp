// SPDX-License-Identifier: MIT
#include <tq/checkpoints/checkpoint_format.hpp>
#include <tq/checkpoints/checkpoint_formats.hpp>

#include <array>
#include <set>
#include <string_view>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;

// The format of the concept's comment, which tq does not know.
struct ScaledRows {
  static constexpr std::string_view name = "scaled_rows";
  static constexpr std::array<std::string_view, 1> marks{".row_scale"}, part_names{marks};

  static bool find(tq::io::CheckpointSearch& search, const tq::io::TensorInfo& t) {
    if (!search.contains(t.name + ".row_scale")) return false;
    search.take(t.name, name, {{"weight", t.name}, {"scales", t.name + ".row_scale"}},
                [&](tq::io::CheckpointCandidate& found) {
                  if (!found.require_matrix(t, DType::i8)) return;
                  found.require("scales", DType::f32, {t.shape[0]});
                  found.weight.shape = t.shape;
                  found.weight.scheme = "int8 with scales of rows";
                });
    return true;
  }
  template <tq::Backend B>
  static tq::CheckpointTensor load(const tq::io::CheckpointParts<B>& parts) {
    tq::CheckpointTensor out;
    out.tensor.shape = tq::Shape(std::span<const std::size_t>(parts.weight().shape));
    out.tensor.codes = parts.codes("weight");
    out.tensor.scales = tq::Scales<float>(parts.floats("scales"));
    return out;
  }
};
static_assert(tq::io::CheckpointFormat<ScaledRows>);
static_assert(!tq::io::CheckpointFormat<int>);

using Formats = tq::Joined<tq::TypeList<ScaledRows>, tq::io::all_checkpoint_formats>;

}  // namespace

TEST_CASE("a format of a program's own is found and read beside those of tq",
          "[checkpoints][checkpoint_format]") {
  File file;
  file.add("a.w", {2, 3}, std::vector<std::int8_t>{1, -2, 3, 4, 5, -6});
  file.add("a.w.row_scale", {2}, std::vector<float>{0.5f, 2});
  file.add("b.weight", {2, 3}, std::vector<std::int8_t>(6, 7));
  file.add("b.SCB", {2}, std::vector<float>{127, 254});
  file.add("c.row_scale", {2}, std::vector<float>{1, 1});
  std::vector<tq::io::TensorInfo> list;
  for (const auto& [name, t] : file.tensors) list.push_back(info(name, t.dtype, t.shape));
  const auto found = tq::io::find_quantized<Formats>(list, file.reader());
  REQUIRE(found.weights.size() == 2);
  CHECK(found.left_alone.contains("c.row_scale"));
  const tq::io::CheckpointWeight& own = found.weights[0];
  CHECK(own.format == ScaledRows::name);
  const auto loaded = tq::io::load_checkpoint<tq::default_backend, Formats>(own, file.reader());
  CHECK(decode(loaded) == std::vector<float>{0.5f, -1, 1.5f, 8, 10, -12});
  check_layer(loaded);
  const auto other =
      tq::io::decode_checkpoint<tq::default_backend, Formats>(found.weights[1], file.reader());
  CHECK(other[0] == 7);
  // The lists of tq do not have it.
  CHECK(tq::io::find_quantized(list, file.reader()).weights.size() == 1);
  test::raises(tq::errc::unknown_name, {"tq::io::load_checkpoint", "gptq", "got \"scaled_rows\""},
               [&] { (void)tq::io::load_checkpoint(own, file.reader()); });
}

TEST_CASE("formats have names of their own, and their marks end names",
          "[checkpoints][checkpoint_format]") {
  const auto check = []<class... Fs>(tq::TypeList<Fs...>) {
    static_assert((tq::io::CheckpointFormat<Fs> && ...));
    CHECK(std::set<std::string_view>{Fs::name...}.size() == sizeof...(Fs));
    CHECK(((Fs::marks.size() > 0) && ...));
  };
  check(Formats{});
}
