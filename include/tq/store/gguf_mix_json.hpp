// SPDX-License-Identifier: MIT
#pragma once
// gguf_mix_json: a selection of types as a mix.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/gguf_measurement.hpp>

namespace tq {

/// A selection among the weights of `measured` as a document for `read_gguf_mix`, by which
/// `write_gguf` gives every weight the selected type. Throws: `errc::shape_mismatch` for a
/// selection of another number of weights; `errc::unknown_name` for a scheme that is no type.
[[nodiscard]] TQ_API io::Json gguf_mix_json(const GgufMeasurement& measured,
                                            const PrecisionSelection& selection);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/gguf_mix_json.ipp>
#endif
