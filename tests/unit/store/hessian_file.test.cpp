// SPDX-License-Identifier: MIT
#include <tq/containers/npz_writer.hpp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/hessians.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

using namespace tq;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t width = 6;

std::vector<float> tokens(unsigned seed, std::size_t count = 20) {
  return ptq_test::activations(count, width, seed);
}
ConstTensorView view_of(const std::vector<float>& x) {
  return {x.data(), {x.size() / width, width}};
}
Hessian hessian_of(const std::vector<float>& x, int bits = 14) {
  Hessian h(ptq_test::ranges_of(view_of(x)), bits);
  h.add(view_of(x));
  return h;
}
void write(const fs::path& path, const std::map<std::string, Hessian>& all) {
  HessianWriter writer(path);
  for (const auto& [name, h] : all) writer.add(name, h);
  writer.finish();
}
io::Tensor array_of(const std::string& name, const std::vector<float>& x) {
  return io::from_float32(name, {x.size() / width, width}, x);
}

}  // namespace

TEST_CASE("Hessians are stored, read back and continued with the same bits") {
  const TempDir folder;
  const std::vector<float> x = tokens(1, 40);
  const Hessian whole = hessian_of(x), wide = hessian_of(tokens(2), 16);
  const ptq_test::Ranges range = ptq_test::ranges_of(view_of(x));
  Hessian part(range);
  part.add(view_of(x).slice(0, 0, 13));
  write(folder / "h.npz",
        {{"layers.0/fc1", part}, {"fc2.weight", wide}, {"empty", Hessian(range)}});

  const HessianFile file(folder / "h.npz");
  CHECK(file.names() == std::vector<std::string>{"empty", "fc2.weight", "layers.0/fc1"});
  CHECK(file.read("fc2.weight") == wide);
  CHECK(file.read("empty").tokens() == 0);
  Hessian continued = file.read("layers.0/fc1");
  CHECK(continued == part);
  continued.add(view_of(x).slice(0, 13, 40));
  CHECK(continued == whole);
  CHECK(test::refused(errc::unknown_name, [&] { (void)file.read("fc2.weights"); }) ==
        (folder / "h.npz").string() +
            ": expected the name of a Hessian, got \"fc2.weights\"; did you mean \"fc2.weight\"?");
}

TEST_CASE("files that are none of Hessians are refused") {
  const TempDir folder;
  const fs::path path = folder / "h.npz";
  const auto refuses = [&](std::vector<io::Tensor> tensors, const char* text) {
    io::write_npz(path, tensors);
    test::raises(errc::malformed, {path.c_str(), text}, [&] { (void)HessianFile(path).read("w"); });
  };
  const auto counts = [](std::uint64_t bits, std::uint64_t count) {
    const std::uint64_t all[]{bits, count, 0};
    return io::from_values<std::uint64_t>("w.counts", {3}, all);
  };
  const std::int32_t exponents[]{-3, 0};
  const std::int64_t sums[]{5, 1, 4};
  const io::Tensor e = io::from_values<std::int32_t>("w.exponents", {2}, exponents),
                   s = io::from_values<std::int64_t>("w.sums", {3}, sums);
  io::write_npz(path, std::vector{counts(14, 2), e, s});
  CHECK(HessianFile(path).read("w").tokens() == 2);
  refuses({counts(14, 2), e}, "expected the counts, exponents and sums of each Hessian, got 2");
  refuses({counts(14, 2), e, s, io::from_values<std::int64_t>("v", {3}, sums)},
          "expected Hessians, got tensor \"v\"");
  refuses({counts(13, 2), e, s}, "Hessian \"w\": tq::Hessian::from_state: expected 14 or 16 bits");
  refuses({counts(14, 0), e, s}, "expected sums of 0 products within their range");
  refuses({counts(14, 2), e, io::from_values<std::int64_t>("w.sums", {2}, {sums, 2})},
          "expected 3 sums of 2 inputs, got 2");
  refuses({counts(14, 2), io::from_values<std::int64_t>("w.exponents", {3}, sums), s},
          "tensor \"w.exponents\": expected I32 of one axis, got I64 [3]");
  CHECK_THROWS_AS(HessianFile(folder / "none.npz"), error);
}

TEST_CASE("Hessians of activations are those of all batches") {
  const TempDir folder;
  const std::vector<float> a = tokens(1), b = tokens(2, 30), c = tokens(3);
  std::vector<float> all = a;
  all.insert(all.end(), b.begin(), b.end());
  fs::create_directory(folder / "acts");
  io::write_npz(folder / "acts" / "1.npz", std::vector{array_of("fc1", a), array_of("fc2", c)});
  io::write_npz(folder / "acts" / "2.npz", std::vector{array_of("fc1", b)});
  const Hessians made = Hessians::of_activations({(folder / "acts").string()});
  CHECK(made.names() == std::vector<std::string>{"fc1", "fc2"});
  CHECK(made.get("fc1") == hessian_of(all));
  CHECK(made.get("fc2") == hessian_of(c));
  CHECK(made.name_for("fc2.weight") == "fc2");
  CHECK(made.name_for("fc2") == "fc2");
  CHECK(!made.name_for("fc3.weight"));
  CHECK(Hessians::of_activations({(folder / "acts").string()}, {.bits = 16}).get("fc2") ==
        hessian_of(c, 16));
  test::raises(errc::bad_argument, {"1.npz", "once", "twice"}, [&] {
    static_cast<void>(Hessians::of_activations(
        {(folder / "acts").string(), (folder / "acts" / "." / "1.npz").string()}));
  });

  // Batches of two runs, with the steps of the first.
  const Hessians more =
      Hessians::of_activations({(folder / "acts" / "2.npz").string()},
                               {.start = [&](const std::string&) -> std::optional<Hessian> {
                                 Hessian h(ptq_test::ranges_of(view_of(all)));
                                 h.add(view_of(a));
                                 return h;
                               }});
  CHECK(more.get("fc1") == hessian_of(all));

  write(folder / "h.npz", {{"fc1", made.get("fc1")}});
  CHECK(Hessians::of_file(folder / "h.npz").get("fc1") == hessian_of(all));
  const Hessians held({{"fc1", made.get("fc1")}});
  CHECK(held.get("fc1") == hessian_of(all));
  CHECK(held.digest() != Hessians({{"fc1", hessian_of(c)}}).digest());
  test::raises(errc::unknown_name, {"expected the name of a Hessian, got \"fc\""},
               [&] { (void)held.get("fc"); });
}

TEST_CASE("activations that make no Hessian are refused") {
  const TempDir folder;
  io::write_npz(folder / "a.npz", std::vector{array_of("fc1", tokens(1))});
  io::write_npz(folder / "b.npz",
                std::vector{io::from_float32("fc1", {3, 2}, std::vector<float>(6))});
  io::write_npz(folder / "ids.npz", std::vector{io::from_values<std::int64_t>(
                                        "ids", {1}, std::vector<std::int64_t>{1})});
  test::raises(
      errc::shape_mismatch, {"b.npz: tensor \"fc1\": expected [..., 6], as in ", "[3, 2]"}, [&] {
        (void)Hessians::of_activations({(folder / "a.npz").string(), (folder / "b.npz").string()});
      });
  test::raises(errc::no_data, {"ids.npz", "expected float tensors [..., inputs], got none"},
               [&] { (void)Hessians::of_activations({(folder / "ids.npz").string()}); });
  test::raises(errc::bad_argument, {"expected 14 or 16 bits, got 8"},
               [&] { (void)Hessians::of_activations({(folder / "a.npz").string()}, {.bits = 8}); });
  io::write_npz(folder / "none.npz",
                std::vector{io::from_float32("fc1", {0, 6}, std::vector<float>())});
  test::raises(errc::no_data, {"tensor \"fc1\": tq::Hessian: expected the range of inputs"}, [&] {
    (void)Hessians::of_activations({(folder / "none.npz").string()}).get("fc1");
  });
}
