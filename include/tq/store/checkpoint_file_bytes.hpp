// SPDX-License-Identifier: MIT
#pragma once
// checkpoint_file_bytes: the size of the weight files of a checkpoint before they are written.

#include <tq/checkpoints/writable_format.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/erased_format.hpp>
#include <tq/store/detail/planned_sizes.hpp>

#include <cstdint>
#include <filesystem>

namespace tq {

/// Bytes of all .safetensors files that `write_checkpoint` makes of these arguments, with headers,
/// their padding and the tensors that stay in float. No tensor is read. Throws: as
/// `write_checkpoint` before it writes.
template <io::WritableFormat F>
[[nodiscard]] std::uint64_t checkpoint_file_bytes(const std::filesystem::path& in, const F& format,
                                                  const CheckpointOptions& options = {}) {
  return store::detail::PlannedSizes(in, options).bytes_of(store::detail::erased(format));
}

}  // namespace tq
