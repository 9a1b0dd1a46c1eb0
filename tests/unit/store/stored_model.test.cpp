// SPDX-License-Identifier: MIT
// Models are read tensor by tensor; damage is an error before it is a wrong number.
#include <tq/store/stored_model.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;

namespace {

using Narrow = QuantParams<int4, PerGroup<32>, SymmetricNarrow>;

// Replaces a text that occurs once by another of the same length.
void replace(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = slurp(path);
  REQUIRE(from.size() == to.size());
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  spill(path, text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("a name that is not there is an error with the closest one") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  save(path, {{"fc1.weight", quantized<W4>({2, 64})}, {"fc1.bias", noise(2)}});
  test::raises(
      errc::unknown_name,
      {path.c_str(), "one of 2 tensors, got \"fc1.wieght\"", "did you mean \"fc1.weight\""},
      [&] { (void)load<W4>(path, "fc1.wieght"); });
  test::raises(errc::unknown_name, {"\"\""}, [&] { (void)load(path, ""); });
}

TEST_CASE("a tensor that is not quantized has values and no scheme") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  save(path, {{"b", noise(4)}});
  test::raises(errc::bad_argument,
               {"tensor \"b\": expected int4 per_group(32, axis -1) symmetric, got F32, which is "
                "not quantized"},
               [&] { (void)load<W4>(path, "b"); });
  test::raises(errc::bad_argument, {"expected a tensor that tq quantized, got F32"},
               [&] { (void)load(path, "b"); });
  CHECK(floats(path, "b") == noise(4));
}

TEST_CASE("a file that is cut anywhere is malformed") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  save(path, {{"w", quantized<W4>({2, 64})}, {"b", noise(4)}});
  const std::string whole = slurp(path);
  for (std::size_t size = 0; size < whole.size(); size += size < 8 ? 1 : 7) {
    INFO(size);
    spill(path, whole.substr(0, size));
    CHECK(io_test::outcome([&] { return load<W4>(path, "w").size(); }).code == errc::malformed);
  }
  spill(path, whole + "x");
  CHECK(io_test::outcome([&] { return load<W4>(path, "w").size(); }).code == errc::malformed);
  CHECK(io_test::outcome([&] { return load<W4>(folder / "no.safetensors", "w").size(); }).code ==
        errc::io_failure);
}

TEST_CASE("a file that shrinks while it is open is an error of the disk") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  save(path, {{"w", quantized<W4>({2, 64})}});
  StoredModel model = tq::open(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 70);
  test::raises(errc::io_failure, {path.c_str(), "tensor \"w\""}, [&] { (void)model.load("w"); });
}

TEST_CASE("a description that its file contradicts is refused") {
  const TempDir folder;
  const auto path = folder / "m.safetensors";
  const auto damaged = [&](errc code, const char* part, const std::string& from,
                           const std::string& to) {
    save(path, {{"w", quantized<Narrow>({2, 64})}});
    replace(path, from, to);
    test::raises(code, {path.c_str(), part}, [&] { (void)load<Narrow>(path, "w"); });
    test::raises(code, {path.c_str(), part}, [&] { (void)load(path, "w"); });
  };
  damaged(errc::unsupported, "version", R"(\"version\":2)", R"(\"version\":9)");
  damaged(errc::malformed, "expected U8 [60]", R"(\"shape\":[2,64])", R"(\"shape\":[2,60])");
  damaged(errc::malformed, "w.scales", R"("w.scales")", R"("w.scale_")");
  damaged(errc::unknown_name, "int9", R"(\"type\":\"int4\")", R"(\"type\":\"int9\")");
  damaged(errc::malformed, "dtype", R"(\"dtype\":\"F32\")", R"(\"dtype\":\"I32\")");
  // Codes and scales that the scheme does not have: the last bytes are codes, scales are before.
  const auto with_bytes = [&](errc code, const char* part, std::size_t from_end,
                              const char* bytes) {
    save(path, {{"w", quantized<Narrow>({2, 64})}});
    std::string text = slurp(path);
    text.replace(text.size() - from_end, 4, bytes, 4);
    spill(path, text);
    test::raises(code, {path.c_str(), "tensor \"w\"", part},
                 [&] { (void)load<Narrow>(path, "w"); });
    test::raises(code, {path.c_str(), "tensor \"w\"", part}, [&] { (void)load(path, "w"); });
  };
  with_bytes(errc::bad_argument, "expected codes in [-7, 7]", 4, "\x11\x11\x11\x81");
  with_bytes(errc::bad_scale, "positive finite scales", 64 + 4, "\x00\x00\xc0\x7f");
  with_bytes(errc::bad_scale, "positive finite scales", 64 + 16, "\x00\x00\x00\x80");
}

TEST_CASE("a model in shards is read from its folder and from its index, without hidden files") {
  const TempDir folder;
  save(folder / "1.safetensors", {{"a", quantized<W4>({2, 64})}});
  save(folder / "2.safetensors", {{"b", quantized<W4>({2, 64}, 2)}, {"c", noise(3)}});
  const auto index = folder / "m.safetensors.index.json";
  spill(folder / "._m.safetensors.index.json", "of macOS");
  spill(index, R"({"metadata": {}, "weight_map": {"a.codes": "1.safetensors",
    "a.scales": "1.safetensors", "b.codes": "2.safetensors", "b.scales": "2.safetensors",
    "c": "2.safetensors"}})");
  for (const auto& path : {folder.path(), index}) {
    StoredModel model = tq::open(path), other = model.another();
    CHECK(model.tensors().size() == 3);
    CHECK(model.load<W4>("b") == quantized<W4>({2, 64}, 2));
    CHECK(other.load<W4>("a") == quantized<W4>({2, 64}));
    CHECK(floats(path, "c") == noise(3));
    CHECK(model.find("c")->spec() == nullptr);
    CHECK(model.find("c")->scheme() == "F32");
  }
  std::filesystem::remove(index);
  test::raises(errc::bad_argument, {"got 2 files", "1 hidden"},
               [&] { (void)tq::open(folder.path()); });
}
