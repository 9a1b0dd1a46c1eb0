// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/save.hpp.

#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/description.hpp>
#include <tq/store/detail/save_plan.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/save.hpp>

#include <cstddef>
#include <string>

namespace tq::store::detail {

TQ_API void save(const std::filesystem::path& path, std::span<const SavedTensor> tensors,
                 const io::Metadata& metadata, CheckEncoded check) {
  const auto refuse = [&](const std::string& text) {
    tq::detail::raise_text(errc::bad_argument, {"tq::save: ", path.string(), ": ", text});
  };
  if (path.extension() != ".safetensors")
    refuse("expected a name ending in .safetensors, got " + io::shown(path.filename().string()));
  if (metadata.contains(metadata_key))
    refuse("expected metadata without the pair \"tq\", which describes the tensors, got one");
  SavePlan plan(tensors);
  in_context([&] { return "tq::save: " + path.string(); }, [&] { plan.check(check); });
  io::Metadata pairs = metadata;
  pairs[metadata_key] = plan.description();
  io::SafetensorsWriter writer(path, plan.declarations(), pairs);
  for (const io::TensorInfo& t : writer.order())
    plan.write(t.name, [&](std::span<const std::byte> bytes) { writer.append(t.name, bytes); });
  writer.finish();
}

}  // namespace tq::store::detail
