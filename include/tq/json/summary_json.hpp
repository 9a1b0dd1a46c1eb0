// SPDX-License-Identifier: MIT
#pragma once
// JSON of summaries.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>
#include <tq/model/summary.hpp>

namespace tq::io {

/// {"nodes": [{"name": "fc1", "kind": "linear", "type": "int4", "scheme": "...", "decided_by":
///  "default", "samples": 0, "minimum_samples": 0, "elements": 4096, "bytes_before": 16384,
///  "bytes_after": 2304, "code_bytes": 2048, "padding_bits": 0, "scale_bytes": 256,
///  "zero_point_bytes": 0, "sqnr_db": 20.1, "mse": 1e-5, "max_error": 0.01}], "types": {"int4": 1},
///  "bytes_before": 16384, "bytes_after": 2304, "saved": 0.86}
/// The last three of a node are null where no tensor of it was quantized, and an SQNR that is not
/// finite is.
[[nodiscard]] TQ_API Json summary_to_json(const QuantizationSummary& summary);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/summary_json.ipp>
#endif
