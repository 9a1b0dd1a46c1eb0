// SPDX-License-Identifier: MIT
#pragma once
// activation_files: the files that Hessians and importance matrices are made of.

#include <tq/store/detail/activation_batches.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tq {

/// The files among `data` (.npy, .npz and .safetensors files, and folders of them) that have
/// activations [..., inputs]. Reads headers only, so that a program can compare them with the place
/// of its output before it reads values. Throws: `errc::no_data` without activations;
/// `errc::bad_argument` for GGUF files; `errc::shape_mismatch` for batches of a layer with other
/// inputs; `errc::malformed`; `errc::io_failure`.
[[nodiscard]] inline std::vector<std::filesystem::path> activation_files(
    const std::vector<std::string>& data) {
  return store::detail::ActivationBatches(data).files();
}

}  // namespace tq
