// SPDX-License-Identifier: MIT
#pragma once
// The files of a data set, in order, and whose batches their tensors are.

#include "stored_model.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Files as they are given; of folders the .npy, .npz and .safetensors files in them that are not
// hidden, by name, with numbers in names by their value: "x_9" before "x_10". Throws: errc::no_data
// for a folder without any; errc::io_failure.
[[nodiscard]] std::vector<std::filesystem::path> data_files(const std::vector<std::string>& data);

// The name of the tensor that a tensor of such a file is a batch of: its own name; the one tensor
// of a .npy file has the name of the file without number, "relu1" of relu1_0003.npy, relu1.3.npy
// and relu1.npy.
[[nodiscard]] std::string batch_of(const std::filesystem::path& file, const StoredTensor& tensor);

}  // namespace tool
