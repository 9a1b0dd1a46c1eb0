// SPDX-License-Identifier: MIT
// Values at the ends of their type through the tool: what goes in finite comes back finite, and
// what is reported is of that.
#include "tool_test.hpp"

#include <tq/containers/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace tool_test;

namespace {

// A mask of that constant and its negative among ordinary values, in groups with and without it.
Tensor mask(float constant, DType dtype) {
  std::vector<float> x = noise(4 * 96);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i / 32 % 3 != 2 && i % 5 < 2) x[i] = i % 5 == 0 ? constant : -constant;
  return tq::io::from_float32("w", {4, 96}, x, dtype);
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  const Json known = Json::parse(succeed({"formats", "--json"}));
  for (const char* what : {"formats", "schemes"})
    for (const Json& f : known[what]) list.push_back(f["name"]);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

double number(const Json& v) {
  return v.is_null() ? std::numeric_limits<double>::infinity() : v.get<double>();
}

// Through a file and back, in every way the tool has.
void check(const Folder& folder, const std::string& in, const std::vector<std::string>& scheme) {
  const std::string q = folder("q.safetensors"), d = folder("d.safetensors");
  std::vector<std::string> command{"quantize", in, q, "--all", "--json"};
  command.insert(command.end(), scheme.begin(), scheme.end());
  const Json reported = Json::parse(succeed(command))["tensors"][0]["error"];
  succeed({"dequantize", q, d});
  const auto back = tq::io::SafetensorsReader::open(d).read("w");
  CHECK(back.dtype == tq::io::SafetensorsReader::open(in).read("w").dtype);
  std::size_t infinite = 0;
  for (const float v : tq::io::to_float32(back)) infinite += std::isfinite(v) ? 0u : 1u;
  CHECK(infinite == 0);
  const Json is = Json::parse(succeed({"compare", "--json", in, d}))["tensors"][0]["error"];
  CHECK(number(reported["sqnr_db"]) == number(is["sqnr_db"]));
  CHECK(number(reported["max_abs"]) == number(is["max_abs"]));
  CHECK(reported["mse"] == is["mse"]);
}

}  // namespace

TEST_CASE("mask constants of float16 and bfloat16 come back finite in every scheme, as reported") {
  const Folder folder("masks");
  const std::vector<std::string> all = names();
  CHECK(all.size() > 50);
  const std::string half = folder("half.safetensors"), brain = folder("brain.safetensors"),
                    full = folder("full.safetensors");
  tq::io::write_safetensors(half, std::vector<Tensor>{mask(65504.0f, DType::f16)});
  tq::io::write_safetensors(brain, std::vector<Tensor>{mask(0x1.fep127f, DType::bf16)});
  tq::io::write_safetensors(
      full, std::vector<Tensor>{mask(std::numeric_limits<float>::max(), DType::f32)});
  for (const std::string& name : all) {
    if (name == "float8_e8m0fnu") continue;  // has no negative numbers
    INFO(name);
    check(folder, half, {"--type", name});
    if (name != "int32") check(folder, full, {"--type", name});
  }
  for (const char* type : {"uint4", "int8", "iq4_nl", "float16", "nf4"})
    for (const char* scales :
         {"float32", "bfloat16", "float8_e4m3fn_two_level", "double_quantized"}) {
      INFO(type << " with scales " << scales);
      const std::vector<std::string> scheme{"--type", type,           "--group-size",
                                            "32",     "--scale-type", scales};
      check(folder, half, scheme);
      check(folder, brain, scheme);
      check(folder, full, scheme);
    }
}

TEST_CASE("sweep measures what comes back, of values at the ends of float32 too") {
  const Folder folder("swept");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  for (const auto& [constant, dtype] : {std::pair{65504.0f, DType::f16},
                                        std::pair{std::numeric_limits<float>::max(), DType::f32}}) {
    tq::io::write_safetensors(in, std::vector<Tensor>{mask(constant, dtype)});
    const Json report = Json::parse(succeed({"sweep", "--json", in}));
    CHECK(report["schemes"].size() > 20);
    for (const Json& s : report["schemes"]) {
      INFO(s.dump());
      CHECK_FALSE(s.contains("error"));
      const Json one =
          Json::parse(succeed({"quantize", in, q, "--all", "--json", "--type", s["name"]}));
      const double reported = number(one["tensors"][0]["error"]["sqnr_db"]),
                   swept = number(s["sqnr_db"]);
      CHECK((swept == reported ||
             std::abs(swept - reported) <= 1e-6));  // infinite where nothing is lost
    }
  }
}

TEST_CASE("a tensor that a scheme cannot do is a row of the sweep that says so") {
  const Folder folder("cannot");
  const std::string in = folder("m.safetensors");
  tq::io::write_safetensors(
      in, std::vector<Tensor>{tensor("deep", {2, 1, 1, 1, 1, 1, 1, 1, 2}), tensor("w", {4, 64})});
  const Json report =
      Json::parse(succeed({"sweep", "--json", "--per-tensor", "--types", "int8,nf4_double", in}));
  REQUIRE(report["schemes"].size() == 2);
  for (const Json& s : report["schemes"]) {
    CHECK(has(s["error"], "deep"));
    CHECK(has(s["error"], "rank"));
    CHECK(s["sqnr_db"].is_null());
    CHECK(s["best"] == false);
    for (const Json& t : s["tensors"]) {
      CHECK(t.contains("error") == (t["name"] == "deep"));
      CHECK(t["sqnr_db"].is_null() == (t["name"] == "deep"));
    }
  }
  const std::string text = succeed({"sweep", "--types", "int8,nf4_double", in});
  CHECK(has(text, "nf4_double"));
  CHECK(has(text, "deep"));
}
