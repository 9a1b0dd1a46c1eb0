// SPDX-License-Identifier: MIT
// tq report: that it tells what tq quantize told, of which files it may be asked, and what its page
// holds.
#include "tool_test.hpp"

#include <tq/containers/npz_writer.hpp>

#include <algorithm>
#include <cmath>

using namespace tool_test;

namespace {

const char* const shipped[] = {"digits/digits_cnn.safetensors", "digits/digits_cnn_bn.safetensors",
                               "silero_vad/silero_vad_16k.safetensors",
                               "stories260k/stories260k.safetensors"};

std::string shipped_model(const std::string& file) { return golden("../../examples/data/" + file); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Json quantized(const std::string& in, const std::string& out, std::vector<std::string> options) {
  options.insert(options.begin(), {"quantize", in, out, "--json"});
  return Json::parse(succeed(options));
}

Json reported(const std::string& in, const std::string& out, const std::string& page) {
  return Json::parse(succeed({"report", in, out, "-o", page, "--json"}));
}

// The data that the page has for its script, and the names of tensors in it.
Json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}
std::vector<std::string> names_of(const Json& data) {
  std::vector<std::string> names;
  for (const Json& t : data["tensors"])
    names.push_back((names.empty() ? "" : names.back().substr(0, t[0].get<std::size_t>())) +
                    t[1].get<std::string>());
  return names;
}

// One document without anything from elsewhere, with every element closed.
void check_alone(const std::string& page) {
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(has(page, "default-src 'none'"));
  CHECK(count(page, "<script") == 2);  // data, and what shows them
  for (const char* part : {"<link", "<img", "<iframe", " src=", "href=", "url(", "@import",
                           "http:", "https:", "//", "javascript", "onload", "onerror", "onclick"}) {
    INFO(part);
    CHECK(page.find(part) == std::string::npos);
  }
  for (const char* element : {"table", "svg", "title", "tr", "td", "th", "text", "button", "p"}) {
    const std::string name(element);
    INFO(name);
    CHECK(count(page, "<" + name + ">") + count(page, "<" + name + " ") ==
          count(page, "</" + name + ">"));
  }
}

// All that quantize tells of a tensor, or of all of them, the report tells as well, number by
// number.
void check_same(const Json& told, const Json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    INFO(key);
    REQUIRE(told.contains(key));
    CHECK(told[key] == value);
  }
}

// The numbers of a row of the page are those of the report, as far as the page has digits.
void check_row(const Json& data, std::size_t t, const Json& told) {
  const Json &row = data["tensors"][t], &layout = data["layouts"][row[2].get<std::size_t>()];
  CHECK(data["kinds"][layout[0].get<std::size_t>()][1] == (told["quantized"] ? 1 : 0));
  CHECK(layout[2] == told["elements"]);
  CHECK(layout[3] == told["bytes_before"]);
  CHECK(layout[4] == told["bytes_after"]);
  if (!told["quantized"]) return;
  CHECK(layout[5] == told["parts"]["codes"]);
  CHECK(layout[6] == told["parts"]["scales"]);
  CHECK(layout[7] == told["parts"]["zero_points"]);
  CHECK(layout[8] == told["scales"]);
  REQUIRE(row.size() == 13);
  CHECK(row[3].get<std::string>().size() == data["columns"].get<std::size_t>());
  const auto near = [](const Json& digits, const Json& number, double share) {
    return std::abs(digits.get<double>() - number.get<double>()) <=
           share * std::abs(number.get<double>()) + 1e-12;
  };
  CHECK(row[4].get<double>() <= told["values"]["min"].get<double>());
  CHECK(row[5].get<double>() >= told["values"]["max"].get<double>());
  CHECK(near(row[6], told["covered"]["min"], 1e-3));
  CHECK(near(row[7], told["covered"]["max"], 1e-3));
  CHECK(near(row[8], told["covered_narrowest"]["min"], 1e-3));
  CHECK(near(row[9], told["covered_narrowest"]["max"], 1e-3));
  CHECK(near(row[10], told["error"]["sqnr_db"], 1e-4));
  CHECK(near(row[11], told["error_share"], 1e-3));
  CHECK(row[12].get<double>() >= told["error"]["max_abs"].get<double>());
}

std::uint64_t part_sum(const Json& parts) {
  return parts["codes"].get<std::uint64_t>() + parts["scales"].get<std::uint64_t>() +
         parts["zero_points"].get<std::uint64_t>();
}

}  // namespace

TEST_CASE(
    "of shipped models the report tells what quantize told, and its page has every tensor once") {
  const Folder folder("report_models");
  const std::string out = folder("q.safetensors"), file = folder("r.html");
  const std::vector<std::vector<std::string>> schemes = {
      {"--type", "int8"},
      {"--type", "uint4_g32", "--all"},
      {"--type", "nf4_double"},
      {"--type", "nvfp4"},
      {"--type", "float8_e4m3fn", "--all"},
      {"--type", "ternary", "--exclude", "weight$"}};
  std::size_t next = 0;
  for (const char* model : shipped)
    for (int i = 0; i < 2; ++i) {
      const std::vector<std::string>& scheme = schemes[next++ % schemes.size()];
      INFO(model << ' ' << scheme[1]);
      const std::string in = shipped_model(model);
      const Json made = quantized(in, out, scheme), told = reported(in, out, file);
      check_same(told["total"], made["total"]);
      REQUIRE(told["tensors"].size() == made["tensors"].size());
      const std::string page = content(file);
      check_alone(page);
      const Json data = data_of(page);
      const std::vector<std::string> names = names_of(data);
      REQUIRE(names.size() == made["tensors"].size());
      std::uint64_t parts = 0, stored = 0;
      double share = 0;
      for (std::size_t t = 0; t < made["tensors"].size(); ++t) {
        Json wanted = made["tensors"][t];
        const Json& got = told["tensors"][t];
        INFO(wanted["name"]);
        const bool is_quantized = wanted["quantized"];
        // Why a name was left out stands in no file.
        if (wanted.value("reason", "") == "excluded") wanted.erase("reason");
        check_same(got, wanted);
        const std::string name = wanted["name"];
        CHECK(names[t] == name);
        check_row(data, t, got);
        if (!is_quantized) continue;
        CHECK(part_sum(got["parts"]) == got["bytes_after"]);
        parts += part_sum(got["parts"]);
        share += got["error_share"].get<double>();
        CHECK(got["values"]["min"].get<float>() <= got["values"]["max"].get<float>());
        CHECK(got["covered"]["min"].get<float>() <= got["covered_narrowest"]["min"].get<float>());
        CHECK(got["covered"]["max"].get<float>() >= got["covered_narrowest"]["max"].get<float>());
      }
      CHECK(part_sum(told["total"]["parts"]) == parts);
      CHECK(std::abs(share - 1) < 1e-9);
      const auto reader = tq::io::SafetensorsReader::open(out);
      for (const auto& info : reader.tensors()) stored += info.size_bytes;
      CHECK(told["total"]["bytes_after"] == stored);
      CHECK(told["total"]["file_bytes_before"] == fs::file_size(in));
      CHECK(told["total"]["file_bytes_after"] == fs::file_size(out));
      std::size_t tensors = 0;
      for (const Json& kind : told["kinds"]) tensors += kind["tensors"].get<std::size_t>();
      CHECK(tensors == made["tensors"].size());
    }
}

TEST_CASE("SQNR and the share of the error are those of the files, computed in long double") {
  const Folder folder("report_sqnr");
  const std::string in = shipped_model("digits/digits_cnn.safetensors");
  const std::string out = folder("q.safetensors"), back = folder("d.safetensors");
  quantized(in, out, {"--type", "int4_g32"});
  succeed({"dequantize", out, back});
  const Json told = reported(in, out, folder("r.html"));
  const auto a = tq::io::SafetensorsReader::open(in), b = tq::io::SafetensorsReader::open(back);
  const auto db = [](long double signal, long double noise) {
    return static_cast<double>(10 * std::log10(signal / noise));
  };
  std::vector<long double> noises;
  long double all_signal = 0, all_noise = 0;
  for (const Json& t : told["tensors"]) {
    if (!t["quantized"]) continue;
    const std::string name = t["name"];
    const auto x = tq::io::values<float>(a.read(name)), y = tq::io::values<float>(b.read(name));
    long double signal = 0, noise = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double e = static_cast<long double>(x[i]) - static_cast<long double>(y[i]);
      signal += static_cast<long double>(x[i]) * static_cast<long double>(x[i]);
      noise += e * e;
    }
    INFO(name);
    CHECK(std::abs(t["error"]["sqnr_db"].get<double>() - db(signal, noise)) < 1e-9);
    CHECK(t["values"]["min"] == *std::min_element(x.begin(), x.end()));
    CHECK(t["values"]["max"] == *std::max_element(x.begin(), x.end()));
    noises.push_back(noise);
    all_signal += signal;
    all_noise += noise;
  }
  REQUIRE(noises.size() > 1);
  CHECK(std::abs(told["total"]["sqnr_db"].get<double>() - db(all_signal, all_noise)) < 1e-9);
  std::size_t i = 0;
  for (const Json& t : told["tensors"])
    if (t["quantized"])
      CHECK(std::abs(t["error_share"].get<double>() -
                     static_cast<double>(noises[i++] / all_noise)) < 1e-9);
}

TEST_CASE("bytes are those of codes, scales, zero points and padding, and saved is of all bytes") {
  const Folder folder("report_bytes");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  tq::io::write_safetensors(
      in, std::vector<Tensor>{tensor("odd", {3, 3}), tensor("h", {2, 50}, DType::f16, 2),
                              tensor("bias", {100}, DType::f32, 3)});
  quantized(in, out, {"--type", "uint3", "--granularity", "per_channel"});
  const Json told = reported(in, out, folder("r.html"));
  const auto named = [&](const char* name) {
    for (const Json& t : told["tensors"])
      if (t["name"] == name) return t;
    return Json();
  };
  const Json odd = named("odd");
  // 27 bits of codes in 4 bytes; 3 scales of 4 bytes, 3 zero points of one.
  CHECK(odd["parts"] ==
        Json{{"codes", 4}, {"scales", 12}, {"zero_points", 3}, {"padding_bits", 5}});
  CHECK(odd["bits_per_weight"].get<double>() == 8.0 * 19 / 9);
  // 300 bits in 38 bytes; 2 scales, 2 zero points.
  CHECK(named("h")["parts"] ==
        Json{{"codes", 38}, {"scales", 8}, {"zero_points", 2}, {"padding_bits", 4}});
  CHECK(named("bias")["reason"] == "1-D");
  const Json& total = told["total"];
  CHECK(total["bytes_before"] == 36 + 200 + 400);
  CHECK(total["bytes_after"] == 19 + 48 + 400);
  CHECK(std::abs(total["saved"].get<double>() - (1.0 - 467.0 / 636.0)) < 1e-15);
  CHECK(total["parts"] ==
        Json{{"codes", 42}, {"scales", 20}, {"zero_points", 5}, {"padding_bits", 9}});
  const std::string text = succeed({"report", in, out, "-o", folder("r.html")});
  CHECK(has(text, "636 bytes before, 467 after, 26.6 % saved"));
  CHECK(has(text, "42 bytes of codes, 20 of scales, 5 of zero points; 9 bits of padding"));
  CHECK(has(content(folder("r.html")), "<b>26.6 % saved</b>"));
}

TEST_CASE("clipping ranges are those of scales and zero points") {
  const Folder folder("report_ranges");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  const auto write = [&](const std::vector<float>& x) {
    tq::io::write_safetensors(in, std::vector<Tensor>{tq::io::from_float32("w", {2, 3}, x)});
  };
  const auto told = [&](std::vector<std::string> options) {
    quantized(in, out, options);
    return reported(in, out, folder("r.html"))["tensors"][0];
  };
  const auto range = [](float min, float max) { return Json{{"min", min}, {"max", max}}; };
  write({-127, 0, 3, 63.5f, 1, -2});
  const Json one = told({"--type", "int8", "--granularity", "per_tensor"});
  CHECK(one["scales"] == 1);
  CHECK(one["values"] == range(-127, 63.5f));
  CHECK(one["covered"] == range(-128, 127));
  CHECK(one["covered_narrowest"] == range(-128, 127));
  const Json rows = told({"--type", "int8"});
  CHECK(rows["scales"] == 2);
  CHECK(rows["covered"] == range(-128, 127));
  CHECK(rows["covered_narrowest"] == range(-64, 63.5f));
  const Json row = data_of(content(folder("r.html")))["tensors"][0];
  CHECK(row[6] == -128);
  CHECK(row[7] == 127);
  CHECK(row[8] == -64);
  CHECK(row[9] == 63.5);
  write({-5, 0, 250, 0, 1, 2});
  CHECK(told({"--type", "uint8", "--granularity", "per_tensor"})["covered"] == range(-5, 250));
  write({-6, 0, 3, 0, 1, 2});
  CHECK(told({"--type", "nf4", "--granularity", "per_tensor"})["covered"] == range(-6, 6));
  CHECK(told({"--type", "float8_e4m3fn"})["covered"] == range(-448, 448));
  write({0, 0, 0, 0, 0, 0});
  CHECK(told({"--type", "int8"})["error"]["nonfinite"]["sqnr_db"] == "inf");
}

TEST_CASE("odd names are shown and escaped") {
  const Folder folder("report_names");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    file = folder("r.html");
  const std::vector<std::pair<std::string, std::string>> names = {
      {"a<script>alert(\"&'1\")</script>", "a<script>alert(\"&'1\")</script>"},
      {"</table><b>", "</table><b>"},
      {"line\nbreak\ttab", "line?break?tab"},
      {"gr\u00fc\u00dfe \u91cf\u5b50 \U0001F600", "gr\u00fc\u00dfe \u91cf\u5b50 \U0001F600"},
      {"right\u202eleft", "right?left"},
      {"'\"`${x}", "'\"`${x}"},
      {"-->", "-->"},
      {" ", " "},
      {"&amp;", "&amp;"}};
  std::vector<Tensor> tensors;
  unsigned seed = 1;
  for (const auto& [name, shown] : names)
    tensors.push_back(tensor(name, {4, 8}, DType::f32, seed++));
  tq::io::write_safetensors(in, tensors);
  quantized(in, out, {"--type", "int4"});
  const Json told = reported(in, out, file);
  const std::string page = content(file);
  check_alone(page);
  const std::vector<std::string> shown = names_of(data_of(page));
  REQUIRE(shown.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i].first);
    CHECK(std::count(shown.begin(), shown.end(), names[i].second) == 1);
    const auto has_name = [&](const Json& t) { return t["name"] == names[i].first; };
    CHECK(std::count_if(told["tensors"].begin(), told["tensors"].end(), has_name) == 1);
  }
  CHECK(page.find("<b>\n") == std::string::npos);
  CHECK(page.find("a<script>") == std::string::npos);
}

TEST_CASE("the report of a model without tensors, of one without elements, and of a mere copy") {
  const Folder folder("report_nothing");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    file = folder("r.html");
  tq::io::write_safetensors(in, std::vector<Tensor>{});
  quantized(in, out, {});
  Json told = reported(in, out, file);
  CHECK(told["tensors"].empty());
  CHECK(told["total"]["saved"] == 0);
  CHECK(told["total"]["sqnr_db"].is_null());
  check_alone(content(file));
  CHECK(has(succeed({"report", in, out, "-o", file}), "0 of 0 tensors quantized; 0 bytes before"));

  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("e", {0, 8}), tensor("f", {3, 0})});
  quantized(in, out, {});
  told = reported(in, out, file);
  CHECK(told["total"]["quantized"] == 2);
  CHECK(told["tensors"][0]["values"].is_null());
  check_alone(content(file));

  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 8}), tensor("b", {4})});
  quantized(in, out, {"--exclude", "w"});
  told = reported(in, out, file);
  CHECK(told["total"]["quantized"] == 0);
  CHECK(told["total"]["saved"] == 0);
  CHECK(told["tensors"][0]["name"] == "b");
  CHECK(told["tensors"][0]["reason"] == "1-D");
  CHECK(told["tensors"][1]["reason"].is_null());
  check_alone(content(file));
  CHECK(has(succeed({"report", in, out, "-o", file}), "F32, copied (1-D)"));
}

TEST_CASE(
    "what the files tell of copies: integers, weights of other programs, names that cannot be") {
  const Folder folder("report_copies");
  const std::string in = folder("m.npz"), out = folder("q.safetensors"), file = folder("r.html");
  tq::io::write_npz(in, std::vector<Tensor>{tensor("w", {4, 8}), tensor("__metadata__", {2, 2}),
                                            tq::io::from_values<std::int64_t>(
                                                "steps", {2, 1}, std::vector<std::int64_t>{1, 2})});
  quantized(in, out, {"--exclude", "__metadata__"});
  Json told = reported(in, out, file);
  CHECK(told["left_out"] == Json{"__metadata__"});
  CHECK(told["tensors"].size() == 2);
  CHECK(told["tensors"][1]["reason"] == "not float");
  CHECK(has(content(file), "<code>__metadata__</code>"));
  CHECK(has(succeed({"report", in, out, "-o", file}), "left out"));

  const std::string other = folder("f.safetensors");
  tq::io::write_safetensors(
      other,
      std::vector<Tensor>{tensor("e.weight", {4, 6}, DType::f8_e4m3),
                          tq::io::from_float32("e.weight_scale", {1}, std::vector<float>{0.5f})});
  Json made = quantized(other, out, {});
  told = reported(other, out, file);
  REQUIRE(told["tensors"].size() == 1);
  check_same(told["tensors"][0], made["tensors"][0]);
  CHECK(has(told["tensors"][0]["reason"], "quantized: "));
  made = quantized(other, out, {"--requantize", "--type", "int4"});
  told = reported(other, out, file);
  check_same(told["tensors"][0], made["tensors"][0]);
  CHECK(told["tensors"][0]["quantized"] == true);
}

TEST_CASE("NaN and infinities are counted, and the error is that of the others") {
  const Folder folder("report_nonfinite");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  std::vector<float> x = noise(4 * 64);
  x[3] = std::nanf("");
  x[77] = INFINITY;
  x[200] = -INFINITY;
  tq::io::write_safetensors(in, std::vector<Tensor>{tq::io::from_float32("w", {4, 64}, x)});
  for (const char* type : {"int8", "fp8_e5m2", "nf4"}) {
    INFO(type);
    const Json made = quantized(in, out, {"--type", type, "--allow-nonfinite"});
    const Json told = reported(in, out, folder("r.html"));
    check_same(told["tensors"][0], made["tensors"][0]);
    CHECK(told["tensors"][0]["nan"] == 1);
    CHECK(told["tensors"][0]["infinite"] == 2);
    CHECK(told["tensors"][0]["error"]["sqnr_db"].get<double>() > 10);
  }
}

TEST_CASE("models that do not belong together are refused, with what was expected and what came") {
  const Folder folder("report_refuse");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    other = folder("o.safetensors"), page = folder("r.html");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 8}), tensor("b", {4})});
  quantized(in, out, {});
  const auto refused = [&](const std::vector<Tensor>& tensors) {
    tq::io::write_safetensors(other, tensors);
    const auto files = folder.files();
    const std::string text = fail(1, {"report", other, out, "-o", page});
    CHECK(folder.files() == files);
    return text;
  };
  CHECK(has(refused({tensor("w", {4, 8})}),
            "o.safetensors: expected tensor \"b\", which " + out + " has, got none of this name"));
  CHECK(has(refused({tensor("w", {4, 8}), tensor("b", {4}), tensor("c", {4})}),
            "q.safetensors: expected tensor \"c\", which " + other + " has, got none"));
  CHECK(has(refused({tensor("w", {8, 4}), tensor("b", {4})}),
            "tensor \"w\": expected shape [8, 4] as in the model, got [4, 8]"));
  CHECK(has(refused({tensor("w", {4, 8}, DType::f16), tensor("b", {4})}),
            "tensor \"w\": expected F16 as in the model, got F32"));
  CHECK(has(refused({tensor("w", {4, 8}), tensor("b", {4}, DType::f32, 7)}),
            "tensor \"b\": expected what is not quantized to be a copy"));
  CHECK(has(fail(1, {"report", out, in, "-o", page}), "quantized by tq"));
  CHECK(has(fail(1, {"report", in, in, "-o", page}), "expected a file that tq quantize wrote"));
  CHECK(has(fail(1, {"report", folder("none.safetensors"), out, "-o", page}), "No such file"));
  CHECK(has(fail(1, {"report", in, out, "-o", folder("none/r.html")}), "No such file"));
  CHECK(has(fail(2, {"report", in, out, "-o", folder("r.txt")}), ".html"));
  CHECK(has(fail(2, {"report", in, out}), "output"));
  CHECK(has(fail(2, {"report", in, "-o", page}), "QUANTIZED"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors", "o.safetensors", "q.safetensors"});
  // The file that was there before stays if the work fails.
  std::ofstream(page) << "old";
  fail(1, {"report", other, out, "-o", page, "--overwrite"});
  CHECK(content(page) == "old");
}

TEST_CASE("the report of thousands of small tensors, which share a tensor of bytes", "[many]") {
  const Folder folder("report_many");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    file = folder("r.html");
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < 5000; ++i)
    tensors.push_back(tensor("layer." + std::to_string(i) + ".weight", {2, 6}, DType::f32, i));
  tq::io::write_safetensors(in, tensors);
  const Json made = quantized(in, out, {"--type", "int4"}), told = reported(in, out, file);
  check_same(told["total"], made["total"]);
  REQUIRE(told["tensors"].size() == 5000);
  for (std::size_t t = 0; t < 5000; ++t) check_same(told["tensors"][t], made["tensors"][t]);
  const std::string page = content(file);
  const Json data = data_of(page);
  const std::vector<std::string> names = names_of(data);
  REQUIRE(names.size() == 5000);
  for (std::size_t t = 0; t < 5000; ++t) {
    CHECK(names[t] == told["tensors"][t]["name"]);
    check_row(data, t, told["tensors"][t]);
  }
  REQUIRE(data["roles"].size() == 1);
  CHECK(data["roles"][0][0] == "layer.N.weight");
  CHECK(data["roles"][0][1] == 5000);
  CHECK(data["roles"][0][6] == told["total"]["parts"]["codes"]);
  CHECK(std::abs(data["roles"][0][9].get<double>() - told["total"]["sqnr_db"].get<double>()) <
        1e-4);
  CHECK(data["layers"].empty());  // each would be one tensor
  CHECK(page.size() < 5000 * 150 + 50000);
}
