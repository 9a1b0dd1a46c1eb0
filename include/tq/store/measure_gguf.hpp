// SPDX-License-Identifier: MIT
#pragma once
// measure_gguf: what the weights of a model cost and lose in the types of GGUF files.

#include <tq/bodies.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/gguf_measurement.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>
#include <vector>

namespace tq {

/// Measures the weights that `write_gguf` would quantize, in the blocks that it would write, for a
/// `PrecisionSelector`. `in` and `options` are those of `write_gguf`, without a type or mix. A
/// weight whose rows are no whole blocks of a type is measured in the type that `write_gguf` takes
/// instead; types that take no fewer bytes than the weight has are no candidates of it. Of a
/// selection, `other_bytes` and the bytes of the candidates are the size of the file.
///
///     const tq::GgufOptions options{.imatrix = "imatrix.gguf", .jobs = 4};
///     const tq::GgufMeasurement measured = tq::measure_gguf("llama/", {}, options);
///     const auto best = tq::PrecisionSelector(measured.weights).select(
///         {.goal = tq::PrecisionGoal::custom, .max_bytes = 4000000000 - measured.other_bytes});
///     tq::io::write_text("mix.json", tq::gguf_mix_json(measured, best).dump(2));
///     tq::write_gguf("llama-4gb.gguf", "llama/", {.config = "mix.json", .imatrix =
///     "imatrix.gguf"});
///
/// `types`: those to choose from; empty: Q2_K to Q6_K, Q8_0 and IQ4_XS. Memory is a band of rows
/// for each of `options.jobs`, and no number depends on these. Throws: `errc::bad_argument` for
/// types that no weight can get or that are there twice; else as `write_gguf`.
template <class Model = StoredModel>
[[nodiscard]] TQ_API GgufMeasurement
measure_gguf(const std::filesystem::path& in, const std::vector<layouts::gguf::Type>& types = {},
             const GgufOptions& options = {});

/// The candidates of `measure_gguf` with errors of 0, without reading a weight: the bytes between
/// which a size can be. Throws: as `measure_gguf`.
template <class Model = StoredModel>
[[nodiscard]] TQ_API GgufMeasurement
gguf_candidates(const std::filesystem::path& in, const std::vector<layouts::gguf::Type>& types = {},
                const GgufOptions& options = {});

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/measure_gguf.ipp>
#endif
