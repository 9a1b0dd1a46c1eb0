// SPDX-License-Identifier: MIT
#include "html.hpp"

#include "output.hpp"

#include <array>
#include <cmath>
#include <string_view>

namespace tool::html {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string spaced(std::string number) {
  constexpr std::string_view narrow = "\u202f";  // a space that does not break
  for (std::size_t i = 0; (i = number.find(' ', i)) != std::string::npos; i += narrow.size())
    number.replace(i, 1, narrow);
  return number;
}

std::string grouped(std::uint64_t n) { return spaced(tool::grouped(n)); }

std::string percent(double share) {
  return share == 0     ? "0\u00a0%"
         : share < 1e-6 ? "&lt;\u00a00.0001\u00a0%"
                        : short_number(100 * share) + "\u00a0%";
}

std::string decibel(double db) {
  return std::isfinite(db) ? fixed(db, 2) : db > 0 ? "&infin;" : "&ndash;";
}

std::string decibel_up(double db) { return std::isfinite(db) ? fixed_up(db, 2) : decibel(db); }
std::string decibel_down(double db) { return std::isfinite(db) ? fixed_down(db, 2) : decibel(db); }

std::string plural(std::uint64_t n, const char* one, const char* more) {
  return grouped(n) + " " + (n == 1 ? one : more);
}

std::string px(double x) { return fixed(x, 1); }
std::string share_of_width(double x) { return fixed(100 * x, 2) + "%"; }

const char* color(std::size_t i) {
  constexpr std::array colors{"#4e79a7", "#e15759", "#59a14f", "#d9730d", "#b07aa1",
                              "#9c755f", "#3a9a96", "#d37295", "#8c8c00"};
  return colors[i % colors.size()];
}

std::string line(double x1, double y1, double x2, double y2, const std::string& look) {
  return "<line x1=\"" + share_of_width(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" +
         share_of_width(x2) + "\" y2=\"" + px(y2) + "\" " + look + "/>";
}

std::string text(double x, double y, const char* anchor, const std::string& content,
                 const std::string& look) {
  return "<text x=\"" + share_of_width(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + anchor +
         "\"" + look + ">" + content + "</text>";
}

std::string bars(std::span<const double> up, double height) {
  std::string path = "<path class=\"bars\" d=\"M0 " + px(height);
  for (std::size_t c = 0; c < up.size(); ++c) {
    if (c == 0 || up[c] != up[c - 1]) path += "V" + px(height - up[c]);
    if (c + 1 == up.size() || up[c] != up[c + 1]) path += "H" + std::to_string(c + 1);
  }
  return path + "V" + px(height) + "Z\"/>";
}

namespace {

constexpr const char* common_style = R"(
:root { color-scheme: light; --ink: #222; --paper: #fff; --faint: #e3e3e3; --bars: #b9c4d0; --best: #eef6ea; --tick: #555; --far: #b02a2a; --link: #1f5fa8; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ink: #ddd; --paper: #16181b; --faint: #35393f; --bars: #4c5a69; --best: #24331f; --tick: #999; --far: #ff8a80; --link: #8ab4f8; } }
body { font: 15px/1.5 sans-serif; color: var(--ink); background: var(--paper); max-width: 1000px; margin: 2em auto; padding: 0 1em; overflow-wrap: break-word; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2.5em; border-top: 1px solid var(--faint); padding-top: 1em; }
a { color: var(--link); } .wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid var(--faint); white-space: nowrap; }
.name { text-align: left; overflow-wrap: anywhere; } tr.best { background: var(--best); font-weight: bold; }
.key { display: inline-block; width: 14px; height: 14px; border-radius: 3px; vertical-align: middle; }
svg text { font: 12px sans-serif; fill: var(--ink); stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
.bars { fill: var(--bars); } .grid { stroke: var(--faint); } .tick { stroke: var(--tick); }
@media (max-width: 600px) { body { margin: 1em auto; } th, td { padding: 3px 6px; font-size: 13px; } }
@media print { body { max-width: none; margin: 0; } .wide { overflow: visible; } tr { break-inside: avoid; } }
)";

}  // namespace

std::string to_string(const Document& document) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // The browser asks nobody for anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'" +
      std::string(document.script.empty() ? "" : "; script-src 'unsafe-inline'") +
      "\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      escaped(document.title) + "</title>\n<style>" + common_style + document.style +
      "</style>\n</head>\n<body>\n" + document.body;
  if (!document.data.empty())
    out += "<script type=\"application/json\" id=\"data\">" + document.data + "</script>\n";
  if (!document.script.empty()) out += "<script>" + document.script + "</script>\n";
  return out + "</body>\n</html>\n";
}

}  // namespace tool::html
