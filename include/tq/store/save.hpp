// SPDX-License-Identifier: MIT
#pragma once
// save: quantized and plain tensors into one file.

#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/description.hpp>
#include <tq/store/detail/save_plan.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/saved_tensor.hpp>

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace tq {

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
  const auto refuse = [&](const std::string& text) {
    detail::raise_text(errc::bad_argument, {"tq::save: ", path.string(), ": ", text});
  };
  if (path.extension() != ".safetensors")
    refuse("expected a name ending in .safetensors, got " + io::shown(path.filename().string()));
  if (metadata.contains(store::metadata_key))
    refuse("expected metadata without the pair \"tq\", which describes the tensors, got one");
  store::detail::SavePlan plan(tensors);
  store::detail::in_context([&] { return "tq::save: " + path.string(); },
                            [&] { plan.check<Types, ScaleTypes>(); });
  io::Metadata pairs = metadata;
  pairs[store::metadata_key] = plan.description();
  io::SafetensorsWriter writer(path, plan.declarations(), pairs);
  for (const io::TensorInfo& t : writer.order())
    plan.write(t.name, [&](std::span<const std::byte> bytes) { writer.append(t.name, bytes); });
  writer.finish();
}
template <class Types = all_elements, class ScaleTypes = all_scales>
void save(const std::filesystem::path& path, std::initializer_list<SavedTensor> tensors,
          const io::Metadata& metadata = {}) {
  save<Types, ScaleTypes>(path, std::span(tensors.begin(), tensors.size()), metadata);
}

}  // namespace tq
