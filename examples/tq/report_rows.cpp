// SPDX-License-Identifier: MIT
#include "report_rows.hpp"

#include "output.hpp"

#include <tq/containers/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::io::Json;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_joint(char c) { return c == '.' || c == '/'; }

// JSON of text and numbers, without a '<' that could end the element it is in.
class Writer {
 public:
  Writer& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Writer& text(const std::string& content) {
    for (const char c : Json(content).dump(-1, ' ', false, Json::error_handler_t::replace))
      if (c == '<') text_ += "\\u003c";
      else text_ += c;
    return *this;
  }
  Writer& count(std::uint64_t n) { return raw(std::to_string(n)); }
  // A number as text has it; what JSON has no number for is text.
  Writer& number(double x, const std::string& digits) {
    return std::isfinite(x) ? raw(digits) : raw("\"" + fixed(x, 0) + "\"");
  }
  // Calls f(item) for the items of an array.
  template <class List, class F>
  Writer& array(const List& list, const char* between, F&& f) {
    raw("[");
    bool is_first = true;
    for (const auto& item : list) {
      raw(is_first ? "" : between);
      is_first = false;
      f(item);
    }
    return raw("]");
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Without zeros that say nothing.
std::string decibels(double db) {
  std::string text = fixed(db, 4);
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The properties that many tensors share: kind, type and shape, and what follows from them.
using Layout = std::vector<std::uint64_t>;
class Layouts {
 public:
  explicit Layouts(const ReportPage& page) {
    for (const ReportSum& sum : page.kinds) kinds_.emplace(sum.kind, kinds_.size());
  }
  [[nodiscard]] std::size_t kind(const std::string& name) const { return kinds_.at(name); }
  std::size_t of(const ReportTensor& t) {
    Layout numbers{kind(t.kind()), t.elements,     t.bytes_before,      t.bytes_after,
                   t.parts.codes,  t.parts.scales, t.parts.zero_points, 0};
    if (t.covered) numbers.back() = t.covered->count;
    std::string was = t.dtype + " " + tq::io::shape_text(t.shape);
    const auto [found, is_new] =
        places_.try_emplace({std::move(was), std::move(numbers)}, list_.size());
    if (is_new) list_.push_back(&found->first);
    return found->second;
  }
  void write(Writer& out) const {
    out.array(list_, ",\n", [&](const auto* entry) {
      const auto& [was, numbers] = *entry;
      out.raw("[").count(numbers[0]).raw(",").text(was);
      for (std::size_t i = 1; i < numbers.size(); ++i) out.raw(",").count(numbers[i]);
      out.raw("]");
    });
  }

 private:
  using Entry = std::pair<std::string, Layout>;
  std::map<std::string, std::size_t> kinds_;
  std::map<Entry, std::size_t> places_;
  std::vector<const Entry*> list_;
};

// How many ASCII characters two names begin with alike: as many characters for the script.
std::size_t shared(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n] && static_cast<unsigned char>(a[n]) < 0x80)
    ++n;
  return n;
}

// Heights as letters; counts as logarithms, so that few values can be seen beside many.
std::string heights(const ValuePicture& p) {
  const double most = *std::ranges::max_element(p.counts);
  std::string out;
  for (const double n : p.counts) {
    const double up =
        n > 0 && most > 0
            ? std::max(1.0, std::round(picture_height * std::log1p(n) / std::log1p(most)))
            : 0.0;
    out += static_cast<char>('A' + static_cast<int>(up));
  }
  return out;
}

void write_range(Writer& out, const tq::Range& range) {
  for (const auto& [end, text] : {std::pair(range.min, short_down(double{range.min})),
                                  std::pair(range.max, short_up(double{range.max}))})
    out.raw(",").number(double{end}, text);
}

void write_error(Writer& out, const tq::ErrorMetrics& m, double share) {
  out.number(m.sqnr_db, decibels(m.sqnr_db)).raw(",").raw(short_number(share)).raw(",");
  out.number(m.max_abs, short_up(m.max_abs));
}

void write_tensor(Writer& out, const ReportTensor& t, std::size_t layout, const ReportPage& page) {
  out.raw(",").count(layout);
  if (!t.values && !t.is_quantized()) return;
  out.raw(",\"").raw(t.values ? heights(*t.values) : std::string()).raw("\"");
  write_range(out, t.values ? t.values->range : tq::Range{});
  if (!t.is_quantized()) return;
  const ClippingRanges covered = t.covered.value_or(ClippingRanges{});
  write_range(out, covered.all);
  write_range(out, covered.narrowest);
  out.raw(",");
  write_error(out, t.lost.metrics(), error_share(t, page));
}

// The sums of tensors whose names `f` gives one name.
template <class F>
std::vector<std::pair<ReportSum, std::vector<std::size_t>>> groups_of(const ReportPage& page,
                                                                      const Layouts& layouts,
                                                                      F&& f) {
  std::vector<std::pair<ReportSum, std::vector<std::size_t>>> groups;
  std::map<std::string, std::size_t> places;
  for (const ReportTensor& t : page.tensors) {
    std::string name = f(printable(t.name));
    const auto [found, is_new] = places.try_emplace(std::move(name), groups.size());
    if (is_new) groups.emplace_back().first.kind = found->first;
    auto& [sum, kinds] = groups[found->second];
    sum.add(t);
    sum.is_quantized = sum.is_quantized || t.is_quantized();
    const std::size_t kind = layouts.kind(t.kind());
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  // Groups of hardly more than one tensor sum nothing up.
  if (4 * groups.size() > 3 * page.tensors.size()) groups.clear();
  return groups;
}

template <class F>
void write_groups(Writer& out, const ReportPage& page, const Layouts& layouts, F&& f) {
  out.array(groups_of(page, layouts, f), ",\n", [&](const auto& group) {
    const auto& [sum, kinds] = group;
    out.raw("[").text(sum.kind).raw(",").count(sum.tensors).raw(",");
    out.array(kinds, ",", [&](std::size_t kind) { out.count(kind); });
    for (const std::uint64_t n : {sum.elements, sum.bytes_before, sum.bytes_after, sum.parts.codes,
                                  sum.parts.scales, sum.parts.zero_points})
      out.raw(",").count(n);
    if (sum.is_quantized) {
      out.raw(",");
      write_error(out, sum.lost.metrics(), error_share(sum.lost, page));
    }
    out.raw("]");
  });
}

}  // namespace

std::string layer_of(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin;
    bool is_number = true;
    for (; end < name.size() && !is_joint(name[end]); ++end) is_number &= is_digit(name[end]);
    if (is_number && end > begin) return name.substr(0, end);
    begin = end + 1;
  }
  const std::size_t last = name.find_last_of("./");
  return last == std::string::npos ? name : name.substr(0, last);
}

std::string role_of(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!is_digit(name[i])) out += name[i];
    else if (i == 0 || !is_digit(name[i - 1])) out += 'N';
  return out;
}

std::string report_data(const ReportPage& page) {
  Writer out;
  Layouts layouts(page);
  std::size_t columns = 0;
  for (const ReportTensor& t : page.tensors)
    if (t.values) columns = t.values->counts.size();
  out.raw("{\"columns\":").count(columns).raw(",\n\"kinds\":");
  out.array(page.kinds, ",\n", [&](const ReportSum& sum) {
    out.raw("[").text(printable(sum.kind)).raw(sum.is_quantized ? ",1]" : ",0]");
  });
  out.raw(",\n\"tensors\":");
  std::string before;
  out.array(page.tensors, ",\n", [&](const ReportTensor& t) {
    std::string name = printable(t.name);
    const std::size_t same = shared(before, name);
    out.raw("[").count(same).raw(",").text(name.substr(same));
    write_tensor(out, t, layouts.of(t), page);
    out.raw("]");
    before = std::move(name);
  });
  out.raw(",\n\"layouts\":");
  layouts.write(out);
  out.raw(",\n\"layers\":");
  write_groups(out, page, layouts, layer_of);
  out.raw(",\n\"roles\":");
  write_groups(out, page, layouts, role_of);
  return out.raw("}").take();
}

}  // namespace tool
