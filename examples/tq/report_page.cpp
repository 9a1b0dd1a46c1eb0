// SPDX-License-Identifier: MIT
#include "report_page.hpp"

#include "axes.hpp"
#include "html.hpp"
#include "output.hpp"

#include <tq/containers/tensor.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

namespace tool {

void PartBytes::add(const PartBytes& other) {
  codes += other.codes;
  scales += other.scales;
  zero_points += other.zero_points;
  padding_bits += other.padding_bits;
}

namespace {

double bits_each(std::uint64_t bytes, std::uint64_t elements) {
  return elements == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
}

// The sum of squared errors.
double noise_of(const tq::Comparison<>& lost) {
  const tq::ErrorMetrics m = lost.metrics();
  return m.mse * static_cast<double>(m.count);
}

}  // namespace

std::string ReportTensor::kind() const {
  if (spec) return tq::to_string(*spec);
  return dtype + ", copied" + (reason.empty() ? "" : " (" + reason + ")");
}

double ReportTensor::bits_per_weight() const { return bits_each(bytes_after, elements); }
double ReportSum::bits_per_weight() const { return bits_each(bytes_after, elements); }

void ReportSum::add(const ReportTensor& t) {
  ++tensors;
  elements += t.elements;
  bytes_before += t.bytes_before;
  bytes_after += t.bytes_after;
  parts.add(t.parts);
  lost.merge(t.lost);
}

double error_share(const ReportTensor& t, const ReportPage& page) {
  const double share = noise_of(t.lost) / noise_of(page.weights.lost);
  return std::isfinite(share) ? share : 0.0;
}

namespace {

constexpr const char* nothing = "&ndash;";

// For the script, which sorts by it; what is no number comes last.
std::string sort_key(double value) {
  if (std::isnan(value)) return "";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Rows of cells below heads that sort them.
class SortableTable {
 public:
  explicit SortableTable(const std::string& caption)
      : text_("<div class=\"wide\"><table class=\"sortable\"><caption>" + caption +
              "</caption><thead><tr>") {}

  // The heads come first.
  SortableTable& head(const char* title, bool is_number = true) {
    text_ += std::string("<th scope=\"col\"") +
             (is_number ? " data-sort=\"number\"" : " class=\"name\"") +
             "><button type=\"button\">" + title + "</button></th>";
    return *this;
  }
  SortableTable& picture_head(const char* title) {
    text_ += std::string("<th scope=\"col\">") + title + "</th>";
    return *this;
  }
  void rows() { text_ += "</tr></thead><tbody>\n"; }

  void begin_row(const std::string& id) { text_ += id.empty() ? "<tr>" : "<tr id=\"" + id + "\">"; }
  // What the row is about.
  void name(const std::string& content) {
    text_ += "<th scope=\"row\" class=\"name\">" + content + "</th>";
  }
  void words(const std::string& content) { text_ += "<td class=\"name\">" + content + "</td>"; }
  void cell(const std::string& content) { text_ += "<td>" + content + "</td>"; }
  void number(const std::string& content, double value) {
    const std::string key = sort_key(value);
    text_ += key.empty() ? "<td>" : "<td data-v=\"" + key + "\">";
    text_ += content + "</td>";
  }
  void count(std::uint64_t n) { number(grouped(n), static_cast<double>(n)); }
  // Cells without a number.
  void none(int cells) {
    for (int i = 0; i < cells; ++i) cell(nothing);
  }
  void end_row() { text_ += "</tr>\n"; }

  [[nodiscard]] std::string text() const { return text_ + "</tbody></table></div>\n"; }

 private:
  std::string text_;
};

std::string key_of(std::size_t i, const ReportSum& sum) {
  return sum.is_quantized
             ? "<span class=\"key\" style=\"background:" + std::string(html::color(i)) +
                   "\"></span> "
             : "<span class=\"key copied\"></span> ";
}

std::string kinds_table(const ReportPage& page) {
  SortableTable table("How tensors are stored. The colors are those of the picture below.");
  table.head("stored as", false).head("tensors").head("elements").head("bytes before");
  table.head("bytes after").head("saved").head("bits/weight").head("SQNR dB").rows();
  for (std::size_t i = 0; i < page.kinds.size(); ++i) {
    const ReportSum& sum = page.kinds[i];
    const double saved = saved_percent(sum.bytes_before, sum.bytes_after);
    table.begin_row("");
    table.name(key_of(i, sum) + html::escaped(sum.kind));
    table.count(sum.tensors);
    table.count(sum.elements);
    table.count(sum.bytes_before);
    table.count(sum.bytes_after);
    table.number(fixed(saved, 1) + " %", saved);
    table.number(fixed(sum.bits_per_weight(), 2), sum.bits_per_weight());
    const double db = sum.lost.metrics().sqnr_db;
    if (sum.is_quantized) table.number(html::decibel(db), db);
    else table.none(1);
    table.end_row();
  }
  return table.text();
}

// Counts as logarithms, so that few values can be seen beside many.
std::string histogram(const ReportTensor& t) {
  constexpr double high = 24;
  const ValuePicture& p = *t.values;
  const double most = *std::ranges::max_element(p.counts);
  std::vector<double> up;
  for (const double n : p.counts)
    up.push_back(n > 0 && most > 0
                     ? std::max(1.0, std::round(high * std::log1p(n) / std::log1p(most)))
                     : 0.0);
  const auto columns = static_cast<double>(p.counts.size());
  std::string ends, words = "values from " + short_number(double{p.range.min}) + " to " +
                            short_number(double{p.range.max});
  const auto mark = [&](float end, const char* look) {
    const double at = (double{end} - p.lo) / (p.hi - p.lo) * columns;
    if (!(at >= 0 && at <= columns)) return;
    ends += std::string("<path class=\"") + look + "\" d=\"M" + html::px(at) + " 0V" +
            html::px(high) + "\"/>";
  };
  if (t.covered) {
    const ClippingRanges& c = *t.covered;
    words += "; codes reach from " + short_number(double{c.all.min}) + " to " +
             short_number(double{c.all.max});
    if (c.count > 1) {
      words += ", the narrowest of " + grouped(c.count) + " scales from " +
               short_number(double{c.narrowest.min}) + " to " +
               short_number(double{c.narrowest.max});
      for (const float end : {c.narrowest.min, c.narrowest.max}) mark(end, "narrow");
    }
    for (const float end : {c.all.min, c.all.max}) mark(end, "clip");
  }
  return "<svg class=\"values\" viewBox=\"0 0 " + fixed(columns, 0) + " " + fixed(high, 0) +
         "\" preserveAspectRatio=\"none\" role=\"img\"><title>" + words + "</title>" +
         html::bars(up, high) + ends + "</svg>";
}

void tensor_row(SortableTable& table, const ReportTensor& t, std::size_t i,
                const ReportPage& page) {
  table.begin_row("t" + std::to_string(i));
  table.name(html::escaped(t.name));
  table.cell(t.values ? histogram(t) : nothing);
  table.words(html::escaped(t.kind()));
  table.number(fixed(t.bits_per_weight(), 2), t.bits_per_weight());
  if (t.is_quantized()) {
    const tq::ErrorMetrics m = t.lost.metrics();
    table.number(html::decibel(m.sqnr_db), m.sqnr_db);
    table.number(html::percent(error_share(t, page)), error_share(t, page));
    table.number(std::isnan(m.max_abs) ? nothing : short_number(m.max_abs), m.max_abs);
  } else {
    table.none(3);
  }
  table.count(t.bytes_before);
  table.count(t.bytes_after);
  if (t.is_quantized()) {
    table.count(t.parts.codes);
    table.count(t.parts.scales);
    table.count(t.parts.zero_points);
  } else {
    table.none(3);
  }
  table.count(t.elements);
  table.words(html::escaped(tq::io::shape_text(t.shape)));
  table.words(html::escaped(t.dtype));
  table.end_row();
}

std::string tensors_table(const ReportPage& page) {
  SortableTable table("Every tensor. A click on the head of a column sorts by it.");
  table.head("tensor", false).picture_head("values, and what codes cover");
  table.head("stored as", false).head("bits/weight").head("SQNR dB").head("share of the error");
  table.head("max error").head("bytes before").head("bytes after").head("codes").head("scales");
  table.head("zero points").head("elements").head("shape", false).head("was", false).rows();
  for (std::size_t i = 0; i < page.tensors.size(); ++i) tensor_row(table, page.tensors[i], i, page);
  return table.text();
}

// A point of the picture of bits against error.
struct Point {
  std::size_t tensor, kind;
  double bits, db;
};

// All tensors with elements and a place in the picture; copies are exact.
std::vector<Point> points_of(const ReportPage& page) {
  std::map<std::string, std::size_t> kinds;
  for (std::size_t i = 0; i < page.kinds.size(); ++i) kinds[page.kinds[i].kind] = i;
  std::vector<Point> out;
  for (std::size_t i = 0; i < page.tensors.size(); ++i) {
    const ReportTensor& t = page.tensors[i];
    const double db =
        t.is_quantized() ? t.lost.metrics().sqnr_db : std::numeric_limits<double>::infinity();
    if (t.elements == 0 || std::isnan(db) || (std::isinf(db) && db < 0)) continue;
    out.push_back({i, kinds.at(t.kind()), t.bits_per_weight(), db});
  }
  return out;
}

// Where bits and decibels are in the picture. What is exact has a line of its own above all others.
class Frame {
 public:
  static constexpr double top = 24, exact = 40, first = 70, base = 330, bottom = 376;

  explicit Frame(const std::vector<Point>& points) {
    double least = std::numeric_limits<double>::infinity(), most = -least, bits = 1;
    for (const Point& p : points) {
      bits = std::max(bits, p.bits);
      if (std::isinf(p.db)) continue;
      least = std::min(least, p.db);
      most = std::max(most, p.db);
    }
    if (!(least <= most)) least = most = 0;
    step_ = nice_step(std::max(most - least, 1.0), 6);
    lo_ = std::floor(least / step_) * step_;
    hi_ = std::max(std::ceil(most / step_) * step_, lo_ + step_);
    bits_ = std::ceil(bits * 1.03);
  }
  [[nodiscard]] double x(double bits) const { return 0.06 + 0.92 * bits / bits_; }
  [[nodiscard]] double y(double db) const {
    return std::isinf(db) ? exact : base - (base - first) * (db - lo_) / (hi_ - lo_);
  }

  // Grid, ticks and what they are called.
  [[nodiscard]] std::string axes() const {
    std::string svg;
    for (double k = 0; lo_ + k * step_ <= hi_ + step_ / 2; ++k) {
      const double db = lo_ + k * step_;
      svg += html::line(0.06, y(db), 0.98, y(db), "class=\"grid\"") +
             html::text(0.052, y(db) + 4, "end", short_number(db));
    }
    svg += html::line(0.06, exact, 0.98, exact, "class=\"grid\"") +
           html::text(0.052, exact + 4, "end", "exact");
    const double bits = nice_step(bits_, 8);
    for (double k = 0; k * bits <= bits_; ++k)
      svg += html::line(x(k * bits), base, x(k * bits), base + 5, "class=\"tick\"") +
             html::text(x(k * bits), base + 18, "middle", short_number(k * bits));
    return svg + html::line(0.06, base, 0.98, base, "class=\"tick\"") +
           html::text(0.06, 14, "start", "SQNR dB") +
           html::text(0.52, base + 38, "middle", "bits per weight") + '\n';
  }

 private:
  double lo_ = 0, hi_ = 1, step_ = 1, bits_ = 1;
};

// What the picture shows, for those who do not see it.
std::string scatter_words(const std::vector<Point>& points) {
  const Point *low = nullptr, *high = nullptr;
  std::size_t exact = 0;
  for (const Point& p : points) {
    exact += std::isinf(p.db) ? 1 : 0;
    if (std::isinf(p.db)) continue;
    if (low == nullptr || p.db < low->db) low = &p;
    if (high == nullptr || p.db > high->db) high = &p;
  }
  std::string out =
      html::plural(points.size(), "tensor", "tensors") + ", of which " + grouped(exact) + " exact";
  if (low != nullptr)
    out += "; SQNR from " + fixed(low->db, 2) + " dB at " + fixed(low->bits, 2) +
           " bits per weight to " + fixed(high->db, 2) + " dB at " + fixed(high->bits, 2);
  return out + ". The table of tensors has all numbers.";
}

std::string scatter(const ReportPage& page) {
  const std::vector<Point> points = points_of(page);
  if (points.empty()) return "<p>No tensor has elements.</p>\n";
  const Frame frame(points);
  std::string svg =
      "<svg class=\"scatter\" width=\"100%\" height=\"" + html::px(Frame::bottom) +
      "\" role=\"img\" aria-labelledby=\"scatter-title scatter-words\"><title id=\"scatter-title\">"
      "Bits per weight against SQNR</title><desc id=\"scatter-words\">" +
      scatter_words(points) + "</desc>\n" + frame.axes();
  for (const Point& p : points) {
    const ReportTensor& t = page.tensors[p.tensor];
    const double share = static_cast<double>(t.elements) / static_cast<double>(page.all.elements);
    const std::string look = t.is_quantized() ? "fill=\"" + std::string(html::color(p.kind)) + "\""
                                              : std::string("class=\"copied\"");
    svg += "<circle cx=\"" + html::share_of_width(frame.x(p.bits)) + "\" cy=\"" +
           html::px(frame.y(p.db)) + "\" r=\"" + html::px(3 + 12 * std::sqrt(share)) + "\" " +
           look + " data-row=\"t" + std::to_string(p.tensor) + "\"/>";
  }
  return svg + "</svg>\n<p>" + scatter_words(points) +
         " A click on a point leads to its row.</p>\n";
}

std::string summary(const ReportPage& page) {
  const ReportSum &all = page.all, &weights = page.weights;
  std::string out = "<p>" + html::escaped(page.model) + " became " + html::escaped(page.quantized) +
                    ": " + grouped(weights.tensors) + " of " +
                    html::plural(all.tensors, "tensor", "tensors") + " quantized";
  if (weights.elements != 0)
    out += " to " + fixed(weights.bits_per_weight(), 2) + " bits per weight";
  out += "; <b>" + grouped(all.bytes_before) + "</b> bytes before, <b>" + grouped(all.bytes_after) +
         "</b> after, <b>" + fixed(saved_percent(all.bytes_before, all.bytes_after), 1) +
         " % saved</b>.";
  if (weights.tensors != 0)
    out += " What is quantized takes " + grouped(weights.parts.codes) + " bytes of codes, " +
           grouped(weights.parts.scales) + " of scales and " + grouped(weights.parts.zero_points) +
           " of zero points; " + grouped(weights.parts.padding_bits) +
           " bits of the codes are padding. Over all of it SQNR is " +
           html::decibel(weights.lost.metrics().sqnr_db) + " dB.";
  out += " With their headers the files have " + grouped(page.file_before) + " and " +
         grouped(page.file_after) + " bytes.</p>\n";
  if (page.left_out.empty()) return out;
  out += "<p>Left out, since no tensor can have this name in a safetensors file:";
  for (const std::string& name : page.left_out) out += " <code>" + html::escaped(name) + "</code>";
  return out + "</p>\n";
}

constexpr const char* report_style = R"(
body { max-width: 1500px; } caption { text-align: left; padding: 3px 0; }
:root { --values: #5b7ea8; } @media screen and (prefers-color-scheme: dark) { :root { --values: #7fa6d6; } }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-decoration: underline dotted; }
th, td { padding: 3px 8px; }
th[aria-sort=ascending] button::after { content: " \25B2"; } th[aria-sort=descending] button::after { content: " \25BC"; }
tbody th { font-weight: normal; white-space: normal; min-width: 16em; } td.name { white-space: normal; min-width: 6em; } .name { overflow-wrap: anywhere; }
tr:target { background: var(--best); }
.key.copied { background: none; border: 2px solid var(--tick); box-sizing: border-box; }
.values { width: 144px; height: 30px; display: block; } .values .bars { fill: var(--values); }
.values path { vector-effect: non-scaling-stroke; } .clip { stroke: var(--far); stroke-width: 1.5px; }
.narrow { stroke: var(--far); stroke-width: 1px; stroke-dasharray: 2 2; }
.scatter { overflow: visible; } circle { stroke: var(--paper); cursor: pointer; }
circle.copied { fill: none; stroke: var(--tick); stroke-width: 1.5px; pointer-events: all; }
@page { size: landscape; } @media print { table { font-size: 8px; } th, td { padding: 1px 3px; } tbody th { min-width: 9em; } .values { width: 90px; height: 18px; } .scatter { break-inside: avoid; } }
)";

constexpr const char* report_notes = R"(<h2>How to read this page</h2>
<ul>
<li><b>Bytes</b> count everything that a tensor takes in the file: codes, scales, zero points, and the bits that fill the last
byte of the codes. <b>Saved</b> is 1 - bytes after / bytes before, of all bytes together, so that a large tensor counts for more
than a small one.</li>
<li><b>SQNR</b> is how far the values lie above what was lost, in decibel: 10 log10(sum of x&sup2; / sum of (x - x')&sup2;). Higher is
better; 6 dB are worth a bit. It is that of the finite values. <b>Share of the error</b> is that of the sum of (x - x')&sup2; over all
tensors.</li>
<li>The small pictures show how often which values were there before; heights are logarithms of counts. The red lines are the
ends of what codes can say: whatever lies beyond is clipped. Where there are many scales, these are the ends of all of them
together, and the dashed lines those of the narrowest. A line that is missing lies outside of the picture.</li>
<li>In the picture of bits against error each tensor is a point, the larger the more elements it has. What was copied is exact,
and has a ring.</li>
<li><b>Copied</b> tensors have, in parentheses, why, as far as the files tell: 1-D tensors, integers, and what another program
quantized are copied unless tq quantize is told otherwise.</li>
</ul>
)";

constexpr const char* report_script = R"(
'use strict';
const byName = new Intl.Collator(undefined, {numeric: true}).compare;
const byNumber = (a, b) => a < b ? -1 : a > b ? 1 : 0;
function sortBy(head) {
  const body = head.closest('table').tBodies[0], column = head.cellIndex;
  const isNumber = head.dataset.sort === 'number', compare = isNumber ? byNumber : byName;
  const order = head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
  const known = [], unknown = [];
  for (const row of body.rows) {
    const cell = row.cells[column], key = isNumber ? cell.dataset.v : cell.textContent;
    if (key === undefined) unknown.push(row);
    else known.push({row, key: isNumber ? Number(key) : key});
  }
  known.sort((a, b) => order === 'ascending' ? compare(a.key, b.key) : compare(b.key, a.key));
  const sorted = document.createDocumentFragment();
  for (const {row} of known) sorted.append(row);
  for (const row of unknown) sorted.append(row);
  body.append(sorted);
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', order);
}
for (const button of document.querySelectorAll('.sortable th button'))
  button.addEventListener('click', () => sortBy(button.closest('th')));
for (const picture of document.querySelectorAll('.scatter'))
  picture.addEventListener('click', (event) => {
    if (event.target.dataset.row) location.hash = event.target.dataset.row;
  });
)";

}  // namespace

std::string to_html(const ReportPage& page) {
  return html::to_string({"Quantization of " + page.model, report_style,
                          "<h1>What quantization made of a model</h1>\n" + summary(page) +
                              kinds_table(page) + "<h2>Bits against error</h2>\n" + scatter(page) +
                              "<h2>Tensors</h2>\n" + tensors_table(page) + report_notes,
                          report_script});
}

}  // namespace tool
