// SPDX-License-Identifier: MIT
// Archives in the format .npz: whatever the directory says, members are read whole or refused.
#include <tq/containers/npz.hpp>

#include "fuzz.hpp"

namespace {

const fuzz::Target npz("npz", [](fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const tq::io::NpzReader reader(tq::io::ByteSource::from_memory(std::as_bytes(bytes), "npz"));
    for (const tq::io::TensorInfo& info : reader.tensors()) {
      fuzz::require(reader.find(info.name) == &info, "every name at its own place");
      fuzz::accepts([&] {
        const tq::io::Tensor tensor = reader.read(info.name);
        fuzz::require(tensor.bytes.size() == info.size_bytes, "as many bytes as announced");
        static_cast<void>(tq::io::detail::checked_count("npz", tensor));
      });
    }
  });
});

}  // namespace
