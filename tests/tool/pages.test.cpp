// SPDX-License-Identifier: MIT
// Pictures of the pages of tq: axes have labels that tell numbers apart, whatever was observed; the
// page of a model of many tensors stays small.
#include "tool_test.hpp"

#include <cmath>
#include <regex>

using namespace tool_test;

namespace {

std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i)
    out.push_back((*i)[1]);
  return out;
}

// The pictures of a page of tq plot: labels of the axis of values, and of that of counts.
struct Labels {
  std::vector<std::string> values, counts;
};
std::vector<Labels> labels_of(const std::string& page) {
  static const std::regex tick("class=\"tick\"/><text [^>]*>([^<]*)</text>"),
      count("class=\"count\">([^<]*)</text>");
  std::vector<Labels> out;
  const std::string begin = "<svg class=\"picture";
  for (std::size_t at = page.find(begin); at != std::string::npos;) {
    const std::size_t next = page.find(begin, at + 1);
    const std::string svg = page.substr(at, next - at);
    Labels labels{found(svg, tick), found(svg, count)};
    std::erase(labels.values, "value");
    std::erase(labels.counts, "values per column");
    out.push_back(std::move(labels));
    at = next;
  }
  return out;
}

void check_different(const std::vector<std::string>& labels) {
  CHECK(labels.size() >= 2);
  CHECK(labels.size() <= 16);
  CHECK(std::set<std::string>(labels.begin(), labels.end()).size() == labels.size());
}

}  // namespace

TEST_CASE("every axis of plot has labels that differ: constants, tiny ranges and huge ones") {
  const Folder folder("axes");
  std::vector<Tensor> tensors;
  const auto add = [&](const std::string& name, std::vector<float> x) {
    const std::size_t n = x.size();
    tensors.push_back(tq::io::from_float32(name, {n}, x));
  };
  const std::vector<float> some = noise(2000);
  const auto mapped = [&](auto&& f) {
    std::vector<float> x = some;
    for (float& v : x) v = f(v);
    return x;
  };
  add("relu", mapped([](float v) { return v < 0 ? 0.0f : 1.25f * v; }));
  add("relu6", mapped([](float v) { return std::min(6.0f, std::max(0.0f, 20 * v)); }));
  add("negative", mapped([](float v) { return -std::abs(v) - 3; }));
  add("tiny", mapped([](float v) { return 1e-30f * v; }));
  add("subnormal", mapped([](float v) { return 1e-41f * v; }));
  add("huge", mapped([](float v) { return 3e38f * v; }));
  add("thin", mapped([](float v) { return 1000.0f + 1e-3f * v; }));
  add("one_step", mapped([](float v) { return v < 0 ? 1.0f : std::nextafter(1.0f, 2.0f); }));
  add("outlier", mapped([](float v) { return v > 0.998f ? 1e6f : v; }));
  add("constant", std::vector<float>(100, 2.5f));
  add("constant_negative", std::vector<float>(100, -1e-20f));
  add("zeros", std::vector<float>(100, 0.0f));
  add("single", {3.0f});
  add("largest", {3.4028234e38f, -3.4028234e38f, 0.0f});
  tq::io::write_safetensors(folder("m.safetensors"), tensors);
  succeed({"calibrate", folder("m.safetensors"), "--observer", "histogram", "--state",
           folder("s.json"), "--granularity", "per_tensor"});
  for (const char* type : {"int8", "uint4"}) {
    succeed({"plot", folder("s.json"), "-o", folder("p.html"), "--type", type});
    const auto pictures = labels_of(content(folder("p.html")));
    REQUIRE(pictures.size() >= 2 * tensors.size());
    for (const Labels& picture : pictures) {
      INFO(picture.values.size() << ' ' << (picture.values.empty() ? "" : picture.values[0]));
      check_different(picture.values);
      check_different(picture.counts);
    }
  }
}

TEST_CASE("the page of a report of 20 000 tensors is small, and its picture has few points",
          "[many]") {
  const Folder folder("report_20000");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    page = folder("r.html");
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < 20000; ++i)
    tensors.push_back(tensor("model.layers." + std::to_string(i / 4) + ".self_attn." +
                                 "qkvo"[i % 4] + std::string("_proj.weight"),
                             {2, 16}, DType::f32, i));
  tq::io::write_safetensors(in, tensors);
  succeed({"quantize", in, out, "--type", "int4", "--quiet"});
  succeed({"report", in, out, "-o", page, "--quiet"});
  const std::string text = content(page);
  CHECK(text.size() < 3000000);
  std::size_t points = 0;
  for (std::size_t at = 0; (at = text.find("<circle ", at)) != std::string::npos; ++at) ++points;
  CHECK(points >= 2);
  CHECK(points <= 1000);
  CHECK(has(text, "20\u202f000 tensors"));
  CHECK(has(text, "[\"model.layers.N.self_attn.q_proj.weight\",5000,"));
  CHECK(has(text, "[\"model.layers.4999\",4,"));
}
