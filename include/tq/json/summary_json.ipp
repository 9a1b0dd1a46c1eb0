// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/summary_json.hpp.

#include <tq/json/json.hpp>
#include <tq/json/summary_json.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace tq::io {

TQ_API Json summary_to_json(const QuantizationSummary& summary) {
  Json nodes = Json::array();
  for (const NodeSummary& n : summary.nodes) {
    Json entry{{"name", n.name},
               {"kind", std::string(to_string(n.kind))},
               {"type", n.type},
               {"scheme", n.is_quantized() ? Json(n.scheme) : Json()},
               {"decided_by", n.decided_by},
               {"samples", n.samples},
               {"minimum_samples", n.minimum_samples},
               {"elements", n.elements},
               {"bytes_before", n.bytes_before},
               {"bytes_after", n.bytes_after()},
               {"code_bytes", n.code_bytes},
               {"padding_bits", n.padding_bits},
               {"scale_bytes", n.scale_bytes},
               {"zero_point_bytes", n.zero_point_bytes},
               {"sqnr_db", nullptr},
               {"mse", nullptr},
               {"max_error", nullptr}};
    if (n.error.count != 0) {
      if (std::isfinite(n.error.sqnr_db)) entry["sqnr_db"] = n.error.sqnr_db;
      entry["mse"] = n.error.mse;
      entry["max_error"] = n.error.max_abs;
    }
    nodes.push_back(std::move(entry));
  }
  return {{"nodes", std::move(nodes)},
          {"types", summary.types()},
          {"bytes_before", summary.bytes_before()},
          {"bytes_after", summary.bytes_after()},
          {"saved", summary.saved()}};
}

}  // namespace tq::io
