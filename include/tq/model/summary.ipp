// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/summary.hpp.

#include <tq/model/summary.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace tq {

TQ_API std::uint64_t NodeSummary::bytes_after() const noexcept {
  return code_bytes + scale_bytes + zero_point_bytes;
}

TQ_API double NodeSummary::bits_per_element() const noexcept {
  return elements == 0 ? 0
                       : 8.0 * static_cast<double>(bytes_after()) / static_cast<double>(elements);
}

TQ_API std::uint64_t QuantizationSummary::bytes_before() const noexcept {
  return sum([](const NodeSummary& n) { return n.bytes_before; });
}

TQ_API std::uint64_t QuantizationSummary::bytes_after() const noexcept {
  return sum([](const NodeSummary& n) { return n.bytes_after(); });
}

TQ_API double QuantizationSummary::saved() const noexcept {
  return bytes_before() == 0
             ? 0
             : 1 - static_cast<double>(bytes_after()) / static_cast<double>(bytes_before());
}

TQ_API std::map<std::string, std::size_t> QuantizationSummary::types() const {
  std::map<std::string, std::size_t> counts;
  for (const NodeSummary& node : nodes) ++counts[node.type];
  return counts;
}

namespace detail {

TQ_API std::string fixed_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Columns as wide as their widest cell, two spaces apart.
TQ_API std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line.append(row[i]).append(widths[i] - row[i].size() + 2, ' ');
    text.append(line, 0, line.find_last_not_of(' ') + 1).append("\n");
  }
  return text;
}

}  // namespace detail

TQ_API std::string kept_text(const std::map<NodeKind, std::vector<std::string>>& kept) {
  std::string found, missing;
  for (const NodeKind kind : default_float_kinds) {
    const std::string name(to_string(kind));
    const auto nodes = kept.find(kind);
    if (nodes == kept.end()) {
      if (kind == NodeKind::head || kind == NodeKind::router || kind == NodeKind::position)
        missing.append(missing.empty() ? "no " : ", no ").append(name);
      continue;
    }
    const std::size_t count = nodes->second.size();
    if (count == 0) continue;
    found.append(found.empty() ? "" : "; ").append(name).append(" ");
    if (count == 1) found.append(nodes->second[0]);
    else found.append(std::to_string(count)).append(" (" + nodes->second[0] + ", ...)");
  }
  std::string text = "kept in float: " + (found.empty() ? std::string("none") : found);
  if (!missing.empty()) text.append("; ").append(missing).append(" found");
  return text;
}

TQ_API std::string to_string(const QuantizationSummary& summary) {
  std::vector<std::vector<std::string>> rows{{"node", "kind", "scheme", "decided by", "elements",
                                              "bytes before", "after", "bits", "SQNR dB",
                                              "max error"}};
  for (const NodeSummary& node : summary.nodes) {
    const bool is_measured = node.is_quantized() && node.error.count != 0;
    rows.push_back(
        {node.name, std::string(to_string(node.kind)),
         node.is_quantized() ? node.scheme : node.type, node.decided_by,
         std::to_string(node.elements), std::to_string(node.bytes_before),
         std::to_string(node.bytes_after()), detail::fixed_text(node.bits_per_element(), 2),
         is_measured ? detail::fixed_text(node.error.sqnr_db, 2) : "-",
         is_measured ? detail::number_text(static_cast<float>(node.error.max_abs)) : "-"});
  }
  std::string text =
      detail::aligned(rows) + "\n" + std::to_string(summary.nodes.size()) + " nodes:";
  for (const auto& [type, count] : summary.types())
    text.append(" ").append(std::to_string(count)).append(" ").append(type);
  text.append("; ").append(std::to_string(summary.bytes_before())).append(" bytes before, ");
  text.append(std::to_string(summary.bytes_after())).append(" after, ");
  text.append(detail::fixed_text(100 * summary.saved(), 1)).append(" % saved\n");
  std::map<NodeKind, std::vector<std::string>> kept;
  for (const NodeSummary& node : summary.nodes)
    if (std::vector<std::string>& names = kept[node.kind]; !node.is_quantized())
      names.push_back(node.name);
  return text.append(kept_text(kept)).append("\n");
}

}  // namespace tq
