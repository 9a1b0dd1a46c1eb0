// SPDX-License-Identifier: MIT
// Models and names at the edge of what memory, float32 and terminals hold.
#include "tool_test.hpp"

#include <tq/containers/npy.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

using namespace tool_test;

namespace {

void write(const std::string& path, const std::vector<Tensor>& tensors) {
  tq::io::write_safetensors(path, tensors);
}

Tensor doubles(const std::string& name, const std::vector<double>& values) {
  return tq::io::from_values<double>(name, {1, values.size()}, values);
}

}  // namespace

TEST_CASE("the codes of one tensor are in memory, not those of all") {
  const Folder folder("memory");
  write_zeros(folder("m.safetensors"), 64, {1024, 1024});  // 128 MiB of codes
  const Result r =
      run({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--type", "int16"},
          "ulimit -v 100000; ");
  INFO(r.err);
  CHECK(r.status == 0);
  fs::remove(folder("q.safetensors"));
}

TEST_CASE("a tensor that is larger than memory is worked on piece by piece") {
  const Folder folder("too_large");
  const std::string in = folder("m.safetensors");
  write_zeros(in, 1, {15500, 1024});  // 63 MB
  const std::string limit = "ulimit -v 60000; ";
  const std::string q = folder("q.safetensors"), b = folder("b.safetensors");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"quantize", in, q},
                                                  {"dequantize", q, b},
                                                  {"inspect", in, "--stats"},
                                                  {"compare", in, b},
                                                  {"sweep", in, "--types", "int8"},
                                                  {"calibrate", in, "-o", folder("p.json")}}) {
    INFO(command[0]);
    const Result r = run(command, limit);
    INFO(r.err);
    CHECK(r.status == 0);
  }
  fs::remove(b);
  // A .npy file is written whole.
  const Result r = run({"dequantize", q, folder("b.npy")}, limit);
  CHECK(r.status == 1);
  CHECK(has(r.err,
            "tensor \"w0\": expected memory for F32 [15500, 1024], 63488000 bytes, and for what is "
            "made of it, got too little"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors", "p.json", "q.safetensors"});
  fs::remove(q);
}

TEST_CASE("memory is kept from tensor to tensor") {
  const Folder folder("kept");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    b = folder("b.safetensors");
  constexpr std::size_t rows = 512, tensors = 24, mebi = std::size_t{1} << 20;
  write_zeros(in, tensors, {rows, 1024});  // of 2 MiB each
  // Twice the largest tensor, and 64 MiB.
  constexpr std::size_t most = 2 * rows * 1024 * 4 + 64 * mebi;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"quantize", in, q, "--type", "int4", "--group-size", "32"},
        {"dequantize", q, b},
        {"compare", in, b},
        {"sweep", in, "--types", "nvfp4"},
        {"calibrate", in, "-o", folder("p.json")}}) {
    INFO(command[0]);
    struct rusage before{}, after{};
    REQUIRE(::getrusage(RUSAGE_CHILDREN, &before) == 0);
    // Every large block of memory is a mapping of its own: what is given back comes back as new
    // pages.
    CHECK(run(command, "MALLOC_MMAP_THRESHOLD_=65536 ").status == 0);
    REQUIRE(::getrusage(RUSAGE_CHILDREN, &after) == 0);
    const auto pages = static_cast<std::size_t>(after.ru_minflt - before.ru_minflt);
    CHECK(pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) < most);
  }
}

TEST_CASE("very many tensors of one element", "[many]") {
  const Folder folder("many");
  constexpr std::size_t count = 200000;
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    b = folder("b.safetensors");
  {
    std::vector<tq::io::TensorDecl> declared;
    for (std::size_t i = 0; i < count; ++i)
      declared.push_back({"t" + std::to_string(i), DType::f32, {1, 1}});
    tq::io::SafetensorsWriter writer(in, declared);
    for (const tq::io::TensorInfo& t : writer.order()) {
      std::array<std::byte, 4> value;
      tq::io::store_le(value.data(), std::stof(t.name.substr(1)) - 100.0f);
      writer.write(t.name, value);
    }
    writer.finish();
  }
  succeed({"quantize", in, q, "--type", "int8", "--all"});
  CHECK(fs::file_size(q) < 12'000'000);
  CHECK(has(succeed({"inspect", q}), "200000 quantized"));
  succeed({"dequantize", q, b});
  const auto reader = tq::io::SafetensorsReader::open(b);
  REQUIRE(reader.tensors().size() == count);
  for (const std::size_t i :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, std::size_t{12345}, count - 1}) {
    const float x = static_cast<float>(i) - 100.0f;  // the one value is code 127, or 0
    const float back = tq::io::values<float>(reader.read("t" + std::to_string(i)))[0];
    CHECK(std::abs(back - x) <= 1e-6f * std::abs(x));
  }
  fs::remove(in);
  fs::remove(b);
}

TEST_CASE("values that float32 does not hold are compared and told as they are") {
  const Folder folder("wide");
  const std::string a = folder("a.safetensors"), b = folder("b.safetensors");
  const auto integers = [](std::vector<std::int64_t> values) {
    return tq::io::from_values<std::int64_t>("i", {values.size()}, values);
  };
  constexpr std::int64_t large = std::int64_t{1} << 60;
  write(a, {doubles("x", {1e300, 1}), doubles("y", {1, 1 + 0x1p-40}), integers({large, 7})});
  write(b, {doubles("x", {2e300, 1}), doubles("y", {1, 1}), integers({large + 1, 7})});
  const Json report = Json::parse(succeed({"compare", "--json", a, b}));
  std::map<std::string, Json> errors;
  for (const Json& t : report["tensors"]) errors[t["name"]] = t["error"];
  CHECK(errors["x"]["max_abs"] == 1e300);
  CHECK(std::abs(errors["x"]["sqnr_db"].get<double>()) < 1e-9);
  CHECK(errors["x"]["cosine"] == 1.0);
  CHECK(errors["y"]["max_abs"] == 0x1p-40);
  CHECK(errors["i"]["max_abs"] == 1.0);
  CHECK(report["total"]["worst_tensor"] == "x");

  write(a, {doubles("x", {-1e300, 1, std::nan(""), INFINITY}), integers({large + 1, -large - 3})});
  const Json listed = Json::parse(succeed({"inspect", "--stats", "--json", a}));
  for (const Json& t : listed["tensors"]) {
    if (t["name"] == "i") {
      CHECK(t["min"] == -large - 3);
      CHECK(t["max"] == large + 1);
      continue;
    }
    CHECK(t["min"] == -1e300);
    CHECK(t["max"] == 1.0);
    CHECK(t["nan"] == 1);
    CHECK(t["infinite"] == 1);
  }
}

TEST_CASE("values that float32 does not hold are not quantized in silence") {
  const Folder folder("beyond");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write(in, {doubles("x", {1, -0x1p200, 2})});
  const std::string beyond =
      "tensor \"x\": expected values that float32 holds, got -1.6069380442589903e+60, which would "
      "be infinite, in element 1; --exclude it";
  CHECK(has(fail(1, {"quantize", in, out}), beyond));
  CHECK(has(fail(1, {"sweep", in}), beyond));
  succeed({"quantize", in, out, "--allow-nonfinite"});
  write(in, {doubles("x", {0, 1e-60, -1e-50})});
  CHECK(has(fail(1, {"quantize", in, out}), "as the largest magnitude, which would be 0"));
  write(in, {doubles("x", {1, 1e-60, -1e-50}), doubles("zero", {0, 0})});
  succeed({"quantize", in, out});
}

TEST_CASE("a NaN is the worst of what is compared, wherever it is") {
  const Folder folder("worst");
  const auto floats = [](const std::string& name, float x) {
    return tq::io::from_float32(name, {2}, std::vector<float>{1, x});
  };
  const std::string a = folder("a.safetensors"), b = folder("b.safetensors");
  for (const std::string nan : {"a", "m", "z"}) {
    std::vector<Tensor> expected, actual;
    for (const std::string name : {"a", "m", "z"}) {
      expected.push_back(floats(name, 2));
      actual.push_back(floats(name, name == nan ? std::nanf("") : 2.5f));
    }
    write(a, expected);
    write(b, actual);
    const Json total = Json::parse(succeed({"compare", "--json", a, b}))["total"];
    CHECK(total["worst_tensor"] == nan);
    CHECK(total["worst_sqnr_db"].is_null());
    CHECK(total["max_abs"].is_null());
    CHECK(total["nonfinite"] == Json{{"worst_sqnr_db", "nan"}, {"max_abs", "nan"}});
    CHECK(has(succeed({"compare", a, b}), "lowest SQNR nan dB (" + nan + "), max error nan"));
  }
  // Equal values, and values of which none is right.
  write(a, {floats("a", 0), tq::io::from_float32("b", {2}, std::vector<float>{0, 0})});
  write(b, {floats("a", -0.0f), tq::io::from_float32("b", {2}, std::vector<float>{0, 1})});
  const Json tensors = Json::parse(succeed({"compare", "--json", a, b}))["tensors"];
  CHECK(tensors[0]["identical"] == false);
  CHECK(tensors[0]["error"]["sqnr_db"].is_null());
  CHECK(tensors[0]["error"]["nonfinite"] == Json{{"sqnr_db", "inf"}});
  CHECK(tensors[1]["error"]["nonfinite"] == Json{{"sqnr_db", "-inf"}});
}

TEST_CASE("names too long to match are refused by the options that match them") {
  const Folder folder("long_names");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write(in, {tensor(std::string(40000, 'a'), {2, 2}), tensor("w", {2, 2})});
  succeed({"quantize", in, out});
  for (const char* option : {"--include", "--exclude"})
    CHECK(has(fail(1, {"quantize", in, out, option, ".*b"}),
              "expected a name of at most 1000 bytes beside --include and --exclude, got 40000"));
  // Backtracking would take forever on these expressions, or a stack without end.
  write(in, {tensor(std::string(1000, 'a'), {2, 2}), tensor("bc", {2, 2})});
  succeed({"quantize", in, out, "--exclude", "(a*)*b", "--exclude", "(.|a|b)*c"});
}

TEST_CASE("what a terminal obeys is not printed") {
  const Folder folder("hidden");
  const std::string in = folder("m.safetensors");
  write(in, {tensor("a\xc2\x9b"
                    "31mb",
                    {1}),
             tensor("c\xe2\x80\xae"
                    "d",
                    {1}),
             tensor("e\xef\xbb\xbf\xe2\x81\xa6"
                    "f",
                    {1}),
             tensor("\xc3\xa9\xe2\x82\xac\n", {1})});
  const std::string text = succeed({"inspect", in});
  CHECK(has(text, "a?31mb "));
  CHECK(has(text, "c?d "));
  CHECK(has(text, "e??f "));
  CHECK(has(text, "\xc3\xa9\xe2\x82\xac? "));
  tq::io::write_npy(folder("g\xff\xc2.npy"), tensor("", {1}));
  CHECK(has(succeed({"inspect", folder("g\xff\xc2.npy")}), "g?? "));
}
