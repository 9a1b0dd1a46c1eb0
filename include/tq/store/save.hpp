// SPDX-License-Identifier: MIT
#pragma once
// save: quantized and plain tensors into one file.

#include <tq/bodies.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/detail/check_encoded.hpp>
#include <tq/store/saved_tensor.hpp>

#include <filesystem>
#include <initializer_list>
#include <span>

namespace tq {

namespace store::detail {

TQ_API void save(const std::filesystem::path& path, std::span<const SavedTensor> tensors,
                 const io::Metadata& metadata, CheckEncoded check);

}  // namespace store::detail

/// Writes tensors to a .safetensors file: the file that `tq quantize` writes of the same tensors,
/// byte for byte (docs/file-format.md). All of it is written, or nothing: a file that was there
/// stays as it is when something fails. `metadata` are other text pairs of the file.
///
///     tq::save("model.safetensors", {{"fc1.weight", q}, {"fc1.bias", bias}});
///
/// Throws: `errc::bad_argument` for a name that is used twice or would be that of a part of another
/// tensor, a path without the ending, and a pair "tq"; what `decode` refuses of an `EncodedTensor`,
/// naming the tensor; `errc::shape_mismatch` for a plain tensor of another size;
/// `errc::io_failure`.
template <class Types = all_elements, class ScaleTypes = all_scales>
void save(const std::filesystem::path& path, std::span<const SavedTensor> tensors,
          const io::Metadata& metadata = {}) {
  store::detail::save(path, tensors, metadata, &store::detail::check_encoded<Types, ScaleTypes>);
}
template <class Types = all_elements, class ScaleTypes = all_scales>
void save(const std::filesystem::path& path, std::initializer_list<SavedTensor> tensors,
          const io::Metadata& metadata = {}) {
  save<Types, ScaleTypes>(path, std::span(tensors.begin(), tensors.size()), metadata);
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/save.ipp>
#endif
