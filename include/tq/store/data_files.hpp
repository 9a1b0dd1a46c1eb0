// SPDX-License-Identifier: MIT
#pragma once
// The files of a data set, in order, and whose batches their tensors are.

#include <tq/bodies.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tq::store {

namespace detail {

[[nodiscard]] TQ_API bool is_digit(char c);

[[nodiscard]] TQ_API bool comes_before(std::string_view a, std::string_view b);

}  // namespace detail

/// Files as they are given; of folders the .npy, .npz and .safetensors files in them that are not
/// hidden, by name, with numbers in names by their value: "x_9" before "x_10". Throws:
/// `errc::no_data` for a folder without any; `errc::io_failure`.
[[nodiscard]] TQ_API std::vector<std::filesystem::path> data_files(
    const std::vector<std::string>& data);

/// The name of the tensor that a tensor of such a file is a batch of: its own name; the one tensor
/// of a .npy file has the name of the file without number, "relu1" of relu1_0003.npy, relu1.3.npy
/// and relu1.npy.
[[nodiscard]] TQ_API std::string batch_of(const std::filesystem::path& file,
                                          const std::string& tensor);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/data_files.ipp>
#endif
