// SPDX-License-Identifier: MIT
#include "plot_page.hpp"

#include "axes.hpp"
#include "html.hpp"
#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tool {

namespace {

// In pixels from top to bottom; across, everything is a share of the width.
constexpr double picture_row = 30, picture_height = 240, picture_axis = 44;
constexpr std::size_t plot_columns = 270;

std::string number(float x) { return short_number(double{x}); }

// Between what most values lie, with some room, if there are some far beyond that.
std::optional<tq::Range> bulk_of(const PlotTensor& t) {
  const double lo = double{t.bins->quantile(0.001)}, hi = double{t.bins->quantile(0.999)};
  const double length = std::max(hi - lo, std::abs(hi) / 1024);
  const double first = std::max(double{t.range->min}, lo - length),
               last = std::min(double{t.range->max}, hi + length);
  if (!(length > 0) || double{t.range->max} - double{t.range->min} < 8 * (last - first))
    return std::nullopt;
  return tq::Range{static_cast<float>(first), static_cast<float>(last)};
}

// Counts to heights. Logarithms begin below 1, so that one value can be seen.
class Vertical {
 public:
  Vertical(double most, bool is_log)
      : is_log_(is_log),
        most_(most > 0 ? most : 1),
        top_(is_log ? std::log10(std::max(most, 1.0)) + 0.05 : most_) {}
  [[nodiscard]] double up(double count) const {
    const double share =
        is_log_ ? (count > 0 ? (std::log10(count) - bottom) / (top_ - bottom) : 0) : count / top_;
    return std::clamp(share, 0.0, 1.0) * picture_height;
  }
  [[nodiscard]] std::vector<Tick> ticks() const {
    return is_log_ ? log_ticks(most_) : ticks_between(0, most_, 5);
  }

 private:
  static constexpr double bottom = -0.5;
  bool is_log_;
  double most_, top_;
};

// The heights of the columns, stretched to the width.
std::string bars(const std::vector<double>& counts, const Vertical& y, double top) {
  std::vector<double> up;
  for (const double count : counts) up.push_back(y.up(count));
  return "<svg y=\"" + html::px(top) + "\" width=\"100%\" height=\"" + html::px(picture_height) +
         "\" viewBox=\"0 0 " + std::to_string(plot_columns) + " " + html::px(picture_height) +
         "\" preserveAspectRatio=\"none\">" + html::bars(up, picture_height) + "</svg>\n";
}

// The range of a calibrator, with lines down to the axis where it ends within the picture.
std::string covered_line(const PlotLine& l, std::size_t i, bool best, const Horizontal& x,
                         double base) {
  const double at = picture_row * static_cast<double>(i) + 22, lo = double{l.covered.min},
               hi = double{l.covered.max};
  const std::string stroke = "stroke=\"" + std::string(html::color(i)) + "\"";
  std::string svg = html::line(x.at(lo), at, x.at(hi), at, stroke + " stroke-width=\"5\"");
  for (const double end : {lo, hi}) {
    if (x.contains(end))
      svg += html::line(x.at(end), at, x.at(end), base,
                        stroke + " stroke-dasharray=\"4 3\" stroke-width=\"1.3\"");
    else
      svg += html::text(
          x.at(end), at - 6, end < x.lo() ? "start" : "end",
          (end < x.lo() ? "&#9664; " : "") + short_number(end) + (end < x.lo() ? "" : " &#9654;"),
          " class=\"far\"");
  }
  svg += html::text(0.5, at - 6, "middle", (best ? "&#9733; " : "") + l.calibrator,
                    best ? " class=\"best\"" : "");
  return svg + '\n';
}

std::string picture(const PlotTensor& t, tq::Range shown, bool is_log, const char* scale) {
  std::vector<tq::Range> covered;
  for (const PlotLine& l : t.lines) covered.push_back(l.covered);
  const Horizontal x(shown, covered, shown == *t.range ? 1.25 : 0.1);
  Beyond beyond;
  const std::vector<double> counts = column_counts(*t.bins, x, plot_columns, beyond);
  const Vertical y(*std::max_element(counts.begin(), counts.end()), is_log);
  const double top = picture_row * static_cast<double>(t.lines.size()) + 24,
               base = top + picture_height;
  std::string svg = "<svg class=\"picture " + std::string(is_log ? "log " : "linear ") + scale +
                    "\" width=\"100%\" height=\"" + html::px(base + picture_axis) +
                    "\" role=\"img\"><title>Histogram of " + html::escaped(t.name) +
                    ", and the ranges that calibrators chose</title>\n";
  const std::vector<Tick> counted = y.ticks();
  for (const Tick& tick : counted)
    svg += html::line(0, base - y.up(tick.at), 1, base - y.up(tick.at), "class=\"grid\"");
  svg += '\n' + bars(counts, y, top);
  for (const Tick& tick : counted)
    svg += html::text(0, base - y.up(tick.at) - 3, "start", html::spaced(tick.label),
                      " class=\"count\"");
  svg += html::text(0, top - 6, "start", "values per column", " class=\"count\"") + '\n';
  for (const Tick& tick : ticks_between(x.lo(), x.hi(), 4)) {
    const double at = x.at(tick.at);
    svg += html::line(at, base, at, base + 5, "class=\"tick\"");
    svg += html::text(at, base + 18,
                      at < 0.06   ? "start"
                      : at > 0.94 ? "end"
                                  : "middle",
                      tick.label);
  }
  svg += html::text(0.5, base + 38, "middle", "value") +
         html::line(0, base, 1, base, "class=\"tick\"") + '\n';
  const auto mark = [&](double n, float end, bool is_left) {
    if (n == 0) return;
    const std::string content =
        html::plural(static_cast<std::uint64_t>(n), "value", "values") + " out to " + number(end);
    svg += html::text(is_left ? 0 : 1, base - (is_left ? 30 : 12), is_left ? "start" : "end",
                      is_left ? "&#9664; " + content : content + " &#9654;", " class=\"outlier\"");
  };
  mark(beyond.below, t.range->min, true);
  mark(beyond.above, t.range->max, false);
  for (std::size_t i = 0; i < t.lines.size(); ++i)
    svg += covered_line(t.lines[i], i, t.best == i, x, base);
  return svg + "</svg>\n";
}

std::string table(const PlotTensor& t, const std::string& origin) {
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th></th><th class=\"name\">calibrator</th><th>covers "
      "from</th><th>to</th>"
      "<th>scale</th>" +
      (origin.empty() ? "" : "<th>" + origin + "</th>") +
      "<th>clipped</th><th>mean squared error</th><th>SQNR "
      "dB</th><th>within</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < t.lines.size(); ++i) {
    const PlotLine& l = t.lines[i];
    const bool best = t.best == i;
    out += std::string(best ? "<tr class=\"best\">" : "<tr>") +
           "<td><span class=\"key\" style=\"background:" + html::color(i) +
           "\"></span></td><td class=\"name\">" + l.calibrator + (best ? " &#9733; best" : "") +
           "</td>";
    const auto cell = [&](const std::string& content) { out += "<td>" + content + "</td>"; };
    cell(number(l.covered.min));
    cell(number(l.covered.max));
    cell(number(l.levels.scale));
    if (origin == "offset") cell(number(l.levels.offset));
    else if (!origin.empty()) cell(std::to_string(l.levels.zero_point));
    cell(l.estimate ? html::percent(l.estimate->clipped_share()) : "&ndash;");
    cell(l.estimate ? short_number(l.estimate->mse()) : "&ndash;");
    cell(l.estimate ? html::decibel(l.estimate->sqnr_db()) : "&ndash;");
    cell(l.estimate ? html::decibel_down(l.estimate->least_sqnr_db()) + " to " +
                          html::decibel_up(l.estimate->most_sqnr_db())
                    : "&ndash;");
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// The observed values, in sentences.
std::string seen_text(const PlotTensor& t) {
  std::string out = html::plural(t.seen.values, "value", "values") + " in " +
                    html::plural(t.batches, "batch", "batches") + ", seen by observer <b>" +
                    t.observer + "</b>, " + t.granularity + ".";
  if (t.seen.nan + t.seen.infinite != 0)
    out += " Left out: " + html::grouped(t.seen.nan) + " NaN and " +
           html::grouped(t.seen.infinite) + " infinite.";
  if (t.seen.slot_count > 1)
    out += " There are " + html::grouped(t.seen.slot_count) +
           " slots, each with a range of its own" +
           (t.seen.range ? ", and all of them together lie between " + number(t.seen.range->min) +
                               " and " + number(t.seen.range->max)
                         : "") +
           ". Shown is slot 0.";
  if (!t.range) return out + " It saw no finite value, so there is nothing to choose a range from.";
  if (!t.bins)
    return out + " It saw values between " + number(t.range->min) + " and " + number(t.range->max) +
           ". This observer keeps no histogram, so there is no picture, and what clipping would "
           "cost "
           "is not known; <code>tq calibrate --observer histogram</code> keeps one.";
  const auto between = [&](double share) {
    return number(t.bins->quantile((1 - share) / 2)) + " and " +
           number(t.bins->quantile((1 + share) / 2));
  };
  out += " Half of the values lie between " + between(0.5) + ", 99.9 % between " + between(0.999) +
         ", all between " + number(t.range->min) + " and " + number(t.range->max) + ".";
  const tq::BinCounts in_bins = t.bins->bins();
  if (!in_bins.counts.empty())
    out += " Where values were counted in bins, these ends are right to " +
           short_number(in_bins.width) + ".";
  return out;
}

// Which range is the best, and what that gains.
std::string best_text(const PlotTensor& t, const PlotPage& page) {
  if (!t.best) return "";
  const PlotLine& best = t.lines[*t.best];
  const double db = best.estimate->sqnr_db(), clipped = best.estimate->clipped_share();
  std::string out = "For " + page.type + " " + page.symmetry + " the range of <b>" +
                    best.calibrator + "</b> loses least: its SQNR is " + html::decibel(db) +
                    " dB, and it clips " +
                    (clipped == 0 ? "nothing" : html::percent(clipped) + " of the values") + ".";
  for (const PlotLine& line : t.lines)
    if (line.calibrator == "min_max" && best.calibrator != "min_max") {
      const double whole = line.estimate->sqnr_db();
      out += " Covering everything that was seen (min_max) has " + html::decibel(whole) + " dB";
      if (db - whole >= 0.01 && std::isfinite(db))
        out += ", which is " + fixed(db - whole, 2) + " dB less, or about " +
               fixed((db - whole) / 6.02, 1) + " bits";
      out += ".";
    }
  if (t.range->min >= 0 && page.type.starts_with("int") && page.origin.empty())
    out +=
        " No value is negative, so codes below 0 are never used; with an unsigned type or a zero "
        "point the steps would be half as wide.";
  return out;
}

std::string section(const PlotTensor& t, std::size_t i, const PlotPage& page) {
  const std::string id = "t" + std::to_string(i);
  std::string out = "<section id=\"" + id + "\">\n<h2>" + html::escaped(t.name) + "</h2>\n<p>" +
                    seen_text(t) + "</p>\n";
  if (t.bins) {
    const auto radio = [&](const char* look, const char* group, const char* label,
                           const char* state) {
      return "<input type=\"radio\" name=\"" + id + group + "\" id=\"" + id + look + "\" class=\"" +
             look + "\"" + state + "><label for=\"" + id + look + "\">" + label + "</label>\n";
    };
    const std::optional<tq::Range> bulk = bulk_of(t);
    out += "<p>" + best_text(t, page) + "</p>\n<div class=\"plot\">\n" +
           radio("log", "", "counts on a logarithmic axis", " checked") +
           radio("linear", "", "counts on a linear axis", "");
    if (bulk)
      out += "<br>\n" + radio("bulk", "x", "where most values are", " checked") +
             radio("all", "x", "all values", "");
    for (const bool is_log : {true, false}) {
      if (bulk) out += picture(t, *bulk, is_log, "bulk");
      out += picture(t, *t.range, is_log, bulk ? "all" : "only");
    }
    out += "</div>\n";
  }
  if (!t.lines.empty()) out += table(t, page.origin);
  return out + "</section>\n";
}

constexpr const char* style = R"(
.plot label { margin: 0 1.5em 0 .3em; } .picture { display: none; margin-top: .6em; overflow: visible; }
.log:checked ~ .picture.log.only, .linear:checked ~ .picture.linear.only,
.log:checked ~ .bulk:checked ~ .picture.log.bulk, .linear:checked ~ .bulk:checked ~ .picture.linear.bulk,
.log:checked ~ .all:checked ~ .picture.log.all, .linear:checked ~ .all:checked ~ .picture.linear.all { display: block; }
svg text.best { font-weight: bold; } svg text.count { font-size: 11px; } svg text.outlier, svg text.far { fill: var(--far); }
)";

constexpr const char* how_to_read = R"(<h2>How to read this page</h2>
<p>Quantization replaces each value by the nearest of a few numbers, the codes of the type, spread over a range. A wide
range has coarse steps; a narrow one clips what lies outside to its ends. A calibrator is a rule that chooses the
range.</p>
<ul>
<li>The grey area shows how often which values were seen. A narrow peak with long, thin tails gains most from clipping; the
logarithmic axis shows tails that the linear one hides. Where a few values lie far out, the picture shows where most are, and
says at its sides in red what lies beyond.</li>
<li>Each coloured bar, with dashed lines at its ends, is what the codes cover in the range of one calibrator. Values to the
left and right of it are clipped.</li>
<li><b>Clipped</b> is the share of values that lie outside by more than half a step.</li>
<li><b>Mean squared error</b> is that of the values against what their codes stand for, clipping and rounding together, and
<b>SQNR</b> is how far the signal lies above it, in decibel: higher is better, 6 dB are worth a bit. Both are estimates where the
observer kept no values but a histogram: those of a bin count as spread evenly over it. <b>Within</b> says what the SQNR may be
wherever they lie in their bins. &#9733; marks the least error.</li>
<li>The least error of the numbers is not always the best accuracy of a model: try the two or three best.</li>
</ul>
)";

std::string overview(const PlotPage& page) {
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th "
      "class=\"name\">tensor</th><th>values</th><th>from</th><th>to</th>"
      "<th class=\"name\">least error</th><th>SQNR dB</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < page.tensors.size(); ++i) {
    const PlotTensor& t = page.tensors[i];
    const PlotLine* best = t.best ? &t.lines[*t.best] : nullptr;
    const auto end = [&](float tq::Range::* side) {
      return t.seen.range ? number(*t.seen.range.*side) : std::string("&ndash;");
    };
    out += "<tr><td class=\"name\"><a href=\"#t" + std::to_string(i) + "\">" +
           html::escaped(t.name) + "</a></td><td>" + html::grouped(t.seen.values) + "</td><td>" +
           end(&tq::Range::min) + "</td><td>" + end(&tq::Range::max) + "</td><td class=\"name\">" +
           (best ? best->calibrator : "&ndash;") + "</td><td>" +
           (best ? html::decibel(best->estimate->sqnr_db()) : "&ndash;") + "</td></tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string to_html(const PlotPage& page) {
  std::string body = "<h1>Observed values, and ranges for " + page.type + " " + page.symmetry +
                     "</h1>\n<p>From " + html::escaped(page.source) + ": " +
                     html::plural(page.tensors.size(), "tensor", "tensors") + ".</p>\n";
  if (page.tensors.size() > 1) body += overview(page);
  body += how_to_read;
  for (std::size_t i = 0; i < page.tensors.size(); ++i) body += section(page.tensors[i], i, page);
  return html::to_string({page.source + ": observed values and ranges", style, body});
}

}  // namespace tool
