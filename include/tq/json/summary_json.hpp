// SPDX-License-Identifier: MIT
#pragma once
// JSON of summaries.

#include <tq/json/json.hpp>
#include <tq/model/summary.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace tq::io {

/// {"nodes": [{"name": "fc1", "kind": "linear", "type": "int4", "scheme": "...", "decided_by":
///  "default", "samples": 0, "minimum_samples": 0, "elements": 4096, "bytes_before": 16384,
///  "bytes_after": 2304, "code_bytes": 2048, "padding_bits": 0, "scale_bytes": 256,
///  "zero_point_bytes": 0, "sqnr_db": 20.1, "mse": 1e-5, "max_error": 0.01}], "types": {"int4": 1},
///  "bytes_before": 16384, "bytes_after": 2304, "saved": 0.86}
/// The last three of a node are null where no tensor of it was quantized, and an SQNR that is not
/// finite is.
[[nodiscard]] inline Json summary_to_json(const QuantizationSummary& summary) {
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
