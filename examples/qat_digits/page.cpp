// SPDX-License-Identifier: MIT
#include "page.hpp"

#include "../digits/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

namespace {

constexpr double width = 1060, height = 360, left = 70, right = 460, top = 12, bottom = 48;
constexpr std::array colors{"#4e79a7", "#e15759", "#59a14f", "#f28e2b",
                            "#b07aa1", "#9c755f", "#76b7b2", "#d37295"};
constexpr std::array ticks{0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0};

std::string px(double x) { return fixed(x, 1); }
std::string percent(double x) { return fixed(x, 2) + " %"; }

std::string text(double x, double y, const std::string& anchor, const std::string& content,
                 const std::string& more = "") {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + anchor + "\"" + more +
         ">" + content + "</text>\n";
}
std::string line(double x1, double y1, double x2, double y2, const std::string& look) {
  return "<line x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) + "\" y2=\"" + px(y2) +
         "\" " + look + "/>\n";
}

double wrong(const Result& r, std::size_t epoch) { return 100 - r.accuracy(epoch); }
double float_wrong(const Result& r) {
  return 100 - 100.0 * r.float_correct / static_cast<double>(r.total);
}

std::string picture(std::span<const Result> results) {
  double least = float_wrong(results[0]), most = least;
  for (const Result& r : results)
    for (std::size_t e = 0; e <= r.epochs(); ++e) {
      least = std::min(least, wrong(r, e));
      most = std::max(most, wrong(r, e));
    }
  // The ticks around all that there is.
  double low = ticks.front(), high = ticks.back();
  for (const double tick : ticks) {
    if (tick <= least) low = tick;
    if (tick < most) continue;
    high = tick;
    break;
  }
  const std::size_t epochs = results[0].epochs();
  const double base = height - bottom, end = width - right;
  const auto x = [&](double epoch) {
    return left + epoch / static_cast<double>(epochs) * (end - left);
  };
  const auto y = [&](double share) {
    return base - std::log(std::max(share, low) / low) / std::log(high / low) * (base - top);
  };

  std::string svg = "<svg viewBox=\"0 0 " + px(width) + " " + px(height) +
                    "\" role=\"img\"><title>Wrong answers over epochs: " + results[0].group() +
                    "</title>\n";
  for (const double tick : ticks) {
    if (tick < low || tick > high) continue;
    svg += line(left, y(tick), end, y(tick), "class=\"grid\"");
    svg += text(left - 8, y(tick) + 4, "end", fixed(tick, tick < 1 ? 1 : 0) + " %");
  }
  const std::size_t step = epochs > 10 ? 5 : 1;
  for (std::size_t e = 0; e <= epochs; e += step) {
    const auto at = static_cast<double>(e);
    svg += line(x(at), base, x(at), base + 5, "class=\"tick\"");
    svg += text(x(at), base + 20, "middle", std::to_string(e));
  }
  svg += line(left, base, end, base, "class=\"tick\"");
  svg += text((left + end) / 2, base + 40, "middle", "epochs of training (0: calibrated only)");
  svg += text(18, (top + base) / 2, "middle", "wrong answers",
              " transform=\"rotate(-90 18 " + px((top + base) / 2) + ")\"");

  double legend = top + 12;
  const auto entry = [&](const std::string& look, const std::string& name, double share) {
    svg += line(end + 24, legend - 4, end + 50, legend - 4, look);
    svg += text(end + 58, legend, "start", percent(share) + " " + name);
    legend += 22;
  };
  const std::string dashed = "stroke=\"#222\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
  svg += line(left, y(float_wrong(results[0])), end, y(float_wrong(results[0])), dashed);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    const std::string look =
        "stroke=\"" + std::string(colors[i % colors.size()]) + "\" stroke-width=\"2\"";
    svg += "<polyline fill=\"none\" " + look + " points=\"";
    for (std::size_t e = 0; e <= epochs; ++e)
      svg += px(x(static_cast<double>(e))) + "," + px(y(wrong(r, e))) + " ";
    svg += "\"/>\n";
    entry(look, r.gradients(), wrong(r, epochs));
  }
  entry(dashed, "float32 network", float_wrong(results[0]));
  return svg + "</svg>\n";
}

// The results, in a sentence.
std::string seen(std::span<const Result> results) {
  const std::size_t epochs = results[0].epochs();
  const auto between = [&](std::size_t epoch) {
    const auto [least, most] = std::minmax_element(
        results.begin(), results.end(),
        [&](const Result& a, const Result& b) { return wrong(a, epoch) < wrong(b, epoch); });
    const std::string from = percent(wrong(*least, epoch)), to = percent(wrong(*most, epoch));
    return from == to ? from : from + " to " + to;
  };
  std::string best;
  double least = 100;
  for (const Result& r : results) {
    if (wrong(r, epochs) > least) continue;
    best = (wrong(r, epochs) < least ? "" : best + "</b> and <b>") + r.gradients();
    least = wrong(r, epochs);
  }
  return "Without training, " + between(0) + " of the answers are wrong; after " +
         std::to_string(epochs) + " epochs " + between(epochs) + ", against " +
         percent(float_wrong(results[0])) + " of the float network." +
         (results.size() > 1 ? " Lowest at the end: <b>" + best + "</b>." : "");
}

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Training for few bits</title><style>
body { font: 15px/1.5 sans-serif; color: #222; max-width: 1060px; margin: 2em auto; padding: 0 1em; }
h2 { border-top: 1px solid #ccc; padding-top: 1em; margin-top: 2em; } h3 { margin-bottom: 0; }
svg { display: block; width: 100%; height: auto; } svg text { font: 13px sans-serif; fill: #333; }
.grid { stroke: #e4e4e4; } .tick { stroke: #555; }
</style></head><body>
<h1>Training for few bits</h1>
<p>Small networks that read handwritten digits have their weights, and what enters each layer (the
activations), rounded to a few bits. Done after training, this costs answers, the more the fewer the
bits. Here the networks are trained on with the rounding in place (quantization-aware training), so
that the weights learn to live with it. Rounding has no useful derivative; the gradient policies
named in the legends are different ways to pass a gradient through it, and some also learn the step
between neighbouring values.</p>
<p>Each line shows the share of wrong answers on images that were not trained on, epoch by epoch, on
a logarithmic scale; lower is better. The legend gives the share after the last epoch and the
policy, or those of weights + activations where they differ. One image is )";

}  // namespace

void write_page(const std::filesystem::path& file, const std::vector<Result>& results) {
  const Result& first = results.front();
  std::string page = head + percent(100.0 / first.total) + " of " + std::to_string(first.total) +
                     "; lines are the mean over " + std::to_string(first.correct.size()) +
                     (first.correct.size() == 1 ? " order" : " orders") +
                     " of the training images. Differences of a few images are chance.</p>\n";
  for (std::size_t begin = 0, end = 0; begin < results.size(); begin = end) {
    const Result& r = results[begin];
    while (end < results.size() && results[end].network == r.network &&
           results[end].group() == r.group())
      ++end;
    const std::span<const Result> group(results.data() + begin, end - begin);
    if (begin == 0 || results[begin - 1].network != r.network)
      page += "<h2>Network " + r.network + "</h2>\n";
    page += "<h3>" + r.group() + "</h3>\n<p>" + seen(group) + "</p>\n" + picture(group);
  }
  std::ofstream out(file, std::ios::binary);
  out << page << "</body></html>\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}
