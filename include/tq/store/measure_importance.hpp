// SPDX-License-Identifier: MIT
#pragma once
// measure_importance: the importance matrix of a model from the activations of its layers.

#include <tq/bodies.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/importance_sums.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tq {

/// The importance of the inputs of weights, and the activations that it was made of.
struct MeasuredImportance {
  /// One of the names of activations.
  struct Layer {
    std::string name;            ///< of the activations
    std::string weight;          ///< in a GGUF file
    std::size_t inputs = 0;      ///< of a token
    std::uint64_t tokens = 0;    ///< that were added
    std::uint64_t left_out = 0;  ///< tokens with NaN or infinities
    bool is_in_mapping = true;   ///< false for a name that the mapping does not have
  };
  ImportanceSums sums{};
  std::vector<Layer> layers{};                 ///< by the first of their batches
  std::vector<std::filesystem::path> files{};  ///< that were read
};

/// The importance of inputs from activations [..., inputs] in .npy, .npz and .safetensors files,
/// and in folders of them: tensors of one name are batches of a layer, as `store::batch_of` names
/// them. Names are those of weights or modules, in GGUF files or in the models of a mapping, whose
/// experts are stacked; other names are kept, and get the ending ".weight". Sums are exact before
/// they are rounded to double. Throws: `errc::no_data`; `errc::bad_argument` for two names of one
/// weight, and for experts of number 4096 and above; `errc::shape_mismatch` for experts of other
/// inputs; `errc::malformed`; `errc::io_failure`.
[[nodiscard]] TQ_API MeasuredImportance measure_importance(
    const std::vector<std::string>& data, const GgufMapping& mapping = gguf_llama_mapping());

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/measure_importance.ipp>
#endif
