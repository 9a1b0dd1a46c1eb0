// SPDX-License-Identifier: MIT
// Quantized weights in a file: written, read back, and read one tensor at a time from a model that
// may be larger than memory.

#include <tq/scheme/encoded_tensor.hpp>
#include <tq/store/save.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/tq.hpp>

#include <cmath>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;

int main(int argc, char** argv) {
  const std::filesystem::path path = argc > 1 ? argv[1] : "saved_weights.safetensors";
  std::vector<float> data(64 * 256), bias(64, 0.5f);  // stand for your weights
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = 0.1f * std::sin(static_cast<float>(i * i % 9973));
  const tq::ConstTensorView weights(data.data(), {64, 256});
  try {
    const auto q = tq::quantize(weights, tq::calibrate<W4>(weights));
    const tq::EncodedTensor e = tq::encode<tq::TypeList<tq::int8>>(weights, tq::QuantSpec{});
    tq::save(path, {{"fc1.weight", q}, {"fc2.weight", e}, {"fc1.bias", bias}});

    const tq::QuantizedTensor<W4> back = tq::load<W4>(path, "fc1.weight");
    std::cout << "read back: " << (back == q ? "the same tensor" : "ANOTHER TENSOR") << '\n';

    auto model = tq::open(path);
    for (const tq::StoredTensor& t : model.tensors()) {
      const auto values = model.load<float>(t.name);
      std::cout << t.name << ": " << t.scheme() << ", " << values.size() << " values\n";
    }
    return back == q ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "saved_weights: " << error.what() << '\n';
    return 1;
  }
}
