// SPDX-License-Identifier: MIT
// Files in the format .npy: what is read comes back from what is written.
#include <tq/containers/npy.hpp>

#include "fuzz.hpp"

namespace {

using tq::io::ByteSource, tq::io::NpyReader, tq::io::Tensor;

[[nodiscard]] ByteSource source_of(fuzz::Bytes bytes) {
  return ByteSource::from_memory(std::as_bytes(bytes), "npy");
}

void check_rewritten(const Tensor& tensor) {
  const std::string header =
      tq::io::detail::npy_header_text(tensor.dtype, tensor.shape, "npy", tensor.name);
  std::vector<std::uint8_t> bytes(header.begin(), header.end());
  for (const std::byte b : tensor.bytes) bytes.push_back(std::to_integer<std::uint8_t>(b));
  const NpyReader again(source_of(bytes));
  fuzz::require(again.is_plain(), "row-major little-endian data of our own");
  const Tensor read = again.read();
  fuzz::require(
      read.dtype == tensor.dtype && read.shape == tensor.shape && read.bytes == tensor.bytes,
      "the tensor that was written");
}

const fuzz::Target npy("npy", [](fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const NpyReader reader(source_of(bytes));
    const Tensor tensor = reader.read();
    fuzz::require(tensor.bytes.size() == reader.info().size_bytes, "as many bytes as announced");
    if (reader.is_plain()) {
      std::vector<std::byte> range(tensor.bytes.size());
      reader.read_range(0, range);
      fuzz::require(range == tensor.bytes, "the range to be the whole");
    }
    check_rewritten(tensor);
    if (!fuzz::accepts([&] { static_cast<void>(tq::io::to_float32(tensor)); }))
      fuzz::require(tensor.dtype == tq::io::DType::c64 || tensor.dtype == tq::io::DType::c128,
                    "floats of every real type");
  });
});

}  // namespace
