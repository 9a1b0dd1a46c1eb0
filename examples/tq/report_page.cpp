// SPDX-License-Identifier: MIT
#include "report_page.hpp"

#include "axes.hpp"
#include "html.hpp"
#include "output.hpp"
#include "report_rows.hpp"
#include "report_script.hpp"

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

double error_share(const tq::Comparison<>& lost, const ReportPage& page) {
  const double share = noise_of(lost) / noise_of(page.weights.lost);
  return std::isfinite(share) ? share : 0.0;
}
double error_share(const ReportTensor& t, const ReportPage& page) {
  return error_share(t.lost, page);
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

// Rows of cells below heads that sort them. On narrow screens each row is a card, whose cells are
// named by their heads.
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
    titles_.emplace_back(title);
    return *this;
  }
  void rows() { text_ += "</tr></thead><tbody>\n"; }

  // Begins a row with its content.
  void begin_row(const std::string& content) {
    text_ += "<tr><th scope=\"row\" class=\"name\">" + content + "</th>";
    column_ = 1;
  }
  void number(const std::string& content, double value) {
    const std::string key = sort_key(value);
    cell(content, key.empty() ? "" : " data-v=\"" + key + "\"");
  }
  void count(std::uint64_t n) { number(html::grouped(n), static_cast<double>(n)); }
  void none() { cell(nothing, ""); }
  void end_row() { text_ += "</tr>\n"; }

  [[nodiscard]] std::string text() const { return text_ + "</tbody></table></div>\n"; }

 private:
  void cell(const std::string& content, const std::string& more) {
    text_ += "<td data-h=\"" + titles_[column_++] + "\"" + more + ">" + content + "</td>";
  }

  std::string text_;
  std::vector<std::string> titles_;
  std::size_t column_ = 0;
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
    table.begin_row(key_of(i, sum) + html::escaped(sum.kind));
    table.count(sum.tensors);
    table.count(sum.elements);
    table.count(sum.bytes_before);
    table.count(sum.bytes_after);
    table.number(fixed(saved, 1) + "\u00a0%", saved);
    table.number(fixed(sum.bits_per_weight(), 2), sum.bits_per_weight());
    const double db = sum.lost.metrics().sqnr_db;
    if (sum.is_quantized) table.number(html::decibel(db), db);
    else table.none();
    table.end_row();
  }
  return table.text();
}

// A column of the table of tensors: a member of the rows of the script, and its title.
struct Column {
  const char *key, *title, *look;
};
constexpr std::array<Column, 14> tensor_columns{{
    {"name", "tensor", "name"},
    {"", "values, and what codes cover", "picture"},
    {"kind", "stored as", "name"},
    {"bits", "bits/weight", ""},
    {"db", "SQNR dB", ""},
    {"share", "share of the error", ""},
    {"max", "max error", ""},
    {"before", "bytes before", ""},
    {"after", "bytes after", ""},
    {"codes", "codes", "part"},
    {"scales", "scales", "part"},
    {"zeros", "zero points", "part"},
    {"elements", "elements", "part"},
    {"was", "was", "name"},
}};

// The table without its rows, which the script adds, and what chooses among them.
std::string tensors_table(const ReportPage& page) {
  std::string out =
      "<div class=\"tools\">\n"
      "<label>Filter <input type=\"search\" id=\"filter\" placeholder=\"name or scheme\"></label>\n"
      "<label>Rows <select id=\"view\"><option value=\"tensors\">each tensor</option>"
      "<option value=\"layers\">layers</option>"
      "<option value=\"roles\">tensors of all layers together</option></select></label>\n"
      "<label><input type=\"checkbox\" id=\"parts\"> codes, scales, zero points, elements</label>\n"
      "</div>\n<p id=\"status\" role=\"status\">" +
      html::plural(page.tensors.size(), "tensor", "tensors") +
      ".</p>\n<p><button type=\"button\" id=\"every\" hidden>show all</button></p>\n"
      "<noscript><p>Rows of this table are made by the script of this page, which the browser does "
      "not run. <code>tq report --json</code> has their numbers.</p></noscript>\n"
      "<div class=\"wide\"><table class=\"sortable tensors\" id=\"tensors\"><caption>A click on "
      "the "
      "head of a column sorts by it.</caption><thead><tr>";
  for (const Column& column : tensor_columns) {
    out += std::string("<th scope=\"col\"") +
           (*column.look == 0 ? "" : " class=\"" + std::string(column.look) + "\"");
    if (*column.key == 0) out += std::string(">") + column.title + "</th>";
    else
      out += std::string(" data-key=\"") + column.key + "\"><button type=\"button\">" +
             column.title + "</button></th>";
  }
  return out +
         "</tr></thead><tbody></tbody></table></div>\n<p><button type=\"button\" id=\"more\" "
         "hidden>show more</button></p>\n";
}

// A point of the picture of bits against error: a tensor, or many at about one place.
struct Point {
  std::size_t tensor, kind;  // of many, the first
  double bits, db;
  std::uint64_t elements;
  std::size_t count = 1;
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
    out.push_back({i, kinds.at(t.kind()), t.bits_per_weight(), db, t.elements});
  }
  return out;
}

// Where bits and decibels are in the picture. What is exact has a line of its own above all others.
class Frame {
 public:
  static constexpr double exact = 40, first = 70, base = 330, bottom = 376;

  explicit Frame(const std::vector<Point>& points) {
    double least = std::numeric_limits<double>::infinity(), most = -least, bits = 1;
    for (const Point& p : points) {
      bits = std::max(bits, p.bits);
      if (std::isinf(p.db)) continue;
      least = std::min(least, p.db);
      most = std::max(most, p.db);
    }
    if (!(least <= most)) least = most = 0;
    const double step = nice_step(std::max(most - least, 1.0), 6);
    lo_ = std::floor(least / step) * step;
    hi_ = std::max(std::ceil(most / step) * step, lo_ + step);
    bits_ = std::ceil(bits * 1.03);
  }
  [[nodiscard]] double x(double bits) const { return 0.06 + 0.92 * bits / bits_; }
  [[nodiscard]] double y(double db) const {
    return std::isinf(db) ? exact : base - (base - first) * (db - lo_) / (hi_ - lo_);
  }

  // Grid, ticks and what they are called.
  [[nodiscard]] std::string axes() const {
    std::string svg;
    for (const Tick& tick : ticks_between(lo_, hi_, 6))
      svg += html::line(0.06, y(tick.at), 0.98, y(tick.at), "class=\"grid\"") +
             html::text(0.052, y(tick.at) + 4, "end", tick.label);
    svg += html::line(0.06, exact, 0.98, exact, "class=\"grid\"") +
           html::text(0.052, exact + 4, "end", "exact");
    for (const Tick& tick : ticks_between(0, bits_, 8))
      svg += html::line(x(tick.at), base, x(tick.at), base + 5, "class=\"tick\"") +
             html::text(x(tick.at), base + 18, "middle", html::spaced(tick.label));
    return svg + html::line(0.06, base, 0.98, base, "class=\"tick\"") +
           html::text(0.06, 14, "start", "SQNR dB") +
           html::text(0.52, base + 38, "middle", "bits per weight") + '\n';
  }

 private:
  double lo_ = 0, hi_ = 1, bits_ = 1;
};

// The picture in words, for readers who do not see it.
std::string scatter_words(const std::vector<Point>& points) {
  const Point *low = nullptr, *high = nullptr;
  std::size_t exact = 0;
  for (const Point& p : points) {
    exact += std::isinf(p.db) ? 1 : 0;
    if (std::isinf(p.db)) continue;
    if (low == nullptr || p.db < low->db) low = &p;
    if (high == nullptr || p.db > high->db) high = &p;
  }
  std::string out = html::plural(points.size(), "tensor", "tensors") + ", of which " +
                    html::grouped(exact) + " exact";
  if (low != nullptr)
    out += "; SQNR from " + fixed(low->db, 2) + " dB at " + fixed(low->bits, 2) +
           " bits per weight to " + fixed(high->db, 2) + " dB at " + fixed(high->bits, 2);
  return out + ". The table of tensors has all numbers.";
}

// The points to draw: among many, points of one kind that lie on one another become one.
std::vector<Point> drawn_points(const std::vector<Point>& points, const Frame& frame) {
  constexpr std::size_t most = 1000;
  if (points.size() <= most) return points;
  std::vector<Point> out;
  std::map<std::array<int, 3>, std::size_t> places;
  for (const Point& p : points) {
    const std::array<int, 3> place{static_cast<int>(p.kind),
                                   static_cast<int>(200 * frame.x(p.bits)),
                                   static_cast<int>(frame.y(p.db) / 5)};
    const auto [found, is_new] = places.try_emplace(place, out.size());
    if (is_new) {
      out.push_back(p);
      continue;
    }
    out[found->second].elements += p.elements;
    ++out[found->second].count;
  }
  return out;
}

std::string scatter(const ReportPage& page) {
  const std::vector<Point> points = points_of(page);
  if (points.empty()) return "<p>No tensor has elements.</p>\n";
  const Frame frame(points);
  const std::vector<Point> drawn = drawn_points(points, frame);
  std::string svg =
      "<svg class=\"scatter\" width=\"100%\" height=\"" + html::px(Frame::bottom) +
      "\" role=\"img\" aria-labelledby=\"scatter-title scatter-words\"><title id=\"scatter-title\">"
      "Bits per weight against SQNR</title><desc id=\"scatter-words\">" +
      scatter_words(points) + "</desc>\n" + frame.axes();
  for (const Point& p : drawn) {
    const double share = static_cast<double>(p.elements) / static_cast<double>(page.all.elements);
    const std::string look = page.tensors[p.tensor].is_quantized()
                                 ? "fill=\"" + std::string(html::color(p.kind)) + "\""
                                 : std::string("class=\"copied\"");
    svg += "<circle cx=\"" + html::share_of_width(frame.x(p.bits)) + "\" cy=\"" +
           html::px(frame.y(p.db)) + "\" r=\"" + html::px(3 + 12 * std::sqrt(share)) + "\" " +
           look + " data-row=\"t" + std::to_string(p.tensor) + "\"/>\n";
  }
  svg += "</svg>\n<p>" + scatter_words(points);
  return svg +
         (drawn.size() == points.size()
              ? " A click on a point leads to its row.</p>\n"
              : " Points that lie on one another are drawn as one; a click on it leads to the "
                "row of the first.</p>\n");
}

std::string summary(const ReportPage& page) {
  const ReportSum &all = page.all, &weights = page.weights;
  std::string out = "<p>" + html::escaped(page.model) + " became " + html::escaped(page.quantized) +
                    ": " + html::grouped(weights.tensors) + " of " +
                    html::plural(all.tensors, "tensor", "tensors") + " quantized";
  if (weights.elements != 0)
    out += " to " + fixed(weights.bits_per_weight(), 2) + " bits per weight";
  out += "; <b>" + html::grouped(all.bytes_before) + "</b> bytes before, <b>" +
         html::grouped(all.bytes_after) + "</b> after, <b>" +
         fixed(saved_percent(all.bytes_before, all.bytes_after), 1) + " % saved</b>.";
  if (weights.tensors != 0)
    out += " What is quantized takes " + html::grouped(weights.parts.codes) + " bytes of codes, " +
           html::grouped(weights.parts.scales) + " of scales and " +
           html::grouped(weights.parts.zero_points) + " of zero points; " +
           html::grouped(weights.parts.padding_bits) +
           " bits of the codes are padding. Over all of it SQNR is " +
           html::decibel(weights.lost.metrics().sqnr_db) + " dB.";
  out += " With their headers the files have " + html::grouped(page.file_before) + " and " +
         html::grouped(page.file_after) + " bytes.</p>\n";
  if (page.left_out.empty()) return out;
  out += "<p>Left out, since no tensor can have this name in a safetensors file:";
  for (const std::string& name : page.left_out) out += " <code>" + html::escaped(name) + "</code>";
  return out + "</p>\n";
}

}  // namespace

std::string to_html(const ReportPage& page) {
  return html::to_string({"Quantization of " + page.model, report_style,
                          "<h1>What quantization made of a model</h1>\n" + summary(page) +
                              kinds_table(page) + "<h2>Bits against error</h2>\n" + scatter(page) +
                              "<h2>Tensors</h2>\n" + tensors_table(page) + report_notes,
                          report_script, report_data(page)});
}

}  // namespace tool
