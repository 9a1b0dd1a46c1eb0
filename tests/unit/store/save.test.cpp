// SPDX-License-Identifier: MIT
// Saved tensors come back as they were; a failed save leaves the file that was there.
#include <tq/store/save.hpp>
#include <tq/store/stored_model.hpp>

#include <tq/containers/safetensors.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/ops/dequantize.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;

TEST_CASE("tensors of static and of run-time schemes and plain ones come back from one file") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  const std::vector<float> bias = noise(7, 3);
  std::vector<SavedTensor> saved{{"bias", bias}};
  for_each_scheme([&]<class P>(std::type_identity<P>) {
    saved.emplace_back("typed." + name_of_scheme<P>(), quantized<P>({6, 64}));
    saved.emplace_back("encoded." + name_of_scheme<P>(), to_encoded(quantized<P>({3, 2, 64})));
  });
  save(path, saved, {{"format", "pt"}});
  Model model(path);
  CHECK(model.tensors().size() == saved.size());
  CHECK(model.other_metadata() == io::Metadata{{"format", "pt"}});
  CHECK(model.load<float>("bias") == bias);
  for_each_scheme([&]<class P>(std::type_identity<P>) {
    INFO(name_of_scheme<P>());
    const std::string typed = "typed." + name_of_scheme<P>();
    const auto q = quantized<P>({6, 64});
    CHECK(load<P>(path, typed) == q);
    CHECK(is_same(load(path, typed), to_encoded(q)));
    const auto e = to_encoded(quantized<P>({3, 2, 64}));
    CHECK(is_same(load(path, "encoded." + name_of_scheme<P>()), e));
    CHECK(model.load<P>("encoded." + name_of_scheme<P>()) == to_quantized<P>(e));
    if constexpr (is_decoded<P>) {
      const std::vector<float> values = model.load<float>(typed), expected = dequantize(q);
      const auto bits = [](float v) { return std::bit_cast<int>(v); };
      CHECK(std::ranges::equal(values, expected, {}, bits, bits));
    }
    const StoredTensor& t = model.tensor(typed);
    CHECK(t.scheme() == name_of_scheme<P>());
    CHECK(t.shape == std::vector<std::size_t>{6, 64});
  });
}

TEST_CASE("a typed load of another scheme names both, for every pair of schemes") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  std::vector<SavedTensor> saved;
  for_each_scheme([&]<class P>(std::type_identity<P>) {
    saved.emplace_back(name_of_scheme<P>(), quantized<P>({2, 64}));
  });
  save(path, saved);
  StoredModel model = tq::open(path);
  for_each_scheme([&]<class P>(std::type_identity<P>) {
    for (const StoredTensor& t : model.tensors()) {
      if (t.name == name_of_scheme<P>()) continue;
      const std::string expected =
          "tensor \"" + t.name + "\": expected " + name_of_scheme<P>() + ", got " + t.name;
      test::raises(errc::bad_argument, {path.c_str(), expected.c_str()},
                   [&] { (void)model.load<P>(t.name); });
    }
  });
}

TEST_CASE("a typed load counts an axis from either end, and takes sizes that are open") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  EncodedTensor e = to_encoded(quantized<W4>({2, 64}));
  e.spec.axis = 1;
  save(path, {{"w", e}});
  CHECK(load<W4>(path, "w") == quantized<W4>({2, 64}));
  using Open = QuantParams<int4, PerGroup<dynamic, dynamic>, Symmetric>;
  CHECK(load<Open>(path, "w").params().granularity().size() == 32);
  using Groups64 = QuantParams<int4, PerGroup<64>, Symmetric>;
  test::raises(errc::bad_argument, {"per_group(64, axis -1)", "per_group(32, axis 1)"},
               [&] { (void)load<Groups64>(path, "w"); });
}

TEST_CASE("tensors without elements, of one element and of ranks 0 to 8") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  using Q8 = QuantParams<int8, PerTensor, Symmetric>;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{0, 32}, Shape{3, 0}, Shape{1, 1},
                             Shape{1, 1, 1, 2, 1, 1, 1, 3}}) {
    INFO(to_string(shape));
    const auto q = quantized<Q8>(shape);
    const std::vector<float> x = noise(shape.size());
    save(path, {{"q", q}, {"x", ConstTensorView(x.data(), shape)}});
    CHECK(load<Q8>(path, "q") == q);
    CHECK(is_same(load(path, "q"), to_encoded(q)));
    CHECK(floats(path, "x") == x);
    if (shape.rank() == 0) continue;
    const auto w = quantized<W4>(shape);
    save(path, {{"w", w}});
    CHECK(load<W4>(path, "w") == w);
  }
  save(path, std::vector<SavedTensor>{});
  CHECK(tq::open(path).tensors().empty());
}

TEST_CASE("plain tensors of every real type and any layout, and tensors of files") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  const std::vector<double> d{0.1, -2.5};
  const std::vector<bfloat16> b{bfloat16(1.5f)};
  const std::vector<float> x = noise(6);
  const ConstTensorView transposed(x.data(), {2, 3}, Strides{1, 2});
  const std::vector<std::int64_t> ids{-1, 5};
  save(path, {{"d", d},
              {"b", b},
              {"t", transposed},
              {"ids", io::from_values<std::int64_t>("other", {2}, ids)}});
  const auto reader = io::SafetensorsReader::open(path);
  CHECK(io::values<double>(reader.read("d")) == d);
  CHECK(reader.info("b").dtype == io::DType::bf16);
  CHECK(io::values<std::int64_t>(reader.read("ids")) == ids);
  CHECK(floats(path, "b") == std::vector<float>{1.5f});
  CHECK(floats(path, "t") == std::vector<float>{x[0], x[2], x[4], x[1], x[3], x[5]});
}

TEST_CASE("scales of super-blocks are saved as float32") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  using Six = SuperBlock<uint6, 8>;
  using P = QuantParams<uint4, PerGroup<32>, FloatOffset, Six>;
  using Floats = QuantParams<uint4, PerGroup<32>, FloatOffset>;
  const Scales<Six> scales({1, 2, 3, 63, 5, 6}, {0x3c01}), offsets({9, 8, 0, 6, 5, 4}, {0xb801});
  QuantizedTensor<P> q(Shape{3, 64}, P({}, scales, offsets));
  for (std::size_t i = 0; i < q.bytes().size(); ++i) q.bytes()[i] = static_cast<std::byte>(7 * i);
  const EncodedTensor encoded = to_encoded(q);
  save(path, {{"typed", q},
              {"moved", QuantizedTensor<P>(q)},
              {"encoded", encoded},
              {"moved.encoded", EncodedTensor(encoded)}});
  const std::vector<float> expected = dequantize(q);
  for (const char* name : {"typed", "moved", "encoded", "moved.encoded"}) {
    INFO(name);
    const auto back = load<Floats>(path, name);
    CHECK(dequantize(back) == expected);
    CHECK(std::ranges::equal(back.params().scales(), scales.values()));
    CHECK(std::ranges::equal(back.params().offsets(), offsets.values()));
  }
}

TEST_CASE("a quantized tensor keeps the type that it had") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  const auto q = quantized<W4>({2, 64});
  save(path, {{"w", q, io::DType::bf16}});
  Model model(path);
  const StoredTensor& t = model.tensor("w");
  CHECK(t.dtype == io::DType::bf16);
  CHECK(model.read(t).bytes ==
        io::from_float32("w", {2, 64}, dequantize(q), io::DType::bf16).bytes);
}

TEST_CASE("thousands of small tensors share a pool") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  using Q8 = QuantParams<int8, PerTensor, Symmetric>;
  std::vector<SavedTensor> saved{{"tq.pool", noise(3)}};
  for (std::size_t i = 0; i < 4096; ++i)
    saved.emplace_back("n" + std::to_string(i), quantized<Q8>({1 + i % 3}, unsigned(i)));
  saved.emplace_back("large", quantized<W4>({4, 64}));
  save(path, saved);
  CHECK(io::SafetensorsReader::open(path).info("tq.pool_").size_bytes != 0);
  StoredModel model = tq::open(path);
  CHECK(model.tensors().size() == saved.size());
  for (std::size_t i = 0; i < 4096; i += 455)
    CHECK(model.load<Q8>("n" + std::to_string(i)) == quantized<Q8>({1 + i % 3}, unsigned(i)));
  CHECK(model.load<W4>("large") == quantized<W4>({4, 64}));
}

TEST_CASE("what cannot be saved is refused, and the file that was there stays") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  spill(path, "old");
  const auto q = quantized<W4>({2, 64});
  const auto refused = [&](errc code, std::initializer_list<const char*> parts,
                           std::initializer_list<SavedTensor> tensors,
                           const io::Metadata& metadata = {}) {
    test::raises(code, parts, [&] { save(path, tensors, metadata); });
    CHECK(slurp(path) == "old");
    CHECK(folder.file_count() == 1);
  };
  refused(errc::bad_argument, {"m.safetensors", "tensor \"w\": expected a name used once"},
          {{"w", q}, {"w", q}});
  refused(errc::bad_argument,
          {"tensors \"w\" and \"w.scales\" would both be stored as \"w.scales\""},
          {{"w", q}, {"w.scales", noise(2)}});
  refused(errc::bad_argument, {"__metadata__"}, {{"__metadata__", noise(2)}});
  refused(errc::bad_argument, {"UTF-8"}, {{"\xff", q}});
  refused(errc::bad_argument, {"the pair \"tq\""}, {{"w", q}}, {{"tq", "{}"}});
  refused(errc::bad_argument, {"dtype", "got I8"}, {{"w", q, io::DType::i8}});
  refused(errc::shape_mismatch, {"tensor \"x\"", "expected 12 bytes for F32 [3], got 8"},
          {{"x", io::Tensor{"", io::DType::f32, {3}, std::vector<std::byte>(8)}}});
  const auto damaged = [&](errc code, const char* part, auto&& damage) {
    EncodedTensor e = to_encoded(q);
    damage(e);
    refused(code, {"tensor \"w\"", part}, {{"w", e}});
  };
  damaged(errc::shape_mismatch, "bytes of codes", [](EncodedTensor& e) { e.codes = {}; });
  damaged(errc::shape_mismatch, "scales", [](EncodedTensor& e) { e.scales = {}; });
  damaged(errc::bad_argument, "scales",
          [](EncodedTensor& e) { e.scales = Scales<float16>({1, 1, 1, 1}); });
  damaged(errc::shape_mismatch, "zero points",
          [](EncodedTensor& e) { e.zero_points = ZeroPoints<int4>(std::vector<std::int32_t>{1}); });
  damaged(errc::unknown_name, "int44", [](EncodedTensor& e) { e.spec.type = "int44"; });
  damaged(errc::bad_axis, "axis", [](EncodedTensor& e) { e.spec.axis = 2; });
  damaged(errc::bad_argument, "expected codes in [-7, 7]", [](EncodedTensor& e) {
    e.spec.symmetry = "symmetric_narrow";
    e.codes.data()[20] = std::byte{0x80};
  });
  test::raises(errc::bad_argument, {"a name ending in .safetensors, got \"m.npz\""},
               [&] { save(folder / "m.npz", {{"w", q}}); });
  test::raises(errc::io_failure, {"nowhere"},
               [&] { save(folder / "nowhere/m.safetensors", {{"w", q}}); });
  CHECK(folder.file_count() == 1);
}
